// SPDX-License-Identifier: Zlib
#include "fracture/crack_internal.h"

#include "knap/random.h"

// Below the first a crack runs through the hit, above the second it goes round it.
#define RADIAL_COSINE 0.55f
#define SHELL_COSINE  0.90f

#define MAX_TILT 0.3f

// How much the spacing of cracks varies around the hit.
#define SPACING_NOISE 0.6f

static knVec3 Across(knVec3 v, knVec3 axis)
{
    return knAddScaled(v, -knDot(v, axis), axis);
}

HitFrame knCrack_MakeHitFrame(const knCrackHit* hit, const knTetMesh* mesh, const uint32_t* nodes,
                              uint32_t count)
{
    HitFrame frame = {.point = hit->point, .axis = knNormalize(hit->direction)};
    float most = 0.0f;
    for (uint32_t i = 0; i < count; ++i)
    {
        knVec3 r = Across(knSub(mesh->nodes[nodes[i]], hit->point), frame.axis);
        most = fmaxf(most, knLengthSquared(r));
    }
    // the lowest node that is far from the axis: the same one in a turned or scaled copy
    for (uint32_t i = 0; i < count; ++i)
    {
        knVec3 r = Across(knSub(mesh->nodes[nodes[i]], hit->point), frame.axis);
        if (knLengthSquared(r) >= 0.25f * most)
        {
            frame.e1 = knNormalize(r);
            break;
        }
    }
    frame.e2 = knCross(frame.axis, frame.e1);
    return frame;
}

const HitFrame* knCrack_NearestHit(const knCracks* c, knVec3 p)
{
    const HitFrame* nearest = &c->hits[0];
    float least = FLT_MAX;
    for (uint32_t i = 0; i < c->def.hitCount; ++i)
    {
        float d = knLengthSquared(knSub(p, c->hits[i].point));
        nearest = d < least ? &c->hits[i] : nearest;
        least = fminf(least, d);
    }
    return nearest;
}

static knVec3 ToFrame(const HitFrame* hit, knVec3 p, float scale)
{
    knVec3 r = knScale(scale, knSub(p, hit->point));
    return knMakeVec3(knDot(r, hit->e1), knDot(r, hit->e2), knDot(r, hit->axis));
}

void knCrack_FillNoise(float* lattice, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    for (int i = 0; i < KN_CRACK_LATTICE; ++i)
    {
        lattice[i] = knRandom_Range(&random, -1.0f, 1.0f);
    }
}

// Noise of amplitude and wavelength 1 that comes again after 16 of them: from a table, as every
// node of a piece asks for it.
static float Noise(const float* lattice, knVec3 p)
{
    const float xyz[3] = {p.x, p.y, p.z};
    unsigned low[3], high[3];
    float t[3];
    for (int i = 0; i < 3; ++i)
    {
        float x = xyz[i] > -1e6f ? xyz[i] : -1e6f;
        x = x < 1e6f ? x : 1e6f;
        // the floor; the library's is a call
        int cell = (int)x;
        cell -= x < (float)cell;
        float s = x - (float)cell;
        t[i] = s * s * (3.0f - 2.0f * s);
        low[i] = (unsigned)(cell & 15) << (4 * i);
        high[i] = (unsigned)((cell + 1) & 15) << (4 * i);
    }
    float sum[2];
    for (int k = 0; k < 2; ++k)
    {
        unsigned z = k ? high[2] : low[2];
        float a = lattice[z | low[1] | low[0]];
        float b = lattice[z | low[1] | high[0]];
        float c = lattice[z | high[1] | low[0]];
        float d = lattice[z | high[1] | high[0]];
        a += t[0] * (b - a);
        c += t[0] * (d - c);
        sum[k] = a + t[1] * (c - a);
    }
    return sum[0] + t[2] * (sum[1] - sum[0]);
}

// Grows with the distance from the hit, here more and there less.
float knCrack_Spacing(const knCracks* c, knVec3 p)
{
    const HitFrame* hit = knCrack_NearestHit(c, p);
    float d = knDistance(p, hit->point);
    knVec3 q = ToFrame(hit, p, 2.0f / (d + c->minSpacing));
    float noise = Noise(c->lattice, q);
    d *= c->def.spacing * (1.0f + SPACING_NOISE * noise);
    return sqrtf(c->minSpacing * c->minSpacing + d * d);
}

static float WavesAt(const CrackFace* face, knVec3 p)
{
    const HitFrame* hit = face->hit;
    knVec3 q = ToFrame(hit, p, 1.0f / face->wavelength);
    knVec3 place = knAdd(q, face->noisePlace);
    float wave = Noise(face->lattice, place) + 0.35f * Noise(face->lattice, knScale(2.7f, place));
    // a radial crack begins at the hit
    float fade = face->isRadial ? fminf(1.0f, 2.0f * knLength(q)) : 1.0f;
    return face->amplitude * fade * wave;
}

