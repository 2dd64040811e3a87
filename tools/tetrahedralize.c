// SPDX-License-Identifier: Zlib
#include "tetrahedralize.h"

#include "tetgen_job.h"

#include <stdio.h>
#include <string.h>

#define MAX_REFINE_ROUNDS 10
#define MAX_TARGET_RUNS   8

knTetOptions knDefaultTetOptions(void)
{
    return (knTetOptions){.radiusEdge = 2.0, .limits = {.seconds = 120.0, .megabytes = 8192}};
}

// Six times the volume, with TetGen's own sign.
static double RawVolume6(const knRawTets* raw, size_t tet, knDVec3* center)
{
    knDVec3 p[4];
    for (int k = 0; k < 4; ++k)
    {
        const double* q = raw->points + 3 * (size_t)raw->tets[4 * tet + (size_t)k];
        p[k] = knMakeDVec3(q[0], q[1], q[2]);
    }
    *center = knDScale(0.25, knDAdd(knDAdd(p[0], p[1]), knDAdd(p[2], p[3])));
    knDVec3 u = knDSub(p[1], p[0]), v = knDSub(p[2], p[0]), w = knDSub(p[3], p[0]);
    return knDDot(knDCross(u, v), w);
}

// TetGen keeps points that no tetrahedron uses; the surface's own stay, being used.
static knResult NumberNodes(const knTetJob* job, const knRawTets* raw, uint32_t* numbers,
                            knTetSoup* tets)
{
    size_t surfaceCount = job->surface->positionCount;
    memset(numbers, 0, raw->pointCount * sizeof(uint32_t));
    for (size_t i = 0; i < 4 * raw->tetCount; ++i)
    {
        numbers[raw->tets[i]] = 1;
    }
    for (size_t i = 0; i < raw->pointCount; ++i)
    {
        if (i < surfaceCount)
        {
            tets->nodes[i] = job->surface->positions[i];
            if (!numbers[i])
            {
                return knFail(kn_errorMesh, "left surface vertex %zu out", i);
            }
        }
        else if (numbers[i])
        {
            tets->nodes[tets->nodeCount] = knTetJob_FromFrame(job, raw->points + 3 * i);
        }
        bool kept = i < surfaceCount || numbers[i];
        numbers[i] = kept ? (uint32_t)tets->nodeCount : KN_NONE;
        tets->nodeCount += kept;
    }
    return kn_success;
}

// Rounding a node to single precision must not turn a tetrahedron: its sign stays that of TetGen's.
static knResult FillTets(const knRawTets* raw, const uint32_t* numbers, knTetSoup* tets)
{
    for (size_t t = 0; t < raw->tetCount; ++t)
    {
        const int* corners = raw->tets + 4 * t;
        knDVec3 center;
        bool turned = RawVolume6(raw, t, &center) < 0.0;
        uint32_t a = numbers[corners[turned]], b = numbers[corners[!turned]];
        uint32_t c = numbers[corners[2]], d = numbers[corners[3]];
        const knVec3* n = tets->nodes;
        if (!(knTetVolume6(n[a], n[b], n[c], n[d]) > 0.0))
        {
            return knFail(
                kn_errorMesh,
                "tetrahedralization failed: a tetrahedron at (%g, %g, %g) is too thin for "
                "single precision; move the mesh nearer to its origin or remesh it",
                (double)n[a].x, (double)n[a].y, (double)n[a].z);
        }
        tets->tets[t] = (knTet){{a, b, c, d}};
    }
    tets->tetCount = raw->tetCount;
    return kn_success;
}

