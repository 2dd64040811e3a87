// SPDX-License-Identifier: Zlib
#include "bullet_scene.h"
#include "knap/world_break.h"

void SwitchBreakingOff(knWorld* world)
{
    knBreakLimits limits = knDefaultBreakLimits();
    limits.isOff = true;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
}

knWorld* MakeTestWorld(void)
{
    knWorldDef def = knDefaultWorldDef();
    knWorld* world = NULL;
    assert_int_equal(knCreateWorld(&world, &def, NULL), kn_success);
    SwitchBreakingOff(world);
    return world;
}

knBodyId AddFloor(knWorld* world, float friction)
{
    knBodyDef def = knDefaultBodyDef();
    def.friction = friction;
    knBodyId id;
    knVec3 up = {0.0f, 1.0f, 0.0f};
    assert_int_equal(knWorld_CreatePlane(world, &def, up, 0.0f, &id), kn_success);
    return id;
}

knBodyId AddObjectDef(knWorld* world, const TestModel* model, const knBodyDef* def)
{
    knFamilyDef family = knDefaultFamilyDef();
    family.model = model->model;
    knFamilyId familyId;
    knBodyId id;
    assert_int_equal(knWorld_CreateFamily(world, def, &family, &familyId, &id), kn_success);
    return id;
}

knBodyId AddObject(knWorld* world, const TestModel* model, knVec3 position, knQuat rotation)
{
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = position;
    def.transform.rotation = rotation;
    def.noSleep = true;
    return AddObjectDef(world, model, &def);
}

void Steps(knWorld* world, int count, float dt)
{
    for (int i = 0; i < count; ++i)
    {
        assert_int_equal(knWorld_Step(world, dt), kn_success);
    }
}

knBodyState StateOf(const knWorld* world, knBodyId body)
{
    knBodyState state;
    assert_int_equal(knWorld_BodyState(world, body, &state), kn_success);
    assert_true(knIsFinite(state.transform.position) && knIsFinite(state.velocity));
    return state;
}

float FastestBody(const knWorld* world)
{
    float fastest = 0.0f;
    knBodyId none = {0};
    for (knBodyId id = knWorld_NextBody(world, none); !knId_IsNull(id);
         id = knWorld_NextBody(world, id))
    {
        knBodyState state = StateOf(world, id);
        if (state.mass > 0.0f)
        {
            fastest = fmaxf(fastest, knLength(state.velocity) + 0.1f * knLength(state.spin));
        }
    }
    return fastest;
}

float DeepestContact(const knWorld* world)
{
    static knWorldContact contacts[8192];
    uint32_t count;
    assert_int_equal(knWorld_Contacts(world, contacts, 8192, &count), kn_success);
    assert_true(count <= 8192);
    float deepest = 0.0f;
    for (uint32_t i = 0; i < count; ++i)
    {
        deepest = fmaxf(deepest, -contacts[i].distance);
    }
    return deepest;
}

static knDVec3 TimesInertia(const knDSym3* i, knDVec3 w)
{
    return knMakeDVec3(i->xx * w.x + i->xy * w.y + i->xz * w.z,
                       i->xy * w.x + i->yy * w.y + i->yz * w.z,
                       i->xz * w.x + i->yz * w.y + i->zz * w.z);
}

static void AddBody(Motion* m, const knBodyState* s, knDVec3 spun)
{
    double mass = (double)s->mass;
    knDVec3 v = knToDouble(s->velocity);
    m->linear = knDAdd(m->linear, knDScale(mass, v));
    m->angular = knDAdd(m->angular, knDCross(knToDouble(s->transform.position), knDScale(mass, v)));
    m->angular = knDAdd(m->angular, spun);
    m->energy += 0.5 * mass * knDDot(v, v) + 0.5 * knDDot(spun, knToDouble(s->spin));
    m->mass += mass;
}

Motion MotionOf(const knWorld* world, float ballRadius)
{
    Motion m = {0};
    for (knBodyId id = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(world, id))
    {
        knBodyState s = StateOf(world, id);
        knBodyPiece piece;
        knDVec3 spun;
        if (knWorld_BodyPiece(world, id, &piece) == kn_success)
        {
            const knFragment* f = &knFamily_Fragments(piece.object)->fragments[piece.fragment];
            knVec3 local = knInvRotate(s.transform.rotation, s.spin);
            knDVec3 l = TimesInertia(&f->mass.inertia, knToDouble(local));
            spun = knToDouble(knRotate(s.transform.rotation, knToFloat(l)));
            spun = knDScale(s.mass > 0.0f ? 1.0 : 0.0, spun);
            m.pieceMass += f->mass.mass;
        }
        else
        {
            double i = 0.4 * (double)s.mass * (double)ballRadius * (double)ballRadius;
            spun = knDScale(i, knToDouble(s.spin));
        }
        AddBody(&m, &s, spun);
    }
    return m;
}
