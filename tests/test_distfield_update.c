// SPDX-License-Identifier: Zlib
#include "field_world.h"

// One piece breaks; not a bit of the others changes.
static void OthersStayBitForBit(void** state)
{
    (void)state;
    World* w = MakeWorld(0, knDefaultFieldDef());
    Break(w, 4);
    knFragmentField* field = w->field;
    size_t nodeSize = w->store.mesh.nodeCount * sizeof(knNodeValue);
    size_t slotSize = (size_t)field->pieceCapacity * KN_OCCUPANCY_BYTES;
    size_t recordSize = field->fragmentCapacity * sizeof(knFragmentRecord);
    knNodeValue* values = malloc(nodeSize);
    unsigned char* slots = malloc(slotSize);
    knFragmentRecord* records = malloc(recordSize);
    uint32_t* labels = malloc(w->store.mesh.nodeCount * sizeof(uint32_t));
    assert_true(values && slots && records && labels);
    for (int i = 0; i < 8; ++i)
    {
        memcpy(values, field->values, nodeSize);
        memcpy(slots, field->slots, slotSize);
        memcpy(records, field->records, recordSize);
        memcpy(labels, w->cuts.labels, w->store.mesh.nodeCount * sizeof(uint32_t));
        knSplitResult result;
        if (!SplitLargest(w, &result))
        {
            continue;
        }
        assert_int_equal(knFragmentField_Update(field, &result.delta), kn_success);
        for (uint32_t n = 0; n < w->store.mesh.nodeCount; ++n)
        {
            if (labels[n] != result.delta.parent)
            {
                assert_memory_equal(&values[n], &field->values[n], sizeof values[n]);
            }
        }
        for (uint32_t f = 0; f < result.delta.fragments[0]; ++f)
        {
            if (f != result.delta.parent && records[f].slot != KN_NONE)
            {
                size_t at = (size_t)records[f].slot * KN_OCCUPANCY_BYTES;
                assert_memory_equal(&records[f], &field->records[f], sizeof records[f]);
                assert_memory_equal(slots + at, (unsigned char*)field->slots + at,
                                    KN_OCCUPANCY_BYTES);
            }
        }
        assert_int_equal(field->records[result.delta.parent].slot, KN_NONE);
    }
    free(values);
    free(slots);
    free(records);
    free(labels);
    DestroyWorld(w);
}

static void UpdatesMakeNoHeapCall(void** state)
{
    (void)state;
    World* w = MakeWorld(1, knDefaultFieldDef());
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knFieldDef def = knDefaultFieldDef();
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.fragmentCapacity = 2;
    def.pieceCapacity = 1;
    knFragmentField* field;
    assert_int_equal(knCreateFragmentField(&field, &def, &allocator), kn_success);
    knSplitResult result;
    while (!SplitLargest(w, &result))
    {
    }
    // no room: refused, and the object is still whole
    knBox before = knFragmentField_Box(field, 0);
    assert_int_equal(knFragmentField_Update(field, &result.delta), kn_errorLimit);
    assert_true(memcmp(&before, &field->records[0].box, sizeof before) == 0);
    assert_int_equal(knFragmentField_Reserve(field, 300, 100), kn_success);
    size_t calls = tracker.callCount;
    assert_int_equal(knFragmentField_Update(field, &result.delta), kn_success);
    for (int i = 0; i < SPLITS; ++i)
    {
        if (SplitLargest(w, &result))
        {
            assert_int_equal(knFragmentField_Update(field, &result.delta), kn_success);
        }
    }
    assert_int_equal(tracker.callCount, calls);
    print_message("%zu bytes for %u nodes, 300 labels and 100 pieces\n", tracker.bytes,
                  w->store.mesh.nodeCount);
    // the costs that the header names, and a little for rounding to cache lines
    assert_true((double)tracker.bytes <=
                20.4 * w->store.mesh.nodeCount + 300.0 * 64.0 + 72.0 * w->cuts.cutCount +
                    4.0 * w->store.mesh.tetCount + 100.0 * (KN_OCCUPANCY_BYTES + 4) + 2048.0);
    knDestroyFragmentField(field);
    assert_int_equal(tracker.bytes, 0);
    DestroyWorld(w);
}

