// SPDX-License-Identifier: Zlib
#pragma once

// Files as the commands need them.

#include "knap/memory.h"

#include <stdbool.h>

// ".obj" and the like, whatever the case.
bool knHasEnding(const char* path, const char* ending);

// The part behind the last slash.
const char* knFileName(const char* path);

// An existing, plain, non-empty file.
knResult knCheckReadable(const char* path);

// The whole file and a zero behind it; release with knRelease(allocator, *text, *size + 1, 1).
knResult knReadText(const char* path, const knAllocator* allocator, char** text, size_t* size);

// Whether both names lead to the same existing file.
bool knIsSameFile(const char* a, const char* b);

// Writes all bytes or fails, whatever the signals.
bool knWriteAll(int fd, const void* bytes, size_t size);

// All or nothing: written beside the target, synced, then renamed over it; a link is followed, and
// nothing but a plain file is replaced. On failure the target is as before and nothing is left
// behind.
knResult knWriteFile(const char* path, const void* bytes, size_t size);