float knCrack_Waves(const CrackFace* face, knVec3 p)
{
    return WavesAt(face, p) - face->seedWave;
}

void knCrack_SetWaves(CrackFace* face, float wavelength, float share)
{
    face->wavelength = wavelength;
    face->amplitude = share * wavelength;
    face->seedWave = WavesAt(face, face->seed);
}

// A principal direction has no sign of its own: it gets one from the hit, the same in every copy.
static knVec3 WithSign(knVec3 normal, const HitFrame* hit, knVec3 u)
{
    const knVec3 references[4] = {knCross(hit->axis, u), hit->e1, hit->e2, hit->axis};
    for (int i = 0; i < 4; ++i)
    {
        float side = knDot(normal, references[i]);
        if (fabsf(side) > 0.1f)
        {
            return side < 0.0f ? knNeg(normal) : normal;
        }
    }
    return normal;
}

static knVec3 Tilt(knVec3 direction, const HitFrame* hit, knVec3 turn)
{
    knVec3 t = knScale(turn.x, hit->e1);
    t = knAddScaled(t, turn.y, hit->e2);
    t = knAddScaled(t, turn.z, hit->axis);
    return knNormalize(knAdd(direction, knScale(MAX_TILT, Across(t, direction))));
}

static void MakeRadial(CrackFace* face, knVec3 u, knRandom* random)
{
    const HitFrame* hit = face->hit;
    face->isRadial = true;
    face->normal = WithSign(knNormalize(Across(face->normal, u)), hit, u);
    face->outwards = knNormalize(Across(u, face->normal));
    if (fabsf(knDot(u, hit->axis)) > 0.9f)
    {
        // right behind the hit: outwards is any way along the crack and across the axis
        face->outwards = knNormalize(knCross(face->normal, hit->axis));
    }
    // a straight line through the hit is what nobody has ever seen in broken ware
    float slope = knRandom_Range(random, 0.15f, 0.8f);
    face->kink = knRandom_Float(random) < 0.5f ? -slope : slope;
}

void knCrack_TurnThroughHit(CrackFace* face)
{
    knVec3 u = knNormalize(knSub(face->seed, face->hit->point));
    knVec3 hoop = knCross(face->hit->axis, u);
    face->normal = knLength(hoop) > 0.1f ? hoop : face->hit->e1;
    face->curvature = 0.0f;
    knRandom random = knMakeRandom(face->turnSeed);
    MakeRadial(face, u, &random);
}

CrackFace knCrack_MakeFace(const knCracks* c, uint32_t node, knVec3 direction)
{
    knVec3 seed = c->set->cutMesh->mesh->nodes[node];
    CrackFace face = {.seed = seed, .normal = direction, .hit = knCrack_NearestHit(c, seed)};
    knRandom random = knMakeRandom(c->def.seed ^ 0xA24BAED4963EE407u * ((uint64_t)node + 1));
    face.turnSeed = knRandom_U64(&random);
    face.lattice = c->lattice;
    face.noisePlace =
        knMakeVec3(knRandom_Range(&random, 0.0f, 16.0f), knRandom_Range(&random, 0.0f, 16.0f),
                   knRandom_Range(&random, 0.0f, 16.0f));
    knVec3 from = knSub(seed, face.hit->point);
    float distance = knLength(from);
    knVec3 u = distance > 0.0f ? knScale(1.0f / distance, from) : face.hit->axis;
    // no two principal directions of a real thing are quite where symmetry wants them
    knVec3 turn = {knRandom_Range(&random, -1.0f, 1.0f), knRandom_Range(&random, -1.0f, 1.0f),
                   knRandom_Range(&random, -1.0f, 1.0f)};
    direction = Tilt(WithSign(direction, face.hit, u), face.hit, turn);
    face.normal = direction;
    if (knDot(direction, u) < 0.0f)
    {
        face.normal = knNeg(direction);
    }
    float cosine = knDot(face.normal, u);
    if (cosine < RADIAL_COSINE)
    {
        MakeRadial(&face, u, &random);
    }
    else
    {
        float share = fminf(1.0f, (cosine - RADIAL_COSINE) / (SHELL_COSINE - RADIAL_COSINE));
        float radius = fmaxf(distance, c->minSpacing) * knRandom_Range(&random, 0.9f, 1.4f);
        face.curvature = share / radius;
    }
    return face;
}

// The way the distance grows, without the waves.
knVec3 knCrack_FaceNormal(const CrackFace* face, knVec3 p)
{
    knVec3 g = face->normal;
    if (face->isRadial && knDot(face->outwards, knSub(p, face->hit->point)) < 0.0f)
    {
        g = knAddScaled(g, -face->kink, face->outwards);
    }
    else if (!face->isRadial)
    {
        g = knAddScaled(g, face->curvature, knSub(p, face->seed));
    }
    return knNormalize(g);
}
