// SPDX-License-Identifier: Zlib
#include "fracture/crack_internal.h"

#include <simde/x86/sse2.h>

// Most faces that are tried are refused, so a face is first judged without its waves, four nodes at
// a time; only what passes gets them.

// A side is a sliver when its depth is below this share of the spacing.
#define SLIVER_SHARE 0.267f

// Nor is it longer than this allows: depth over the spread of the face.
#define BAND_SHARE 0.333

// The mean of the directions from the hit to a face is shorter than this when it goes round it.
#define CLOSED_MEAN 0.6f

// A crack does not run through what is, on the mean, so many times stronger than where it began.
#define STRONG_RATIO 3.0

// What a crack that stopped does to the strength along it, and the most that many do.
#define STOP_DAMAGE 0.6f
#define MAX_DAMAGE  0.9f

typedef simde__m128 F4;

typedef struct V4
{
    F4 x, y, z;
} V4;

static V4 Splat(knVec3 v)
{
    return (V4){simde_mm_set1_ps(v.x), simde_mm_set1_ps(v.y), simde_mm_set1_ps(v.z)};
}

static V4 Sub4(V4 a, V4 b)
{
    return (V4){simde_mm_sub_ps(a.x, b.x), simde_mm_sub_ps(a.y, b.y), simde_mm_sub_ps(a.z, b.z)};
}

static F4 Dot4(V4 a, V4 b)
{
    F4 xy = simde_mm_add_ps(simde_mm_mul_ps(a.x, b.x), simde_mm_mul_ps(a.y, b.y));
    return simde_mm_add_ps(xy, simde_mm_mul_ps(a.z, b.z));
}

static F4 Add4(F4 a, F4 b)
{
    return simde_mm_add_ps(a, b);
}

static F4 Mul4(F4 a, F4 b)
{
    return simde_mm_mul_ps(a, b);
}

static F4 Abs4(F4 a)
{
    return simde_mm_andnot_ps(simde_mm_set1_ps(-0.0f), a);
}

static double Sum4(F4 a)
{
    float lanes[4];
    simde_mm_storeu_ps(lanes, a);
    return ((double)lanes[0] + (double)lanes[1]) + ((double)lanes[2] + (double)lanes[3]);
}

// Positions of the nodes from `place` on; behind the last node of a piece lie those of others.
static V4 LoadPlaces(const knCracks* c, uint32_t place)
{
    return (V4){simde_mm_loadu_ps(c->places[0] + place), simde_mm_loadu_ps(c->places[1] + place),
                simde_mm_loadu_ps(c->places[2] + place)};
}

// All bits of the lanes that are nodes of the piece.
static F4 LiveLanes(uint32_t left)
{
    int n = left < 4 ? (int)left : 4;
    simde__m128i lanes = simde_mm_set_epi32(3, 2, 1, 0);
    return simde_mm_castsi128_ps(simde_mm_cmplt_epi32(lanes, simde_mm_set1_epi32(n)));
}

static uint32_t FirstPlace(const knCracks* c, uint32_t fragment)
{
    return c->set->fragments[fragment].firstNode - c->firstNode;
}

void knCrack_LoadPlaces(knCracks* c, uint32_t firstNode, uint32_t count)
{
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    for (uint32_t i = firstNode; i < firstNode + count; ++i)
    {
        knVec3 p = positions[c->set->nodes[i]];
        c->places[0][i - c->firstNode] = p.x;
        c->places[1][i - c->firstNode] = p.y;
        c->places[2][i - c->firstNode] = p.z;
    }
}

// Signed distance to the face without its waves; see knCrack_FaceNormal for its slope.
static F4 Smooth4(const CrackFace* face, V4 p)
{
    V4 q = Sub4(p, Splat(face->seed));
    F4 phi = Dot4(Splat(face->normal), q);
    if (face->isRadial)
    {
        F4 ahead = Dot4(Splat(face->outwards), Sub4(p, Splat(face->hit->point)));
        F4 behind =
            simde_mm_max_ps(simde_mm_sub_ps(simde_mm_setzero_ps(), ahead), simde_mm_setzero_ps());
        return Add4(phi, Mul4(simde_mm_set1_ps(face->kink), behind));
    }
    if (face->curvature > 0.0f)
    {
        F4 bend = simde_mm_set1_ps(face->curvature);
        V4 n = Splat(face->normal);
        V4 g = {Add4(n.x, Mul4(bend, q.x)), Add4(n.y, Mul4(bend, q.y)), Add4(n.z, Mul4(bend, q.z))};
        phi = Add4(phi, Mul4(Mul4(simde_mm_set1_ps(0.5f), bend), Dot4(q, q)));
        F4 slope = Add4(simde_mm_set1_ps(1.0f), simde_mm_sqrt_ps(Dot4(g, g)));
        // the distance to the sphere
        phi = simde_mm_div_ps(Add4(phi, phi), slope);
    }
    return phi;
}

