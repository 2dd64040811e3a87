// SPDX-License-Identifier: Zlib
#include "modes.h"

#include "elastic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

knModeOptions knDefaultModeOptions(void)
{
    return (knModeOptions){.count = KN_DEFAULT_MODE_COUNT, .poisson = KN_DEFAULT_POISSON};
}

// Edges between held nodes are held along their whole length.
static uint8_t* MakeFixed(const knElastic* elastic, const knAssetSection* anchors)
{
    const knTetMesh* mesh = elastic->mesh;
    uint8_t* fixed = knAllocate(&elastic->allocator, elastic->nodeCount, 1);
    if (!fixed)
    {
        return NULL;
    }
    memset(fixed, 0, elastic->nodeCount);
    const uint32_t* nodes = anchors->data;
    for (size_t i = 0; i < anchors->size / sizeof(uint32_t); ++i)
    {
        fixed[nodes[i]] = 7;
    }
    for (uint32_t e = 0; e < mesh->edgeCount; ++e)
    {
        const uint32_t* v = mesh->edges[e].v;
        fixed[mesh->nodeCount + e] = fixed[v[0]] & fixed[v[1]];
    }
    return fixed;
}

// From the solver's unit to metres, and from vectors to components: see knModeSet.
static knResult FillDef(const knElasticModes* modes, knModeSetDef* def, double* shapes,
                        double* stresses, double* eigenvalues)
{
    const knElastic* elastic = modes->basis.elastic;
    size_t n = elastic->mesh->nodeCount;
    double unit = elastic->unit, shapeScale = pow(unit, -1.5), stressScale = pow(unit, -2.5);
    knResult result = kn_success;
    for (uint32_t m = 0; result == kn_success && m < modes->basis.count; ++m)
    {
        const double* u = knElasticBasis_Vector(&modes->basis, m);
        double* stress = stresses + 6 * n * m;
        result = knElastic_Stress(elastic, u, stress);
        for (size_t i = 0; result == kn_success && i < 6 * n; ++i)
        {
            stress[i] *= stressScale;
        }
        for (size_t i = 0; i < 3 * n; ++i)
        {
            shapes[3 * n * m + i % 3 * n + i / 3] = shapeScale * u[i];
        }
        eigenvalues[m] = modes->eigenvalues[m] / (unit * unit);
    }
    *def = (knModeSetDef){.modeCount = modes->basis.count,
                          .nodeCount = (uint32_t)n,
                          .poisson = (float)elastic->poisson,
                          .eigenvalues = eigenvalues,
                          .shapes = shapes,
                          .stresses = stresses};
    return result;
}

knResult knEncodeElasticModes(const knElasticModes* modes, bool isAnchored,
                              const knAllocator* allocator, void** bytes, size_t* size)
{
    const knAllocator* a = &modes->basis.elastic->allocator;
    size_t count = modes->basis.count, n = modes->basis.elastic->mesh->nodeCount;
    double* memory = knAllocate(a, count * (9 * n + 1), sizeof(double));
    if (!memory)
    {
        return kn_errorMemory;
    }
    knModeSetDef def;
    knResult result = FillDef(modes, &def, memory, memory + 3 * n * count, memory + 9 * n * count);
    def.isAnchored = isAnchored;
    result = result == kn_success ? knEncodeModes(&def, allocator, bytes, size) : result;
    knRelease(a, memory, count * (9 * n + 1), sizeof(double));
    return result;
}

// The child's part.
static knResult Solve(void* context, knBuffer* answer)
{
    const knModeJob* job = context;
    knElastic elastic;
    knElasticModes modes = {0};
    knResult result = knCreateElastic(&elastic, job->mesh, job->options->poisson, NULL);
    if (result != kn_success)
    {
        return result;
    }
    uint8_t* fixed = job->anchors ? MakeFixed(&elastic, job->anchors) : NULL;
    knElasticModeOptions options = {.fixed = fixed, .count = job->options->count};
    result =
        job->anchors && !fixed ? kn_errorMemory : knSolveElasticModes(&modes, &elastic, &options);
    void* bytes = NULL;
    size_t size = 0;
    result = result == kn_success
                 ? knEncodeElasticModes(&modes, job->anchors != NULL, NULL, &bytes, &size)
                 : result;
    result = result == kn_success ? knBuffer_Append(answer, bytes, size) : result;
    knRelease(NULL, bytes, size, 1);
    knRelease(NULL, fixed, elastic.nodeCount, 1);
    knDestroyElasticModes(&modes);
    knDestroyElastic(&elastic);
    return result;
}

// Tetrahedra reached from the first across faces; parts that only touch along an edge hinge there.
static knResult IsOnePart(const knTetMesh* mesh, const knAllocator* allocator, bool* isOne)
{
    uint32_t count = 1, done = 0;
    uint32_t* list = knAllocate(allocator, mesh->tetCount, sizeof(uint32_t));
    uint8_t* seen = knAllocate(allocator, mesh->tetCount, 1);
    knResult result = list && seen ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        memset(seen, 0, mesh->tetCount);
        list[0] = 0;
        seen[0] = 1;
        for (; done < count; ++done)
        {
            const uint32_t* next = mesh->neighbors[list[done]].t;
            for (int i = 0; i < 4; ++i)
            {
                if (next[i] != KN_NONE && !seen[next[i]])
                {
                    seen[next[i]] = 1;
                    list[count++] = next[i];
                }
            }
        }
        *isOne = count == mesh->tetCount;
    }
    knRelease(allocator, list, mesh->tetCount, sizeof(uint32_t));
    knRelease(allocator, seen, mesh->tetCount, 1);
    return result;
}

static knResult RunSolve(const knModeJob* job, const knAllocator* allocator,
                         knAssetSection* section, char note[KN_MAX_MESSAGE])
{
    knBuffer answer = knMakeBuffer(allocator);
    knContainReport report;
    knModeJob copy = *job;
    knResult result = knRunContained(Solve, &copy, job->limits, &answer, &report);
    if (result != kn_success)
    {
        snprintf(note, KN_MAX_MESSAGE, "%s", knLastError());
        knDestroyBuffer(&answer);
        // the child's want of memory costs the modes, ours the whole cooking
        return result == kn_errorMemory && report.message[0] == 0 ? result : kn_success;
    }
    void* bytes = knAllocate(allocator, answer.size, 1);
    if (bytes)
    {
        memcpy(bytes, answer.bytes, answer.size);
        section->data = bytes;
        section->size = answer.size;
    }
    knDestroyBuffer(&answer);
    return bytes ? kn_success : kn_errorMemory;
}

knResult knCookModes(const knModeJob* job, const knAllocator* allocator, knAssetSection* section,
                     char note[KN_MAX_MESSAGE])
{
    *section = (knAssetSection){.tag = job->anchors ? KN_ANCHORED_MODES_TAG : KN_FREE_MODES_TAG,
                                .version = KN_MODES_VERSION};
    note[0] = 0;
    bool isOne = false;
    knResult result = IsOnePart(job->mesh, allocator, &isOne);
    if (result != kn_success)
    {
        return result;
    }
    if (!isOne)
    {
        snprintf(note, KN_MAX_MESSAGE, "the object has several parts, which have no common modes");
        return kn_success;
    }
    return RunSolve(job, allocator, section, note);
}
