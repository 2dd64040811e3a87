// SPDX-License-Identifier: Zlib
// Reading a world. Every length, id and number is checked before it is used: a file may be
// anything.
#include "bullet_internal.h"

#include <string.h>
#include <xxhash.h>

knLoadDef knDefaultLoadDef(void)
{
    return (knLoadDef){.size = sizeof(knLoadDef)};
}

knTransform knStream_ReadTransform(knStream* s)
{
    knTransform t;
    t.position = knStream_ReadVec3(s);
    KN_READ(s, t.rotation.x);
    KN_READ(s, t.rotation.y);
    KN_READ(s, t.rotation.z);
    KN_READ(s, t.rotation.w);
    return t;
}

knId knStream_ReadId(knStream* s)
{
    knId id;
    id.index = knStream_ReadU32(s);
    id.generation = knStream_ReadU32(s);
    return id;
}

knBodyDef knStream_ReadBodyDef(knStream* s)
{
    knBodyDef def = knDefaultBodyDef();
    uint32_t kind = knStream_ReadU32(s);
    float numbers[6];
    int32_t filter[3];
    def.transform = knStream_ReadTransform(s);
    def.velocity = knStream_ReadVec3(s);
    def.spin = knStream_ReadVec3(s);
    KN_READ(s, numbers);
    KN_READ(s, filter);
    def.kind = kind < kn_bodyKindCount ? (knBodyKind)kind : kn_bodyKindCount;
    def.density = numbers[0];
    def.friction = numbers[1];
    def.restitution = numbers[2];
    def.rollingFriction = numbers[3];
    def.linearDamping = numbers[4];
    def.angularDamping = numbers[5];
    def.group = filter[0];
    def.mask = filter[1];
    def.noSleep = filter[2] != 0;
    if (s->result == kn_success && knWorld_CheckBodyDef(&def) != kn_success)
    {
        knStream_Fail(s, "the definition of a body makes no sense");
    }
    return def;
}

// Arrays of a file need not be aligned: they are copied into the arena.
static void* Copy(knStream* s, knArena* arena, uint32_t count, size_t itemSize)
{
    const void* from = knStream_Take(s, count, itemSize);
    void* to = from ? knArena_Allocate(arena, count > 0 ? count : 1, itemSize) : NULL;
    if (from && !to)
    {
        s->result = kn_errorMemory;
    }
    if (to)
    {
        memcpy(to, from, count * itemSize);
    }
    return to;
}

void knStream_ReadShape(knStream* s, knArena* arena, knTriangleMesh* mesh, knPortShape* shape)
{
    memset(shape, 0, sizeof *shape);
    uint32_t kind = knStream_ReadU32(s);
    shape->kind = kind < kn_portPiece ? (knPortShapeKind)kind : kn_portPiece;
    shape->size = knStream_ReadVec3(s);
    shape->radius = knStream_ReadF32(s);
    shape->length = knStream_ReadF32(s);
    uint32_t points = knStream_ReadU32(s), triangles = knStream_ReadU32(s);
    if (s->result != kn_success || points > KN_MAX_MESH_SIZE || triangles > KN_MAX_MESH_SIZE ||
        points > s->size / sizeof(knVec3) || triangles > s->size / sizeof(knTriangle))
    {
        knStream_Fail(s, "a shape is too large");
        return;
    }
    knArena_Reset(arena);
    size_t bytes = points * sizeof(knVec3) + triangles * sizeof(knTriangle) + 4 * KN_CACHE_LINE;
    if (bytes > arena->capacity && knArena_Reserve(arena, bytes) != kn_success)
    {
        s->result = kn_errorMemory;
        return;
    }
    const knVec3* positions = Copy(s, arena, points, sizeof(knVec3));
    *mesh = (knTriangleMesh){.positions = positions,
                             .triangles = Copy(s, arena, triangles, sizeof(knTriangle)),
                             .positionCount = points,
                             .triangleCount = triangles};
    shape->points = positions;
    shape->pointCount = points;
    shape->mesh = mesh;
}

