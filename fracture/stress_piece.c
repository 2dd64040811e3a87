// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

#include <string.h>

// Coefficients of the displacement along the mesh's axes, by monomial and time.
typedef struct Field
{
    const Ritz* ritz;
    float (*values)[KN_STRESS_TIMES][3];
    float lambda, mu;
} Field;

static void FillField(Field* field, const uint32_t* picks)
{
    const Ritz* ritz = field->ritz;
    const StressTask* task = ritz->task;
    const knDVec3* e = ritz->frame.axes;
    for (uint32_t m = 0; m < ritz->space.count; ++m)
    {
        for (uint32_t k = 0; k < KN_STRESS_TIMES; ++k)
        {
            uint32_t step = picks[k < task->timeCount ? k : 0];
            const double* u = ritz->states + (size_t)step * ritz->n + 3 * (size_t)m;
            knDVec3 w =
                knDAdd(knDAdd(knDScale(u[0], e[0]), knDScale(u[1], e[1])), knDScale(u[2], e[2]));
            field->values[m][k][0] = (float)w.x;
            field->values[m][k][1] = (float)w.y;
            field->values[m][k][2] = (float)w.z;
        }
    }
}

// Powers of the coordinates of eight nodes, in the piece's frame.
typedef struct Lanes
{
    float p[3][MAX_DEGREE + 1][KN_STRESS_LANES];
} Lanes;

static void LoadLanes(const Ritz* ritz, uint32_t firstNode, Lanes* lanes)
{
    const StressTask* task = ritz->task;
    for (uint32_t i = 0; i < KN_STRESS_LANES; ++i)
    {
        uint32_t slot = firstNode + i < task->nodeCount ? firstNode + i : task->nodeCount - 1;
        knDVec3 x =
            knStress_ToFrame(&ritz->frame, knToDouble(task->mesh->nodes[task->nodes[slot]]));
        lanes->p[0][1][i] = (float)x.x;
        lanes->p[1][1][i] = (float)x.y;
        lanes->p[2][1][i] = (float)x.z;
    }
    for (int a = 0; a < 3; ++a)
    {
        for (int i = 0; i < KN_STRESS_LANES; ++i)
        {
            lanes->p[a][0][i] = 1.0f;
            for (int k = 2; k <= MAX_DEGREE; ++k)
            {
                lanes->p[a][k][i] = lanes->p[a][k - 1][i] * lanes->p[a][1][i];
            }
        }
    }
}

// Gradient of one monomial along the mesh's axes.
static void MonomialGradient(const Ritz* ritz, const Lanes* lanes, const uint8_t* e,
                             float (*out)[KN_STRESS_LANES])
{
    float turn[3][3]; // how the slope along axis a of the frame counts along x, y, z
    for (int a = 0; a < 3; ++a)
    {
        double s = e[a] / ritz->frame.scale[a];
        turn[a][0] = (float)(s * ritz->frame.axes[a].x);
        turn[a][1] = (float)(s * ritz->frame.axes[a].y);
        turn[a][2] = (float)(s * ritz->frame.axes[a].z);
    }
    const float* x = lanes->p[0][e[0]];
    const float* y = lanes->p[1][e[1]];
    const float* z = lanes->p[2][e[2]];
    const float* dx = lanes->p[0][e[0] > 0 ? e[0] - 1 : 0];
    const float* dy = lanes->p[1][e[1] > 0 ? e[1] - 1 : 0];
    const float* dz = lanes->p[2][e[2] > 0 ? e[2] - 1 : 0];
    for (int i = 0; i < KN_STRESS_LANES; ++i)
    {
        float a = dx[i] * y[i] * z[i];
        float b = x[i] * dy[i] * z[i];
        float c = x[i] * y[i] * dz[i];
        out[0][i] = turn[0][0] * a + turn[1][0] * b + turn[2][0] * c;
        out[1][i] = turn[0][1] * a + turn[1][1] * b + turn[2][1] * c;
        out[2][i] = turn[0][2] * a + turn[1][2] * b + turn[2][2] * c;
    }
}

// Adds one monomial's strain: xx yy zz and twice xy yz zx.
static void AddStrain(const float u[3], const float (*g)[KN_STRESS_LANES],
                      float (*s)[KN_STRESS_LANES])
{
    for (int i = 0; i < KN_STRESS_LANES; ++i)
    {
        s[0][i] += u[0] * g[0][i];
        s[1][i] += u[1] * g[1][i];
        s[2][i] += u[2] * g[2][i];
        s[3][i] += u[0] * g[1][i] + u[1] * g[0][i];
        s[4][i] += u[1] * g[2][i] + u[2] * g[1][i];
        s[5][i] += u[2] * g[0][i] + u[0] * g[2][i];
    }
}

static void StrainToStress(const Field* field, float (*s)[KN_STRESS_LANES])
{
    for (int i = 0; i < KN_STRESS_LANES; ++i)
    {
        float volume = field->lambda * (s[0][i] + s[1][i] + s[2][i]);
        for (int c = 0; c < 3; ++c)
        {
            s[c][i] = volume + 2.0f * field->mu * s[c][i];
            s[c + 3][i] *= field->mu;
        }
    }
}

