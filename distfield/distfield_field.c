// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

knFieldDef knDefaultFieldDef(void)
{
    return (knFieldDef){.size = sizeof(knFieldDef),
                        .front = kn_frontClosestPoint,
                        .fragmentCapacity = 64,
                        .pieceCapacity = 33,
                        .exactRadius = -1.0f,
                        .exactDepth = -1.0f};
}

static knResult CheckDef(const knFieldDef* def)
{
    if (!def || !def->locator || !def->grid || !def->cuts || !def->locator->mesh)
    {
        return knFail(kn_errorArgument, "knCreateFragmentField: locator, grid or cuts are missing");
    }
    if (def->size != sizeof(knFieldDef))
    {
        return knFail(kn_errorVersion, "knFieldDef: size is %zu, not %zu", def->size,
                      sizeof(knFieldDef));
    }
    const knTetMesh* mesh = def->locator->mesh;
    if (def->cuts->nodeCount != mesh->nodeCount || def->cuts->tetCount != mesh->tetCount)
    {
        return knFail(kn_errorArgument, "knFieldDef: the cuts are those of another mesh");
    }
    if ((unsigned)def->front >= kn_frontModeCount || isnan(def->exactRadius) ||
        isnan(def->exactDepth))
    {
        return knFail(kn_errorArgument, "knFieldDef: front %d, exactRadius %g or exactDepth %g",
                      (int)def->front, (double)def->exactRadius, (double)def->exactDepth);
    }
    if (def->fragmentCapacity == 0 || def->pieceCapacity == 0 ||
        def->fragmentCapacity > KN_MAX_MESH_SIZE || def->pieceCapacity > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "knFieldDef: room for %u fragments and %u pieces",
                      def->fragmentCapacity, def->pieceCapacity);
    }
    return kn_success;
}

static float MeanEdge(const knTetMesh* mesh)
{
    double sum = 0.0;
    for (uint32_t e = 0; e < mesh->edgeCount; ++e)
    {
        const uint32_t* v = mesh->edges[e].v;
        sum += (double)knDistance(mesh->nodes[v[0]], mesh->nodes[v[1]]);
    }
    return (float)(sum / (double)mesh->edgeCount);
}

static knResult AllocateNodes(knFragmentField* field)
{
    size_t count = field->mesh->nodeCount;
    field->wordCount = (count + 63) / 64;
    field->values = knAllocate(&field->allocator, count, sizeof(knNodeValue));
    field->front = knAllocate(&field->allocator, 3 * field->wordCount, sizeof(uint64_t));
    field->tetLabels = knAllocate(&field->allocator, field->mesh->tetCount, sizeof(uint32_t));
    if (!field->values || !field->front || !field->tetLabels)
    {
        return kn_errorMemory;
    }
    for (size_t n = 0; n < count; ++n)
    {
        field->values[n] = (knNodeValue){.distance = INFINITY, .source = KN_NONE};
    }
    return kn_success;
}

static void ReleaseFragments(knFragmentField* f)
{
    knRelease(&f->allocator, f->records, f->fragmentCapacity, sizeof(knFragmentRecord));
    knRelease(&f->allocator, f->slots, f->pieceCapacity, KN_OCCUPANCY_BYTES);
    knRelease(&f->allocator, f->freeSlots, f->pieceCapacity, sizeof(uint32_t));
}

// Labels in use, as a list; null with a message when one does not fit.
static uint32_t* ListLabels(knFragmentField* field, uint32_t* count)
{
    uint32_t* list = knAllocate(&field->allocator, field->fragmentCapacity, sizeof(uint32_t));
    if (!list)
    {
        return NULL;
    }
    memset(list, 0, field->fragmentCapacity * sizeof(uint32_t));
    for (uint32_t n = 0; n < field->mesh->nodeCount; ++n)
    {
        uint32_t label = field->cuts->labels[n];
        if (label < field->fragmentCapacity)
        {
            list[label] = 1;
        }
    }
    *count = 0;
    for (uint32_t label = 0; label < field->fragmentCapacity; ++label)
    {
        if (list[label])
        {
            list[(*count)++] = label;
        }
    }
    return list;
}

