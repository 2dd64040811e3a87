// SPDX-License-Identifier: Zlib
#include "cast_sweep_internal.h"

#define TOLERANCE    1e-3   // of the smaller radius: nearer than that is a touch
#define MAX_SLIDES   4      // contacts looked for one behind the other
#define SAME_NORMAL  0.999f // cosine; what slides into the same plane again is known
#define FAST_SHARE   0.5f   // of the thinnest side
#define SLACK_SHARE  0.01   // of the thinnest side: what an earlier touch may go deep
#define PART_TURN    0.1f   // radians of a part of a way
#define MAX_PARTS    16.0f
#define PART_OVERLAP 0.01 // of a part

static bool IsFiniteMotion(const knMotion* m)
{
    return m && knIsFiniteTransform(m->start) && knIsFinite(m->move) && knIsFinite(m->turn);
}

static float ThinSide(const knPieceMesh* mesh)
{
    knVec3 e = knBox_Extent(mesh->nodes[0].box);
    return fminf(e.x, fminf(e.y, e.z));
}

bool knMotion_IsFast(const knMotion* motion, const knPieceMesh* mesh)
{
    if (!IsFiniteMotion(motion) || !mesh || mesh->nodeCount == 0)
    {
        return false;
    }
    return knLength(motion->move) + knLength(motion->turn) * mesh->radius >
           FAST_SHARE * ThinSide(mesh);
}

knBox knMotion_Box(const knMotion* motion, const knPieceMesh* mesh)
{
    knVec3 p = motion->start.position, q = knAdd(p, motion->move);
    knBox path = {knMin(p, q), knMax(p, q)};
    return knBox_Expand(path, mesh->radius * 1.0001f);
}

static uint32_t FeatureOf(uint32_t a, uint32_t b, bool isCenter)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9E3779B97F4A7C15u;
    return ((uint32_t)(h >> 32) & ~1u) | (isCenter ? 1u : 0u);
}

// Where a point of a body at a time was when the step began.
static knVec3 BackToStart(const knMotion* motion, knVec3 p, float time)
{
    return knTransformPoint(motion->start, knInvTransformPoint(knMotion_At(motion, time), p));
}

// How much nearer along the normal two points come from the start to where they are at the touch.
static float Approach(knVec3 n, knVec3 fromA, knVec3 toA, knVec3 fromB, knVec3 toB)
{
    return fmaxf(0.0f, -knDot(n, knSub(knSub(toA, fromA), knSub(toB, fromB))));
}

// The touch as two contacts: at the points that meet, and with the smaller body held at its centre,
// because a point alone lets the rest turn past it.
static void MakeContacts(const knSweep* s, knVec3 origin, knSweepContact out[2])
{
    float time = (float)s->best;
    knVec3 n = knToFloat(s->gap.normal);
    knVec3 hitA = knToFloat(s->gap.pointA);
    knVec3 hitB = knAddScaled(knToFloat(s->gap.pointB), (float)s->rounding, n);
    knVec3 a = BackToStart(&s->motionA, hitA, time), b = BackToStart(&s->motionB, hitB, time);
    out[0] = (knSweepContact){.pointA = knAdd(a, origin),
                              .pointB = knAdd(b, origin),
                              .normal = n,
                              .gap = Approach(n, a, hitA, b, hitB),
                              .time = time,
                              .feature = FeatureOf(s->triangleA, s->other, false)};
    bool holdsB = s->b && s->b->radius < s->a->radius;
    knVec3 centerA = s->motionA.start.position, centerB = s->motionB.start.position;
    knVec3 endA = knMotion_At(&s->motionA, time).position;
    knVec3 endB = knMotion_At(&s->motionB, time).position;
    out[1] = out[0];
    out[1].isCenter = true;
    out[1].feature = FeatureOf(s->triangleA, s->other, true);
    out[1].pointA = knAdd(holdsB ? a : centerA, origin);
    out[1].pointB = knAdd(holdsB ? centerB : b, origin);
    out[1].gap = holdsB ? Approach(n, a, hitA, centerB, endB) : Approach(n, centerA, endA, b, hitB);
}

typedef void RunFcn(knSweep* sweep, const void* context);

// A part of a way, from time k / n on.
static knMotion PartOf(const knMotion* m, int k, int n)
{
    float share = 1.0f / (float)n;
    knTransform start = k == 0 ? m->start : knMotion_At(m, (float)k * share);
    return (knMotion){start, knScale(share, m->move), knScale(share, m->turn)};
}

// What bounds a turning body grows with the square of its turn: part by part, and no further than
// the first touch, is far less work than the whole at once. Parts that end before anything can
// touch are passed over.
static void RunOnce(knSweep* s, RunFcn* run, const void* context)
{
    knMotion a = s->motionA, b = s->motionB;
    float turn = fmaxf(knLength(a.turn), knLength(b.turn));
    int parts = (int)fminf(1.0f + turn / PART_TURN, MAX_PARTS);
    s->triangleA = KN_NONE;
    s->move = knSub(a.move, b.move);
    double free = s->b || s->shape ? fmin(knSweep_FreeTime(s), 2.0) : 0.0;
    for (int k = (int)(free * (double)parts); k < parts && s->triangleA == KN_NONE; ++k)
    {
        s->motionA = PartOf(&a, k, parts);
        s->motionB = PartOf(&b, k, parts);
        s->move = knSub(s->motionA.move, s->motionB.move);
        s->speed = knSweep_Speed(s);
        // what touches at the end of a part would overlap where the next begins, and be left out
        s->best = 1.0 + (k + 1 < parts ? PART_OVERLAP : 1e-9);
        run(s, context);
        s->best = ((double)k + s->best) / (double)parts;
    }
    s->motionA = a;
    s->motionB = b;
    s->move = knSub(a.move, b.move);
}

