// SPDX-License-Identifier: Zlib
#pragma once

// An OpenGL context without a window or a display: for servers, tests and pictures.

#include "knap/result.h"

typedef struct knOffscreen knOffscreen;

// Makes the context current.
knResult knCreateOffscreen(knOffscreen** offscreen);
void knDestroyOffscreen(knOffscreen* offscreen);