static knResult ToNodesAndTets(const knTetJob* job, const knRawTets* raw, knTetSoup* tets)
{
    knTetSoup made = {.allocator = *job->allocator};
    uint32_t* numbers = knAllocate(job->allocator, raw->pointCount, sizeof(uint32_t));
    made.nodes = knAllocate(job->allocator, raw->pointCount, sizeof(knVec3));
    made.nodeCapacity = raw->pointCount;
    made.tets = knAllocate(job->allocator, raw->tetCount, sizeof(knTet));
    made.tetCapacity = raw->tetCount;
    knResult result = numbers && made.nodes && made.tets ? kn_success : kn_errorMemory;
    result = result == kn_success ? NumberNodes(job, raw, numbers, &made) : result;
    result = result == kn_success ? FillTets(raw, numbers, &made) : result;
    knRelease(job->allocator, numbers, raw->pointCount, sizeof(uint32_t));
    if (result != kn_success)
    {
        knDestroyTetSoup(&made);
        return result;
    }
    *tets = made;
    return kn_success;
}

// Near misses of TetGen's tolerances: it may leave out a thin tetrahedron at the surface, and then
// the boundary is no longer the surface.
static knResult CheckBoundary(const knTetJob* job, const knRawTets* raw)
{
    knTetSoup tets;
    knTetMeshStore store;
    knResult result = ToNodesAndTets(job, raw, &tets);
    if (result != kn_success)
    {
        return result;
    }
    result = knBuildTetMesh(&store, tets.nodes, (uint32_t)tets.nodeCount, tets.tets,
                            (uint32_t)tets.tetCount, job->allocator);
    if (result == kn_success)
    {
        bool same = store.mesh.boundaryFaceCount == job->surface->triangleCount;
        result = same ? kn_success
                      : knFail(kn_errorMesh, "changed the surface: %u triangles instead of %zu",
                               store.mesh.boundaryFaceCount, job->surface->triangleCount);
        knDestroyTetMeshStore(&store);
    }
    knDestroyTetSoup(&tets);
    return result;
}

static knResult Explain(knResult result, const knContainReport* report)
{
    char reason[KN_MAX_MESSAGE];
    snprintf(reason, sizeof reason, "%s", knLastError());
    const char* advice =
        report->end == kn_containTimedOut
            ? "try a larger --radius-edge, a longer --time-limit or a simpler mesh"
            : "try another --radius-edge, simplify or remesh the surface, or see 'knap doctor'";
    return knFail(result, "tetrahedralization failed: TetGen %s%s%.120s%s; %s", reason,
                  report->output[0] ? " (it said: " : "", report->output,
                  report->output[0] ? ")" : "", advice);
}

// Quality first; when TetGen dies of it, a looser bound, then none. A hang is not tried again.
static knResult RunWithQuality(knTetJob* job, double maxVolume, knRawTets* raw)
{
    static const double factors[] = {1.0, 1.15, 1.4, 0.0};
    knContainReport report = {0};
    knResult result = kn_errorProcess;
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; ++i)
    {
        double bound = job->options->radiusEdge * factors[i];
        char switches[64];
        int length = snprintf(switches, sizeof switches, "pYQ");
        if (bound > 0.0)
        {
            length += snprintf(switches + length, sizeof switches - (size_t)length, "q%.4f", bound);
        }
        if (maxVolume > 0.0)
        {
            snprintf(switches + length, sizeof switches - (size_t)length, "a%.9e", maxVolume);
        }
        result = knTetJob_Run(job, switches, raw, &report);
        if (result == kn_success)
        {
            job->stats->radiusEdge = bound;
            result = CheckBoundary(job, raw);
            if (result == kn_success)
            {
                return kn_success;
            }
            knDestroyRawTets(job, raw);
        }
        if (report.end == kn_containTimedOut || result == kn_errorMemory)
        {
            break;
        }
    }
    return Explain(result, &report);
}

// The winding number of the surface around a point, by summed solid angles.
static double WindingNumber(const knTetJob* job, knDVec3 p)
{
    const double pi = 3.14159265358979323846;
    double sum = 0.0;
    for (size_t i = 0; i < job->surface->triangleCount; ++i)
    {
        knDVec3 r[3];
        for (int k = 0; k < 3; ++k)
        {
            const double* q = job->points + 3 * (size_t)job->surface->triangles[i].v[k];
            r[k] = knDSub(knMakeDVec3(q[0], q[1], q[2]), p);
        }
        double a = knDLength(r[0]), b = knDLength(r[1]), c = knDLength(r[2]);
        double y = knDDot(r[0], knDCross(r[1], r[2]));
        double x =
            a * b * c + knDDot(r[0], r[1]) * c + knDDot(r[1], r[2]) * a + knDDot(r[2], r[0]) * b;
        sum += 2.0 * atan2(y, x);
    }
    return sum / (4.0 * pi);
}

