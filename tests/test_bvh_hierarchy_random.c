// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "bvh/bvh_hierarchy_internal.h"
#include "knap/random.h"

// Random changes to small hierarchies, and after each everything that must hold: balance, heights,
// boxes, Q, ranges, active marks, orders and counts of overlaps.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OPERATIONS 6000
#else
#define OPERATIONS 100000
#endif

#define VERTEX_COUNT  60
#define MAX_TRIANGLES 160
#define MAX_BODIES    5

typedef struct Model
{
    knHierarchy* hierarchy;
    knBvhQuery* query;
    knRandom random;
    knVec3 positions[VERTEX_COUNT];
    knTriangle triangles[MAX_TRIANGLES];
    bool isUsed[MAX_TRIANGLES];
    int bodyOf[MAX_TRIANGLES];
    knId bodies[MAX_BODIES];
    uint32_t triangleCount;
    bool isFresh;   // updated since the last change
    bool isQueried; // a query of everything since the last update
} Model;

static knTriangle RandomTriangle(Model* m)
{
    // neighbours share vertices often, as in a mesh
    uint32_t a = knRandom_Below(&m->random, VERTEX_COUNT);
    uint32_t b = (a + 1 + knRandom_Below(&m->random, 3)) % VERTEX_COUNT;
    uint32_t c = (a + 4 + knRandom_Below(&m->random, 3)) % VERTEX_COUNT;
    return (knTriangle){{a, b, c}};
}

static void Note(Model* m, const uint32_t* ids, const knTriangle* triangles, uint32_t count,
                 int slot)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        assert_true(ids[i] < MAX_TRIANGLES);
        m->triangleCount += !m->isUsed[ids[i]];
        m->isUsed[ids[i]] = true;
        m->bodyOf[ids[i]] = slot;
        m->triangles[ids[i]] = triangles[i];
    }
}

static void Drop(Model* m, uint32_t id)
{
    m->isUsed[id] = false;
    m->triangleCount -= 1;
}

static int FindSlot(Model* m, bool isUsed)
{
    uint32_t from = knRandom_Below(&m->random, MAX_BODIES);
    for (uint32_t i = 0; i < MAX_BODIES; ++i)
    {
        uint32_t slot = (from + i) % MAX_BODIES;
        if (knId_IsNull(m->bodies[slot]) != isUsed)
        {
            return (int)slot;
        }
    }
    return -1;
}

static uint32_t ListBody(const Model* m, int slot, uint32_t* ids)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MAX_TRIANGLES; ++i)
    {
        if (m->isUsed[i] && m->bodyOf[i] == slot)
        {
            ids[count++] = i;
        }
    }
    return count;
}

static void AddBody(Model* m)
{
    int slot = FindSlot(m, false);
    uint32_t count = knRandom_Below(&m->random, 24), ids[24];
    knTriangle triangles[24] = {0};
    if (slot < 0 || m->triangleCount + count > MAX_TRIANGLES)
    {
        return;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        triangles[i] = RandomTriangle(m);
    }
    assert_int_equal(knHierarchy_AddBody(m->hierarchy, triangles, count, ids, &m->bodies[slot]),
                     kn_success);
    Note(m, ids, triangles, count, slot);
}

static void DeleteBody(Model* m)
{
    int slot = FindSlot(m, true);
    uint32_t ids[MAX_TRIANGLES];
    if (slot < 0)
    {
        return;
    }
    uint32_t count = ListBody(m, slot, ids);
    assert_int_equal(knHierarchy_DeleteBody(m->hierarchy, m->bodies[slot]), kn_success);
    assert_int_equal(knHierarchy_DeleteBody(m->hierarchy, m->bodies[slot]), kn_errorHandle);
    m->bodies[slot] = (knId){0, 0};
    for (uint32_t i = 0; i < count; ++i)
    {
        Drop(m, ids[i]);
    }
}

