// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

#define PI 3.14159265358979323846

// A push on a half-space along `axis`.
typedef struct Push
{
    knVec3 point;
    knVec3 axis;
    double force;   // N, at its largest
    double radius2; // m^2: nearer than this the field grows no more
    double poisson;
    double time; // s, of the largest force
} Push;

// In the plane of the axis and the node: along the radius, around, along the axis, and shear.
typedef struct PushStress
{
    double rr, tt, zz, rz;
} PushStress;

// Boussinesq's field of a point force; tension is positive.
static PushStress FieldOf(const Push* push, double r, double z)
{
    double distance2 = r * r + z * z + push->radius2;
    double distance = sqrt(distance2);
    double s = push->force / (2.0 * PI * distance2);
    double open = 1.0 - 2.0 * push->poisson;
    double part = distance / (distance + z);
    double c = z / distance;
    double b = r / distance;
    return (PushStress){.rr = s * (open * part - 3.0 * b * b * c),
                        .tt = s * open * (c - part),
                        .zz = -3.0 * s * c * c * c,
                        .rz = -3.0 * s * b * c * c};
}

static void WriteTensor(knNodeStress* out, const PushStress* f, knVec3 radial, knVec3 axis)
{
    const knVec3 around = knCross(axis, radial);
    const double e[3][3] = {
        {(double)radial.x, (double)radial.y, (double)radial.z},
        {(double)around.x, (double)around.y, (double)around.z},
        {(double)axis.x, (double)axis.y, (double)axis.z},
    };
    static const int rows[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {2, 0}};
    for (int k = 0; k < 6; ++k)
    {
        int i = rows[k][0];
        int j = rows[k][1];
        out->tensor[k] =
            (float)(f->rr * e[0][i] * e[0][j] + f->tt * e[1][i] * e[1][j] +
                    f->zz * e[2][i] * e[2][j] + f->rz * (e[0][i] * e[2][j] + e[2][i] * e[0][j]));
    }
}

// The field is not added to the smooth one, which holds a part of it already: the larger counts.
static void PushNode(const Push* push, knVec3 position, knNodeStress* out)
{
    knVec3 v = knSub(position, push->point);
    double distance2 = (double)knLengthSquared(v) + push->radius2;
    double bound = push->force * (1.0 - 2.0 * push->poisson) / (2.0 * PI * distance2);
    if (!(bound > (double)out->tension))
    {
        return;
    }
    double z = (double)knDot(v, push->axis);
    knVec3 across = knAddScaled(v, (float)-z, push->axis);
    double r = (double)knLength(across);
    // a rough surface lies a little before the point; what is well before it is not behind the push
    z = z < 0.0 && -z < 0.25 * r ? 0.0 : z;
    if (z < 0.0)
    {
        return;
    }
    PushStress f = FieldOf(push, r, z);
    double middle = 0.5 * (f.rr + f.zz);
    double half = 0.5 * (f.rr - f.zz);
    double inPlane = middle + sqrt(half * half + f.rz * f.rz);
    double largest = inPlane > f.tt ? inPlane : f.tt;
    if (largest > (double)out->tension)
    {
        knVec3 radial = knNormalize(across);
        // on the axis all radii are alike
        radial = knLengthSquared(radial) > 0.5f
                     ? radial
                     : knNormalize(knCross(push->axis, fabsf(push->axis.x) < 0.6f
                                                           ? knMakeVec3(1.0f, 0.0f, 0.0f)
                                                           : knMakeVec3(0.0f, 1.0f, 0.0f)));
        WriteTensor(out, &f, radial, push->axis);
        out->tension = (float)knStress_Direction(out->tensor, largest, &out->direction);
        out->time = (float)push->time;
    }
}

static Push MakePush(const StressTask* task, const knImpact* impact)
{
    const knMaterial* m = task->def->material;
    const knFragment* fragment = &task->def->set->fragments[task->def->fragment];
    double duration = knStress_Duration(task->def, impact);
    double impulse = (double)knLength(impact->impulse);
    // tension counts when it reaches as far as the critical distance (K / strength)^2 / pi
    double critical =
        m->youngsModulus * m->fractureEnergy / (PI * m->tensileStrength * m->tensileStrength);
    // and far enough to part the piece and not just to chip it
    double deep = 0.04 * cbrt(fragment->mass.volume);
    double radius = critical > deep ? critical : deep;
    return (Push){.point = impact->point,
                  .axis = knNormalize(impact->impulse),
                  .force = 0.5 * PI * impulse / duration,
                  .radius2 = radius * radius,
                  .poisson = m->poissonRatio,
                  .time = 0.5 * duration};
}

void knStress_AddContacts(StressTask* task)
{
    for (uint32_t k = 0; k < task->def->impactCount; ++k)
    {
        const knImpact* impact = &task->def->impacts[k];
        // what rests crushes nothing
        if (impact->kind == kn_loadImpact && knLengthSquared(impact->impulse) > 0.0f)
        {
            Push push = MakePush(task, impact);
            for (uint32_t i = 0; i < task->nodeCount; ++i)
            {
                PushNode(&push, task->mesh->nodes[task->nodes[i]], &task->out[i]);
            }
            task->result.workUnits += 8 * (uint64_t)task->nodeCount;
        }
    }
}
