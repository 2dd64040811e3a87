// SPDX-License-Identifier: Zlib
#pragma once

#include "bullet_port.h"
#include "bullet_stream.h"
#include "knap/config.h"
#include "knap/world_save.h"

#define KN_TAG_SHIFT 20 // of a world's tag in an id's index

// A piece with what must not move in memory while its body lives.
typedef struct knPiece
{
    knPieceMesh mesh;
    knFamilyId family;
    uint32_t fragment;
    uint32_t serial;
} knPiece;

typedef struct knBody
{
    knPortBody* port;
    knPiece* piece; // null for a shape
    void* user;
    uint32_t jointCount;
    uint32_t breakId;      // of the break that is still cutting it, or 0
    double enduredImpulse; // N s; hits below it were tried and broke nothing
    float age;             // s, of debris
    float rest;            // s without motion, of debris
    bool isFrozen;
} knBody;

typedef struct knWorldFamily
{
    knFamily* family;
    knMaterial material;
    uint32_t pieceCount; // bodies
    bool isBreakable;
    bool isForgetful; // no memory for its story: it cannot be saved
    knStream story;
    knFamilyDef def; // that it was made with
} knWorldFamily;

// Where it holds is in the frames of the bodies, so that it can be handed on.
typedef struct knJoint
{
    knPortJoint* port; // null while a body of it is out of the engine, or there was no memory
    knPortJointKind kind;
    knBodyId bodies[2];
    knVec3 pivots[2], axes[2]; // in the world where there is no body
} knJoint;

// A contact of the last step that carried an impulse and has a piece in it.
//
// A hit that is found ahead of its way is slowed in this step so that it arrives at its end, and
// stopped in the next. How much comes first depends on where the step finds it; what breaks must
// not, so the hit counts whole when it is first seen.
typedef struct knPush
{
    knId bodies[2];         // in the pool; null for a body of the game's own
    const void* objects[2]; // Bullet's
    uint32_t places[2];     // of these among all that the engine has
    uint32_t step;          // of the engine's since the last knWorld_Break, counted from 1
    knVec3 points[2];       // in the world, where either got it
    knVec3 impulse;         // on body 0, N s
    float approach;         // m/s along the impulse, before the step
    float left;             // the same after it
    float whole;            // times the impulse is all that the hit will take: below
    bool isMoved[2];        // the body can move
    bool isAhead;           // found before it touches
} knPush;

// The same, as one of the pieces that can break sees it.
typedef struct knHit
{
    knId body;
    uint32_t push;
    uint8_t side;
    float size;  // N s
    float total; // N s, the largest on its body
} knHit;

#define KN_MAX_STRIKERS 8

// What hit a body and can move. An address alone would soon be another body's.
typedef struct knStriker
{
    knBodyId body;      // null for what is the game's own
    const void* object; // as the engine knows it, while an event lives
} knStriker;

// All hits of one body in one step, in the frame of its asset: they can wait.
typedef struct knBlow
{
    knBodyId body;
    uint32_t impactCount;
    knImpact impacts[KN_MAX_CRACK_HITS]; // the strongest first
    double impulse;                      // N s, of all
    double energy;                       // J that the contacts took
    bool isImpact;                       // something met it with speed
    knVec3 place;                        // in the world
    knStriker strikers[KN_MAX_STRIKERS];
    uint32_t strikerCount;
} knBlow;

// A body whose fragment was cut, out of the engine until its pieces have bodies.
typedef struct knEventParent
{
    knBodyId body;
    uint32_t fragment;
    bool isOut;
    knBodyDef def; // as it was in the engine
} knEventParent;

typedef struct knEventPiece
{
    uint32_t fragment;
    uint32_t parent; // into the event's parents while it is new
    knBodyId body;   // null for debris and until it is made
    bool isNew, isDebris;
} knEventPiece;

// A mesh that was made before its piece came to be.
typedef struct knReadyMesh
{
    knPieceMesh mesh;
    uint32_t fragment;
    bool isBegun;
} knReadyMesh;