// Some triangles break into none to three pieces, and the crack has faces of its own.
static void Crack(Model* m)
{
    int slot = FindSlot(m, true);
    uint32_t ids[MAX_TRIANGLES], old[3], pieceOf[9], newIds[16];
    knTriangle pieces[16] = {0};
    if (slot < 0 || m->triangleCount > MAX_TRIANGLES - 16)
    {
        return;
    }
    uint32_t count = ListBody(m, slot, ids);
    knHierarchyCrack crack = {
        .body = m->bodies[slot], .oldTriangles = old, .pieces = pieces, .pieceOf = pieceOf};
    for (uint32_t i = 0; i < 3 && i < count; ++i)
    {
        old[crack.oldCount++] = ids[(i * 7 + count / 2) % count];
    }
    for (uint32_t i = 1; i < crack.oldCount; ++i)
    {
        if (old[i] == old[0] || (i == 2 && old[2] == old[1]))
        {
            crack.oldCount = i;
        }
    }
    for (uint32_t i = 0; i < 9 && crack.oldCount > 0; ++i)
    {
        uint32_t of = knRandom_Below(&m->random, 3);
        if (of < crack.oldCount)
        {
            pieceOf[crack.pieceCount] = of;
            pieces[crack.pieceCount++] = RandomTriangle(m);
        }
    }
    crack.faces = pieces + crack.pieceCount;
    crack.faceCount = knRandom_Below(&m->random, 4);
    for (uint32_t i = 0; i < crack.faceCount; ++i)
    {
        pieces[crack.pieceCount + i] = RandomTriangle(m);
    }
    assert_int_equal(knHierarchy_Crack(m->hierarchy, &crack, newIds), kn_success);
    for (uint32_t i = 0; i < crack.oldCount; ++i)
    {
        Drop(m, old[i]);
    }
    Note(m, newIds, pieces, crack.pieceCount + crack.faceCount, slot);
}

static void Break(Model* m)
{
    int slot = FindSlot(m, true), free[2] = {-1, -1};
    uint32_t ids[MAX_TRIANGLES], parts[MAX_TRIANGLES], newParts[4], newIds[4];
    knTriangle fresh[4] = {0};
    knId bodies[3];
    int found = 0;
    for (int i = 0; i < MAX_BODIES && found < 2; ++i)
    {
        if (knId_IsNull(m->bodies[i]))
        {
            free[found++] = i;
        }
    }
    if (slot < 0 || m->triangleCount > MAX_TRIANGLES - 4)
    {
        return;
    }
    const int slots[3] = {slot, free[0], free[1]};
    knHierarchyBreak e = {.body = m->bodies[slot],
                          .triangles = ids,
                          .parts = parts,
                          .newTriangles = fresh,
                          .newParts = newParts,
                          .newCount = knRandom_Below(&m->random, 5),
                          .partCount = 1 + (uint32_t)found};
    e.triangleCount = ListBody(m, slot, ids);
    for (uint32_t i = 0; i < e.triangleCount; ++i)
    {
        parts[i] = knRandom_Below(&m->random, e.partCount + 1);
        parts[i] = parts[i] == e.partCount ? (i % 3 == 0 ? KN_NONE : 0) : parts[i];
    }
    for (uint32_t i = 0; i < e.newCount; ++i)
    {
        fresh[i] = RandomTriangle(m);
        newParts[i] = knRandom_Below(&m->random, e.partCount);
    }
    assert_int_equal(knHierarchy_Break(m->hierarchy, &e, bodies, newIds), kn_success);
    for (uint32_t i = 0; i < e.partCount; ++i)
    {
        m->bodies[slots[i]] = bodies[i];
    }
    for (uint32_t i = 0; i < e.triangleCount; ++i)
    {
        if (parts[i] == KN_NONE)
        {
            Drop(m, ids[i]);
        }
        else
        {
            m->bodyOf[ids[i]] = slots[parts[i]];
        }
    }
    for (uint32_t i = 0; i < e.newCount; ++i)
    {
        Note(m, &newIds[i], &fresh[i], 1, slots[newParts[i]]);
    }
}

