// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

#include <simde/x86/sse2.h>
#include <string.h>

// Modes that move, and how.
typedef struct ModalState
{
    const knModeSet* modes;
    double* forces;                    // [impact][mode]: shape at the hit . impulse, m^-1.5 N s
    double* steady;                    // [mode]: coordinate under the steady loads
    double* largest;                   // [mode]: energy
    float (*factors)[KN_STRESS_TIMES]; // [active]: what a stored stress is multiplied with
    float (*rows)[KN_STRESS_LANES];    // [block][active]: stored stresses of eight nodes
    uint32_t* active;                  // modes that are worth it
    uint32_t activeCount;
} ModalState;

// Blocks of eight nodes that are summed together.
#define RUN_BLOCKS 4

// Nodes from one run to the one after the next.
#define AHEAD (2 * RUN_BLOCKS * KN_STRESS_LANES)

typedef struct ModalRun
{
    uint32_t firstNodes[RUN_BLOCKS];
    uint32_t count;
} ModalRun;

bool knStress_HasModes(const knStressDef* def)
{
    const knModeSet* modes = def->modes;
    // a held object vibrates otherwise than a free one: the modes must have been cooked held
    return modes && modes->modeCount > 0 && def->fragment == 0 &&
           modes->isAnchored == (def->anchorCount > 0);
}

static double Omega(const StressTask* task, const ModalState* state, uint32_t mode)
{
    double modulus = task->def->material->youngsModulus;
    return sqrt((double)state->modes->eigenvalues[mode] * modulus / task->def->set->density);
}

static double ShapeDot(const knModeSet* modes, uint32_t mode, const SurfacePoint* at, knVec3 v)
{
    const int16_t* shape = modes->shapes + 3 * (size_t)mode * modes->nodeCount;
    double sum = 0.0;
    for (int i = 0; i < 3; ++i)
    {
        uint32_t n = at->nodes[i];
        double x = (double)shape[n] * (double)v.x;
        double y = (double)shape[modes->nodeCount + n] * (double)v.y;
        double z = (double)shape[2 * (size_t)modes->nodeCount + n] * (double)v.z;
        sum += (double)at->weights[i] * (x + y + z);
    }
    return sum * (double)modes->shapeScales[mode];
}

static void GatherForces(StressTask* task, ModalState* state)
{
    const knStressDef* def = task->def;
    uint32_t modeCount = state->modes->modeCount;
    memset(state->steady, 0, modeCount * sizeof *state->steady);
    for (uint32_t k = 0; k < def->impactCount; ++k)
    {
        const knImpact* impact = &def->impacts[k];
        SurfacePoint at = knStress_Locate(task->mesh, impact->point);
        double* forces = state->forces + (size_t)k * modeCount;
        for (uint32_t i = 0; i < modeCount; ++i)
        {
            double force = ShapeDot(state->modes, i, &at, impact->impulse);
            bool isSteady = impact->kind == kn_loadSteady;
            double stiffness = (double)state->modes->eigenvalues[i] * def->material->youngsModulus;
            forces[i] = isSteady ? 0.0 : force;
            state->steady[i] += isSteady ? force / (double)impact->duration / stiffness : 0.0;
        }
        task->result.workUnits += task->mesh->boundaryFaceCount + 9 * (uint64_t)modeCount;
    }
}

static double Coordinate(const StressTask* task, const ModalState* state, uint32_t mode, double t)
{
    const knStressDef* def = task->def;
    double omega = Omega(task, state, mode);
    double q = state->steady[mode];
    for (uint32_t k = 0; k < def->impactCount; ++k)
    {
        double force = state->forces[(size_t)k * state->modes->modeCount + mode];
        if (force != 0.0)
        {
            double duration = knStress_Duration(def, &def->impacts[k]);
            q += force / def->set->density * knStress_HalfSine(omega, duration, t);
        }
    }
    return q;
}

