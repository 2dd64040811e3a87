// SPDX-License-Identifier: Zlib
// A recording, call by call, through the same doors that the game used: what they refuse in a game
// they refuse here.
#include "bullet_internal.h"

#include <string.h>

typedef struct Replay
{
    knWorld* world;
    knStream* stream;
    const knLoadDef* load;
    knReplayReport* report;
} Replay;

// A call that worked when it was recorded must work again.
static void Done(const Replay* r, knResult result)
{
    if (r->stream->result == kn_success && result != kn_success)
    {
        r->stream->result =
            result == kn_errorMemory
                ? result
                : knFail(kn_errorFormat, "a call of the recording fails: %s", knLastError());
    }
}

static bool IsFine(const Replay* r)
{
    return r->stream->result == kn_success;
}

static void CreateThing(Replay* r, uint32_t call)
{
    knWorld* w = r->world;
    knBodyDef def = knStream_ReadBodyDef(r->stream);
    knBodyId body;
    if (call == kn_callCreateShape)
    {
        knPortShape shape;
        knTriangleMesh mesh;
        knStream_ReadShape(r->stream, &w->splitScratch, &mesh, &shape);
        Done(r, IsFine(r) ? knWorld_CreateShape(w, &def, &shape, &body) : kn_success);
        return;
    }
    knFamilyDef family;
    knFamilyId familyId;
    knStream_ReadFamilyDef(r->stream, r->load, &family);
    Done(r, IsFine(r) ? knWorld_CreateFamily(w, &def, &family, &familyId, &body) : kn_success);
}

static void CreateJoint(Replay* r)
{
    knStream* s = r->stream;
    uint32_t kind = knStream_ReadU32(s);
    knBodyId a = knStream_ReadId(s), b = knStream_ReadId(s);
    knVec3 pivot = knStream_ReadVec3(s), axis = knStream_ReadVec3(s);
    knJointId joint;
    if (IsFine(r))
    {
        Done(r, kind == (uint32_t)kn_portHinge
                    ? knWorld_CreateHinge(r->world, a, b, pivot, axis, &joint)
                    : knWorld_CreatePointJoint(r->world, a, b, pivot, &joint));
    }
}

static void Split(Replay* r)
{
    knBodyId id = knStream_ReadId(r->stream);
    const knBody* body = IsFine(r) ? knWorld_GetBody(r->world, id) : NULL;
    if (!body || !body->piece)
    {
        knStream_Fail(r->stream, "a split of what is no piece");
        return;
    }
    const knFragmentSet* set =
        knFamily_Fragments(knWorld_GetFamily(r->world, body->piece->family)->family);
    knSplitDef def;
    knWorldSplit split;
    knStream_ReadSplit(r->stream, &r->world->scratch,
                       set->fragments[body->piece->fragment].nodeCount, &def);
    Done(r, IsFine(r) ? knWorld_SplitBody(r->world, id, &def, &split) : kn_success);
}

static void Vectors(Replay* r, uint32_t call)
{
    knId id = knStream_ReadId(r->stream);
    knVec3 a = knStream_ReadVec3(r->stream), b = knStream_ReadVec3(r->stream);
    knBodyId picked;
    if (!IsFine(r))
    {
        return;
    }
    switch (call)
    {
    case kn_callSetVelocity:
        Done(r, knWorld_SetVelocity(r->world, id, a, b));
        return;
    case kn_callApplyImpulse:
        Done(r, knWorld_ApplyImpulse(r->world, id, a, b));
        return;
    case kn_callPick:
        Done(r, knWorld_Pick(r->world, a, b, &picked));
        return;
    case kn_callDrag:
        Done(r, knWorld_Drag(r->world, a));
        return;
    default:
        Done(r, knWorld_SetGravity(r->world, a));
        return;
    }
}

static void Words(Replay* r, uint32_t call)
{
    knId id = knStream_ReadId(r->stream);
    uint32_t a = knStream_ReadU32(r->stream), b = knStream_ReadU32(r->stream);
    if (!IsFine(r))
    {
        return;
    }
    Done(r, call == kn_callSetFilter ? knWorld_SetFilter(r->world, id, (int)a, (int)b)
                                     : knWorld_SetBreakable(r->world, id, a != 0));
}

static void Settings(Replay* r, uint32_t call)
{
    knBreakLimits breaks = knDefaultBreakLimits();
    knContactLimits contacts = knDefaultContactLimits();
    if (call == kn_callSetBreakLimits)
    {
        knStream_ReadSettings(r->stream, knBreakSettings(), &breaks);
        Done(r, IsFine(r) ? knWorld_SetBreakLimits(r->world, &breaks) : kn_success);
        return;
    }
    knStream_ReadSettings(r->stream, knContactSettings(), &contacts);
    Done(r, IsFine(r) ? knWorld_SetLimits(r->world, &contacts) : kn_success);
}

