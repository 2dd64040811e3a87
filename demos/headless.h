// SPDX-License-Identifier: Zlib
#pragma once

// A scene without a window: its script, its statistics, its pictures.

#include "demos/options.h"
#include "demos/stats.h"

// `stats` is filled with what the run measured.
knResult knRunHeadless(const knOptions* options, const knStageDef* def, knStats* stats);
