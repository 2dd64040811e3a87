// SPDX-License-Identifier: Zlib
#pragma once

// A plate to crack with a stress that is written down, not solved for: hoop and radial tension
// around the hit that fall with the distance.

#include "fracture_scene.h"

#include "knap/crack.h"

typedef struct CrackScene
{
    Scene scene;
    knNodeStress* stress;
    float* damage;
    knCracks* cracks;
    knCrackHit hit;
} CrackScene;

// How a copy of the plate is placed.
typedef struct Placing
{
    knQuat rotation;
    knVec3 offset;
    float scale;
} Placing;

static inline Placing InPlace(void)
{
    return (Placing){knIdentityQuat(), {0.0f, 0.0f, 0.0f}, 1.0f};
}

static inline knVec3 Place(const Placing* placing, knVec3 p)
{
    return knAdd(knScale(placing->scale, knRotate(placing->rotation, p)), placing->offset);
}

static inline void AddDyad(float tensor[6], float size, knVec3 d)
{
    tensor[0] += size * d.x * d.x;
    tensor[1] += size * d.y * d.y;
    tensor[2] += size * d.z * d.z;
    tensor[3] += size * d.x * d.y;
    tensor[4] += size * d.y * d.z;
    tensor[5] += size * d.z * d.x;
}

// 1 MPa of hoop tension at the hit, less of radial, falling to a half 8 cm away (in the plate's own
// size).
static inline knNodeStress StressAt(const CrackScene* s, knVec3 p, float scale)
{
    knVec3 r = knSub(p, s->hit.point);
    r = knAddScaled(r, -knDot(r, s->hit.direction), s->hit.direction);
    float distance = knLength(r) / scale;
    knVec3 radial = knNormalize(r);
    knVec3 hoop = knCross(s->hit.direction, radial);
    float size = 1e6f / (1.0f + distance * distance / (0.08f * 0.08f));
    knNodeStress stress = {.tension = size, .direction = hoop};
    AddDyad(stress.tensor, size, hoop);
    AddDyad(stress.tensor, 0.6f * size, radial);
    return stress;
}

static inline void MakeCrackScene(CrackScene* s, const int cells[3], Placing placing)
{
    Scene* scene = &s->scene;
    scene->shape =
        MakeLatticeBox(cells, knMakeVec3(-0.12f, 0.0f, -0.12f), knMakeVec3(0.12f, 0.006f, 0.12f));
    JitterInside(&scene->shape, 0.001f, 7);
    for (uint32_t i = 0; i < scene->shape.nodeCount; ++i)
    {
        scene->shape.nodes[i] = Place(&placing, scene->shape.nodes[i]);
    }
    StartScene(scene, 1);
    // off the middle, so that nothing is the same on both sides
    s->hit.point = Place(&placing, knMakeVec3(0.011f, 0.006f, -0.007f));
    s->hit.direction = knRotate(placing.rotation, knMakeVec3(0.0f, -1.0f, 0.0f));
    uint32_t count = scene->parts.mesh.nodeCount;
    s->stress = calloc(count, sizeof *s->stress);
    s->damage = calloc(count, sizeof *s->damage);
    assert_true(s->stress && s->damage);
    for (uint32_t i = 0; i < count; ++i)
    {
        s->stress[i] = StressAt(s, scene->parts.mesh.nodes[i], placing.scale);
    }
    assert_int_equal(knCreateCracks(&s->cracks, count, NULL), kn_success);
}

static inline void FreeCrackScene(CrackScene* s)
{
    knDestroyCracks(s->cracks);
    free(s->stress);
    free(s->damage);
    FreeScene(&s->scene);
}

// Breaks at 10 N s; the energy of 10 N s pays for a square decimetre of crack.
static inline knCrackDef DefaultPlateDef(CrackScene* s, double impulse)
{
    knCrackDef def = knDefaultCrackDef();
    def.stress = s->stress;
    def.impulse = impulse;
    def.strainEnergy = 1e-3;
    def.energyShare = def.contactShare = 1.0f;
    def.strength = 1e7;
    def.fractureEnergy = 10.0;
    def.hits = &s->hit;
    def.hitCount = 1;
    def.damage = s->damage;
    def.seed = 5;
    return def;
}

static inline knCrackReport RunCracks(CrackScene* s, const knCrackDef* def)
{
    assert_int_equal(knCracks_Begin(s->cracks, &s->scene.set, def), kn_success);
    while (!knCracks_Report(s->cracks)->isDone)
    {
        knSplitResult result;
        knArena_Reset(&s->scene.arena);
        assert_int_equal(knCracks_Next(s->cracks, &s->scene.arena, &result), kn_success);
    }
    knArena_Reset(&s->scene.arena);
    return *knCracks_Report(s->cracks);
}