// One delta that has all nodes and all cuts so far: an instance may be joined late.
static knResult JoinCuts(knFragmentField* field)
{
    size_t total = (size_t)field->mesh->nodeCount + field->mesh->tetCount;
    knFractureDelta delta = {.parent = KN_NONE};
    uint32_t* list = ListLabels(field, &delta.fragmentCount);
    uint32_t* ids = knAllocate(&field->allocator, total, sizeof(uint32_t));
    knResult result = list && ids ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        for (uint32_t n = 0; n < field->mesh->nodeCount; ++n)
        {
            ids[n] = n;
        }
        uint32_t* tets = ids + field->mesh->nodeCount;
        for (uint32_t t = 0; t < field->mesh->tetCount; ++t)
        {
            if (field->cuts->tetCuts[t] != KN_NONE)
            {
                tets[delta.crossedTetCount++] = t;
            }
        }
        delta.fragments = list;
        delta.splitNodes = ids;
        delta.splitNodeCount = field->mesh->nodeCount;
        delta.crossedTets = tets;
        result = knFragmentField_Update(field, &delta);
    }
    knRelease(&field->allocator, list, field->fragmentCapacity, sizeof(uint32_t));
    knRelease(&field->allocator, ids, total, sizeof(uint32_t));
    return result;
}

knResult knCreateFragmentField(knFragmentField** field, const knFieldDef* def,
                               const knAllocator* allocator)
{
    knResult result = field ? CheckDef(def) : knFail(kn_errorArgument, "field is null");
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    if (result != kn_success)
    {
        return result;
    }
    knFragmentField* f = knAllocate(allocator, 1, sizeof *f);
    if (!f)
    {
        return kn_errorMemory;
    }
    *f = (knFragmentField){.allocator = allocator ? *allocator : knDefaultAllocator(),
                           .def = *def,
                           .locator = *def->locator,
                           .grid = *def->grid,
                           .mesh = def->locator->mesh,
                           .cuts = def->cuts};
    knPlaceLevels(f);
    // a ball of the size of a tetrahedron meets a handful of them
    float edge = MeanEdge(f->mesh);
    f->def.exactRadius = def->exactRadius < 0.0f ? 2.0f * edge : def->exactRadius;
    f->def.exactDepth = def->exactDepth < 0.0f ? 1.5f * edge : def->exactDepth;
    result = AllocateNodes(f);
    result = result == kn_success
                 ? knFragmentField_Reserve(f, def->fragmentCapacity, def->pieceCapacity)
                 : result;
    result = result == kn_success ? JoinCuts(f) : result;
    if (result != kn_success)
    {
        knDestroyFragmentField(f);
        return result;
    }
    *field = f;
    return kn_success;
}

void knDestroyFragmentField(knFragmentField* field)
{
    if (field)
    {
        knAllocator allocator = field->allocator;
        ReleaseFragments(field);
        knRelease(&allocator, field->values, field->mesh->nodeCount, sizeof(knNodeValue));
        knRelease(&allocator, field->front, 3 * field->wordCount, sizeof(uint64_t));
        knRelease(&allocator, field->tetLabels, field->mesh->tetCount, sizeof(uint32_t));
        knReleaseParts(field);
        knRelease(&allocator, field, 1, sizeof *field);
    }
}

// Copies what is there into larger arrays; new slots are handed out lowest first.
static void MoveFragments(knFragmentField* to, const knFragmentField* from)
{
    for (uint32_t i = 0; i < to->fragmentCapacity; ++i)
    {
        to->records[i] = i < from->fragmentCapacity
                             ? from->records[i]
                             : (knFragmentRecord){.box = knEmptyBox(), .slot = KN_NONE};
    }
    if (from->pieceCapacity > 0)
    {
        memcpy(to->slots, from->slots, (size_t)from->pieceCapacity * KN_OCCUPANCY_BYTES);
    }
    to->freeSlotCount = 0;
    for (uint32_t slot = to->pieceCapacity; slot-- > from->pieceCapacity;)
    {
        to->freeSlots[to->freeSlotCount++] = slot;
    }
    for (uint32_t i = 0; i < from->freeSlotCount; ++i)
    {
        to->freeSlots[to->freeSlotCount++] = from->freeSlots[i];
    }
}

// By half at least, so that a row of breaks does not copy everything each time.
static uint32_t GrownCapacity(uint32_t capacity, uint32_t wanted)
{
    uint32_t half = capacity + capacity / 2;
    return wanted <= capacity ? capacity : wanted > half ? wanted : half;
}

