// SPDX-License-Identifier: Zlib
#pragma once

// Saving a world of Knap's own, loading it, and recording what a game does to it.
//
// Bullet cannot be restored to the bit, so saving is a barrier: the live world, too, goes on with
// an engine that was built anew from what was saved, body by body in order of their ids. From then
// on the saved and the live world are the same in every bit, in debug and in release and with any
// number of threads. Contacts start cold on both sides. Ids stay valid; user pointers are not
// saved. Breaks that were going on are finished first.
//
// Pieces are saved as the story of their object: the breaks that made them, which loading goes
// through again. So a file is small, and nothing in it can be a wrong shape. Loading takes about as
// long as the breaks took.

#include "knap/world_break.h"

// The model that a name in a file stands for; null when there is none. The name is the mesh file
// that the asset was cooked from.
typedef const knModel* knFindModelFcn(void* user, const char* name);

typedef struct knLoadDef
{
    size_t size; // of this struct
    knFindModelFcn* find;
    void* user;
    const knTaskHooks* tasks; // copied; null for one thread
} knLoadDef;

KN_API knLoadDef knDefaultLoadDef(void);

// Between steps. `bytes` are the allocator's of the world: give them back with knWorld_FreeBytes.
// kn_errorArgument for an attached world: the game saves that. When there is no memory the world is
// as before.
KN_API knResult knWorld_Save(knWorld* world, void** bytes, size_t* size);
KN_API void knWorld_FreeBytes(const knWorld* world, void* bytes, size_t size);

// kn_errorFormat, with what is wrong, for anything that is no whole file of this version.
KN_API knResult knLoadWorld(knWorld** world, const void* bytes, size_t size, const knLoadDef* def,
                            const knAllocator* allocator);

// Of everything that decides how the world goes on.
KN_API uint64_t knWorld_Hash(const knWorld* world);

// From now on every call that changes the world is kept, and its hash after each step. Begins with
// the barrier of a save.
KN_API knResult knWorld_StartRecording(knWorld* world);

// As knWorld_Save; the recording ends. kn_errorMemory when it grew too large on the way.
KN_API knResult knWorld_StopRecording(knWorld* world, void** bytes, size_t* size);

typedef struct knReplayReport
{
    uint32_t steps;
    uint32_t calls;      // all but steps
    uint32_t wrongSteps; // whose hash was another
    uint32_t firstWrong; // of them, counted from 0; KN_NONE for none
    uint64_t hash;       // at the end
    void (*onStep)(const knWorld* world, uint32_t step, void* user); // may be null; set before
    void* user;
} knReplayReport;

// Goes through a recording; `world` is as it was at the end.
KN_API knResult knReplayWorld(knWorld** world, const void* bytes, size_t size, const knLoadDef* def,
                              const knAllocator* allocator, knReplayReport* report);