static knResult AddHole(knTetJob* job, knDVec3 p)
{
    void* holes = job->holes;
    knResult result =
        knGrow(job->allocator, &holes, &job->holeCapacity, 3 * job->holeCount + 3, sizeof(double));
    job->holes = holes;
    if (result == kn_success)
    {
        double* hole = job->holes + 3 * job->holeCount++;
        hole[0] = p.x;
        hole[1] = p.y;
        hole[2] = p.z;
    }
    return result;
}

// A region and the middle of its largest tetrahedron.
typedef struct Region
{
    double volume6;
    knDVec3 center;
} Region;

static void MeasureRegions(const knRawTets* raw, Region* regions, size_t regionCount)
{
    memset(regions, 0, regionCount * sizeof(Region));
    for (size_t i = 0; i < raw->tetCount; ++i)
    {
        knDVec3 center;
        double volume6 = fabs(RawVolume6(raw, i, &center));
        size_t region = (size_t)raw->regions[i];
        if (region < regionCount && volume6 > regions[region].volume6)
        {
            regions[region] = (Region){volume6, center};
        }
    }
}

// Those that the surface does not wind around are hollow.
static knResult AddHollows(knTetJob* job, const knRawTets* raw)
{
    int most = 0;
    for (size_t i = 0; i < raw->tetCount; ++i)
    {
        most = raw->regions[i] > most ? raw->regions[i] : most;
    }
    size_t count = (size_t)most < raw->tetCount ? (size_t)most + 1 : raw->tetCount + 1;
    Region* regions = knAllocate(job->allocator, count, sizeof(Region));
    if (!regions)
    {
        return kn_errorMemory;
    }
    MeasureRegions(raw, regions, count);
    knResult result = kn_success;
    for (size_t i = 0; result == kn_success && i < count; ++i)
    {
        if (regions[i].volume6 > 0.0 && fabs(WindingNumber(job, regions[i].center)) < 0.5)
        {
            result = AddHole(job, regions[i].center);
        }
    }
    knRelease(job->allocator, regions, count, sizeof(Region));
    return result;
}

// One rough run marks the regions; a point in each hollow one is where TetGen carves from.
static knResult FindHollows(knTetJob* job)
{
    knRawTets raw;
    knContainReport report;
    knResult result = knTetJob_Run(job, "pYAQ", &raw, &report);
    if (result != kn_success)
    {
        return Explain(result, &report);
    }
    result = raw.regions ? AddHollows(job, &raw) : kn_success;
    knDestroyRawTets(job, &raw);
    return result;
}

static double LongestSurfaceEdge(const knSoup* s)
{
    double longest = 0.0;
    for (size_t i = 0; i < s->triangleCount; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            knDVec3 a = knToDouble(s->positions[s->triangles[i].v[k]]);
            knDVec3 b = knToDouble(s->positions[s->triangles[i].v[(k + 1) % 3]]);
            longest = fmax(longest, knDLength(knDSub(a, b)));
        }
    }
    return longest;
}

