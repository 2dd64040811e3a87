// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

#define MAX_ROUNDS  3
#define MAX_RIM     300 // edges of a hole that the cutting may leave
#define FEW         64  // triangles that may always be cut out
#define FEW_PERCENT 1

bool knDoctor_IsFew(const knDoctor* doctor, size_t triangleCount)
{
    size_t share = doctor->soup->triangleCount * FEW_PERCENT / 100;
    return triangleCount <= (share > FEW ? share : FEW);
}

// Adds every triangle that shares a vertex with a flagged one.
static knResult GrowRing(const knSoup* soup, bool* flags)
{
    const knAllocator* a = &soup->allocator;
    bool* near = knTake(a, soup->positionCount, sizeof(bool));
    if (!near)
    {
        return kn_errorMemory;
    }
    for (size_t c = 0; c < 3 * soup->triangleCount; ++c)
    {
        near[soup->triangles[c / 3].v[c % 3]] |= flags[c / 3];
    }
    for (size_t c = 0; c < 3 * soup->triangleCount; ++c)
    {
        flags[c / 3] |= near[soup->triangles[c / 3].v[c % 3]];
    }
    knGive(a, near, soup->positionCount, sizeof(bool));
    return kn_success;
}

static knResult CountComponents(const knSoup* soup, size_t* count)
{
    knTopology topology;
    knResult result = knBuildTopology(&topology, soup);
    if (result != kn_success)
    {
        return result;
    }
    uint32_t* numbers = knTake(&soup->allocator, soup->triangleCount, sizeof(uint32_t));
    if (numbers)
    {
        *count = knNumberComponents(&topology, numbers);
    }
    knGive(&soup->allocator, numbers, soup->triangleCount, sizeof(uint32_t));
    knDestroyTopology(&topology);
    return numbers ? kn_success : kn_errorMemory;
}

// Cuts out what crosses with `rings` rings around it and fills the holes. `clean` tells whether the
// surface is closed again.
static knResult CutAndFill(knDoctor* doctor, bool* involved, int rings, bool* clean)
{
    knResult result = kn_success;
    for (int i = 0; i < rings && result == kn_success; ++i)
    {
        result = GrowRing(doctor->soup, involved);
    }
    result = result == kn_success ? knDoctor_Drop(doctor, involved) : result;
    knHoleJob job = {.maxEdges = MAX_RIM};
    result = result == kn_success ? knFillHoles(doctor, &job) : result;
    result = result == kn_success ? knSoup_Compact(doctor->soup, NULL) : result;
    *clean = false;
    if (result == kn_success && job.left == 0 && doctor->soup->triangleCount > 0)
    {
        result = knSoup_IsManifold(doctor->soup, clean);
    }
    return result;
}

// One attempt from the state the soup is in; `done` when nothing crosses any more.
static knResult UncrossRound(knDoctor* doctor, int rings, bool* stuck, bool* done)
{
    const knAllocator* a = &doctor->soup->allocator;
    size_t count = doctor->soup->triangleCount, pairs = 0;
    bool* involved = knTake(a, count, sizeof(bool));
    knResult result = involved ? knFindIntersections(doctor->soup, doctor->scale, involved, &pairs)
                               : kn_errorMemory;
    bool clean = true;
    *done = pairs == 0;
    if (result == kn_success && pairs > 0 && rings > 0)
    {
        result = CutAndFill(doctor, involved, rings, &clean);
    }
    *stuck = !clean;
    knGive(a, involved, count, sizeof(bool));
    return result;
}

static knResult TryUncross(knDoctor* doctor, bool* done)
{
    double before = knDoctor_Volume(doctor);
    size_t componentsBefore = 0, componentsAfter = 0;
    bool stuck = false;
    knResult result = CountComponents(doctor->soup, &componentsBefore);
    for (int round = 1; round <= MAX_ROUNDS && result == kn_success && !*done && !stuck; ++round)
    {
        result = UncrossRound(doctor, round, &stuck, done);
    }
    if (result == kn_success && !*done && !stuck)
    {
        result = UncrossRound(doctor, 0, &stuck, done);
    }
    if (result == kn_success && *done)
    {
        double change = fabs(knDoctor_Volume(doctor) - before);
        result = CountComponents(doctor->soup, &componentsAfter);
        *done = change <= KN_MAX_CHANGE * fabs(before) && componentsAfter == componentsBefore;
    }
    return result;
}

static size_t ReportCrossings(knDoctor* doctor, const bool* involved, size_t pairs)
{
    size_t triangles = 0;
    for (size_t t = 0; t < doctor->soup->triangleCount; ++t)
    {
        if (involved[t])
        {
            triangles += 1;
            knDoctor_FoundTriangle(doctor, kn_defectSelfIntersection, t);
        }
    }
    doctor->report->defects[kn_defectSelfIntersection].count = pairs;
    return triangles;
}

static knResult UncrossOrRestore(knDoctor* doctor, bool* done)
{
    knSoup before;
    knResult result = knCloneSoup(&before, doctor->soup);
    if (result != kn_success)
    {
        return result;
    }
    result = TryUncross(doctor, done);
    if (result == kn_success && !*done)
    {
        knDestroySoup(doctor->soup);
        *doctor->soup = before;
        return result;
    }
    knDestroySoup(&before);
    return result;
}

static void RefuseCrossings(knDoctor* doctor)
{
    knDoctor_Judge(doctor, kn_defectSelfIntersection, kn_actionRefuse,
                   "union the parts, or move them apart, in your modelling tool");
    // what was pulled apart still touches: name the cause first
    knDoctor_Judge(doctor, kn_defectNonManifoldEdge, kn_actionRefuse,
                   "separate the parts that share an edge, or delete inner faces, in your "
                   "modelling tool");
    knDoctor_Judge(doctor, kn_defectNonManifoldVertex, kn_actionRefuse,
                   "separate the parts that share a vertex in your modelling tool");
}

knResult knDoctor_Uncross(knDoctor* doctor)
{
    const knAllocator* a = &doctor->soup->allocator;
    size_t count = doctor->soup->triangleCount, pairs = 0, triangles = 0;
    bool* involved = knTake(a, count, sizeof(bool));
    bool done = false;
    knResult result = involved ? knFindIntersections(doctor->soup, doctor->scale, involved, &pairs)
                               : kn_errorMemory;
    if (result == kn_success)
    {
        triangles = ReportCrossings(doctor, involved, pairs);
    }
    knGive(a, involved, count, sizeof(bool));
    if (result != kn_success || pairs == 0)
    {
        return result;
    }
    if (!doctor->blocked && knDoctor_IsFew(doctor, triangles))
    {
        result = UncrossOrRestore(doctor, &done);
    }
    if (done)
    {
        knDoctor_Judge(doctor, kn_defectSelfIntersection, kn_actionRepair,
                       "the few triangles that cross are cut out and the gap is filled");
    }
    else
    {
        RefuseCrossings(doctor);
    }
    return result;
}
