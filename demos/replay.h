// SPDX-License-Identifier: Zlib
#pragma once

// What a user or a script did to a world, kept in a file and gone through again.

#include "demos/stage.h"

#include <stdio.h>

// Ends the recording of the stage's world and writes it.
knResult knStage_SaveRecording(knStage* stage, const char* path);

// Goes through a recording with the models of the stage's scene and says what came of it.
// kn_errorProcess when a step ended in another state than it did when it was recorded.
knResult knReplayFile(const knStageDef* def, const char* path, FILE* out);
