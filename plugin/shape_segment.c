// SPDX-License-Identifier: Zlib
#include "cast_internal.h"

// A feature of a shape against the field of a piece: a ball that moves along a segment or a rim.
// The way is cut to the piece's box and halved where a sphere around a part can touch; what is left
// are samples with their distances, in order, among them all that can have a touch beside them.
// Every stretch gives its deepest point, refined, and its two ends, so that a capsule that lies has
// two contacts and not one that jumps.

#define MAX_SAMPLES 64
#define MAX_TESTS   160 // of parts
#define PARTS       32  // of the way at most
#define REFINEMENTS 12

typedef struct Way
{
    knShapeRun* run;
    const knShapeFeature* feature;
    knVec3 a, b;         // in the piece's frame
    knVec3 center, u, w; // of a rim, in the piece's frame, and its two half axes
    float length;        // m
} Way;

typedef struct Sample
{
    float t, half; // share of the way
    float distance;
    knVec3 normal;
} Sample;

static knVec3 PointAt(const Way* way, float t)
{
    if (way->feature->rimRadius > 0.0f)
    {
        float angle = 6.2831853f * t;
        return knAddScaled(knAddScaled(way->center, cosf(angle), way->u), sinf(angle), way->w);
    }
    return knLerp(way->a, way->b, t);
}

static float RadiusAt(const Way* way, float t)
{
    return way->feature->radiusA + t * (way->feature->radiusB - way->feature->radiusA);
}

// On the triangles of the mesh: the field would look through what other pieces had nearby.
static bool MeasureOutside(knShapeRun* run, knVec3 p, float reach, knFieldContact* contact)
{
    const knPieceMesh* mesh = run->mesh;
    if (!mesh || mesh->nodeCount == 0)
    {
        return knFieldQuery_Distance(&run->field, p, reach, contact);
    }
    knVec3 q, from = knSub(p, mesh->center);
    uint32_t triangle;
    if (!knPieceMesh_Nearest(mesh, from, reach, &q, &triangle))
    {
        return false;
    }
    knVec3 away = knSub(from, q), v[3];
    knPieceMesh_Corners(mesh, triangle, v);
    contact->distance = knLength(away);
    contact->normal = contact->distance > 1e-5f * mesh->radius
                          ? knScale(1.0f / contact->distance, away)
                          : knTriangleNormal(v);
    return true;
}

// Distance of the ball's surface; false when it is further than the reach.
static bool Measure(const Way* way, float t, float reach, float* distance, knVec3* normal)
{
    knShapeRun* run = way->run;
    knVec3 p = PointAt(way, t);
    float radius = RadiusAt(way, t);
    knFieldContact contact;
    if (!knFieldQuery_Penetration(&run->field, p, &contact) &&
        !MeasureOutside(run, p, radius + reach, &contact))
    {
        return false;
    }
    *distance = contact.distance - radius;
    *normal = contact.normal;
    return true;
}

// The shares of the way between which it can touch the piece's box; false when it cannot.
static bool ClipToBox(const Way* way, float* begin, float* end)
{
    float reach = fmaxf(way->feature->radiusA, way->feature->radiusB) + way->run->selection.reach;
    knBox box = knBox_Expand(way->run->box, reach);
    *begin = 0.0f;
    *end = 1.0f;
    if (way->feature->rimRadius > 0.0f)
    {
        return knBox_Distance(box, way->center) <= way->feature->rimRadius;
    }
    const float a[3] = {way->a.x, way->a.y, way->a.z};
    const float b[3] = {way->b.x, way->b.y, way->b.z};
    const float lower[3] = {box.lower.x, box.lower.y, box.lower.z};
    const float upper[3] = {box.upper.x, box.upper.y, box.upper.z};
    for (int i = 0; i < 3; ++i)
    {
        float d = b[i] - a[i];
        if (d == 0.0f)
        {
            if (a[i] < lower[i] || a[i] > upper[i])
            {
                return false;
            }
            continue;
        }
        float t0 = (lower[i] - a[i]) / d, t1 = (upper[i] - a[i]) / d;
        *begin = fmaxf(*begin, fminf(t0, t1));
        *end = fminf(*end, fmaxf(t0, t1));
    }
    return *begin <= *end;
}