static void EvaluateBlock(const Field* field, uint32_t firstNode, StressBlock* block)
{
    const Ritz* ritz = field->ritz;
    Lanes lanes;
    LoadLanes(ritz, firstNode, &lanes);
    memset(block, 0, sizeof *block);
    for (uint32_t m = 0; m < ritz->space.count; ++m)
    {
        float gradient[3][KN_STRESS_LANES];
        MonomialGradient(ritz, &lanes, ritz->space.powers[m], gradient);
        for (uint32_t k = 0; k < ritz->task->timeCount; ++k)
        {
            AddStrain(field->values[m][k], (const float(*)[KN_STRESS_LANES])gradient, block->s[k]);
        }
    }
    for (uint32_t k = 0; k < ritz->task->timeCount; ++k)
    {
        StrainToStress(field, block->s[k]);
    }
}

static void EvaluateNodes(Ritz* ritz, Field* field)
{
    StressTask* task = ritz->task;
    uint32_t picks[KN_STRESS_TIMES];
    task->timeCount = knStress_PickTimes(ritz->energies, ritz->stepCount, picks);
    for (uint32_t k = 0; k < task->timeCount; ++k)
    {
        task->times[k] = ritz->times[picks[k]];
        task->result.strainEnergy = fmax(task->result.strainEnergy, ritz->energies[picks[k]]);
    }
    const knMaterial* m = task->def->material;
    double nu = m->poissonRatio;
    field->lambda = (float)(m->youngsModulus * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)));
    field->mu = (float)(m->youngsModulus / (2.0 * (1.0 + nu)));
    FillField(field, picks);
    StressBlock block;
    for (uint32_t first = 0; first < task->nodeCount; first += KN_STRESS_LANES)
    {
        EvaluateBlock(field, first, &block);
        knStress_KeepLargest(task, &block, first);
    }
    task->result.workUnits +=
        (uint64_t)task->nodeCount * (ritz->space.count * (9 * task->timeCount + 15) + 40);
}

static bool Allocate(Ritz* ritz)
{
    knArena* arena = ritz->task->arena;
    size_t n = ritz->n;
    ritz->moments = knArena_Allocate(arena, 1, sizeof *ritz->moments);
    const int* counts = ritz->grid.counts;
    ritz->grid.cells =
        knArena_Allocate(arena, (size_t)(counts[0] * counts[1] * counts[2]), sizeof(knMoments));
    ritz->stiffness = knArena_Allocate(arena, n * n, sizeof(double));
    ritz->factor = knArena_Allocate(arena, n * n, sizeof(double));
    ritz->mass =
        knArena_Allocate(arena, (size_t)ritz->space.count * ritz->space.count, sizeof(double));
    ritz->slopes =
        knArena_Allocate(arena, (size_t)ritz->space.count * ritz->space.count, sizeof(double));
    ritz->states = knArena_Allocate(arena, MAX_STEPS * n, sizeof(double));
    ritz->loads = knArena_Allocate(arena, ritz->task->def->impactCount * n, sizeof(double));
    ritz->steady = knArena_Allocate(arena, n, sizeof(double));
    ritz->steadyForce = knArena_Allocate(arena, n, sizeof(double));
    ritz->scratch = knArena_Allocate(arena, MOTION_VECTORS * n, sizeof(double));
    return ritz->moments && ritz->grid.cells && ritz->stiffness && ritz->factor && ritz->mass &&
           ritz->slopes && ritz->states && ritz->loads && ritz->steady && ritz->steadyForce &&
           ritz->scratch;
}

size_t knStress_PieceBytes(const knStressDef* def)
{
    size_t n = MAX_UNKNOWNS;
    size_t matrices = 2 * n * n + 2 * MAX_MONOMIALS * MAX_MONOMIALS;
    size_t vectors = n * (MAX_STEPS + def->impactCount + 2 + MOTION_VECTORS);
    return sizeof(Moments3) + MAX_CELLS * sizeof(knMoments) + 8 * (matrices + vectors) +
           MAX_MONOMIALS * KN_STRESS_TIMES * 3 * sizeof(float) + 12 * (size_t)KN_CACHE_LINE;
}

knResult knStress_SolvePiece(StressTask* task)
{
    Ritz ritz = {.task = task};
    knStress_ChooseSpace(&ritz);
    Field field = {.ritz = &ritz};
    field.values = knArena_Allocate(task->arena, ritz.space.count, sizeof *field.values);
    if (!field.values || !Allocate(&ritz))
    {
        return kn_errorMemory;
    }
    knStress_FillCells(&ritz);
    knStress_AddMoments(&ritz);
    knStress_Assemble(&ritz);
    knStress_AddAnchors(&ritz);
    knStress_GatherLoads(&ritz);
    knStress_RunSteps(&ritz);
    EvaluateNodes(&ritz, &field);
    task->result.modeCount = ritz.space.count;
    return kn_success;
}