// What a face leaves on its two sides, above and below, and what lies along it. A node on the face
// counts nothing on either side and one at the end of the band nothing in it, so that rounding
// decides nothing.
typedef struct Sides
{
    F4 depths[2];
    F4 squares[2]; // of the depths
    // within the spacing of the face, less the further away
    F4 weight;
    F4 spread;     // squares of the distance from the seed
    V4 directions; // unit, from the hit
    double factor; // of the strength
} Sides;

static void AddNear(const Candidate* k, V4 p, F4 weight, Sides* s)
{
    V4 q = Sub4(p, Splat(k->face.seed));
    V4 u = Sub4(p, Splat(k->face.hit->point));
    F4 length = simde_mm_sqrt_ps(Dot4(u, u));
    // the hit itself has no direction
    F4 share = simde_mm_div_ps(weight, simde_mm_max_ps(length, simde_mm_set1_ps(FLT_MIN)));
    s->weight = Add4(s->weight, weight);
    s->spread = Add4(s->spread, Mul4(Dot4(q, q), weight));
    s->directions.x = Add4(s->directions.x, Mul4(u.x, share));
    s->directions.y = Add4(s->directions.y, Mul4(u.y, share));
    s->directions.z = Add4(s->directions.z, Mul4(u.z, share));
}

static void AddPainted(const knCracks* c, const uint32_t* nodes, F4 weight, Sides* s)
{
    float weights[4];
    simde_mm_storeu_ps(weights, weight);
    for (int i = 0; i < 4; ++i)
    {
        if (weights[i] > 0.0f)
        {
            s->factor += (double)(weights[i] * c->def.strengthFactor[nodes[i]]);
        }
    }
}

static Sides MeasureSides(knCracks* c, const Candidate* k)
{
    uint32_t count = c->set->fragments[k->fragment].nodeCount;
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    uint32_t place = FirstPlace(c, k->fragment);
    F4 zero = simde_mm_setzero_ps();
    F4 one = simde_mm_set1_ps(1.0f);
    F4 inverse = simde_mm_set1_ps(1.0f / c->minSpacing);
    Sides s = {.depths = {zero, zero}, .squares = {zero, zero}, .weight = zero, .spread = zero};
    s.directions = (V4){zero, zero, zero};
    for (uint32_t i = 0; i < count; i += 4)
    {
        F4 live = LiveLanes(count - i);
        V4 p = LoadPlaces(c, place + i);
        // behind the last node lies anything, and no weight of 0 undoes what is not finite
        p = (V4){simde_mm_and_ps(p.x, live), simde_mm_and_ps(p.y, live),
                 simde_mm_and_ps(p.z, live)};
        F4 phi = Smooth4(&k->face, p);
        simde_mm_storeu_ps(c->phi + i, phi);
        phi = simde_mm_and_ps(phi, live);
        F4 above = simde_mm_max_ps(phi, zero);
        F4 below = simde_mm_sub_ps(above, phi);
        s.depths[0] = Add4(s.depths[0], above);
        s.depths[1] = Add4(s.depths[1], below);
        s.squares[0] = Add4(s.squares[0], Mul4(above, above));
        s.squares[1] = Add4(s.squares[1], Mul4(below, below));
        F4 weight = simde_mm_sub_ps(one, Mul4(Add4(above, below), inverse));
        weight = simde_mm_and_ps(simde_mm_max_ps(weight, zero), live);
        if (simde_mm_movemask_ps(simde_mm_cmpgt_ps(weight, zero)))
        {
            AddNear(k, p, weight, &s);
            if (c->def.strengthFactor)
            {
                AddPainted(c, nodes + i, weight, &s);
            }
        }
    }
    c->report.work += count / KN_NODES_A_UNIT;
    return s;
}

// How far a side reaches from the face: the mean of the depths, deeper nodes counting more.
static double DepthOf(const Sides* s, int side)
{
    double sum = Sum4(s->depths[side]);
    return sum > 0.0 ? Sum4(s->squares[side]) / sum : 0.0;
}

void knCrack_Judge(knCracks* c, Candidate* k)
{
    Sides s = MeasureSides(c, k);
    double weight = fmax(Sum4(s.weight), (double)FLT_MIN);
    k->layer = weight;
    // neither thin for its place nor for its length
    double spread = sqrt(Sum4(s.spread) / weight);
    double limit = fmax((double)(SLIVER_SHARE * c->spacings[k->node]), BAND_SHARE * spread);
    double own = c->def.strengthFactor ? (double)c->def.strengthFactor[k->node] : 0.0;
    k->isRefused =
        fmin(DepthOf(&s, 0), DepthOf(&s, 1)) < limit || s.factor > STRONG_RATIO * own * weight;
    // as in a ring or a tube: what such a face would cut out hangs in it
    double x = Sum4(s.directions.x), y = Sum4(s.directions.y), z = Sum4(s.directions.z);
    k->isClosed = sqrt(x * x + y * y + z * z) < (double)CLOSED_MEAN * weight;
}

