// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

#include <string.h>

#define PI          3.14159265358979323846
#define HIT_STEPS   12
#define SWING_STEPS (MAX_STEPS - HIT_STEPS)

// Implicit steps after Hilber, Hughes and Taylor: stable for any step, and what is too fast for the
// step follows the load as if slowly loaded instead of ringing.
static const double damping = -0.1;
static const double beta = 0.3025; // (1 - damping)^2 / 4
static const double gamma_ = 0.6;  // 1/2 - damping

typedef struct Motion
{
    double* u;
    double* v;
    double* a;
    double* load;
    double* work;
} Motion;

// y = A x for symmetric A; rows added up, so that the loop is wide.
static void Multiply(const double* matrix, uint32_t n, const double* x, double* y)
{
    memset(y, 0, n * sizeof *y);
    for (uint32_t k = 0; k < n; ++k)
    {
        const double* row = matrix + (size_t)k * n;
        double f = x[k];
        for (uint32_t j = 0; j < n; ++j)
        {
            y[j] += f * row[j];
        }
    }
}

static double Energy(Ritz* ritz, const double* u, double* work)
{
    Multiply(ritz->elastic, ritz->n, u, work);
    double sum = 0.0;
    for (uint32_t i = 0; i < ritz->n; ++i)
    {
        sum += u[i] * work[i];
    }
    return 0.5 * sum;
}

// factor = massShare M + K
static void FactorStep(Ritz* ritz, double massShare, double stiffnessShare)
{
    uint32_t n = ritz->n;
    uint32_t count = ritz->space.count;
    for (size_t i = 0; i < (size_t)n * n; ++i)
    {
        ritz->factor[i] = stiffnessShare * ritz->stiffness[i];
    }
    for (uint32_t p = 0; p < count; ++p)
    {
        for (uint32_t q = 0; q < count; ++q)
        {
            double mass = massShare * ritz->mass[(size_t)p * count + q];
            for (uint32_t i = 0; i < 3; ++i)
            {
                ritz->factor[(size_t)(3 * p + i) * n + 3 * q + i] += mass;
            }
        }
    }
    knStress_Factor(ritz->factor, n);
    ritz->task->result.workUnits += (uint64_t)n * n * n / 6;
}

// Share of the impulse of half a sine that was given until t.
static double GivenShare(double duration, double t)
{
    double x = t <= 0.0 ? 0.0 : t >= duration ? 1.0 : t / duration;
    return 0.5 - 0.5 * cos(PI * x);
}

// Mean force over a step, so that no impulse is lost however long the step.
static void StepLoad(const Ritz* ritz, double from, double to, double* load)
{
    const knStressDef* def = ritz->task->def;
    memset(load, 0, ritz->n * sizeof *load);
    for (uint32_t k = 0; k < def->impactCount; ++k)
    {
        double duration = knStress_Duration(def, &def->impacts[k]);
        bool isHit = def->impacts[k].kind == kn_loadImpact;
        double share = isHit ? GivenShare(duration, to) - GivenShare(duration, from) : 0.0;
        const double* impulse = ritz->loads + (size_t)k * ritz->n;
        for (uint32_t i = 0; i < ritz->n && share > 0.0; ++i)
        {
            load[i] += share / (to - from) * impulse[i];
        }
    }
}

static void Step(Ritz* ritz, Motion* m, double t, double dt)
{
    uint32_t n = ritz->n;
    double* next = m->work;
    double* rhs = m->work + n;
    for (uint32_t i = 0; i < n; ++i)
    {
        double guess = m->u[i] + dt * m->v[i] + dt * dt * (0.5 - beta) * m->a[i];
        next[i] = (1.0 + damping) * guess - damping * m->u[i];
        m->u[i] = guess;
        m->v[i] += dt * (1.0 - gamma_) * m->a[i];
    }
    Multiply(ritz->stiffness, n, next, rhs);
    StepLoad(ritz, t, t + dt, m->load);
    for (uint32_t i = 0; i < n; ++i)
    {
        m->a[i] = m->load[i] - rhs[i];
    }
    knStress_Backsolve(ritz->factor, n, m->a);
    for (uint32_t i = 0; i < n; ++i)
    {
        m->u[i] += dt * dt * beta * m->a[i];
        m->v[i] += dt * gamma_ * m->a[i];
    }
    ritz->task->result.workUnits += 3 * (uint64_t)n * n;
}

