// SPDX-License-Identifier: Zlib
// How many modes are enough: the stress of slow hits on a free object summed from the lowest modes,
// against a direct solve of the same elements.

#include "bench/benches.h"
#include "bench/breakage.h"
#include "bench/files.h"

#include <math.h>
#include <string.h>

#ifdef KN_BENCH_TOOLS
#include "tools/elastic.h"
#include "tools/modes.h"

#define HITS  12
#define PATCH 0.08 // radius of the loaded patch in units of half the diagonal

static const char* const meshes[] = {"brick", "plate", "bunny"};
static const uint32_t counts[] = {16, 32, 48, 64, 96};
#define COUNT_COUNT (sizeof counts / sizeof counts[0])

// One object with its hits.
typedef struct Study
{
    knElastic elastic;
    size_t dofs, corners;
    knDVec3 places[HITS];
    double* forces; // [hit][dof]
    double* truth;  // [hit][6][corner]
    double* sums;   // the same from modes
    double* u;      // [hit][dof]
    double* memory;
    size_t memoryCount;
} Study;

static knResult MakeStudy(Study* s, const knTetMesh* mesh)
{
    knResult result = knCreateElastic(&s->elastic, mesh, KN_DEFAULT_POISSON, NULL);
    if (result != kn_success)
    {
        return result;
    }
    s->dofs = 3 * (size_t)s->elastic.nodeCount;
    s->corners = mesh->nodeCount;
    s->memoryCount = HITS * (2 * s->dofs + 12 * s->corners);
    s->memory = knAllocate(NULL, s->memoryCount, sizeof(double));
    if (!s->memory)
    {
        return kn_errorMemory;
    }
    memset(s->memory, 0, s->memoryCount * sizeof(double));
    s->forces = s->memory;
    s->u = s->forces + HITS * s->dofs;
    s->truth = s->u + HITS * s->dofs;
    s->sums = s->truth + HITS * 6 * s->corners;
    return kn_success;
}

static void DestroyStudy(Study* s)
{
    knRelease(NULL, s->memory, s->memoryCount, sizeof(double));
    knDestroyElastic(&s->elastic);
}

static knDVec3 AreaVector(const Study* s, knTriangle t)
{
    knDVec3 p = knElastic_Position(&s->elastic, t.v[0]);
    return knDScale(0.5, knDCross(knDSub(knElastic_Position(&s->elastic, t.v[1]), p),
                                  knDSub(knElastic_Position(&s->elastic, t.v[2]), p)));
}

// Unit force along the normal, spread over a patch of the side that was hit.
static void FillHit(Study* s, int hit, knRandom* random)
{
    const knTetMesh* m = s->elastic.mesh;
    uint32_t face = m->boundaryFaces[knRandom_Below(random, m->boundaryFaceCount)];
    knTriangle struck = knTetMesh_BoundaryTriangle(m, face);
    knDVec3 normal = AreaVector(s, struck);
    normal = knDScale(1.0 / knDLength(normal), normal);
    knDVec3 center = {0};
    for (int k = 0; k < 3; ++k)
    {
        center = knDAdd(center, knDScale(1.0 / 3.0, knElastic_Position(&s->elastic, struck.v[k])));
    }
    s->places[hit] = center;
    double* f = s->forces + (size_t)hit * s->dofs;
    double whole = 0.0;
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        knTriangle t = knTetMesh_BoundaryTriangle(m, m->boundaryFaces[i]);
        double area = knDDot(AreaVector(s, t), normal);
        for (int k = 0; area > 0.0 && k < 3; ++k)
        {
            uint32_t node = t.v[k];
            knDVec3 away = knDSub(knElastic_Position(&s->elastic, node), center);
            // coarse triangles can be larger than the patch: their own corners always count
            bool own = m->boundaryFaces[i] == face;
            double share = area * fmax(1.0 - knDLength(away) / PATCH, own ? 0.01 : 0.0);
            whole += share;
            f[3 * (size_t)node] -= share * normal.x;
            f[3 * (size_t)node + 1] -= share * normal.y;
            f[3 * (size_t)node + 2] -= share * normal.z;
        }
    }
    for (size_t d = 0; d < s->dofs; ++d)
    {
        f[d] /= whole;
    }
}

static knResult SolveDirectly(Study* s)
{
    knStaticLoads loads = {s->forces, HITS};
    knResult result = knElastic_Static(&s->elastic, NULL, &loads, s->u);
    for (size_t h = 0; result == kn_success && h < HITS; ++h)
    {
        result = knElastic_Stress(&s->elastic, s->u + h * s->dofs, s->truth + h * 6 * s->corners);
    }
    return result;
}

// Adds what modes [first, last) contribute to every hit.
static knResult AddModes(Study* s, const knElasticModes* modes, uint32_t first, uint32_t last)
{
    size_t count = 6 * s->corners;
    double* stress = knAllocate(NULL, count, sizeof(double));
    knResult result = stress ? kn_success : kn_errorMemory;
    for (uint32_t m = first; result == kn_success && m < last; ++m)
    {
        const double* u = knElasticBasis_Vector(&modes->basis, m);
        result = knElastic_Stress(&s->elastic, u, stress);
        for (size_t h = 0; result == kn_success && h < HITS; ++h)
        {
            double q = 0.0;
            for (size_t d = 0; d < s->dofs; ++d)
            {
                q += u[d] * s->forces[h * s->dofs + d] / modes->eigenvalues[m];
            }
            for (size_t i = 0; i < count; ++i)
            {
                s->sums[h * count + i] += q * stress[i];
            }
        }
    }
    knRelease(NULL, stress, count, sizeof(double));
    return result;
}