static float ExtentFrom(const knCracks* c, uint32_t fragment, knVec3 p)
{
    uint32_t count = c->set->fragments[fragment].nodeCount;
    uint32_t place = FirstPlace(c, fragment);
    F4 most = simde_mm_setzero_ps();
    for (uint32_t i = 0; i < count; i += 4)
    {
        V4 q = Sub4(LoadPlaces(c, place + i), Splat(p));
        most = simde_mm_max_ps(most, simde_mm_and_ps(Dot4(q, q), LiveLanes(count - i)));
    }
    float lanes[4];
    simde_mm_storeu_ps(lanes, most);
    return sqrtf(fmaxf(fmaxf(lanes[0], lanes[1]), fmaxf(lanes[2], lanes[3])));
}

void knCrack_Roughen(knCracks* c, Candidate* k)
{
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    uint32_t count = c->set->fragments[k->fragment].nodeCount;
    uint32_t place = FirstPlace(c, k->fragment);
    k->extent = ExtentFrom(c, k->fragment, k->face.seed);
    knCrack_SetWaves(&k->face, fmaxf(k->extent, c->minSpacing), c->def.waviness);
    // further away the waves cannot change the side
    float reach = fmaxf(2.7f * k->face.amplitude, c->minSpacing);
    double damage = 0.0;
    uint32_t nearCount = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        if (fabsf(c->phi[i]) < reach)
        {
            knVec3 p = {c->places[0][place + i], c->places[1][place + i], c->places[2][place + i]};
            c->phi[i] += knCrack_Waves(&k->face, p);
            bool isNear = fabsf(c->phi[i]) < c->minSpacing;
            nearCount += isNear;
            damage += isNear && c->def.damage ? (double)c->def.damage[nodes[i]] : 0.0;
        }
    }
    k->paidShare = nearCount > 0 ? 1.0 - damage / nearCount : 1.0;
    c->report.work += 2 * (uint64_t)count / KN_NODES_A_UNIT;
}

void knCrack_RelieveAround(knCracks* c, const CrackFace* face, const uint32_t* nodes,
                           uint32_t count)
{
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    for (uint32_t i = 0; i < count; ++i)
    {
        float t = c->phi[i] / c->spacings[nodes[i]];
        if (t * t < 1.0f)
        {
            knVec3 normal = knCrack_FaceNormal(face, positions[nodes[i]]);
            float w = 1.0f - t * t;
            knCrack_Relieve(&c->stress[nodes[i]], normal, w * w);
            c->isFresh[nodes[i]] = 0;
        }
    }
}

void knCrack_GiveUp(knCracks* c, const Candidate* k)
{
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    uint32_t count = c->set->fragments[k->fragment].nodeCount;
    uint32_t place = FirstPlace(c, k->fragment);
    float reach = 0.5f * c->spacings[k->node];
    F4 limit = simde_mm_set1_ps(reach * reach);
    for (uint32_t i = 0; i < count; i += 4)
    {
        V4 q = Sub4(LoadPlaces(c, place + i), Splat(k->face.seed));
        F4 square = Dot4(q, q);
        F4 near = simde_mm_and_ps(simde_mm_cmplt_ps(square, limit), LiveLanes(count - i));
        float squares[4];
        simde_mm_storeu_ps(squares, square);
        int lanes = simde_mm_movemask_ps(near);
        for (uint32_t n = 0; lanes >> n; ++n)
        {
            if (lanes >> n & 1)
            {
                float w = 1.0f - squares[n] / (reach * reach);
                knCrack_Relieve(&c->stress[nodes[i + n]], k->face.normal, w * w);
                c->isFresh[nodes[i + n]] = 0;
            }
        }
    }
    c->scores[k->node] = 0.0f;
    c->report.work += count / KN_NODES_A_UNIT;
}

void knCrack_LeaveDamage(knCracks* c, const Candidate* k, double share)
{
    c->report.isUnfinished = true;
    c->report.isDone = true;
    if (!c->def.damage)
    {
        return;
    }
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    float reach = k->extent * (float)sqrt(fmin(fmax(share, 0.0), 1.0));
    for (uint32_t i = 0; i < c->set->fragments[k->fragment].nodeCount; ++i)
    {
        bool isNear = fabsf(c->phi[i]) < c->minSpacing &&
                      knDistance(positions[nodes[i]], k->face.seed) <= reach;
        if (isNear)
        {
            float* damage = &c->def.damage[nodes[i]];
            *damage = fminf(MAX_DAMAGE, 1.0f - (1.0f - *damage) * (1.0f - STOP_DAMAGE));
        }
    }
}