static double ModeEnergy(const StressTask* task, const ModalState* state, uint32_t mode, double q)
{
    return 0.5 * (double)state->modes->eigenvalues[mode] * task->def->material->youngsModulus * q *
           q;
}

// Even times from the first part of the hit until the slowest mode was at its largest.
static uint32_t PlanTimes(const StressTask* task, const ModalState* state, double* times)
{
    double duration = knStress_LongestHit(task->def);
    if (!(duration > 0.0))
    {
        times[0] = 0.0;
        return 1;
    }
    double period = 6.283185307179586 / Omega(task, state, 0);
    double first = 0.2 * duration;
    double range = duration + 0.3 * period - first;
    for (uint32_t k = 0; k < KN_STRESS_SCAN; ++k)
    {
        times[k] = first + range * k / (KN_STRESS_SCAN - 1);
    }
    return KN_STRESS_SCAN;
}

// A mode counts when its stress comes to a thousandth of the largest.
static void ChooseModes(ModalState* state, const double* largest)
{
    double total = 0.0;
    for (uint32_t i = 0; i < state->modes->modeCount; ++i)
    {
        total += largest[i];
    }
    state->activeCount = 0;
    for (uint32_t i = 0; i < state->modes->modeCount; ++i)
    {
        if (largest[i] > 1e-6 * total)
        {
            state->active[state->activeCount++] = i;
        }
    }
}

static void ScanTimes(StressTask* task, ModalState* state)
{
    double times[KN_STRESS_SCAN];
    double energies[KN_STRESS_SCAN] = {0};
    uint32_t count = PlanTimes(task, state, times);
    uint32_t modeCount = state->modes->modeCount;
    for (uint32_t i = 0; i < modeCount; ++i)
    {
        state->largest[i] = 0.0;
        for (uint32_t k = 0; k < count; ++k)
        {
            double energy = ModeEnergy(task, state, i, Coordinate(task, state, i, times[k]));
            energies[k] += energy;
            state->largest[i] = fmax(state->largest[i], energy);
        }
    }
    ChooseModes(state, state->largest);
    uint32_t picks[KN_STRESS_TIMES];
    task->timeCount = knStress_PickTimes(energies, count, picks);
    for (uint32_t k = 0; k < task->timeCount; ++k)
    {
        task->times[k] = times[picks[k]];
        task->result.strainEnergy = fmax(task->result.strainEnergy, energies[picks[k]]);
    }
    task->result.workUnits += 16 * (uint64_t)modeCount * count;
}

static void FillFactors(StressTask* task, ModalState* state)
{
    for (uint32_t a = 0; a < state->activeCount; ++a)
    {
        uint32_t i = state->active[a];
        double scale = task->def->material->youngsModulus * (double)state->modes->stressScales[i];
        for (uint32_t k = 0; k < KN_STRESS_TIMES; ++k)
        {
            bool isUsed = k < task->timeCount;
            float factor =
                isUsed ? (float)(scale * Coordinate(task, state, i, task->times[k])) : 0.0f;
            state->factors[a][k] = factor;
        }
    }
}

// Eight stored integers as floats.
static void LoadEight(const int16_t* from, float* to)
{
    simde__m128i x = simde_mm_loadu_si128((const simde__m128i*)from);
    simde__m128i low = simde_mm_srai_epi32(simde_mm_unpacklo_epi16(x, x), 16);
    simde__m128i high = simde_mm_srai_epi32(simde_mm_unpackhi_epi16(x, x), 16);
    simde_mm_storeu_ps(to, simde_mm_cvtepi32_ps(low));
    simde_mm_storeu_ps(to + 4, simde_mm_cvtepi32_ps(high));
}

