// SPDX-License-Identifier: Zlib
#pragma once

// Parts of bvh-fastcd.

#include "bench/bench.h"

knResult knMeasureWalls(knBenchRun* run);

// How well the traversal costs foretell the node tests (FASTCD 5.2.1).
knResult knMeasureCorrelations(knBenchRun* run);
