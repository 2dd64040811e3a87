// SPDX-License-Identifier: Zlib
#pragma once

// Every bench there is; the table in main.c gives their order.

#include "bench/bench.h"

extern const knBench knBenchArena;
extern const knBench knBenchAssetLoad;
extern const knBench knBenchBvhBalanced;
extern const knBench knBenchBvhDynamic;
extern const knBench knBenchBvhFastcd;
extern const knBench knBenchBvhPeers;
extern const knBench knBenchCcdExact;
extern const knBench knBenchCcdIccd;
extern const knBench knBenchCcdPeers;
extern const knBench knBenchCook;
extern const knBench knBenchFieldUpdate;
extern const knBench knBenchFracture;
extern const knBench knBenchModes;
#ifdef KN_BENCH_BULLET
extern const knBench knBenchBreak;
extern const knBench knBenchPile;
extern const knBench knBenchThreads;
#endif
extern const knBench knBenchTasks;
extern const knBench knBenchTopology;