// A break from the decision until the last piece has its body.
typedef struct knBreakEvent
{
    uint32_t id;
    knFamilyId family;
    knBlow blow;
    double share; // of the impulses that breaking needs
    double breakingShare;
    bool breaks;      // or leaves damage at least
    size_t storyMark; // where its story begins
    double energy, area, toldEnergy, toldArea;
    double allEnergy; // J that it can spend in all
    double updateSeconds;
    bool isCutting; // the breaker works on it
    bool isStale;   // fragments were cut that the list does not know
    bool hasNews;   // pieces wait for bodies
    bool isKept;    // a cut is kept back until the meshes of its pieces are ready
    bool isLastCut; // of these: no crack comes after it
    bool isListed;  // what meshes it needs
    uint64_t slice; // that made it
    double keptEnergy, keptArea;
    knReadyMesh* ready;
    size_t readyCapacity;
    uint32_t readyCount, madeCount; // the first ones are made
    knEventPiece* pieces;
    knEventParent* parents;
    size_t pieceCapacity, parentCapacity;
    uint32_t pieceCount, parentCount;
} knBreakEvent;

// What gives impulses back in this step.
typedef struct knRefundShare
{
    uint32_t slot;
    double share;
    double energy; // J, that its cracks take of the hit
} knRefundShare;

// Two bodies that touch; ordered by the engine's numbers.
typedef struct knTouching
{
    uint64_t key;
    knContactEvent event;
    float strongest;
    bool touches; // not only near
} knTouching;

#define KN_MAX_NOTICES 24
#define KN_HEIR_COUNT  4096 // breaks that are remembered
#define KN_HEIR_LISTS  1024

// Who came of whom, the last breaks only.
typedef struct knHeirs
{
    knBodyId* parents; // ring; null until something broke
    knBodyId* children;
    uint32_t* nexts; // in the list of the same hash, counted from 1
    uint32_t lists[KN_HEIR_LISTS];
    uint32_t count; // ever
} knHeirs;

typedef struct knBudget
{
    uint64_t work;    // spent in this step
    uint64_t cutting; // of it, the rest is bodies
    double start;     // s
    uint32_t bodies, tries;
} knBudget;

// Of bodies that pushed one another in a step in which one of them broke.
typedef struct knIslandEnergy
{
    double allowed;  // J; before the step, and what weight has done since
    double found[3]; // J; with none of the impulses given back, half of it, and all
    double taken;    // of what was given back, a share
} knIslandEnergy;

typedef struct knWorldBreaks
{
    knBreakLimits limits;
    knBreaker* breaker; // null until something is hit
    knPieceMeshWork* meshWork;
    knPush* pushes;
    knHit* hits;
    knBlow* pending;    // the hardest first
    knBreakEvent* live; // at most one is still being cut
    knRefundShare* refunds;
    knFractureEvent* fractures;
    knBodyId* children;
    knDebrisEvent* debris;
    knJointEvent* joints;
    knTouching* touching[2]; // of this step and of the last
    knContactEvent* contacts;
    // by slot of the body; behind them those of the game's own, by their place in the engine
    uint32_t* islands;
    knIslandEnergy* energies; // by slot of the island
    knNotice notices[KN_MAX_NOTICES];
    knHeirs heirs;
    size_t pushCapacity, hitCapacity, pendingCapacity, liveCapacity, refundCapacity;
    size_t fractureCapacity, childCapacity, debrisCapacity, jointCapacity, contactCapacity;
    size_t touchingCapacity[2];
    size_t islandCapacity, energyCapacity;
    uint32_t stepCount; // of the engine's since the last knWorld_Break
    uint32_t pushCount, aheadCount, hitCount, pendingCount, liveCount, refundCount;
    uint32_t fractureCount, childCount, debrisCount, jointCount, contactCount, noticeCount;
    uint32_t touchingCount[2];
    uint32_t looseJoints; // that wait for memory or a body
    uint32_t lastId;      // of a break
    bool isQuiet;         // after a barrier no contact begins
    knBudget budget;
    double seconds, updateSeconds; // of the last step
} knWorldBreaks;

// What a game can do to a world, as recordings number it.
typedef enum knCall
{
    kn_callStep = 1,
    kn_callCreateShape,
    kn_callCreateFamily,
    kn_callDestroyBody,
    kn_callDestroyFamily,
    kn_callSplit,
    kn_callSetTransform,
    kn_callSetVelocity,
    kn_callApplyImpulse,
    kn_callSetFilter,
    kn_callCreateJoint,
    kn_callDestroyJoint,
    kn_callPick,
    kn_callDrag,
    kn_callDrop,
    kn_callSetGravity,
    kn_callSetLimits,
    kn_callSetBreakLimits,
    kn_callSetMaterial,
    kn_callSetMaterials,
    kn_callSetBreakable,
    kn_callBarrier
} knCall;

