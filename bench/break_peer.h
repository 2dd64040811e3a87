// SPDX-License-Identifier: Zlib
#pragma once

// What a game has to do without Knap's shapes when something breaks: a Bullet world whose bodies
// are those of a world of Knap's, each with a shape of the peer's that is made when the piece
// appears.

#include "bench/pile_world.h"
#include "knap/world.h"

typedef struct knBreakPeer knBreakPeer;

// A body of the world that is a ball, as a body does not tell its radius.
typedef struct knBreakBall
{
    knBodyId body;
    float radius; // m
} knBreakBall;

#ifdef __cplusplus
extern "C"
{
#endif

    // kn_pileGimpact or kn_pileHull; what does not move is a static mesh in both. The floor is at
    // 0. The solver is set as Knap's with so many iterations, or left as Bullet has it with 0.
    knResult knCreateBreakPeer(knBreakPeer** peer, knPileMethod method, int solverIterations);
    void knDestroyBreakPeer(knBreakPeer* peer);

    // Bodies for what is new in the world, none for what is gone, all in their places and with
    // their velocities. `seconds` is the processor's time for shapes and bodies that are new.
    knResult knBreakPeer_Follow(knBreakPeer* peer, const knWorld* world, const knBreakBall* balls,
                                uint32_t ballCount, double* seconds);

    // `seconds` of the processor.
    knResult knBreakPeer_Step(knBreakPeer* peer, float dt, double* seconds);

    // m/s, of the fastest body.
    double knBreakPeer_WorstSpeed(const knBreakPeer* peer);

    // m, of the body that is furthest from where it would be, had it fallen by this much alone
    // since it was placed last.
    double knBreakPeer_WorstMiss(const knBreakPeer* peer, double fall);

#ifdef __cplusplus
}
#endif
