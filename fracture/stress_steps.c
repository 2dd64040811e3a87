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

// Where the piece is and what its stiffness makes of it. K a follows from the solved equation for
// less than a product with K, and K u and K v from it.
typedef struct Motion
{
    double* u;
    double* v;
    double* a;
    double* ku;
    double* kv;
    double* ka;
    double* load;
    double* work; // two vectors
} Motion;

// y = K x; rows added up, so that the loop is wide.
static void MultiplyStiffness(const Ritz* ritz, const double* x, double* y)
{
    uint32_t n = ritz->n;
    memset(y, 0, n * sizeof *y);
    for (uint32_t k = 0; k < n; ++k)
    {
        const double* row = ritz->stiffness + (size_t)k * n;
        double f = x[k];
        for (uint32_t j = 0; j < n; ++j)
        {
            y[j] += f * row[j];
        }
    }
    ritz->task->result.workUnits += (uint64_t)n * n;
}

// y = M x
static void MultiplyMass(const Ritz* ritz, const double* x, double* y)
{
    uint32_t count = ritz->space.count;
    memset(y, 0, ritz->n * sizeof *y);
    for (uint32_t p = 0; p < count; ++p)
    {
        const double* row = ritz->mass + (size_t)p * count;
        for (uint32_t q = 0; q < count; ++q)
        {
            y[3 * q] += x[3 * p] * row[q];
            y[3 * q + 1] += x[3 * p + 1] * row[q];
            y[3 * q + 2] += x[3 * p + 2] * row[q];
        }
    }
    ritz->task->result.workUnits += 3 * (uint64_t)count * count;
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
    double* rhs = m->work;
    double* ma = m->work + n;
    double share = (1.0 + damping) * beta * dt * dt;
    StepLoad(ritz, t, t + dt, m->load);
    for (uint32_t i = 0; i < n; ++i)
    {
        double kGuess = m->ku[i] + dt * m->kv[i] + dt * dt * (0.5 - beta) * m->ka[i];
        rhs[i] = m->load[i] - (1.0 + damping) * kGuess + damping * m->ku[i];
        m->ku[i] = kGuess;
        m->kv[i] += dt * (1.0 - gamma_) * m->ka[i];
        m->u[i] += dt * m->v[i] + dt * dt * (0.5 - beta) * m->a[i];
        m->v[i] += dt * (1.0 - gamma_) * m->a[i];
        m->a[i] = rhs[i];
    }
    knStress_Backsolve(ritz->factor, n, m->a);
    MultiplyMass(ritz, m->a, ma);
    for (uint32_t i = 0; i < n; ++i)
    {
        // (M + share K) a = rhs
        m->ka[i] = (rhs[i] - ma[i]) / share;
        m->u[i] += dt * dt * beta * m->a[i];
        m->v[i] += dt * gamma_ * m->a[i];
        m->ku[i] += dt * dt * beta * m->ka[i];
        m->kv[i] += dt * gamma_ * m->ka[i];
    }
    ritz->task->result.workUnits += (uint64_t)n * n;
}

static void Record(Ritz* ritz, const Motion* m, double t)
{
    double* state = ritz->states + (size_t)ritz->stepCount * ritz->n;
    double sum = 0.0;
    for (uint32_t i = 0; i < ritz->n; ++i)
    {
        state[i] = m->u[i] + ritz->steady[i];
        sum += state[i] * (m->ku[i] + ritz->steadyForce[i]);
    }
    ritz->times[ritz->stepCount] = t;
    ritz->energies[ritz->stepCount] = 0.5 * sum;
    ritz->stepCount += 1;
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
    FactorStep(ritz, 1e-7 * m->youngsModulus / (ritz->task->def->set->density * size * size), 1.0);
}

// Period of the motion that the hits set off, from the shape of the slow answer (Rayleigh).
static double EstimatePeriod(Ritz* ritz, Motion* m)
{
    uint32_t n = ritz->n;
    double* shape = m->work;
    double* force = m->work + n;
    AnswerSlowly(ritz, kn_loadImpact, shape);
    MultiplyStiffness(ritz, shape, force);
    // motion as a whole has no elastic force, so solving again from the force leaves it out
    memcpy(shape, force, n * sizeof *shape);
    knStress_Backsolve(ritz->factor, n, shape);
    MultiplyMass(ritz, shape, m->load);
    double strain = 0.0;
    double kinetic = 0.0;
    for (uint32_t i = 0; i < n; ++i)
    {
        strain += force[i] * shape[i];
        kinetic += m->load[i] * shape[i];
    }
    return strain > 0.0 ? 2.0 * PI * sqrt(fmax(kinetic, 0.0) / strain) : 0.0;
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
    Motion m = {.u = s,
                .v = s + n,
                .a = s + 2 * (size_t)n,
                .ku = s + 3 * (size_t)n,
                .kv = s + 4 * (size_t)n,
                .ka = s + 5 * (size_t)n,
                .load = s + 6 * (size_t)n,
                .work = s + 7 * (size_t)n};
    ritz->stepCount = 0;
    FactorSlow(ritz);
    AnswerSlowly(ritz, kn_loadSteady, ritz->steady);
    MultiplyStiffness(ritz, ritz->steady, ritz->steadyForce);
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