static void Materials(Replay* r, uint32_t call)
{
    knMaterial material;
    if (call == kn_callSetMaterial)
    {
        knFamilyId family = knStream_ReadId(r->stream);
        knStream_ReadMaterial(r->stream, &material);
        Done(r, IsFine(r) ? knWorld_SetMaterial(r->world, family, &material) : kn_success);
        return;
    }
    uint32_t count = knStream_ReadU32(r->stream);
    if (count > KN_CONFIG_MATERIALS)
    {
        knStream_Fail(r->stream, "too many materials");
        return;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        knStream_ReadMaterial(r->stream, &r->world->materials[i]);
    }
    r->world->materialCount = count;
}

static void Ids(Replay* r, uint32_t call)
{
    knWorld* w = r->world;
    if (call == kn_callDrop)
    {
        Done(r, knWorld_Drop(w));
        return;
    }
    if (call == kn_callBarrier)
    {
        Done(r, knWorld_Barrier(w));
        return;
    }
    knId id = knStream_ReadId(r->stream);
    if (IsFine(r))
    {
        Done(r, call == kn_callDestroyBody     ? knWorld_DestroyBody(w, id)
                : call == kn_callDestroyFamily ? knWorld_DestroyFamily(w, id)
                                               : knWorld_DestroyJoint(w, id));
    }
}

static void Step(Replay* r)
{
    knWorld* w = r->world;
    knReplayReport* report = r->report;
    uint64_t hash;
    float dt = knStream_ReadF32(r->stream);
    KN_READ(r->stream, hash);
    uint32_t size = knStream_ReadU32(r->stream);
    const void* grants = knStream_Take(r->stream, size, 1);
    if (!IsFine(r))
    {
        return;
    }
    w->recorder.isReplay = true;
    w->recorder.grants = knMakeReader(grants, size);
    Done(r, knWorld_Step(w, dt));
    w->recorder = (knRecorder){0};
    report->hash = knWorld_Hash(w);
    if (report->hash != hash)
    {
        report->firstWrong = report->wrongSteps == 0 ? report->steps : report->firstWrong;
        report->wrongSteps += 1;
    }
    if (report->onStep)
    {
        report->onStep(w, report->steps, report->user);
    }
    report->steps += 1;
}

static void Repeat(Replay* r, uint32_t call)
{
    switch (call)
    {
    case kn_callStep:
        Step(r);
        return;
    case kn_callCreateShape:
    case kn_callCreateFamily:
        CreateThing(r, call);
        return;
    case kn_callCreateJoint:
        CreateJoint(r);
        return;
    case kn_callSplit:
        Split(r);
        return;
    case kn_callSetVelocity:
    case kn_callApplyImpulse:
    case kn_callPick:
    case kn_callDrag:
    case kn_callSetGravity:
        Vectors(r, call);
        return;
    case kn_callSetFilter:
    case kn_callSetBreakable:
        Words(r, call);
        return;
    case kn_callSetBreakLimits:
    case kn_callSetLimits:
        Settings(r, call);
        return;
    case kn_callSetMaterial:
    case kn_callSetMaterials:
        Materials(r, call);
        return;
    case kn_callSetTransform:
    {
        knId id = knStream_ReadId(r->stream);
        knTransform transform = knStream_ReadTransform(r->stream);
        Done(r, IsFine(r) ? knWorld_SetTransform(r->world, id, transform) : kn_success);
        return;
    }
    case kn_callDestroyBody:
    case kn_callDestroyFamily:
    case kn_callDestroyJoint:
    case kn_callDrop:
    case kn_callBarrier:
        Ids(r, call);
        return;
    default:
        knStream_Fail(r->stream, "a recording has an unknown call");
    }
}

knResult knReplayWorld(knWorld** world, const void* bytes, size_t size, const knLoadDef* def,
                       const knAllocator* allocator, knReplayReport* report)
{
    if (!world || !def || def->size != sizeof(knLoadDef) || !report)
    {
        return knFail(kn_errorArgument, "knReplayWorld: begin with knDefaultLoadDef");
    }
    report->steps = report->calls = report->wrongSteps = 0;
    report->firstWrong = KN_NONE;
    knStream s;
    knResult result = knCheckSave(bytes, size, KN_SAVE_RECORDING, &s);
    Replay replay = {.stream = &s, .load = def, .report = report};
    result = result == kn_success ? knWorld_ReadSave(&s, def, allocator, &replay.world) : result;
    if (result != kn_success)
    {
        return result;
    }
    report->hash = knWorld_Hash(replay.world);
    while (s.result == kn_success && s.at < s.size)
    {
        uint32_t call = knStream_ReadU32(&s);
        report->calls += call != (uint32_t)kn_callStep;
        Repeat(&replay, call);
    }
    if (s.result != kn_success)
    {
        knDestroyWorld(replay.world);
        return s.result;
    }
    *world = replay.world;
    return kn_success;
}
