// SPDX-License-Identifier: Zlib
#pragma once

// Knap in a Bullet world that the game owns.
//
// The game's own bodies stay the game's. Knap adds its pieces as rigid bodies, registers its narrow
// phase in the world's dispatcher and one action; it takes no tick callback and subclasses nothing.
// Everything in knap/world.h works on an attached world but knWorld_Step and knWorld_SetGravity.

#include "knap/world.h"

#if defined(__cplusplus)
class btDiscreteDynamicsWorld;
class btRigidBody;
class btCollisionObject;
#else
typedef struct btDiscreteDynamicsWorld btDiscreteDynamicsWorld;
typedef struct btRigidBody btRigidBody;
typedef struct btCollisionObject btCollisionObject;
#endif

// The dispatcher must be a btCollisionDispatcher; register GImpact's algorithm before, if at all.
// knDestroyWorld detaches: the pieces go, the dispatcher's tables are as they were. Do it before
// the Bullet world is deleted.
KN_API knResult knAttachWorld(knWorld** world, btDiscreteDynamicsWorld* bullet,
                              const knWorldDef* def, const knAllocator* allocator);

// Null when the id names no body. The body's frame in Bullet is turned to the axes of inertia:
// knWorld_BodyState gives that of the render data.
KN_API btRigidBody* knWorld_BulletBody(const knWorld* world, knBodyId body);

// Null for a body that is not Knap's.
KN_API knBodyId knWorld_FindBody(const knWorld* world, const btCollisionObject* object);

// The solver settings that worlds of Knap's own have: split impulses from the first micrometre, all
// of the last impulse as the first guess, friction in two directions. Recommended; a stack of ten
// bricks falls with Bullet's defaults and stands with these.
KN_API void knTuneBullet(btDiscreteDynamicsWorld* bullet);