static uint32_t TakeSamples(const Way* way, float begin, float end, Sample* samples)
{
    knShapeRun* run = way->run;
    float stack[32][2];
    int depth = 0;
    uint32_t count = 0;
    // a ball cannot pass between samples nearer than its radius
    float part = fmaxf((end - begin) / PARTS, 0.5f * RadiusAt(way, 0.5f) / way->length);
    stack[depth][0] = 0.5f * (begin + end);
    stack[depth++][1] = 0.5f * (end - begin);
    for (int tests = 0; tests < MAX_TESTS && depth > 0 && count < MAX_SAMPLES; ++tests)
    {
        float t = stack[--depth][0], half = stack[depth][1];
        float radius =
            RadiusAt(way, t) + half * fabsf(way->feature->radiusB - way->feature->radiusA);
        if (!knFieldQuery_SphereTest(&run->field, PointAt(way, t),
                                     half * way->length + radius + run->selection.reach))
        {
            continue;
        }
        Sample s = {.t = t, .half = half};
        float reach = run->selection.reach + half * way->length;
        bool isLeaf = 2.0f * half <= part;
        if (isLeaf && Measure(way, t, reach, &s.distance, &s.normal))
        {
            samples[count++] = s;
        }
        else if (!isLeaf && depth + 2 <= 32)
        {
            stack[depth][0] = t + 0.5f * half;
            stack[depth++][1] = 0.5f * half;
            stack[depth][0] = t - 0.5f * half;
            stack[depth++][1] = 0.5f * half;
        }
    }
    return count;
}

static void Emit(const Way* way, const Sample* s, uint32_t id)
{
    knShapeRun* run = way->run;
    if (run->selection.isStopped || !(s->distance < run->selection.reach))
    {
        return;
    }
    knFieldContact contact = {.distance = s->distance, .normal = s->normal};
    knVec3 p = knAddScaled(PointAt(way, s->t), -RadiusAt(way, s->t), s->normal);
    bool isPoint = way->length == 0.0f;
    knShapeRun_AddFeature(run, p, &contact, id, isPoint ? kn_contactPoint : kn_contactEdge);
}

// How the distance changes along the way.
static float Slope(const Way* way, const Sample* s)
{
    float growth = way->feature->radiusB - way->feature->radiusA;
    if (way->feature->rimRadius > 0.0f)
    {
        float angle = 6.2831853f * s->t;
        knVec3 tangent = knAddScaled(knScale(-sinf(angle), way->u), cosf(angle), way->w);
        return knDot(s->normal, tangent);
    }
    return knDot(s->normal, knSub(way->b, way->a)) - growth;
}

// Towards the deepest point nearby: downhill by halving steps.
static Sample Refine(const Way* way, Sample s)
{
    float step = s.half;
    float reach = way->run->selection.reach + s.half * way->length;
    bool isRim = way->feature->rimRadius > 0.0f;
    for (int i = 0; i < REFINEMENTS && step * way->length > 0.02f * way->run->selection.epsilon;
         ++i)
    {
        Sample tried = s;
        tried.t = Slope(way, &s) > 0.0f ? s.t - step : s.t + step;
        tried.t = isRim ? tried.t : fminf(fmaxf(tried.t, 0.0f), 1.0f);
        if (Measure(way, tried.t, reach, &tried.distance, &tried.normal) &&
            tried.distance < s.distance)
        {
            s = tried;
        }
        step *= 0.5f;
    }
    return s;
}

// The end of a stretch, at the border of its last part when that is in contact too.
static Sample EndOf(const Way* way, Sample s, float sign)
{
    Sample end = s;
    end.t = fminf(fmaxf(s.t + sign * s.half, 0.0f), 1.0f);
    bool found = Measure(way, end.t, way->run->selection.reach, &end.distance, &end.normal);
    return found ? end : s;
}

