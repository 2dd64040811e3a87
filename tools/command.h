// SPDX-License-Identifier: Zlib
#pragma once

// The commands of `knap`, and what they share. A command gets its own name as argv[0].

#include "cook.h"
#include "json.h"

// Documented in docs/command.md; scripts rely on them.
typedef enum knExit
{
    kn_exitOk = 0,
    kn_exitUsage = 1,      // wrong arguments
    kn_exitUnreadable = 2, // the input cannot be read
    kn_exitUnfit = 3,      // the mesh cannot be cooked as it is
    kn_exitTetgen = 4,     // TetGen failed on it
    kn_exitUnwritable = 5, // the output cannot be written
    kn_exitInternal = 6,   // out of memory, or a bug of ours
    kn_exitRepairable = 7  // doctor only: it has defects, all of which cook repairs
} knExit;

int knCommandCook(int argc, char** argv);
int knCommandDoctor(int argc, char** argv);
int knCommandInfo(int argc, char** argv);
int knCommandDraw(int argc, char** argv);
int knCommandField(int argc, char** argv);
int knCommandBreak(int argc, char** argv);
int knCommandSelfcollide(int argc, char** argv);
int knCommandCcd(int argc, char** argv);
int knCommandConfig(int argc, char** argv);
int knCommandPlot(int argc, char** argv);

// Prints "knap: ..." and the last message to stderr.
int knReportFailure(knExit code);

// Prints why and where to find help.
int knUsageError(const char* command, const char* format, ...) KN_PRINTF_LIKE(2, 3);

// WIDTHxHEIGHT of a picture, both at least `least`; false and a message otherwise.
bool knParseSize(const char* command, const char* text, int least, int* width, int* height);

// The same as below, without a fraction.
bool knParseWhole(const char* command, const char* option, const char* text, double low,
                  double high, double* number);

// A finite number within bounds, and nothing after it; false and a message otherwise.
bool knParseNumber(const char* command, const char* option, const char* text, double low,
                   double high, double* number);

// Options that cook and doctor share: scale, units, limits, repair, holes, components.
typedef struct knMeshOptions
{
    knImportOptions* import;
    knDoctorOptions* doctor;
} knMeshOptions;

#define KN_MESH_LONG_OPTIONS                                                                       \
    {"scale", required_argument, NULL, 's'}, {"units", required_argument, NULL, 'u'},              \
        {"no-repair", no_argument, NULL, 'n'}, {"no-fill", no_argument, NULL, 'f'},                \
        {"components", required_argument, NULL, 'c'}, {"weld", required_argument, NULL, 'w'},      \
        {"time-limit", required_argument, NULL, 't'},                                              \
    {                                                                                              \
        "memory-limit", required_argument, NULL, 'm'                                               \
    }

#define KN_MESH_HELP                                                                               \
    "  --scale S            metres per unit of the file (default 1)\n"                             \
    "  --units m|cm|mm|in|ft  the same by name\n"                                                  \
    "  --no-repair          refuse a mesh with any defect\n"                                       \
    "  --no-fill            refuse holes instead of filling them\n"                                \
    "  --components one|refuse  several solids: one asset (default), or refuse\n"                  \
    "  --weld T             join rims closer than T times the size (default 1e-5)\n"               \
    "  --time-limit S       seconds for import and for each run of TetGen (default 120)\n"         \
    "  --memory-limit MB    megabytes for each (default 8192)\n"

// True when the option was one of the shared; *good tells whether its argument was.
bool knTakeMeshOption(const char* command, int option, const char* argument, knMeshOptions* options,
                      bool* good);

// What is stored in an asset, as lines or as the members of an open JSON object.
void knPrintAsset(FILE* out, const knAsset* asset, const char* path);
void knJsonAsset(knJson* json, const knAsset* asset);
void knJsonReport(knJson* json, const knDoctorReport* report);

// Leaves out what is less grave than `least`.
void knPrintReport(FILE* out, const knDoctorReport* report, knDefectAction least);
