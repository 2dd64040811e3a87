// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

// The stress as polynomials: the slopes of the displacement's, one degree lower, and so a third of
// the work at every node.
typedef struct Field
{
    const Ritz* ritz;
    PolySpace space;
    uint8_t places[MAX_DEGREE + 1][MAX_DEGREE + 1][MAX_DEGREE + 1]; // of a monomial in it
    float (*factors)[MAX_MONOMIALS][KN_STRESS_TIMES];               // [component][monomial][time]
    double lambda, mu;
    SumRowsFcn* sumRows;
} Field;

static void LayOutField(Field* field)
{
    const int* limit = field->ritz->space.limit;
    knStress_SetLimits(&field->space, limit[0] - 1, limit[1], limit[2]);
    for (uint32_t m = 0; m < field->space.count; ++m)
    {
        const uint8_t* e = field->space.powers[m];
        field->places[e[0]][e[1]][e[2]] = (uint8_t)m;
    }
}

// Adds the slopes of one monomial with coefficient w: slopes[m][i][j] is that of x_i along x_j.
static void AddSlopes(const Field* field, const uint8_t* e, knDVec3 w, double (*slopes)[3][3])
{
    const PieceFrame* frame = &field->ritz->frame;
    const double u[3] = {w.x, w.y, w.z};
    for (int a = 0; a < 3; ++a)
    {
        if (e[a] == 0)
        {
            continue;
        }
        uint8_t m = field->places[e[0] - (a == 0)][e[1] - (a == 1)][e[2] - (a == 2)];
        double s = e[a] / frame->scale[a];
        const double along[3] = {s * frame->axes[a].x, s * frame->axes[a].y, s * frame->axes[a].z};
        for (int i = 0; i < 9; ++i)
        {
            slopes[m][i / 3][i % 3] += u[i / 3] * along[i % 3];
        }
    }
}

static void FillTime(Field* field, const double* state, uint32_t time)
{
    const Ritz* ritz = field->ritz;
    const knDVec3* e = ritz->frame.axes;
    double slopes[MAX_MONOMIALS][3][3] = {0};
    for (uint32_t m = 0; m < ritz->space.count; ++m)
    {
        const double* u = state + 3 * (size_t)m;
        knDVec3 w =
            knDAdd(knDAdd(knDScale(u[0], e[0]), knDScale(u[1], e[1])), knDScale(u[2], e[2]));
        AddSlopes(field, ritz->space.powers[m], w, slopes);
    }
    for (uint32_t m = 0; m < field->space.count; ++m)
    {
        double(*g)[3] = slopes[m];
        double volume = field->lambda * (g[0][0] + g[1][1] + g[2][2]);
        for (int c = 0; c < 3; ++c)
        {
            int next = (c + 1) % 3;
            field->factors[c][m][time] = (float)(volume + 2.0 * field->mu * g[c][c]);
            field->factors[c + 3][m][time] = (float)(field->mu * (g[c][next] + g[next][c]));
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
        knDVec3 x = ritz->places[slot];
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

static void EvaluateBlock(const Field* field, uint32_t firstNode, StressBlock* block)
{
    Lanes lanes;
    float rows[MAX_MONOMIALS][KN_STRESS_LANES];
    LoadLanes(field->ritz, firstNode, &lanes);
    for (uint32_t m = 0; m < field->space.count; ++m)
    {
        const uint8_t* e = field->space.powers[m];
        for (int i = 0; i < KN_STRESS_LANES; ++i)
        {
            rows[m][i] = lanes.p[0][e[0]][i] * lanes.p[1][e[1]][i] * lanes.p[2][e[2]][i];
        }
    }
    for (uint32_t c = 0; c < 6; ++c)
    {
        RowSum sum = {(const float(*)[KN_STRESS_LANES])rows,
                      (const float(*)[KN_STRESS_TIMES])field->factors[c], field->space.count};
        field->sumRows(&sum, block->s[c]);
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
    field->lambda = m->youngsModulus * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
    field->mu = m->youngsModulus / (2.0 * (1.0 + nu));
    LayOutField(field);
    for (uint32_t k = 0; k < KN_STRESS_TIMES; ++k)
    {
        uint32_t step = picks[k < task->timeCount ? k : 0];
        FillTime(field, ritz->states + (size_t)step * ritz->n, k);
    }
    KeepLargestFcn* keep = knStress_ChooseKeep();
    StressBlock block;
    for (uint32_t first = 0; first < task->nodeCount; first += KN_STRESS_LANES)
    {
        EvaluateBlock(field, first, &block);
        keep(task, &block, first);
    }
    task->result.workUnits +=
        (uint64_t)task->nodeCount * (field->space.count * (6 * KN_STRESS_TIMES + 2) + 40);
}

static bool Allocate(Ritz* ritz)
{
    knArena* arena = ritz->task->arena;
    size_t n = ritz->n;
    ritz->moments = knArena_Allocate(arena, 1, sizeof *ritz->moments);
    ritz->places = knArena_Allocate(arena, ritz->task->nodeCount, sizeof *ritz->places);
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
    return ritz->moments && ritz->places && ritz->grid.cells && ritz->stiffness && ritz->factor &&
           ritz->mass && ritz->slopes && ritz->states && ritz->loads && ritz->steady &&
           ritz->steadyForce && ritz->scratch;
}

size_t knStress_PieceBytes(const knStressDef* def)
{
    size_t n = MAX_UNKNOWNS;
    size_t matrices = 2 * n * n + 2 * MAX_MONOMIALS * MAX_MONOMIALS;
    size_t vectors = n * (MAX_STEPS + def->impactCount + 2 + MOTION_VECTORS);
    size_t nodes = def->set->fragments[def->fragment].nodeCount * sizeof(knDVec3);
    return nodes + sizeof(Moments3) + MAX_CELLS * sizeof(knMoments) + 8 * (matrices + vectors) +
           6 * sizeof(float[MAX_MONOMIALS][KN_STRESS_TIMES]) + 13 * (size_t)KN_CACHE_LINE;
}

knResult knStress_SolvePiece(StressTask* task)
{
    Ritz ritz = {.task = task};
    knStress_ChooseSpace(&ritz);
    Field field = {.ritz = &ritz, .sumRows = knStress_ChooseSum()};
    field.factors = knArena_Allocate(task->arena, 6, sizeof *field.factors);
    if (!field.factors || !Allocate(&ritz))
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
