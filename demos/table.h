// SPDX-License-Identifier: Zlib
#pragma once

// The paper's Tables 2 and 3, its figures beside those of a run.

#include "demos/stats.h"

#define KN_MAX_SCENES 16

void knPrintTables(FILE* out, const knScene* const* scenes, const knStats* stats, uint32_t count);
