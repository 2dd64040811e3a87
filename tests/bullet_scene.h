// SPDX-License-Identifier: Zlib
#pragma once

// Worlds for tests in real Bullet: a floor, objects that fall on it, and what can be measured.

#include "kit.h"
#include "knap/world.h"
#include "pieces.h"

#if defined(__cplusplus)
extern "C"
{
#endif

// Sanitizers are slow: the same scenes, fewer steps.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KN_TEST_SLOW 1
#else
#define KN_TEST_SLOW 0
#endif

    // Nothing breaks in it by itself; tests of breaking switch it on.
    knWorld* MakeTestWorld(void);
    void SwitchBreakingOff(knWorld* world);
    knBodyId AddFloor(knWorld* world, float friction);

    // The asset's frame at `position`, turned by `rotation`; friction 0.5.
    knBodyId AddObject(knWorld* world, const TestModel* model, knVec3 position, knQuat rotation);
    knBodyId AddObjectDef(knWorld* world, const TestModel* model, const knBodyDef* def);

    // Fails the test when the step fails.
    void Steps(knWorld* world, int count, float dt);
    knBodyState StateOf(const knWorld* world, knBodyId body);

    // Of all dynamic bodies: the fastest point of motion, m/s, with spin taken at 0.1 m.
    float FastestBody(const knWorld* world);

    // Of all contacts of pieces, m, not negative.
    float DeepestContact(const knWorld* world);

    // What a world has in all, from masses and velocities alone. Shapes are solid balls of the
    // given radius; pieces have the inertia of their volume, also those that do not move.
    typedef struct Motion
    {
        knDVec3 linear, angular; // kg m/s, kg m^2/s about the origin
        double energy;           // J, kinetic
        double mass;             // kg, of what moves
        double pieceMass;        // kg, of all pieces
    } Motion;

    Motion MotionOf(const knWorld* world, float ballRadius);

#if defined(__cplusplus)
}
#endif
