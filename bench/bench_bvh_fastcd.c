// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#include "bench/bvh_keep.h"

#include <string.h>

// FASTCD's four scenes, its validation of the costs, and a long run.

#define DRIFT_FRAMES 1000

static bool IsNamed(const knBenchRun* run, const char* name)
{
    return !run->options.caseName || strstr(name, run->options.caseName);
}

static knResult Measure(knBenchRun* run, knKeepScene* scene, bool isMade)
{
    if (isMade && !IsNamed(run, scene->name))
    {
        return kn_success;
    }
    if (!isMade)
    {
        knBenchRun_Skip(run, scene->name ? scene->name : "a scene", knLastError());
        return kn_success;
    }
    return knMeasureKeeping(run, scene);
}

static knResult MeasureDrift(knBenchRun* run)
{
    knKeepScene balls;
    bool isMade = knMakeBalls(&balls, run->options.quick ? 250 : DRIFT_FRAMES);
    balls.name = "n-body, 34K, a long run";
    if (!IsNamed(run, "long run"))
    {
        knDestroyBalls(&balls);
        return kn_success;
    }
    knResult result = isMade ? knMeasureDrift(run, &balls) : kn_errorMemory;
    knDestroyBalls(&balls);
    return result;
}

static knResult Run(knBenchRun* run)
{
    knKeepScene scene;
    knResult result = Measure(run, &scene, knMakeShell(&scene, run->options.quick));
    knDestroyShell(&scene);
    if (result == kn_success)
    {
        result = Measure(run, &scene, knMakeBreakingWalls(&scene));
        knDestroyBreakingWalls(&scene);
    }
    if (result == kn_success)
    {
        result = Measure(run, &scene, knMakeBalls(&scene, run->options.quick ? 40 : 149));
        knDestroyBalls(&scene);
    }
    if (result == kn_success)
    {
        result = Measure(run, &scene, knMakeCloth(&scene, run->options.quick));
        knDestroyCloth(&scene);
    }
    result = result == kn_success ? MeasureDrift(run) : result;
    bool isAsked = result == kn_success && IsNamed(run, "correlations");
    return isAsked ? knMeasureCorrelations(run) : result;
}

const knBench knBenchBvhFastcd = {"bvh-fastcd", "ways to keep a hierarchy while surfaces break",
                                  Run};
