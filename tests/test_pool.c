// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/pool.h"
#include "knap/random.h"

#define MODEL_SIZE 4000

typedef struct Item
{
    uint32_t serial;
    uint32_t check;
    uint32_t unused;
} Item;

// The model never forgets an id: live ones lead to their item, dead ones nowhere.
typedef struct Model
{
    knId ids[MODEL_SIZE];
    bool alive[MODEL_SIZE];
    uint32_t count;
    uint32_t aliveCount;
} Model;

static void CheckAgainstModel(const knPool* pool, const Model* model)
{
    assert_int_equal(pool->count, model->aliveCount);
    for (uint32_t i = 0; i < model->count; ++i)
    {
        const Item* item = knPool_Get(pool, model->ids[i]);
        assert_int_equal(item != NULL, model->alive[i]);
        assert_true(!item || (item->serial == i && item->check == ~i));
    }
    uint32_t walked = 0;
    uint32_t lastIndex = 0;
    for (knId id = knPool_Next(pool, (knId){0, 0}); !knId_IsNull(id); id = knPool_Next(pool, id))
    {
        const Item* item = knPool_Get(pool, id);
        assert_non_null(item);
        assert_true(id.index > lastIndex);
        assert_true(knId_Equals(id, model->ids[item->serial]));
        lastIndex = id.index;
        walked += 1;
    }
    assert_int_equal(walked, model->aliveCount);
}

static void AcquireOne(knPool* pool, Model* model)
{
    knId id = {77, 77};
    void* memory = pool;
    knResult result = knPool_Acquire(pool, &id, &memory);
    if (model->aliveCount == pool->capacity)
    {
        assert_int_equal(result, kn_errorLimit);
        assert_true(id.index == 77 && id.generation == 77 && memory == pool);
        return;
    }
    assert_int_equal(result, kn_success);
    Item* item = memory;
    assert_true(item->serial == 0 && item->check == 0 && item->unused == 0);
    assert_int_equal((uintptr_t)item % 16, 0);
    item->serial = model->count;
    item->check = ~model->count;
    item->unused = 0xFFFFFFFFu;
    model->ids[model->count] = id;
    model->alive[model->count] = true;
    model->count += 1;
    model->aliveCount += 1;
}

static void ReleaseOne(knPool* pool, Model* model, uint32_t victim)
{
    knResult result = knPool_Release(pool, model->ids[victim]);
    assert_int_equal(result, model->alive[victim] ? kn_success : kn_errorHandle);
    model->aliveCount -= model->alive[victim];
    model->alive[victim] = false;
}

// An id names one item for ever: no life of the slot after it can be taken for it.
static void ThePoolBehavesLikeItsModel(void** state)
{
    (void)state;
    Model* model = calloc(1, sizeof(Model));
    knPool pool;
    knRandom random = knMakeRandom(3);
    assert_int_equal(knCreatePool(&pool, sizeof(Item), 5, NULL), kn_success);
    for (int step = 0; step < 6000 && model->count < MODEL_SIZE - 1; ++step)
    {
        uint32_t dice = knRandom_Below(&random, 100);
        if (dice < 55 || model->count == 0)
        {
            AcquireOne(&pool, model);
        }
        else if (dice < 98)
        {
            // mostly recent ids, so that about half of them are alive
            uint32_t recent = model->count < 60 ? model->count : 60;
            ReleaseOne(&pool, model, model->count - 1 - knRandom_Below(&random, recent));
        }
        else
        {
            uint32_t wish = pool.capacity + knRandom_Below(&random, 8);
            assert_int_equal(knPool_Reserve(&pool, wish), kn_success);
        }
        if (step % 50 == 0)
        {
            CheckAgainstModel(&pool, model);
        }
    }
    CheckAgainstModel(&pool, model);
    assert_true(model->count > 1000);
    knDestroyPool(&pool);
    free(model);
}

static void ForeignIdsAreRefused(void** state)
{
    (void)state;
    knPool pool;
    knId id;
    assert_int_equal(knCreatePool(&pool, 1, 4, NULL), kn_success);
    assert_int_equal(knPool_Acquire(&pool, &id, NULL), kn_success);
    const knId foreign[] = {{0, 0}, {0, 1}, {id.index, 0},  {id.index, id.generation + 1},
                            {2, 1}, {5, 1}, {UINT32_MAX, 1}};
    for (size_t i = 0; i < COUNT_OF(foreign); ++i)
    {
        assert_null(knPool_Get(&pool, foreign[i]));
        assert_int_equal(knPool_Release(&pool, foreign[i]), kn_errorHandle);
    }
    assert_int_equal(pool.count, 1);
    assert_true(knId_IsNull(knPool_Next(&pool, (knId){UINT32_MAX, 1})));
    knDestroyPool(&pool);
}

