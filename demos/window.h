// SPDX-License-Identifier: Zlib
#pragma once

// A window on a stage: camera, mouse and keys. The panel is drawn by panel.cpp.

#include "demos/painter.h"
#include "demos/stats.h"

typedef struct knWindowDef
{
    const knStageDef* stage;
    int width, height;
    uint32_t frameCount; // closes by itself after so many; 0 for never
    const char* png;     // the last frame is kept here; may be null
    knOverlays overlays; // at first
    const char* config;  // read again whenever it changes; may be null
    const char* state;   // JSON of what the user did, after each frame; may be null
    const char* record;  // what was done since the last reset, kept here at the end; may be null
} knWindowDef;

// Runs until the window is closed.
knResult knRunWindow(const knWindowDef* def);
