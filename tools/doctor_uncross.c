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

// The state of an attempt to cut out what crosses.
typedef struct Attempt
{
    size_t firstNew; // triangles from here on are patches; the others are known not to cross
    bool stuck;      // the patches did not close the surface
    bool done;       // nothing crosses any more
} Attempt;

// Cuts out what crosses with `rings` rings around it and fills the holes.
static knResult CutAndFill(knDoctor* doctor, bool* involved, int rings, Attempt* attempt)
{
    knResult result = kn_success;
    for (int i = 0; i < rings && result == kn_success; ++i)
    {
        result = GrowRing(doctor->soup, involved);
    }
    result = result == kn_success ? knDoctor_Drop(doctor, involved) : result;
    attempt->firstNew = doctor->soup->triangleCount;
    knHoleJob job = {.maxEdges = MAX_RIM};
    result = result == kn_success ? knFillHoles(doctor, &job) : result;
    result = result == kn_success ? knSoup_Compact(doctor->soup, NULL) : result;
    bool closed = false;
    if (result == kn_success && job.left == 0 && attempt->firstNew > 0)
    {
        result = knSoup_IsManifold(doctor->soup, &closed);
    }
    attempt->stuck = !closed;
    return result;
}

// A round with no rings only looks.
static knResult UncrossRound(knDoctor* doctor, int rings, Attempt* attempt)
{
    const knAllocator* a = &doctor->soup->allocator;
    size_t count = doctor->soup->triangleCount, pairs = 0;
    bool* involved = knTake(a, count, sizeof(bool));
    knResult result = involved ? knFindIntersections(doctor->soup, doctor->scale, attempt->firstNew,
                                                     involved, &pairs)
                               : kn_errorMemory;
    attempt->done = pairs == 0;
    if (result == kn_success && pairs > 0 && rings > 0)
    {
        result = CutAndFill(doctor, involved, rings, attempt);
    }
    knGive(a, involved, count, sizeof(bool));
    return result;
}

static knResult TryUncross(knDoctor* doctor, bool* involved, bool* done)
{
    double before = knDoctor_Volume(doctor);
    size_t componentsBefore = 0, componentsAfter = 0;
    Attempt attempt = {0};
    knResult result = CountComponents(doctor->soup, &componentsBefore);
    result = result == kn_success ? CutAndFill(doctor, involved, 1, &attempt) : result;
    for (int round = 2; round <= MAX_ROUNDS + 1 && result == kn_success; ++round)
    {
        if (!attempt.done && !attempt.stuck)
        {
            result = UncrossRound(doctor, round <= MAX_ROUNDS ? round : 0, &attempt);
        }
    }
    *done = result == kn_success && attempt.done && !attempt.stuck;
    if (*done)
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

static knResult UncrossOrRestore(knDoctor* doctor, bool* involved, bool* done)
{
    knSoup before;
    knResult result = knCloneSoup(&before, doctor->soup);
    if (result != kn_success)
    {
        return result;
    }
    result = TryUncross(doctor, involved, done);
    if (result == kn_success && !*done)
    {
        knDestroySoup(doctor->soup);
        *doctor->soup = before;
        return result;
    }
    knDestroySoup(&before);
    return result;
}

knResult knDoctor_Uncross(knDoctor* doctor)
{
    const knAllocator* a = &doctor->soup->allocator;
    size_t count = doctor->soup->triangleCount, pairs = 0;
    bool* involved = knTake(a, count, sizeof(bool));
    bool done = false;
    knResult result = involved
                          ? knFindIntersections(doctor->soup, doctor->scale, 0, involved, &pairs)
                          : kn_errorMemory;
    if (result == kn_success && pairs > 0)
    {
        size_t triangles = ReportCrossings(doctor, involved, pairs);
        bool may = !doctor->blocked && knDoctor_IsFew(doctor, triangles);
        result = may ? UncrossOrRestore(doctor, involved, &done) : kn_success;
    }
    knGive(a, involved, count, sizeof(bool));
    if (done)
    {
        knDoctor_Judge(doctor, kn_defectSelfIntersection, kn_actionRepair,
                       "the few triangles that cross are cut out and the gap is filled");
    }
    else
    {
        knDoctor_Judge(doctor, kn_defectSelfIntersection, kn_actionRefuse,
                       "union the parts, or move them apart, in your modelling tool");
    }
    return result;
}