static int RandomId(Model* m)
{
    uint32_t from = knRandom_Below(&m->random, MAX_TRIANGLES);
    for (uint32_t i = 0; i < MAX_TRIANGLES; ++i)
    {
        uint32_t id = (from + i) % MAX_TRIANGLES;
        if (m->isUsed[id])
        {
            return (int)id;
        }
    }
    return -1;
}

static void DeleteTriangle(Model* m)
{
    int id = RandomId(m);
    if (id >= 0)
    {
        uint32_t twice[2] = {(uint32_t)id, (uint32_t)id};
        assert_int_equal(knHierarchy_DeleteTriangles(m->hierarchy, twice, 2), kn_errorHandle);
        assert_int_equal(knHierarchy_DeleteTriangles(m->hierarchy, twice, 1), kn_success);
        Drop(m, (uint32_t)id);
    }
}

static void InsertTriangle(Model* m)
{
    int slot = FindSlot(m, true);
    if (slot >= 0 && m->triangleCount < MAX_TRIANGLES)
    {
        knTriangle triangle = RandomTriangle(m);
        uint32_t id;
        assert_int_equal(
            knHierarchy_InsertTriangles(m->hierarchy, m->bodies[slot], &triangle, 1, &id),
            kn_success);
        Note(m, &id, &triangle, 1, slot);
    }
}

static void ReplaceTriangle(Model* m)
{
    int id = RandomId(m);
    if (id >= 0)
    {
        m->triangles[id] = RandomTriangle(m);
        assert_int_equal(knHierarchy_ReplaceTriangle(m->hierarchy, (uint32_t)id, m->triangles[id]),
                         kn_success);
    }
}

static void MoveVertices(Model* m)
{
    uint32_t first = knRandom_Below(&m->random, VERTEX_COUNT);
    uint32_t count = knRandom_Below(&m->random, VERTEX_COUNT - first) + 1;
    for (uint32_t i = first; i < first + count; ++i)
    {
        m->positions[i] = knAddScaled(m->positions[i], 0.1f, knRandom_UnitVec3(&m->random));
    }
    assert_int_equal(knHierarchy_MoveVertices(m->hierarchy, first, count, m->positions + first),
                     kn_success);
}

static void Update(Model* m)
{
    assert_int_equal(knHierarchy_Update(m->hierarchy), kn_success);
    m->isFresh = true;
    m->isQueried = false;
}

static void Query(Model* m)
{
    knBvhQueryDef def = knDefaultBvhQueryDef();
    if (!m->isFresh)
    {
        assert_int_equal(knBvhQuery_RunHierarchy(m->query, m->hierarchy, &def), kn_errorArgument);
        return;
    }
    def.skipWithin = knRandom_Below(&m->random, 3) == 0;
    assert_int_equal(knBvhQuery_RunHierarchy(m->query, m->hierarchy, &def), kn_success);
    m->isQueried = m->isQueried || !def.skipWithin;
}

static void ChangeSomething(Model* m)
{
    static const struct
    {
        void (*fcn)(Model*);
        bool isChange;
    } operations[] = {{AddBody, true},        {DeleteBody, true},     {Crack, true},
                      {Crack, true},          {Break, true},          {InsertTriangle, true},
                      {InsertTriangle, true}, {DeleteTriangle, true}, {ReplaceTriangle, true},
                      {MoveVertices, true},   {MoveVertices, true},   {Update, false},
                      {Update, false},        {Query, false},         {Query, false},
                      {AddBody, true}};
    uint32_t which = knRandom_Below(&m->random, COUNT_OF(operations));
    operations[which].fcn(m);
    if (operations[which].isChange)
    {
        // an operation may have found nothing to do; boxes are looked at while this is said
        m->isFresh = m->isFresh && m->hierarchy->isUpdated;
        m->isQueried = m->isQueried && m->isFresh;
    }
}

