// SPDX-License-Identifier: Zlib
#pragma once

// The peers' collision shapes of a piece. C++: for pile_world.cpp.

#include "bench/pile_world.h"

#include <btBulletDynamicsCommon.h>

#include <chrono>
#include <ctime>

// The harness's clock is C.
static inline double Seconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Of this thread: what others do on the machine does not count.
static inline double ProcessorSeconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
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