typedef struct knRecorder
{
    knStream stream;
    knStream grants; // what the clock allowed in this step, written or read
    uint32_t muted;  // calls that the world makes itself
    bool isOn, isReplay;
} knRecorder;

// A body in a file.
typedef struct knBodyRecord
{
    knBodyDef def;            // with the state as it is
    const knPortShape* shape; // of what is no piece
    knFamilyId family;        // null for a shape
    uint32_t fragment;
    knPortSleep sleep;
    double enduredImpulse;
    float age, rest;
    bool isFrozen;
} knBodyRecord;

#define KN_SAVE_MAGIC     "KNWORLD"
#define KN_SAVE_VERSION   3u
#define KN_SAVE_WORLD     1u
#define KN_SAVE_RECORDING 2u

typedef struct knSaveHeader
{
    char magic[8];
    uint32_t version;
    uint32_t kind;
    uint64_t size;     // bytes behind the header
    uint64_t checksum; // of them
} knSaveHeader;

struct knWorld
{
    knAllocator allocator;
    knWorldDef def;
    knPairs* pairs;
    knPort* port;
    knPool bodies;   // of knBody
    knPool families; // of knWorldFamily
    knPool joints;   // of knJoint
    knPortJoint* drag;
    knBodyId dragged;
    knVec3 dragPivot;     // in its frame
    knVec3 dragTarget;    // in the world
    knArena scratch;      // surfaces
    knArena splitScratch; // what a split tells, until its bodies are made
    uint32_t pieceCount;
    uint32_t serial; // of render data
    double stepTime;
    knPairsCounters lastPairs;
    knRecorder recorder;
    knWorldBreaks breaks;
    knMaterial materials[KN_CONFIG_MATERIALS]; // of a config, before the presets
    uint32_t materialCount;
};

// Ids carry the world's tag; pools do not know it.
knId knWorld_Tagged(const knWorld* world, knId id);
knId knWorld_Untagged(const knWorld* world, knId id); // null when it is of another world

// Null, and kn_errorHandle in the last message, when there is none.
knBody* knWorld_GetBody(const knWorld* world, knBodyId id);
knWorldFamily* knWorld_GetFamily(const knWorld* world, knFamilyId id);

// By the name that an asset gives; null when there is none.
const knMaterial* knWorld_FindMaterial(const knWorld* world, const char* name);

// Grows by doubling; between steps only.
knResult knWorld_ReserveSlot(knPool* pool);

knResult knWorld_MakeMesh(knWorld* world, const knFamily* family, knPiece* piece);
knPortBodyDef knPiece_PortDef(const knFamily* family, const knPiece* piece, const knBodyDef* def,
                              knPortShape* shape);

// `shape` has everything but what a piece adds.
knResult knWorld_AddBody(knWorld* world, const knBodyDef* def, const knPortShape* shape,
                         knBodyId* id);

// Makes a body of a fragment; def->transform is of the body's frame here. A mesh that is ready goes
// to it on success; null to make one.
knResult knWorld_AddPiece(knWorld* world, const knBodyDef* def, knFamilyId family,
                          uint32_t fragment, knPieceMesh* ready, knBodyId* id);
void knWorld_RemoveBody(knWorld* world, knBodyId id);
knResult knWorld_CheckBodyDef(const knBodyDef* def);

// Axes of inertia: a rotation to them and the moments about them.
void knPrincipalAxes(const knDSym3* inertia, knQuat* axes, knVec3* moments);

knBodyId knWorld_BodyOf(const knWorld* world, const void* object);

// What a part takes over from a body that breaks.
typedef struct knParting
{
    knBodyDef def;
    knBodyState state;
    knVec3 center; // of the parent, in the frame of the asset
} knParting;

knBodyDef knParting_Def(const knParting* parting, knVec3 center);

// bullet_family.c: splits with as much scratch as it takes.
knResult knWorld_SplitFamily(knWorld* world, knFamily* family, uint32_t fragment,
                             const knSplitDef* def, knSplitResult* result);

// bullet_shapes.c: checks, and writes what the engine takes into both.
knResult knWorld_CheckShape(knBodyDef* def, knPortShape* shape);
knResult knWorld_CreateShape(knWorld* world, const knBodyDef* def, const knPortShape* shape,
                             knBodyId* id);

