// SPDX-License-Identifier: Zlib
#pragma once

// `knap selfcollide --ccd`: the steps between frames.

#include "knap/bvh_ccd.h"

typedef struct knCcdFrames
{
    knCcdStepDef def; // how; the surface is set from the frames
    char** frames;
    int frameCount;
    int threads;
    const char* featuresPath; // null: standard output
    const char* statsPath;    // null: none
} knCcdFrames;

// A word of --method; false when it is none of continuous collision.
bool knTakeCcdWord(knCcdStepDef* def, const char* word);

// Returns an exit code.
int knRunCcdFrames(const knCcdFrames* job);