static void Record(Ritz* ritz, Motion* m, double t)
{
    double* state = ritz->states + (size_t)ritz->stepCount * ritz->n;
    for (uint32_t i = 0; i < ritz->n; ++i)
    {
        state[i] = m->u[i] + ritz->steady[i];
    }
    ritz->times[ritz->stepCount] = t;
    ritz->energies[ritz->stepCount] = Energy(ritz, state, m->work);
    ritz->stepCount += 1;
    ritz->task->result.workUnits += (uint64_t)ritz->n * ritz->n;
}

// Slow answer to the loads of one kind, from the factor at work.
static void AnswerSlowly(Ritz* ritz, knLoadKind kind, double* x)
{
    const knStressDef* def = ritz->task->def;
    memset(x, 0, ritz->n * sizeof *x);
    for (uint32_t k = 0; k < def->impactCount; ++k)
    {
        const double* impulse = ritz->loads + (size_t)k * ritz->n;
        double duration = knStress_Duration(def, &def->impacts[k]);
        for (uint32_t i = 0; i < ritz->n && def->impacts[k].kind == kind; ++i)
        {
            x[i] += impulse[i] / duration;
        }
    }
    knStress_Backsolve(ritz->factor, ritz->n, x);
    ritz->task->result.workUnits += (uint64_t)ritz->n * ritz->n;
}

// A trace of inertia carries what nothing holds: slow loads then accelerate a free piece as a
// whole, and strain it as if it were held in its own field of inertia.
static void FactorSlow(Ritz* ritz)
{
    const knMaterial* m = ritz->task->def->material;
    double size = ritz->frame.scale[0];
    FactorStep(ritz, 1e-7 * m->youngsModulus / (m->density * size * size), 1.0);
}

// Period of the motion that the hits set off, from the shape of the slow answer (Rayleigh).
static double EstimatePeriod(Ritz* ritz, Motion* m)
{
    uint32_t n = ritz->n;
    double* shape = m->work;
    double* force = m->work + n;
    AnswerSlowly(ritz, kn_loadImpact, shape);
    Multiply(ritz->stiffness, n, shape, force);
    // motion as a whole has no elastic force, so solving again from the force leaves it out
    memcpy(shape, force, n * sizeof *shape);
    knStress_Backsolve(ritz->factor, n, shape);
    double strain = 0.0;
    double kinetic = 0.0;
    uint32_t count = ritz->space.count;
    for (uint32_t p = 0; p < count; ++p)
    {
        for (uint32_t i = 0; i < 3; ++i)
        {
            double sum = 0.0;
            for (uint32_t q = 0; q < count; ++q)
            {
                sum += ritz->mass[(size_t)p * count + q] * shape[3 * q + i];
            }
            kinetic += sum * shape[3 * p + i];
            strain += force[3 * p + i] * shape[3 * p + i];
        }
    }
    return strain > 0.0 ? 2.0 * PI * sqrt(kinetic / strain) : 0.0;
}

static double RunPhase(Ritz* ritz, Motion* m, double t, double dt, int stepCount)
{
    FactorStep(ritz, 1.0, (1.0 + damping) * beta * dt * dt);
    for (int k = 0; k < stepCount; ++k)
    {
        Step(ritz, m, t, dt);
        t += dt;
        Record(ritz, m, t);
    }
    return t;
}

void knStress_RunSteps(Ritz* ritz)
{
    uint32_t n = ritz->n;
    double* s = ritz->scratch;
    memset(s, 0, MOTION_VECTORS * (size_t)n * sizeof *s);
    Motion m = {.u = s, .v = s + n, .a = s + 2 * n, .load = s + 3 * n, .work = s + 4 * n};
    ritz->stepCount = 0;
    FactorSlow(ritz);
    AnswerSlowly(ritz, kn_loadSteady, ritz->steady);
    double duration = knStress_LongestHit(ritz->task->def);
    if (!(duration > 0.0))
    {
        Record(ritz, &m, 0.0);
        return;
    }
    // a chunk follows the force; a thin piece swings on after a short hit
    double end = duration + 0.3 * EstimatePeriod(ritz, &m);
    double t = RunPhase(ritz, &m, 0.0, duration / 9.0, HIT_STEPS);
    if (end > t)
    {
        RunPhase(ritz, &m, t, (end - t) / SWING_STEPS, SWING_STEPS);
    }
}