// After 2^31 lives a slot would hand out its first id again; it retires instead.
static void ASlotThatHasRunOutOfGenerationsRetires(void** state)
{
    (void)state;
    knPool pool;
    knId id;
    assert_int_equal(knCreatePool(&pool, 4, 2, NULL), kn_success);
    assert_int_equal(knPool_Acquire(&pool, &id, NULL), kn_success);
    assert_int_equal(id.index, 1);
    pool.generations[0] = UINT32_MAX;
    id.generation = UINT32_MAX;
    assert_non_null(knPool_Get(&pool, id));
    assert_int_equal(knPool_Release(&pool, id), kn_success);
    assert_null(knPool_Get(&pool, id));
    assert_int_equal(knPool_Acquire(&pool, &id, NULL), kn_success);
    assert_int_equal(id.index, 2);
    assert_int_equal(knPool_Acquire(&pool, &id, NULL), kn_errorLimit);
    assert_int_equal(pool.count, 1);
    knDestroyPool(&pool);
}

// Replays must see the same ids: their order depends on the order of calls alone.
static void TheSameCallsGiveTheSameIds(void** state)
{
    (void)state;
    knId ids[2][300];
    for (int run = 0; run < 2; ++run)
    {
        knPool pool;
        knRandom random = knMakeRandom(9);
        assert_int_equal(knCreatePool(&pool, 24, run == 0 ? 300 : 8, NULL), kn_success);
        for (int i = 0; i < 300; ++i)
        {
            assert_int_equal(knPool_Reserve(&pool, pool.count + 8), kn_success);
            assert_int_equal(knPool_Acquire(&pool, &ids[run][i], NULL), kn_success);
            if (knRandom_Below(&random, 3) == 0)
            {
                (void)knPool_Release(&pool, ids[run][knRandom_Below(&random, (uint32_t)i + 1)]);
            }
        }
        knDestroyPool(&pool);
    }
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
}

static void SizesThatCannotBeAreRefused(void** state)
{
    (void)state;
    knPool pool;
    MarkUntouched(&pool, sizeof pool);
    assert_int_equal(knCreatePool(NULL, 8, 8, NULL), kn_errorArgument);
    assert_int_equal(knCreatePool(&pool, 0, 8, NULL), kn_errorArgument);
    assert_int_equal(knCreatePool(&pool, SIZE_MAX, 8, NULL), kn_errorArgument);
    knAllocator half = {0};
    assert_int_equal(knCreatePool(&pool, 8, 8, &half), kn_errorArgument);
    assert_int_equal(knCreatePool(&pool, SIZE_MAX / 4, 8, NULL), kn_errorMemory);
    assert_true(IsUntouched(&pool, sizeof pool));
    assert_int_equal(knCreatePool(&pool, 8, 0, NULL), kn_success);
    knId id;
    assert_int_equal(knPool_Acquire(&pool, &id, NULL), kn_errorLimit);
    knDestroyPool(&pool);
    knDestroyPool(NULL);
}

static knResult AttemptPool(const knAllocator* allocator, void* context)
{
    (void)context;
    knPool pool;
    MarkUntouched(&pool, sizeof pool);
    knResult result = knCreatePool(&pool, 40, 4, allocator);
    if (result != kn_success)
    {
        assert_true(IsUntouched(&pool, sizeof pool));
        return result;
    }
    knId id;
    void* item = NULL;
    assert_int_equal(knPool_Acquire(&pool, &id, &item), kn_success);
    knPool before = pool;
    result = knPool_Reserve(&pool, 100);
    if (result != kn_success)
    {
        assert_memory_equal(&pool, &before, sizeof pool);
        assert_ptr_equal(knPool_Get(&pool, id), item);
    }
    knDestroyPool(&pool);
    return result;
}

static void APoolSurvivesAllocationFailures(void** state)
{
    (void)state;
    SurviveAllocationFailures(AttemptPool, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ThePoolBehavesLikeItsModel),
        cmocka_unit_test(ForeignIdsAreRefused),
        cmocka_unit_test(ASlotThatHasRunOutOfGenerationsRetires),
        cmocka_unit_test(TheSameCallsGiveTheSameIds),
        cmocka_unit_test(SizesThatCannotBeAreRefused),
        cmocka_unit_test(APoolSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