typedef struct Bounds
{
    float lower[3], upper[3];
} Bounds;

static Bounds EmptyBounds(void)
{
    return (Bounds){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

static void AddBounds(Bounds* b, const float* lower, const float* upper)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        b->lower[axis] = fminf(b->lower[axis], lower[axis]);
        b->upper[axis] = fmaxf(b->upper[axis], upper[axis]);
    }
}

static Bounds TriangleBounds(const Model* m, uint32_t id)
{
    Bounds b = EmptyBounds();
    for (int k = 0; k < 3; ++k)
    {
        knVec3 p = m->positions[m->triangles[id].v[k]];
        const float at[3] = {p.x, p.y, p.z};
        AddBounds(&b, at, at);
    }
    return b;
}

static double Volume(const Bounds* b, double padding)
{
    double volume = 1.0;
    for (int axis = 0; axis < 3; ++axis)
    {
        volume *= (double)b->upper[axis] - (double)b->lower[axis] + padding;
    }
    return volume;
}

typedef struct Seen
{
    const Model* model;
    int slot;
    uint32_t nodeCount, triangleCount;
    bool isSeen[MAX_TRIANGLES];
    double squares; // of volumes
    Bounds box;     // of the last node
} Seen;

static void SeeTriangle(Seen* s, uint32_t id)
{
    assert_true(id < MAX_TRIANGLES && s->model->isUsed[id] && !s->isSeen[id]);
    assert_int_equal(s->model->bodyOf[id], s->slot);
    s->isSeen[id] = true;
    s->triangleCount += 1;
}

// Returns the height.
static uint32_t CheckBalanced(Seen* s, uint32_t node, uint32_t parent)
{
    const knHierarchy* h = s->model->hierarchy;
    const knBalancedNode* n = &h->nodes[node];
    Bounds box = EmptyBounds();
    uint32_t height = 0;
    s->nodeCount += 1;
    assert_int_equal(h->links[node].parent, parent);
    if (n->right == KN_NONE)
    {
        SeeTriangle(s, n->left);
        assert_int_equal(h->triangles[n->left].place, node);
        box = TriangleBounds(s->model, n->left);
    }
    else
    {
        uint32_t left = CheckBalanced(s, n->left, node);
        AddBounds(&box, s->box.lower, s->box.upper);
        uint32_t right = CheckBalanced(s, n->right, node);
        AddBounds(&box, s->box.lower, s->box.upper);
        height = 1 + (left > right ? left : right);
        assert_true(left <= right + 1 && right <= left + 1);
    }
    assert_int_equal(h->links[node].height, height);
    if (s->model->isFresh)
    {
        assert_memory_equal(n->lower, box.lower, sizeof box.lower);
        assert_memory_equal(n->upper, box.upper, sizeof box.upper);
    }
    double volume = Volume(&box, (double)h->padding);
    s->squares += volume * volume;
    s->box = box;
    return height;
}

static void CheckFans(const Model* m)
{
    const knHierarchy* h = m->hierarchy;
    uint32_t corners = 0;
    for (uint32_t v = 0; v < VERTEX_COUNT; ++v)
    {
        uint32_t previous = KN_NONE;
        for (uint32_t at = h->fanHeads[v]; at != KN_NONE; at = h->fans[at].next)
        {
            assert_true(m->isUsed[at / 3]);
            assert_int_equal(m->triangles[at / 3].v[at % 3], v);
            assert_int_equal(h->fans[at].previous, previous);
            assert_int_equal(h->isPending[at / 3], 0);
            previous = at;
            corners += 1;
        }
    }
    assert_int_equal(corners, 3 * m->triangleCount);
}

