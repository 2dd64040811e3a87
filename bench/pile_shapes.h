// SPDX-License-Identifier: Zlib
#pragma once

// The peers' collision shapes of a piece. C++: for pile_world.cpp.

#include "bench/pile_world.h"

#include <btBulletDynamicsCommon.h>

#include <chrono>

// The harness's clock is C.
static inline double Seconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct knPileShape
{
    btCollisionShape* shape;
    btTriangleMesh* triangles; // of GImpact
    double seconds;            // to make it
};

knResult knMakePileShape(knPileShape* shape, knPileMethod method, const knPieceMesh* mesh,
                         double seconds);
void knDestroyPileShape(knPileShape* shape);