knResult knFragmentField_Reserve(knFragmentField* field, uint32_t fragmentCapacity,
                                 uint32_t pieceCapacity)
{
    if (!field || fragmentCapacity > KN_MAX_MESH_SIZE || pieceCapacity > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "knFragmentField_Reserve: null field or too many");
    }
    knResult result = knReserveParts(field);
    if (result != kn_success)
    {
        return result;
    }
    knFragmentField grown = *field;
    grown.fragmentCapacity = GrownCapacity(field->fragmentCapacity, fragmentCapacity);
    grown.pieceCapacity = GrownCapacity(field->pieceCapacity, pieceCapacity);
    if (grown.fragmentCapacity == field->fragmentCapacity &&
        grown.pieceCapacity == field->pieceCapacity)
    {
        return kn_success;
    }
    const knAllocator* a = &field->allocator;
    grown.records = knAllocate(a, grown.fragmentCapacity, sizeof(knFragmentRecord));
    grown.slots = knAllocate(a, grown.pieceCapacity, KN_OCCUPANCY_BYTES);
    grown.freeSlots = knAllocate(a, grown.pieceCapacity, sizeof(uint32_t));
    if (!grown.records || !grown.slots || !grown.freeSlots)
    {
        ReleaseFragments(&grown);
        return kn_errorMemory;
    }
    MoveFragments(&grown, field);
    ReleaseFragments(field);
    *field = grown;
    return kn_success;
}

void knFragmentField_Remove(knFragmentField* field, uint32_t fragment)
{
    if (field && knFindRecord(field, fragment))
    {
        knFragmentRecord* record = &field->records[fragment];
        field->freeSlots[field->freeSlotCount++] = record->slot;
        *record = (knFragmentRecord){.box = knEmptyBox(), .slot = KN_NONE};
    }
}

static knResult CheckDelta(const knFragmentField* field, const knFractureDelta* delta)
{
    if (!field || !delta || (delta->fragmentCount > 0 && !delta->fragments) ||
        (delta->splitNodeCount > 0 && !delta->splitNodes) ||
        (delta->crossedTetCount > 0 && !delta->crossedTets))
    {
        return knFail(kn_errorArgument, "knFragmentField_Update: null argument");
    }
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        if (delta->fragments[i] >= field->fragmentCapacity)
        {
            return knFail(kn_errorLimit, "fragment %u: there is room for labels below %u",
                          delta->fragments[i], field->fragmentCapacity);
        }
        wanted += field->records[delta->fragments[i]].slot == KN_NONE;
    }
    bool freed = knFindRecord(field, delta->parent) != NULL;
    if (wanted > field->freeSlotCount + (freed ? 1 : 0))
    {
        return knFail(kn_errorLimit, "there is room for %u pieces at a time", field->pieceCapacity);
    }
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        if (delta->splitNodes[i] >= field->mesh->nodeCount)
        {
            return knFail(kn_errorArgument, "split node %u is out of range", delta->splitNodes[i]);
        }
    }
    for (uint32_t i = 0; i < delta->crossedTetCount; ++i)
    {
        if (delta->crossedTets[i] >= field->mesh->tetCount)
        {
            return knFail(kn_errorArgument, "crossed tetrahedron %u is out of range",
                          delta->crossedTets[i]);
        }
    }
    return kn_success;
}

knResult knFragmentField_Update(knFragmentField* field, const knFractureDelta* delta)
{
    knResult result = CheckDelta(field, delta);
    if (result != kn_success)
    {
        return result;
    }
    field->updateCount += 1;
    knFragmentField_Remove(field, delta->parent);
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        knFragmentRecord* record = &field->records[delta->fragments[i]];
        uint32_t slot =
            record->slot != KN_NONE ? record->slot : field->freeSlots[--field->freeSlotCount];
        *record =
            (knFragmentRecord){.box = knEmptyBox(), .slot = slot, .update = field->updateCount};
    }
    knKeepParts(field, delta);
    knMarkFragments(field, delta);
    knSpreadFront(field, delta);
    return kn_success;
}

knFrontStats knFragmentField_LastFront(const knFragmentField* field)
{
    return field ? field->stats : (knFrontStats){0};
}

knBox knFragmentField_Box(const knFragmentField* field, uint32_t fragment)
{
    const knFragmentRecord* record = field ? knFindRecord(field, fragment) : NULL;
    return record ? record->box : knEmptyBox();
}

float knFragmentField_NodeDistance(const knFragmentField* field, uint32_t node, knVec3* direction)
{
    if (!field || node >= field->mesh->nodeCount)
    {
        return INFINITY;
    }
    if (direction)
    {
        *direction = field->values[node].direction;
    }
    return field->values[node].distance;
}