void knStream_ReadFamilyDef(knStream* s, const knLoadDef* load, knFamilyDef* def)
{
    char name[sizeof((knAssetInfo*)0)->source];
    uint64_t hash;
    uint32_t words[4];
    *def = knDefaultFamilyDef();
    knStream_Read(s, name, sizeof name);
    name[sizeof name - 1] = '\0';
    KN_READ(s, hash);
    KN_READ(s, def->density);
    KN_READ(s, def->edgeDegrees);
    KN_READ(s, words);
    if (s->result != kn_success)
    {
        return;
    }
    if (words[0] >= kn_frontModeCount || words[3] > KN_MAX_MESH_SIZE || words[3] > (1u << 16))
    {
        knStream_Fail(s, "the definition of an object makes no sense");
        return;
    }
    def->front = (knFrontMode)words[0];
    def->scalar = words[1] != 0;
    def->exactSpheres = words[2] != 0;
    def->pieceCount = words[3];
    def->model = load->find ? load->find(load->user, name) : NULL;
    if (!def->model)
    {
        s->result = knFail(kn_errorFormat, "the world holds '%s', and nobody has its model", name);
    }
    else if (knAsset_Fingerprint(knModel_Asset(def->model)) != hash)
    {
        s->result = knFail(kn_errorFormat,
                           "the model of '%s' is another than that of the saved world", name);
    }
}

// ---- the parts of a file

// Slots with their generations; items are made by the caller. Null when the stream has failed.
static const void* ReadSlots(knStream* s, knPool* pool, uint32_t* count)
{
    *count = knStream_ReadU32(s);
    const void* generations = knStream_Take(s, *count, sizeof(uint32_t));
    if (!generations || *count >> KN_TAG_SHIFT)
    {
        knStream_Fail(s, "too many things");
        return NULL;
    }
    s->result = knPool_Reserve(pool, *count);
    return s->result == kn_success ? generations : NULL;
}

static knId SlotId(const void* generations, uint32_t slot)
{
    knId id = {slot, 0};
    memcpy(&id.generation, (const char*)generations + (slot - 1) * sizeof(uint32_t),
           sizeof id.generation);
    return id;
}

static void ReadFamily(knStream* s, knWorld* w, const knLoadDef* load, knWorldFamily* family)
{
    knStream_ReadFamilyDef(s, load, &family->def);
    family->story.allocator = w->allocator;
    if (s->result == kn_success)
    {
        s->result = knCreateFamily(&family->family, &family->def, &w->allocator);
    }
    knStream_ReadMaterial(s, &family->material);
    family->isBreakable = knStream_ReadU32(s) != 0;
    uint32_t size = knStream_ReadU32(s);
    const void* story = knStream_Take(s, size, 1);
    if (story)
    {
        knStream_Write(&family->story, story, size);
        s->result = family->story.result;
        s->result = s->result == kn_success ? knWorld_Relive(w, family, story, size) : s->result;
    }
}

static void ReadFamilies(knStream* s, knWorld* w, const knLoadDef* load)
{
    uint32_t count;
    const void* generations = ReadSlots(s, &w->families, &count);
    for (uint32_t i = 1; generations && i <= count && s->result == kn_success; ++i)
    {
        knId id = SlotId(generations, i);
        void* item = NULL;
        s->result = knPool_Place(&w->families, id, &item);
        if (s->result == kn_success && id.generation & 1)
        {
            ReadFamily(s, w, load, item);
        }
    }
    knPool_SortFree(&w->families);
}

