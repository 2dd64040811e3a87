// SPDX-License-Identifier: Zlib
#pragma once

// What the benches of the papers' hierarchies share.

#include "bench/bench.h"

// One number beside another; NaN where there is none.
typedef struct TreeRow
{
    const char* caseName;
    const char* metric;
    const char* unit;
    double ours, peer;
    const char* peerName;
    double paper; // the paper's ratio, or number where there is no peer
    double worst, peerWorst;
    const char* note;
} TreeRow;

TreeRow MakeTreeRow(const char* caseName, const char* metric, const char* unit);
knResult AddTreeRow(knBenchRun* run, const TreeRow* row);

// Of this thread, which does all the work: other programs do not count.
double TreeSeconds(void);

// Ratios of many cases, so that a method is judged over all.
typedef struct GeometricMean
{
    double logs;
    int count;
} GeometricMean;

void AddToMean(GeometricMean* mean, double ratio);
double MeanOf(const GeometricMean* mean);

// The parts of bvh-balanced; ratios of the module's default to ours go into the mean.
knResult MeasureApple(knBenchRun* run, GeometricMean* mean);
knResult MeasurePumpkin(knBenchRun* run, GeometricMean* mean);