static void CheckLazy(Seen* s, uint32_t node, bool parentActive)
{
    const Model* m = s->model;
    const knHierarchy* h = m->hierarchy;
    const knLazyNode* n = &h->lazy[node];
    const knHierarchyBody* body = knPool_Get(&h->bodies, m->bodies[s->slot]);
    Bounds box = EmptyBounds();
    double childVolumes = 0.0;
    uint32_t at = n->first, activeChildren = 0;
    bool isActive = n->activeIn == h->period;
    s->nodeCount += 1;
    assert_true(parentActive || !isActive);
    if (m->isFresh && m->isQueried)
    {
        assert_true(isActive); // a whole query goes everywhere
    }
    for (uint32_t i = n->box.child; i < n->box.child + n->box.count; ++i)
    {
        assert_int_equal(h->lazy[i].first, at);
        at += h->lazy[i].count;
        CheckLazy(s, i, isActive);
        AddBounds(&box, s->box.lower, s->box.upper);
        childVolumes +=
            s->box.lower[0] <= s->box.upper[0] ? Volume(&s->box, (double)h->padding) : 0;
        activeChildren += h->lazy[i].activeIn + 1 == h->period;
    }
    if (n->box.count > 0)
    {
        assert_in_range(n->box.count, 2, 8);
        assert_int_equal(at, n->first + n->count);
    }
    for (uint32_t i = n->first; i < n->first + n->count && n->box.count == 0; ++i)
    {
        if (body->primitives[i] != KN_NONE)
        {
            SeeTriangle(s, body->primitives[i]);
            Bounds t = TriangleBounds(m, body->primitives[i]);
            AddBounds(&box, t.lower, t.upper);
        }
    }
    if (m->isFresh)
    {
        assert_memory_equal(n->box.lower, box.lower, sizeof box.lower);
        assert_memory_equal(n->box.upper, box.upper, sizeof box.upper);
    }
    if (m->isFresh && !isActive && n->box.count > 0)
    {
        // what an update leaves: marked by the queries before, and of good volumes or at rest
        double r = Volume(&box, (double)h->padding) / childVolumes;
        assert_true(activeChildren > 0);
        assert_true(childVolumes == 0.0 || r >= (double)h->def.invalidRatio * (1.0 - 1e-9) ||
                    n->restUntil > h->period - 1);
    }
    s->box = box;
}

static void CheckAxis(const Model* m, int axis)
{
    const knHierarchy* h = m->hierarchy;
    const knSweepAxis* x = &h->swiper.axes[axis];
    uint64_t overlaps = 0;
    if (!x->isSorted || !m->isFresh)
    {
        return;
    }
    for (uint32_t i = 0; i + 1 < h->swiper.endpointCount; ++i)
    {
        knEndpoint a = x->endpoints[i], b = x->endpoints[i + 1];
        assert_true(a.value < b.value || (a.value == b.value && (a.name & 1) <= (b.name & 1)));
    }
    for (uint32_t i = 0; i < MAX_TRIANGLES; ++i)
    {
        Bounds a = m->isUsed[i] ? TriangleBounds(m, i) : EmptyBounds();
        for (uint32_t k = 0; k < i && m->isUsed[i]; ++k)
        {
            Bounds b = m->isUsed[k] ? TriangleBounds(m, k) : EmptyBounds();
            overlaps += a.lower[axis] <= b.upper[axis] && b.lower[axis] <= a.upper[axis];
        }
    }
    assert_int_equal(x->overlaps, overlaps);
    assert_true(h->swiper.axes[h->swiper.axis].isSorted);
    assert_true(h->swiper.axes[h->swiper.axis].overlaps <= x->overlaps);
}

static void CheckBody(const Model* m, Seen* s)
{
    const knHierarchy* h = m->hierarchy;
    const knHierarchyBody* body = knPool_Get(&h->bodies, m->bodies[s->slot]);
    uint32_t before = s->triangleCount;
    s->squares = 0.0;
    if (body->root != KN_NONE && h->def.method == kn_hierarchyBalanced)
    {
        CheckBalanced(s, body->root, KN_NONE);
        if (m->isFresh && !body->isChanged)
        {
            double volume = Volume(&s->box, (double)h->padding);
            double q = knBalancedQuality(h, body->root);
            ASSERT_NEAR(q, s->squares / (volume * volume), 1e-9 * q);
        }
    }
    else if (body->root != KN_NONE)
    {
        CheckLazy(s, body->root, true);
    }
    if (h->def.method != kn_hierarchySwiper)
    {
        assert_int_equal(body->triangleCount, s->triangleCount - before);
    }
}

