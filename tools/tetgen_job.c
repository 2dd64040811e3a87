// SPDX-License-Identifier: Zlib
#include "tetgen_job.h"

#include "tetgen_shim.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct RawHeader
{
    uint64_t pointCount;
    uint64_t tetCount;
    uint64_t hasRegions;
} RawHeader;

void knDestroyRawTets(const knTetJob* job, knRawTets* raw)
{
    knRelease(job->allocator, raw->points, 3 * raw->pointCount, sizeof(double));
    knRelease(job->allocator, raw->tets, 4 * raw->tetCount, sizeof(int));
    knRelease(job->allocator, raw->regions, raw->tetCount, sizeof(int));
    *raw = (knRawTets){0};
}

knResult knTetJob_AddPoint(knTetJob* job, knDVec3 p)
{
    void* points = job->points;
    knResult result = knGrow(job->allocator, &points, &job->pointCapacity, 3 * job->pointCount + 3,
                             sizeof(double));
    job->points = points;
    if (result == kn_success)
    {
        double* at = job->points + 3 * job->pointCount++;
        at[0] = p.x;
        at[1] = p.y;
        at[2] = p.z;
    }
    return result;
}

static knDVec3 ToFrame(const knTetJob* job, knVec3 p)
{
    return knDScale(job->scale, knDSub(knToDouble(p), job->origin));
}

knVec3 knTetJob_FromFrame(const knTetJob* job, const double* p)
{
    knDVec3 q = knDScale(1.0 / job->scale, knMakeDVec3(p[0], p[1], p[2]));
    return knToFloat(knDAdd(q, job->origin));
}

static uint64_t EdgeKey(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static int CompareKeys(const void* a, const void* b)
{
    uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

static knResult ListSurfaceEdges(knTetJob* job)
{
    const knSoup* s = job->surface;
    job->surfaceEdgeCount = 3 * s->triangleCount;
    job->surfaceEdges = knAllocate(job->allocator, job->surfaceEdgeCount, sizeof(uint64_t));
    if (!job->surfaceEdges)
    {
        return kn_errorMemory;
    }
    for (size_t i = 0; i < job->surfaceEdgeCount; ++i)
    {
        const uint32_t* v = s->triangles[i / 3].v;
        job->surfaceEdges[i] = EdgeKey(v[i % 3], v[(i + 1) % 3]);
    }
    qsort(job->surfaceEdges, job->surfaceEdgeCount, sizeof(uint64_t), CompareKeys);
    return kn_success;
}

bool knTetJob_IsSurfaceEdge(const knTetJob* job, int a, int b)
{
    uint64_t key = EdgeKey((uint32_t)a, (uint32_t)b);
    return bsearch(&key, job->surfaceEdges, job->surfaceEdgeCount, sizeof key, CompareKeys) != NULL;
}

void knDestroyTetJob(knTetJob* job)
{
    knRelease(job->allocator, job->points, job->pointCapacity, sizeof(double));
    knRelease(job->allocator, job->surfaceEdges, job->surfaceEdgeCount, sizeof(uint64_t));
    knRelease(job->allocator, job->holes, job->holeCapacity, sizeof(double));
}

knResult knTetJob_SetUp(knTetJob* job)
{
    const knSoup* s = job->surface;
    knBox box = knBoundingBox(s->positions, (uint32_t)s->positionCount);
    knVec3 extent = knBox_Extent(box);
    float size = fmaxf(extent.x, fmaxf(extent.y, extent.z));
    int exponent = 0;
    (void)frexpf(size, &exponent);
    job->scale = ldexp(1.0, 1 - exponent);
    job->origin = knToDouble(knBox_Center(box));
    knResult result = ListSurfaceEdges(job);
    for (size_t i = 0; result == kn_success && i < s->positionCount; ++i)
    {
        result = knTetJob_AddPoint(job, ToFrame(job, s->positions[i]));
    }
    return result;
}

// In the child.
static knResult RunContained(void* context, knBuffer* answer)
{
    const knTetJob* job = context;
    knTetgenInput input = {.points = job->points,
                           .pointCount = (int)job->pointCount,
                           .triangles = (const int*)job->surface->triangles,
                           .triangleCount = (int)job->surface->triangleCount,
                           .holes = job->holes,
                           .holeCount = (int)job->holeCount,
                           .switches = job->switches};
    knTetgenOutput output = {0};
    knResult result = knRunTetgen(&input, &output);
    if (result == kn_success && (output.tetCount <= 0 || output.pointCount < input.pointCount))
    {
        result = knFail(kn_errorMesh, "found no inside: the surface is not closed");
    }
    if (result != kn_success)
    {
        return result;
    }
    RawHeader header = {(uint64_t)output.pointCount, (uint64_t)output.tetCount,
                        output.regions != NULL};
    result = knBuffer_Append(answer, &header, sizeof header);
    size_t pointBytes = 3 * sizeof(double) * (size_t)output.pointCount;
    size_t tetBytes = 4 * sizeof(int) * (size_t)output.tetCount;
    result = result == kn_success ? knBuffer_Append(answer, output.points, pointBytes) : result;
    result = result == kn_success ? knBuffer_Append(answer, output.tets, tetBytes) : result;
    if (result == kn_success && output.regions)
    {
        result = knBuffer_Append(answer, output.regions, tetBytes / 4);
    }
    return result;
}

static bool CornersInRange(const knRawTets* raw)
{
    for (size_t i = 0; i < 4 * raw->tetCount; ++i)
    {
        if (raw->tets[i] < 0 || (size_t)raw->tets[i] >= raw->pointCount)
        {
            return false;
        }
    }
    return true;
}

static knResult Receive(const knTetJob* job, const knBuffer* answer, knRawTets* raw)
{
    RawHeader header;
    knReader reader = {answer->bytes, answer->size, false};
    if (!knReader_Take(&reader, &header, sizeof header) || header.tetCount > KN_MAX_MESH_SIZE ||
        header.pointCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "made more than %u tetrahedra", KN_MAX_MESH_SIZE);
    }
    raw->pointCount = header.pointCount;
    raw->tetCount = header.tetCount;
    raw->points = knReader_TakeArray(&reader, 3 * raw->pointCount, sizeof(double), job->allocator);
    raw->tets = knReader_TakeArray(&reader, 4 * raw->tetCount, sizeof(int), job->allocator);
    if (header.hasRegions)
    {
        raw->regions = knReader_TakeArray(&reader, raw->tetCount, sizeof(int), job->allocator);
    }
    bool received = raw->points && raw->tets && (raw->regions || !header.hasRegions);
    if (!received && !reader.isShort && raw->pointCount > 0 && raw->tetCount > 0)
    {
        return kn_errorMemory;
    }
    bool whole = received && raw->pointCount >= job->pointCount && CornersInRange(raw);
    return whole ? kn_success : knFail(kn_errorProcess, "sent an answer that is not whole");
}

knResult knTetJob_Run(knTetJob* job, const char* switches, knRawTets* raw, knContainReport* report)
{
    snprintf(job->switches, sizeof job->switches, "%s", switches);
    *raw = (knRawTets){0};
    job->stats->runCount += 1;
    knBuffer answer = knMakeBuffer(job->allocator);
    knResult result = knRunContained(RunContained, job, job->options->limits, &answer, report);
    job->stats->seconds += report->seconds;
    result = result == kn_success ? Receive(job, &answer, raw) : result;
    knDestroyBuffer(&answer);
    if (result != kn_success)
    {
        knDestroyRawTets(job, raw);
    }
    return result;
}