// The motion that is left when the contact has taken what goes further into it.
static void Slide(knSweep* s, const knSweepContact* contact)
{
    float approach = -knDot(contact->normal, s->move);
    float allowed = 0.98f * contact->gap;
    if (approach > allowed)
    {
        s->motionA.move = knAddScaled(s->motionA.move, approach - allowed, contact->normal);
    }
}

static bool IsNew(const knSweepContact* contacts, uint32_t count, knVec3 normal)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (knDot(contacts[i].normal, normal) > SAME_NORMAL)
        {
            return false;
        }
    }
    return true;
}

static uint32_t Sweep(knSweep* s, RunFcn* run, const void* context,
                      knSweepContact contacts[KN_MAX_SWEEP_CONTACTS])
{
    knVec3 origin = s->motionB.start.position;
    s->motionA.start.position = knSub(s->motionA.start.position, origin);
    s->motionB.start.position = knSub(s->motionB.start.position, origin);
    uint32_t count = 0;
    for (int i = 0; i < MAX_SLIDES && count + 2 <= KN_MAX_SWEEP_CONTACTS; ++i)
    {
        RunOnce(s, run, context);
        if (s->triangleA == KN_NONE || !IsNew(contacts, count, knToFloat(s->gap.normal)))
        {
            break;
        }
        MakeContacts(s, origin, contacts + count);
        Slide(s, contacts + count + 1);
        count += 2;
    }
    return count;
}

static void RunMeshes(knSweep* s, const void* context)
{
    (void)context;
    knSweep_RunMeshes(s);
}

static void RunShape(knSweep* s, const void* context)
{
    (void)context;
    knSweep_RunShape(s);
}

uint32_t knSweepPair(const knPieceMesh* a, const knMotion* motionA, const knPieceMesh* b,
                     const knMotion* motionB, knSweepContact contacts[KN_MAX_SWEEP_CONTACTS])
{
    if (!a || !b || !contacts || a->nodeCount == 0 || b->nodeCount == 0 ||
        !IsFiniteMotion(motionA) || !IsFiniteMotion(motionB))
    {
        return 0;
    }
    knSweep s = {.a = a, .b = b, .motionA = *motionA, .motionB = *motionB};
    s.tolerance = TOLERANCE * (double)fminf(a->radius, b->radius);
    s.slack = fmax(s.tolerance, SLACK_SHARE * (double)fminf(ThinSide(a), ThinSide(b)));
    return Sweep(&s, RunMeshes, NULL, contacts);
}

uint32_t knSweepShape(const knPieceMesh* mesh, const knMotion* motion, const knShape* shape,
                      const knMotion* shapeMotion, knSweepContact contacts[KN_MAX_SWEEP_CONTACTS])
{
    if (!mesh || !contacts || mesh->nodeCount == 0 || !IsFiniteMotion(motion) ||
        !IsFiniteMotion(shapeMotion) || knValidateShape(shape) != kn_success)
    {
        return 0;
    }
    knSweep s = {.a = mesh, .shape = shape, .motionA = *motion, .motionB = *shapeMotion};
    s.tolerance = TOLERANCE * (double)mesh->radius;
    s.slack = s.tolerance;
    s.rounding = (double)knShapeRounding(shape);
    s.otherId = (uint32_t)shape->kind;
    return Sweep(&s, RunShape, NULL, contacts);
}

static void RunTriangles(knSweep* s, const void* context)
{
    const knTriangleBatch* batch = context;
    for (uint32_t i = 0; i < batch->count; ++i)
    {
        const knMeshTriangle* t = &batch->triangles[i];
        knShape shape = knMakeTriangleShape(t->v[0], t->v[1], t->v[2]);
        shape.margin = batch->margin;
        knVec3 normal = knRotate(batch->transform.rotation, knTriangleNormal(t->v));
        s->shape = &shape;
        s->facing = batch->isOneSided ? &normal : NULL;
        s->otherId = t->id;
        if (knValidateShape(&shape) == kn_success)
        {
            knSweep_RunShape(s);
        }
    }
    s->shape = NULL;
    s->facing = NULL;
}

uint32_t knSweepTriangles(const knPieceMesh* mesh, const knMotion* motion,
                          const knTriangleBatch* batch,
                          knSweepContact contacts[KN_MAX_SWEEP_CONTACTS])
{
    if (!mesh || !contacts || mesh->nodeCount == 0 || !IsFiniteMotion(motion) || !batch ||
        (!batch->triangles && batch->count > 0) || !(batch->margin >= 0.0f) ||
        !knIsFiniteTransform(batch->transform))
    {
        return 0;
    }
    knSweep s = {.a = mesh, .motionA = *motion, .motionB = {.start = batch->transform}};
    s.tolerance = TOLERANCE * (double)mesh->radius;
    s.slack = s.tolerance;
    s.rounding = (double)batch->margin;
    return Sweep(&s, RunTriangles, batch, contacts);
}