// bullet_story.c: what happened to an object, to go through it again.
knResult knWorldFamily_TellBreak(knWorldFamily* family, const knBreakDef* def);
void knWorldFamily_TellSlice(knWorldFamily* family, uint64_t slice); // 0: to its end
void knWorldFamily_TellSplit(knWorldFamily* family, uint32_t fragment, const knSplitDef* def);
void knWorldFamily_TellRemoval(knWorldFamily* family, uint32_t fragment);
knResult knWorld_Relive(knWorld* world, knWorldFamily* family, const void* story, size_t size);

void knStream_WriteMaterial(knStream* stream, const knMaterial* material);
void knStream_ReadMaterial(knStream* stream, knMaterial* material);
void knStream_WriteImpacts(knStream* stream, const knImpact* impacts, uint32_t count);
uint32_t knStream_ReadImpacts(knStream* stream, knImpact impacts[KN_MAX_CRACK_HITS]);

// Arrays of a split are in the arena after reading.
knResult knStream_WriteSplit(knStream* stream, const knSplitDef* def, uint32_t nodeCount);
void knStream_ReadSplit(knStream* stream, knArena* arena, uint32_t nodeCount, knSplitDef* def);

void knWorld_LimitSpins(knWorld* world, float dt);

// After each step of the engine: a game may let it make several before it calls knWorld_Break.
void knWorld_CollectPushes(void* world);
knResult knWorld_ReserveBreaks(knWorld* world);
void knWorld_DropBreaks(knWorld* world);

// bullet_hits.c: who pushed whom in the last step, the hardest hit bodies first.
void knWorld_CollectHits(knWorld* world);

// Gives the impulses that breaking did not need back to both sides.
knResult knWorld_Refund(knWorld* world);

// bullet_blow.c: the hits from `first` on that are of one body; returns how many. A blow that is
// not worth trying has no impacts.
uint32_t knWorld_GatherBlow(const knWorld* world, uint32_t first, float dt, knBlow* blow);

// Finds the strikers that are still there; the others are left out.
void knWorld_FindStrikers(const knWorld* world, knBlow* blow);

// Keeps a blow for a later step; the softest gives way when too many wait.
void knWorld_Postpone(knWorld* world, const knBlow* blow);

// bullet_pieces.c: an event with its one body, as the last of the list. Room for it is made first.
knResult knWorld_BeginEvent(knWorld* world, const knBlow* blow, knBreakEvent** event);
void knWorld_EndEvent(knWorld* world, uint32_t index);

// A body that goes is met by nobody: nothing may remember its address.
void knWorld_ForgetStriker(knWorld* world, knBodyId body);

// Brings the list of pieces up to date; on failure it stays stale.
knResult knBreakEvent_FindPieces(knWorld* world, knBreakEvent* event);

// Makes bodies of new pieces and ends those that were cut: all of them, or none on failure.
knResult knBreakEvent_Commit(knWorld* world, knBreakEvent* event);

// bullet_ready.c: some of the meshes for a cut that is kept back, until all are ready and it comes
// forth. At least a little.
knResult knBreakEvent_Prepare(knWorld* world, knBreakEvent* event);
void knBreakEvent_DropReady(knWorld* world, knBreakEvent* event);

// What was cut is no longer kept back.
void knBreakEvent_TakeKept(knWorld* world, knBreakEvent* event);

// Null when it has to be made.
knPieceMesh* knBreakEvent_Ready(const knBreakEvent* event, uint32_t fragment);

// bullet_break.c: at once, whatever the budget, so that something else can be cut.
knResult knWorld_BringForth(knWorld* world, knFamilyId family);

double knWorld_Clock(void* user);

// What the bodies that a step makes so far take of its budget.
void knWorld_CountBodies(knWorld* world);

// Forgets events of a family that goes.
void knWorld_CancelEvents(knWorld* world, knFamilyId family);

// bullet_joint.c: takes joints of a body out of the engine; hands those of a cut body on to its
// pieces; ties what is loose.
void knWorld_LoosenJoints(knWorld* world, knBodyId body);
void knWorld_HandJointsOn(knWorld* world, const knBreakEvent* event, uint32_t parent,
                          knFractureEvent* fracture);