static void ReadPiece(knStream* s, knWorld* w, knBody* body, const knBodyRecord* record)
{
    const knWorldFamily* family = knPool_Get(&w->families, knWorld_Untagged(w, record->family));
    const knFragmentSet* set = family ? knFamily_Fragments(family->family) : NULL;
    if (!set || record->fragment >= set->fragmentCount ||
        set->fragments[record->fragment].state != kn_fragmentWhole)
    {
        knStream_Fail(s, "a body of a piece that is not there");
        return;
    }
    knPiece* piece = knAllocate(&w->allocator, 1, sizeof *piece);
    if (!piece)
    {
        s->result = kn_errorMemory;
        return;
    }
    *piece =
        (knPiece){.family = record->family, .fragment = record->fragment, .serial = ++w->serial};
    s->result = knWorld_MakeMesh(w, family->family, piece);
    if (s->result != kn_success)
    {
        knRelease(&w->allocator, piece, 1, sizeof *piece);
        return;
    }
    body->piece = piece;
    w->pieceCount += 1;
    knWorld_GetFamily(w, record->family)->pieceCount += 1;
}

static void ReadBody(knStream* s, knWorld* w, knId id)
{
    knBody* body = knPool_Get(&w->bodies, id);
    knPortShape shape;
    knTriangleMesh mesh;
    uint32_t flags[2];
    knBodyRecord record = {.def = knStream_ReadBodyDef(s), .shape = &shape};
    record.family = knStream_ReadId(s);
    record.fragment = knStream_ReadU32(s);
    if (knId_IsNull(record.family))
    {
        knStream_ReadShape(s, &w->splitScratch, &mesh, &shape);
        if (s->result == kn_success && knWorld_CheckShape(&record.def, &shape) != kn_success)
        {
            knStream_Fail(s, "a shape makes no sense");
        }
    }
    KN_READ(s, record.enduredImpulse);
    KN_READ(s, record.age);
    KN_READ(s, record.rest);
    KN_READ(s, record.sleep.seconds);
    KN_READ(s, flags);
    record.sleep.isAsleep = flags[0] != 0;
    record.isFrozen = flags[1] != 0;
    bool isPiece = !knId_IsNull(record.family);
    if (!(record.enduredImpulse >= 0.0 && record.age >= 0.0f && record.rest >= 0.0f &&
          record.sleep.seconds >= 0.0f) ||
        (record.isFrozen && (!isPiece || record.def.kind != kn_bodyDynamic)))
    {
        knStream_Fail(s, "the state of a body makes no sense");
    }
    if (s->result == kn_success && isPiece)
    {
        ReadPiece(s, w, body, &record);
    }
    if (s->result == kn_success)
    {
        body->enduredImpulse = record.enduredImpulse;
        body->age = record.age;
        body->rest = record.rest;
        body->isFrozen = record.isFrozen;
        s->result = knWorld_BuildBody(w, id, &record);
    }
}

static void ReadBodies(knStream* s, knWorld* w)
{
    uint32_t count;
    const void* generations = ReadSlots(s, &w->bodies, &count);
    for (uint32_t i = 1; generations && i <= count && s->result == kn_success; ++i)
    {
        knId id = SlotId(generations, i);
        s->result = knPool_Place(&w->bodies, id, NULL);
        if (s->result == kn_success && id.generation & 1)
        {
            ReadBody(s, w, id);
        }
    }
    knPool_SortFree(&w->bodies);
}

static void ReadJoint(knStream* s, knWorld* w, knJoint* joint)
{
    uint32_t kind = knStream_ReadU32(s);
    joint->kind = kind == (uint32_t)kn_portHinge ? kn_portHinge : kn_portPoint;
    for (int i = 0; i < 2; ++i)
    {
        joint->bodies[i] = knStream_ReadId(s);
        joint->pivots[i] = knStream_ReadVec3(s);
        joint->axes[i] = knStream_ReadVec3(s);
        knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, joint->bodies[i]));
        bool isFree = i == 1 && knId_IsNull(joint->bodies[i]);
        bool isTurned = knLength(joint->axes[i]) > 0.9f && knLength(joint->axes[i]) < 1.1f;
        if ((!body && !isFree) || !knIsFinite(joint->pivots[i]) || !knIsFinite(joint->axes[i]) ||
            (joint->kind == kn_portHinge && !isTurned))
        {
            knStream_Fail(s, "a joint makes no sense");
            joint->bodies[0] = joint->bodies[1] = (knBodyId){0};
            return;
        }
        if (body)
        {
            body->jointCount += 1;
        }
    }
    if (knId_Equals(joint->bodies[0], joint->bodies[1]))
    {
        knStream_Fail(s, "a joint holds a body to itself");
    }
    if (s->result == kn_success)
    {
        s->result = knWorld_Tie(w, joint);
    }
}

