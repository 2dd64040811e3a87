// SPDX-License-Identifier: Zlib
#pragma once

// Pictures to files.

#include "demos/view.h"

// Three bytes a pixel, rows from the top.
knResult knSavePng(const char* path, const uint8_t* rgb, int width, int height);

// What the view drew last.
knResult knSaveView(const char* path, knView* view, int width, int height);

// What the framebuffer of the window holds: the picture with the panel over it.
knResult knSaveFramebuffer(const char* path, int width, int height);
