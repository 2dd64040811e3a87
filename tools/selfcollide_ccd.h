// SPDX-License-Identifier: Zlib
#pragma once

// `knap selfcollide --ccd`: the steps between frames.

// Returns an exit code.
int knRunCcdFrames(char** frames, int frameCount, double separation, const char* featuresPath,
                   const char* statsPath);