void knWorld_TieJoints(knWorld* world);
knResult knWorld_Tie(knWorld* world, knJoint* joint);

// bullet_break.c: as far as there is memory.
void knWorld_FinishEvents(knWorld* world);

// bullet_events.c
void knWorld_ResetEvents(knWorld* world);
void knWorld_Notice(knWorld* world, knNoticeKind kind, knResult result, knBodyId body);
void knWorld_NoteContact(knWorld* world, const knPortContact* contact, const knPush* push);
void knWorld_CompareContacts(knWorld* world);
void knWorld_NoteHeir(knWorld* world, knBodyId parent, knBodyId heir);
void knWorld_AddJointEvent(knWorld* world, const knJointEvent* event);
void knWorld_AddDebrisEvent(knWorld* world, const knDebrisEvent* event);

// bullet_debris.c: what is old goes, what rests is frozen; what touched a body that goes is woken.
void knWorld_AgeDebris(knWorld* world, float dt);
void knWorld_WakeNeighbours(knWorld* world, const knBody* body);

// bullet_rebuild.c: a new engine with everything in order of ids; on failure nothing changed.
knResult knWorld_Rebuild(knWorld* world);
knBodyRecord knWorld_CaptureBody(const knWorld* world, knId id);
knResult knWorld_BuildBody(knWorld* world, knId id, const knBodyRecord* record);
knResult knWorld_BuildDrag(knWorld* world);

// bullet_save.c, bullet_load.c
uint64_t knAsset_Fingerprint(const knAsset* asset);
void knStream_WriteId(knStream* stream, knId id);
void knStream_WriteTransform(knStream* stream, knTransform transform);
void knStream_WriteBodyDef(knStream* stream, const knBodyDef* def);
void knStream_WriteShape(knStream* stream, const knPortShape* shape);
void knStream_WriteFamilyDef(knStream* stream, const knFamilyDef* def);
void knStream_Seal(knStream* stream);
knResult knStream_GiveAway(knStream* stream, void** bytes, size_t* size);
knResult knWorld_Barrier(knWorld* world);
knResult knWorld_WriteSave(knWorld* world, knStream* stream, uint32_t kind);
knId knStream_ReadId(knStream* stream);
knTransform knStream_ReadTransform(knStream* stream);
knBodyDef knStream_ReadBodyDef(knStream* stream);
void knStream_ReadShape(knStream* stream, knArena* arena, knTriangleMesh* mesh, knPortShape* shape);
void knStream_ReadFamilyDef(knStream* stream, const knLoadDef* load, knFamilyDef* def);
knResult knCheckSave(const void* bytes, size_t size, uint32_t kind, knStream* stream);
knResult knWorld_ReadSave(knStream* stream, const knLoadDef* load, const knAllocator* allocator,
                          knWorld** world);

// bullet_record.c: each does nothing unless the world is recorded.
void knWorld_DropRecorder(knWorld* world);
void knWorld_RecordStep(knWorld* world, float dt);
void knWorld_RecordBody(knWorld* world, const knBodyDef* def, const knPortShape* shape);
void knWorld_RecordFamily(knWorld* world, const knBodyDef* def, const knFamilyDef* family);
void knWorld_RecordSplit(knWorld* world, knBodyId body, const knSplitDef* def, uint32_t fragment);
void knWorld_RecordIds(knWorld* world, knCall call, const knId* ids, uint32_t count);
void knWorld_RecordVectors(knWorld* world, knCall call, knId id, knVec3 a, knVec3 b);
void knWorld_RecordTransform(knWorld* world, knId id, knTransform transform);
void knWorld_RecordWords(knWorld* world, knCall call, knId id, uint32_t a, uint32_t b);
void knWorld_RecordJoint(knWorld* world, const knJoint* joint, knVec3 pivot, knVec3 axis);
void knWorld_RecordSettings(knWorld* world, knCall call, const knSettingTable* table,
                            const void* object);
void knWorld_RecordMaterial(knWorld* world, knFamilyId family, const knMaterial* material);
void knWorld_RecordMaterials(knWorld* world);

// What the clock allowed: kept by a recording, given by a replay.
bool knWorld_Grant(knWorld* world, bool isGranted);
void knWorld_NoteSlice(knWorld* world, uint64_t slice);
bool knWorld_GivenSlice(knWorld* world, uint64_t* slice);
