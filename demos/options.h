// SPDX-License-Identifier: Zlib
#pragma once

// The command line of knap-demo.

#include "demos/painter.h"

typedef struct knOptions
{
    const char* scene; // or all
    const char* assets;
    const char* config;
    const char* stats;
    const char* csv;
    const char* state;
    const char* record;
    const char* replay;
    const char* png; // with %d in it when headless
    long steps, every, seed, threads, width, height, frames;
    bool headless, table, full, help;
    knOverlays overlays;
    bool hasThreads; // given, and so before the config's
} knOptions;

void knPrintUsage(void);

// False, and a sentence on stderr, when something is wrong.
bool knReadOptions(knOptions* options, int argc, char** argv);