static void CheckAll(const Model* m, uint32_t operation)
{
    const knHierarchy* h = m->hierarchy;
    Seen s = {.model = m};
    for (s.slot = 0; s.slot < MAX_BODIES; ++s.slot)
    {
        if (!knId_IsNull(m->bodies[s.slot]))
        {
            CheckBody(m, &s);
        }
    }
    knHierarchyInfo info;
    knHierarchy_Info(h, &info);
    assert_int_equal(info.triangleCount, m->triangleCount);
    assert_int_equal(info.nodeCount, s.nodeCount);
    if (h->def.method == kn_hierarchyBalanced)
    {
        CheckFans(m);
    }
    for (int axis = 0; axis < 3 && h->def.method == kn_hierarchySwiper && operation % 8 == 0;
         ++axis)
    {
        CheckAxis(m, axis);
    }
}

static void KeepInvariants(const knHierarchyDef* def, uint64_t seed)
{
    Model* m = calloc(1, sizeof *m);
    m->random = knMakeRandom(seed);
    knBox box = {{0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f}};
    for (uint32_t i = 0; i < VERTEX_COUNT; ++i)
    {
        m->positions[i] = knRandom_InBox(&m->random, box);
    }
    assert_int_equal(knCreateHierarchy(&m->hierarchy, def, NULL), kn_success);
    assert_int_equal(knCreateBvhQuery(&m->query, NULL), kn_success);
    assert_int_equal(knHierarchy_AddVertices(m->hierarchy, m->positions, VERTEX_COUNT, NULL),
                     kn_success);
    m->isFresh = true;
    for (uint32_t i = 0; i < OPERATIONS; ++i)
    {
        ChangeSomething(m);
        CheckAll(m, i);
    }
    knHierarchyWork work = knHierarchy_TakeWork(m->hierarchy);
    if (def->method == kn_hierarchyBalanced)
    {
        // nothing of the paper has stayed unused
        assert_true(work.rotations > 0 && work.permutations > 0 && work.clonedNodes > 0);
        assert_true(work.insertions > work.greedyInsertions && work.greedyInsertions > 0);
        assert_true(work.replacements > 0 && work.deletions > 0 && work.rebuilds > 0);
    }
    else if (def->method == kn_hierarchyLazy)
    {
        assert_true(work.splits > 0 && work.invalidations > 0 && work.rescues > 0);
        assert_true(work.rests > 0 && work.foldPrimitives > 0);
    }
    else
    {
        assert_true(work.quicksorts > 0 && work.sortMoves > 0);
    }
    knDestroyBvhQuery(m->query);
    knDestroyHierarchy(m->hierarchy);
    free(m);
}

static void BalancedTreesStayBalanced(void** state)
{
    (void)state;
    knHierarchyDef def = knDefaultHierarchyDef();
    KeepInvariants(&def, 1);
}

static void LazyTreesStayWhole(void** state)
{
    (void)state;
    knHierarchyDef def = knDefaultHierarchyDef();
    def.method = kn_hierarchyLazy;
    def.leafSize = 2;
    def.restFrames = 2;
    KeepInvariants(&def, 2);
}

static void SwiperStaysSorted(void** state)
{
    (void)state;
    knHierarchyDef def = knDefaultHierarchyDef();
    def.method = kn_hierarchySwiper;
    def.sortLimit = 1.0f;
    def.sortFrames = 3;
    KeepInvariants(&def, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(BalancedTreesStayBalanced),
        cmocka_unit_test(LazyTreesStayWhole),
        cmocka_unit_test(SwiperStaysSorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