static void ReadJoints(knStream* s, knWorld* w)
{
    uint32_t count;
    const void* generations = ReadSlots(s, &w->joints, &count);
    for (uint32_t i = 1; generations && i <= count && s->result == kn_success; ++i)
    {
        knId id = SlotId(generations, i);
        void* item = NULL;
        s->result = knPool_Place(&w->joints, id, &item);
        if (s->result == kn_success && id.generation & 1)
        {
            ReadJoint(s, w, item);
        }
    }
    knPool_SortFree(&w->joints);
    knBodyId dragged = knStream_ReadId(s);
    w->dragPivot = knStream_ReadVec3(s);
    w->dragTarget = knStream_ReadVec3(s);
    if (s->result != kn_success || knId_IsNull(dragged))
    {
        return;
    }
    const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, dragged));
    knBodyState state = {0};
    if (body)
    {
        knPortBody_State(body->port, &state);
    }
    if (!(state.mass > 0.0f) || !knIsFinite(w->dragPivot) || !knIsFinite(w->dragTarget))
    {
        knStream_Fail(s, "a hand holds what is not there");
        return;
    }
    w->dragged = dragged;
    s->result = knWorld_BuildDrag(w);
}

static knBlow ReadBlow(knStream* s)
{
    knBlow blow = {.body = knStream_ReadId(s)};
    blow.impactCount = knStream_ReadImpacts(s, blow.impacts);
    KN_READ(s, blow.impulse);
    KN_READ(s, blow.energy);
    blow.isImpact = knStream_ReadU32(s) != 0;
    blow.place = knStream_ReadVec3(s);
    blow.strikerCount = knStream_ReadU32(s);
    if (blow.strikerCount > KN_MAX_STRIKERS)
    {
        knStream_Fail(s, "a hit has too many strikers");
        blow.strikerCount = 0;
    }
    for (uint32_t i = 0; i < blow.strikerCount; ++i)
    {
        blow.strikers[i].body = knStream_ReadId(s);
    }
    return blow;
}

static void ReadWaiting(knStream* s, knWorld* w)
{
    uint32_t count = knStream_ReadU32(s);
    uint32_t most = w->breaks.limits.pendingBreaks;
    for (uint32_t i = 0; i < count && s->result == kn_success; ++i)
    {
        knBlow blow = ReadBlow(s);
        const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, blow.body));
        if (i >= most || (body && !body->piece) || blow.impactCount == 0 ||
            !(blow.impulse > 0.0 && blow.impulse < 1e30) ||
            !(blow.energy >= 0.0 && blow.energy < 1e30) || !knIsFinite(blow.place))
        {
            knStream_Fail(s, "a hit that waits makes no sense");
            return;
        }
        knWorld_Postpone(w, &blow);
    }
    count = knStream_ReadU32(s);
    for (uint32_t i = 0; i < count && s->result == kn_success; ++i)
    {
        knBodyId parent = knStream_ReadId(s), heir = knStream_ReadId(s);
        if (count > KN_HEIR_COUNT || knId_Equals(parent, heir))
        {
            knStream_Fail(s, "heirs make no sense");
            return;
        }
        knWorld_NoteHeir(w, parent, heir);
    }
}