// A field made after the breaks sees what one that was there all along sees.
static void LateFieldsAgree(void** state)
{
    (void)state;
    World* w = MakeBroken(0);
    knFieldDef def = knDefaultFieldDef();
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.fragmentCapacity = 400;
    def.pieceCapacity = 200;
    knFragmentField* late;
    assert_int_equal(knCreateFragmentField(&late, &def, NULL), kn_success);
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        knBox a = knFragmentField_Box(w->field, f), b = knFragmentField_Box(late, f);
        assert_memory_equal(&a, &b, sizeof a);
        knFieldQuery early = knMakeFieldQuery(w->field, f), query = knMakeFieldQuery(late, f);
        for (int i = 0; i < 500 && IsAlive(w, f); ++i)
        {
            knVec3 p = knRandom_InBox(&w->random, a);
            assert_int_equal(knFieldQuery_Inside(&early, p), knFieldQuery_Inside(&query, p));
            assert_int_equal(knFieldQuery_SphereTest(&early, p, 0.02f),
                             knFieldQuery_SphereTest(&query, p, 0.02f));
        }
    }
    knDestroyFragmentField(late);
    DestroyWorld(w);
}

static knResult CreateField(const knAllocator* allocator, void* context)
{
    World* w = context;
    knFieldDef def = knDefaultFieldDef();
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.fragmentCapacity = 300;
    def.pieceCapacity = 100;
    knFragmentField* field = NULL;
    knResult result = knCreateFragmentField(&field, &def, allocator);
    if (result != kn_success)
    {
        assert_null(field);
        return result;
    }
    result = knFragmentField_Reserve(field, 600, 200);
    knFieldQuery query = knMakeFieldQuery(field, w->set.fragmentCount - 1);
    knFieldQuery_Inside(&query, knMakeVec3(0.0f, 0.0f, 0.0f));
    knDestroyFragmentField(field);
    return result;
}

static void CreationSurvivesRefusedMemory(void** state)
{
    (void)state;
    World* w = MakeBroken(1);
    SurviveAllocationFailures(CreateField, w);
    DestroyWorld(w);
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    World* w = MakeWorld(1, knDefaultFieldDef());
    knFragmentField* field = NULL;
    knFieldDef def = knDefaultFieldDef();
    assert_int_equal(knCreateFragmentField(&field, &def, NULL), kn_errorArgument);
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.size = 3;
    assert_int_equal(knCreateFragmentField(&field, &def, NULL), kn_errorVersion);
    def.size = sizeof def;
    def.front = kn_frontModeCount;
    assert_int_equal(knCreateFragmentField(&field, &def, NULL), kn_errorArgument);
    assert_null(field);
    uint32_t tet = w->store.mesh.tetCount, label = 1;
    knFractureDelta delta = {.parent = 0, .fragments = &label, .fragmentCount = 1};
    delta.crossedTets = &tet;
    delta.crossedTetCount = 1;
    assert_int_equal(knFragmentField_Update(w->field, &delta), kn_errorArgument);
    assert_int_equal(knFragmentField_Update(w->field, NULL), kn_errorArgument);
    assert_true(knFindRecord(w->field, 0) != NULL);
    knFieldQuery nobody = knMakeFieldQuery(w->field, 12345678);
    knVec3 p = {0.0f, 0.0f, 0.05f};
    assert_false(knFieldQuery_Inside(&nobody, p));
    assert_false(knFieldQuery_SphereTest(&nobody, p, 1.0f));
    knFieldQuery whole = knMakeFieldQuery(w->field, 0);
    assert_true(knFieldQuery_Inside(&whole, p));
    assert_false(knFieldQuery_Inside(&whole, knMakeVec3(NAN, 0.0f, 0.0f)));
    DestroyWorld(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(OthersStayBitForBit),    cmocka_unit_test(UpdatesMakeNoHeapCall),
        cmocka_unit_test(LateFieldsAgree),        cmocka_unit_test(CreationSurvivesRefusedMemory),
        cmocka_unit_test(BadArgumentsAreRefused),
    };
    return cmocka_run_group_tests(tests, NULL, ReleaseSections);
}