// One component of a run of blocks: a line of the cache holds four blocks of one mode's numbers.
static void SumRun(const ModalState* state, SumRowsFcn* sumRows, const ModalRun* run, uint32_t c,
                   StressBlock* blocks)
{
    size_t nodeCount = state->modes->nodeCount;
    const int16_t* column = state->modes->stresses + c * nodeCount;
    size_t ahead = (size_t)run->firstNodes[0] + AHEAD;
    ahead = ahead < nodeCount ? ahead : 0;
    for (uint32_t a = 0; a < state->activeCount; ++a)
    {
        const int16_t* numbers = column + 6 * state->active[a] * nodeCount;
        // hundreds of columns are more than the hardware follows by itself
        simde_mm_prefetch((const char*)(numbers + ahead), SIMDE_MM_HINT_T0);
        for (uint32_t b = 0; b < run->count; ++b)
        {
            LoadEight(numbers + run->firstNodes[b], state->rows[b * state->activeCount + a]);
        }
    }
    for (uint32_t b = 0; b < run->count; ++b)
    {
        RowSum sum = {(const float(*)[KN_STRESS_LANES])state->rows + b * state->activeCount,
                      (const float(*)[KN_STRESS_TIMES])state->factors, state->activeCount};
        sumRows(&sum, blocks[b].s[c]);
    }
}

static void SumNodes(StressTask* task, const ModalState* state)
{
    uint32_t count = task->nodeCount;
    StressBlock blocks[RUN_BLOCKS];
    SumRowsFcn* sumRows = knStress_ChooseSum();
    KeepLargestFcn* keep = knStress_ChooseKeep();
    for (uint32_t first = 0; first < count;)
    {
        ModalRun run = {.count = 0};
        for (; run.count < RUN_BLOCKS && first < count; first += KN_STRESS_LANES)
        {
            // the last block begins earlier, so that no lane reads past the end of a component
            bool isLast = first + KN_STRESS_LANES > count;
            run.firstNodes[run.count++] = isLast ? count - KN_STRESS_LANES : first;
        }
        for (uint32_t c = 0; c < 6; ++c)
        {
            SumRun(state, sumRows, &run, c, blocks);
        }
        for (uint32_t b = 0; b < run.count; ++b)
        {
            keep(task, &blocks[b], run.firstNodes[b]);
        }
    }
}

static bool Allocate(StressTask* task, ModalState* state)
{
    uint32_t modeCount = state->modes->modeCount;
    state->forces = knArena_Allocate(task->arena, (size_t)task->def->impactCount * modeCount,
                                     sizeof *state->forces);
    state->steady = knArena_Allocate(task->arena, modeCount, sizeof *state->steady);
    state->largest = knArena_Allocate(task->arena, modeCount, sizeof *state->largest);
    state->factors = knArena_Allocate(task->arena, modeCount, sizeof *state->factors);
    state->rows =
        knArena_Allocate(task->arena, (size_t)RUN_BLOCKS * modeCount, sizeof *state->rows);
    state->active = knArena_Allocate(task->arena, modeCount, sizeof *state->active);
    return state->forces && state->steady && state->largest && state->factors && state->rows &&
           state->active;
}

size_t knStress_ModalBytes(const knStressDef* def)
{
    size_t modeCount = def->modes->modeCount;
    return modeCount * (8 * (size_t)def->impactCount + 8 + 8 + 4 * KN_STRESS_TIMES +
                        4 * RUN_BLOCKS * KN_STRESS_LANES + 4) +
           6 * (size_t)KN_CACHE_LINE;
}

knResult knStress_SolveModal(StressTask* task)
{
    ModalState state = {.modes = task->def->modes};
    if (!Allocate(task, &state))
    {
        return kn_errorMemory;
    }
    GatherForces(task, &state);
    ScanTimes(task, &state);
    FillFactors(task, &state);
    SumNodes(task, &state);
    task->result.isModal = true;
    task->result.modeCount = state.activeCount;
    task->result.workUnits +=
        (uint64_t)task->nodeCount * KN_STRESS_TIMES * (6 * (uint64_t)state.activeCount + 40);
    return kn_success;
}