// ---- the file

static knResult ReadHead(knStream* s, const knLoadDef* load, const knAllocator* allocator,
                         knWorld** out)
{
    knWorldDef def = knDefaultWorldDef();
    knBreakLimits limits = knDefaultBreakLimits();
    def.tasks = load->tasks;
    def.tag = knStream_ReadU32(s);
    def.gravity = knStream_ReadVec3(s);
    knStream_ReadSettings(s, knWorldSettings(), &def);
    knStream_ReadSettings(s, knContactSettings(), &def.limits);
    knStream_ReadSettings(s, knBreakSettings(), &limits);
    uint32_t lastId = knStream_ReadU32(s);
    uint32_t materialCount = knStream_ReadU32(s);
    if (s->result == kn_success &&
        (knValidateWorldDef(&def) != kn_success || materialCount > KN_CONFIG_MATERIALS))
    {
        knStream_Fail(s, "the definition of the world makes no sense");
    }
    knWorld* w = NULL;
    s->result = s->result == kn_success ? knCreateWorld(&w, &def, allocator) : s->result;
    if (s->result != kn_success)
    {
        return s->result;
    }
    w->breaks.limits = limits;
    w->breaks.lastId = lastId;
    w->breaks.isQuiet = true;
    for (uint32_t i = 0; i < materialCount; ++i)
    {
        knStream_ReadMaterial(s, &w->materials[i]);
    }
    w->materialCount = materialCount;
    *out = w;
    return s->result;
}

knResult knCheckSave(const void* bytes, size_t size, uint32_t kind, knStream* s)
{
    knSaveHeader header = {0};
    if (!bytes || size < sizeof header)
    {
        return knFail(kn_errorFormat, "this is no file of a world: it has %zu bytes", size);
    }
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, KN_SAVE_MAGIC, sizeof header.magic) != 0 || header.kind != kind)
    {
        return knFail(kn_errorFormat, "this is no file of a world, or not of this kind");
    }
    if (header.version != KN_SAVE_VERSION)
    {
        return knFail(kn_errorFormat, "the file has version %u, this Knap reads %u", header.version,
                      KN_SAVE_VERSION);
    }
    const unsigned char* payload = (const unsigned char*)bytes + sizeof header;
    if (header.size != size - sizeof header ||
        header.checksum != XXH64(payload, size - sizeof header, KN_SAVE_VERSION))
    {
        return knFail(kn_errorFormat, "the file of the world is damaged or cut short");
    }
    *s = knMakeReader(payload, size - sizeof header);
    return kn_success;
}

knResult knWorld_ReadSave(knStream* s, const knLoadDef* load, const knAllocator* allocator,
                          knWorld** out)
{
    knWorld* w = NULL;
    (void)ReadHead(s, load, allocator, &w);
    if (w)
    {
        ReadFamilies(s, w, load);
        ReadBodies(s, w);
        ReadJoints(s, w);
        ReadWaiting(s, w);
    }
    if (s->result != kn_success)
    {
        knDestroyWorld(w);
        return s->result;
    }
    *out = w;
    return kn_success;
}

knResult knLoadWorld(knWorld** world, const void* bytes, size_t size, const knLoadDef* def,
                     const knAllocator* allocator)
{
    if (!world || !def || def->size != sizeof(knLoadDef))
    {
        return knFail(kn_errorArgument, "knLoadWorld: begin with knDefaultLoadDef");
    }
    knStream s;
    knWorld* made = NULL;
    knResult result = knCheckSave(bytes, size, KN_SAVE_WORLD, &s);
    result = result == kn_success ? knWorld_ReadSave(&s, def, allocator, &made) : result;
    if (result == kn_success && s.at != s.size)
    {
        knDestroyWorld(made);
        return knFail(kn_errorFormat, "the file of the world goes on behind its end");
    }
    if (result == kn_success)
    {
        *world = made;
    }
    return result;
}
