// SPDX-License-Identifier: Zlib
#pragma once

// Files and processes for the benches: where things lie, scratch folders, other programs.

#include "knap/mesh.h"

#include <limits.h>

// The folder of this program's own executable.
knResult knProgramFolder(char folder[PATH_MAX]);

// kn_errorFile when it does not fit.
knResult knJoinPath(char path[PATH_MAX], const char* folder, const char* name);

// Looks for `name` in the folder of the program and in those above it, the nearest first.
knResult knFindUpwards(char path[PATH_MAX], const char* name);

bool knPathExists(const char* path);

// A mesh of the demos, in the folder that was named or the one above the program.
knResult knFindMesh(char path[PATH_MAX], const char* folder, const char* name);

// A new folder for scratch files, and its end: plain files in it are removed.
knResult knMakeScratchFolder(char folder[PATH_MAX]);
void knRemoveScratchFolder(const char* folder);

// Waits for the end; kn_errorProcess unless the program exits with 0 in time. The program is looked
// up in PATH when its name has no slash. The output goes to a file; null drops it.
knResult knRunProgram(const char* const* arguments, const char* outputPath);
bool knProgramIsInPath(const char* name);

// The whole file, aligned to a cache line; release with knRelease(NULL, *bytes, *size, 1).
knResult knReadWholeFile(const char* path, void** bytes, size_t* size);
knResult knWriteWholeFile(const char* path, const void* bytes, size_t size);

knResult knWriteObj(const char* path, const knSurfaceMesh* surface);

// The positions and faces of an OBJ file as OFF, which TetGen reads.
knResult knConvertObjToOff(const char* objPath, const char* offPath);