// Largest principal stress from the invariants.
static double Principal(const double* s, size_t stride)
{
    double xx = s[0], yy = s[stride], zz = s[2 * stride];
    double xy = s[3 * stride], yz = s[4 * stride], zx = s[5 * stride];
    double mean = (xx + yy + zz) / 3.0, a = xx - mean, b = yy - mean, c = zz - mean;
    double j2 = 0.5 * (a * a + b * b + c * c) + xy * xy + yz * yz + zx * zx;
    double j3 = a * (b * c - yz * yz) - xy * (xy * c - yz * zx) + zx * (xy * yz - b * zx);
    double radius = sqrt(j2 / 3.0);
    double angle = radius > 0.0 ? j3 / (2.0 * radius * radius * radius) : 0.0;
    return mean + 2.0 * radius * cos(acos(fmax(-1.0, fmin(1.0, angle))) / 3.0);
}

typedef struct Errors
{
    double all[HITS];  // root mean square of the tensor, of that of the truth
    double peak[HITS]; // of the largest tension
} Errors;

// Outside three patch radii: under the hit itself stress depends on how the load is spread.
static Errors Compare(const Study* s)
{
    Errors e;
    size_t n = s->corners;
    for (size_t h = 0; h < HITS; ++h)
    {
        const double* truth = s->truth + h * 6 * n;
        const double* sum = s->sums + h * 6 * n;
        double wrong = 0.0, whole = 0.0, peak = 0.0, truePeak = 0.0;
        for (uint32_t i = 0; i < n; ++i)
        {
            knDVec3 away = knDSub(knElastic_Position(&s->elastic, i), s->places[h]);
            for (size_t k = i; knDLength(away) > 3.0 * PATCH && k < 6 * n; k += n)
            {
                wrong += (sum[k] - truth[k]) * (sum[k] - truth[k]);
                whole += truth[k] * truth[k];
            }
            if (knDLength(away) > 3.0 * PATCH)
            {
                peak = fmax(peak, Principal(sum + i, n));
                truePeak = fmax(truePeak, Principal(truth + i, n));
            }
        }
        e.all[h] = sqrt(wrong / whole);
        e.peak[h] = fabs(peak / truePeak - 1.0);
    }
    return e;
}

static knResult AddRow(knBenchRun* run, const char* caseName, const char* metric, double* samples)
{
    knBenchRow row = knBenchRun_MakeRow(run, caseName, metric, "1");
    row.worst = knWorst(samples, HITS);
    row.ours = knMedian(samples, HITS);
    snprintf(row.note, sizeof row.note, "relative error over %d hits, away from them", HITS);
    return knBenchRun_AddRow(run, &row);
}

static knResult CompareCounts(knBenchRun* run, Study* s, const char* name, uint32_t most)
{
    knElasticModes modes;
    knElasticModeOptions options = {.count = most};
    knResult result = knSolveElasticModes(&modes, &s->elastic, &options);
    if (result != kn_success)
    {
        return result;
    }
    uint32_t done = 0;
    for (size_t i = 0; result == kn_success && i < COUNT_COUNT && counts[i] <= modes.basis.count;
         ++i)
    {
        char caseName[64];
        snprintf(caseName, sizeof caseName, "%s, %u modes", name, counts[i]);
        result = AddModes(s, &modes, done, counts[i]);
        done = counts[i];
        Errors errors = Compare(s);
        result = result == kn_success ? AddRow(run, caseName, "stress", errors.all) : result;
        result = result == kn_success ? AddRow(run, caseName, "peak", errors.peak) : result;
    }
    knDestroyElasticModes(&modes);
    return result;
}

static knResult StudyMesh(knBenchRun* run, const char* name, const char* path)
{
    knBenchModel model;
    knResult result = knCookBenchModel(&model, path, 0, 0.0);
    if (result != kn_success)
    {
        return result;
    }
    Study s = {0};
    result = MakeStudy(&s, knAsset_TetMesh(model.asset));
    knRandom random = knMakeRandom(7);
    for (int h = 0; result == kn_success && h < HITS; ++h)
    {
        FillHit(&s, h, &random);
    }
    result = result == kn_success ? SolveDirectly(&s) : result;
    result = result == kn_success
                 ? CompareCounts(run, &s, name, counts[run->options.quick ? 1 : COUNT_COUNT - 1])
                 : result;
    DestroyStudy(&s);
    knDestroyBenchModel(&model);
    return result;
}

static knResult Run(knBenchRun* run)
{
    char folder[PATH_MAX], path[PATH_MAX];
    const char* given = run->options.meshPath;
    snprintf(folder, sizeof folder, "%s", given ? given : "");
    if (!given && knFindUpwards(folder, "demos/assets") != kn_success)
    {
        knBenchRun_Skip(run, "all rows", "no demos/assets above knap-bench; name it with --meshes");
        return kn_success;
    }
    knResult result = kn_success;
    size_t count = run->options.quick ? 1 : sizeof meshes / sizeof meshes[0];
    for (size_t i = 0; result == kn_success && i < count; ++i)
    {
        char file[64];
        snprintf(file, sizeof file, "%s.obj", meshes[i]);
        result = knJoinPath(path, folder, file);
        if (result == kn_success && !knPathExists(path))
        {
            knBenchRun_Skip(run, file, "no such mesh in the folder");
            continue;
        }
        result = result == kn_success ? StudyMesh(run, meshes[i], path) : result;
    }
    return result;
}
#else
static knResult Run(knBenchRun* run)
{
    knBenchRun_Skip(run, "all rows", "built without the tools");
    return kn_success;
}
#endif

const knBench knBenchModes = {"modes", "stress from so many elastic modes beside a direct solve",
                              Run};