// The first and the last sample in contact; both the deepest when it is the only one. All of a rim
// has no ends: two points beside the deepest hold it as well.
static void FindEnds(const Way* way, const Sample* samples, uint32_t count, uint32_t best,
                     Sample ends[2])
{
    const Sample *first = &samples[0], *last = &samples[count - 1];
    if (way->feature->rimRadius > 0.0f && last->t + last->half - first->t + first->half > 0.99f)
    {
        ends[0] = samples[(best + count / 3) % count];
        ends[1] = samples[(best + 2 * count / 3) % count];
        return;
    }
    uint32_t low = 0, high = count - 1;
    while (low < best && !(samples[low].distance < way->run->selection.reach))
    {
        ++low;
    }
    while (high > best && !(samples[high].distance < way->run->selection.reach))
    {
        --high;
    }
    ends[0] = EndOf(way, samples[low], -1.0f);
    ends[1] = EndOf(way, samples[high], 1.0f);
}

static void EmitStretch(const Way* way, const Sample* samples, uint32_t count, uint32_t id)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; ++i)
    {
        best = samples[i].distance < samples[best].distance ? i : best;
    }
    Sample deepest = Refine(way, samples[best]);
    if (!(deepest.distance < way->run->selection.reach))
    {
        return;
    }
    Sample ends[2];
    FindEnds(way, samples, count, best, ends);
    bool isApart[2];
    for (uint32_t i = 0; i < 2; ++i)
    {
        float apart = fabsf(ends[i].t - deepest.t) * way->length;
        isApart[i] = apart > 4.0f * way->run->selection.epsilon && apart * 16.0f > way->length;
        // on a flat face every point is the deepest: then an end, which stays where it is
        bool isAsDeep = ends[i].distance < deepest.distance + 0.1f * way->run->selection.epsilon;
        deepest = isAsDeep && !isApart[i] ? ends[i] : deepest;
    }
    Emit(way, &deepest, 4 * id);
    for (uint32_t i = 0; i < 2; ++i)
    {
        if (isApart[i])
        {
            Emit(way, &ends[i], 4 * id + 1 + i);
        }
    }
}

static void TestBall(const Way* way, uint32_t id)
{
    Sample s = {0};
    knShapeRun* run = way->run;
    if (knFieldQuery_SphereTest(&run->field, way->a,
                                way->feature->radiusA + run->selection.reach) &&
        Measure(way, 0.0f, run->selection.reach, &s.distance, &s.normal))
    {
        Emit(way, &s, 4 * id);
    }
}

void knShapeRun_TestFeature(knShapeRun* run, const knShapeFeature* feature, uint32_t id)
{
    Way way = {.run = run, .feature = feature};
    way.a = knShapeRun_ToPiece(run, feature->a);
    way.b = knShapeRun_ToPiece(run, feature->b);
    way.length = knDistance(way.a, way.b);
    if (feature->rimRadius > 0.0f)
    {
        way.center = knShapeRun_ToPiece(run, feature->rimCenter);
        way.u = knScale(feature->rimRadius, knTranspose(run->rotation).cx);
        way.w = knScale(feature->rimRadius, knTranspose(run->rotation).cz);
        way.length = 6.2831853f * feature->rimRadius;
    }
    if (way.length == 0.0f)
    {
        TestBall(&way, id);
        return;
    }
    float begin, end;
    Sample samples[MAX_SAMPLES];
    if (!ClipToBox(&way, &begin, &end))
    {
        return;
    }
    uint32_t count = TakeSamples(&way, begin, end, samples);
    for (uint32_t first = 0, i = 1; i <= count; ++i)
    {
        bool isBreak = i == count || samples[i].t - samples[i].half >
                                         samples[i - 1].t + samples[i - 1].half + 1e-5f;
        if (isBreak)
        {
            EmitStretch(&way, samples + first, i - first, id);
            first = i;
        }
    }
}