// The lattice first, for it settles most in one run; then the edges that are still too long, as
// long as a round leaves clearly fewer of them.
static knResult Refine(knTetJob* job, double maxVolume, knRawTets* raw)
{
    uint32_t last = UINT32_MAX;
    for (int round = 0; round < MAX_REFINE_ROUNDS; ++round)
    {
        uint32_t count = knTetJob_MeasureEdges(job, raw);
        bool late = job->stats->seconds > job->options->limits.seconds;
        bool slow = round > 2 && (double)count > 0.7 * (double)last;
        if (count == 0 || late || slow)
        {
            return kn_success;
        }
        last = count;
        size_t before = job->pointCount;
        knResult result =
            round == 0 ? knTetJob_AddLattice(job, raw) : knTetJob_AddMiddles(job, raw);
        if (result == kn_success && job->pointCount > before)
        {
            knRawTets refined;
            result = RunWithQuality(job, maxVolume, &refined);
            if (result != kn_success && result != kn_errorMemory)
            {
                // the mesh at hand is sound, only coarser than asked for
                job->pointCount = before;
                return kn_success;
            }
            if (result == kn_success)
            {
                job->stats->addedPoints += (uint32_t)(job->pointCount - before);
                knDestroyRawTets(job, raw);
                *raw = refined;
            }
        }
        if (result != kn_success)
        {
            return result;
        }
    }
    knTetJob_MeasureEdges(job, raw);
    return kn_success;
}

static double SurfaceVolumeInFrame(const knTetJob* job)
{
    double volume = knSurfaceVolume(job->surface->positions, job->surface->triangles,
                                    (uint32_t)job->surface->triangleCount);
    return volume * job->scale * job->scale * job->scale;
}

// Searches the volume bound that comes closest to the number of tetrahedra asked for. Fewer than
// the surface itself demands cannot be had.
static knResult AimForTarget(knTetJob* job, double* maxVolume, knRawTets* raw)
{
    double target = (double)job->options->targetTets;
    double volume = SurfaceVolumeInFrame(job);
    double low = 0.05 * volume / target, high = 20.0 * volume / target;
    double bestMiss = fabs((double)raw->tetCount - target);
    for (int i = 0; i < MAX_TARGET_RUNS && bestMiss > 0.02 * target; ++i)
    {
        double bound = sqrt(low * high);
        knRawTets tried;
        knResult result = RunWithQuality(job, bound, &tried);
        if (result != kn_success)
        {
            return result == kn_errorMemory ? result : kn_success;
        }
        double count = (double)tried.tetCount;
        low = count > target ? bound : low;
        high = count > target ? high : bound;
        bool better = fabs(count - target) < bestMiss;
        if (better)
        {
            bestMiss = fabs(count - target);
            *maxVolume = bound;
        }
        knDestroyRawTets(job, better ? raw : &tried);
        *raw = better ? tried : *raw;
    }
    return kn_success;
}

static knResult Run(knTetJob* job, bool hasCavities, knTetSoup* tets)
{
    knTetStats* stats = job->stats;
    stats->longestSurface = LongestSurfaceEdge(job->surface);
    bool asked = job->options->maxEdge > 0.0;
    stats->maxEdge = asked ? job->options->maxEdge : 2.0 * stats->longestSurface;
    // a regular tetrahedron with the longest edge allowed
    double edge = stats->maxEdge * job->scale;
    double maxVolume = asked ? edge * edge * edge / 8.485 : 0.0;
    knRawTets raw = {0};
    knResult result = hasCavities ? FindHollows(job) : kn_success;
    result = result == kn_success ? RunWithQuality(job, maxVolume, &raw) : result;
    if (result == kn_success && job->options->targetTets > raw.tetCount)
    {
        result = AimForTarget(job, &maxVolume, &raw);
    }
    result = result == kn_success ? Refine(job, maxVolume, &raw) : result;
    result = result == kn_success ? ToNodesAndTets(job, &raw, tets) : result;
    knDestroyRawTets(job, &raw);
    return result;
}

knResult knTetrahedralize(const knSoup* surface, bool hasCavities, const knTetOptions* options,
                          knTetSoup* tets, knTetStats* stats)
{
    *stats = (knTetStats){0};
    knTetJob job = {
        .surface = surface, .options = options, .stats = stats, .allocator = &surface->allocator};
    knResult result = knTetJob_SetUp(&job);
    result = result == kn_success ? Run(&job, hasCavities, tets) : result;
    knDestroyTetJob(&job);
    return result;
}
