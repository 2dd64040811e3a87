// SPDX-License-Identifier: Zlib
#include "spheretree/spheretree_internal.h"

// A split in three phases. First every point whose parent is now in another fragment is written
// down with its closest ancestor of its own fragment, while all links are still the old ones; then
// all of them move; then the new points go in. Ancestors after a move are ancestors from before it,
// so the old radii say how far a moved subtree can reach, and nothing above the new parent grows.

typedef struct Move
{
    uint32_t point;
    uint32_t parent; // KN_NONE: becomes a root
    float need;      // from the parent to all that is at or below the point
    uint8_t level;   // that it enters at from now on
} Move;

typedef struct Update
{
    knSphereForest* forest;
    const knFractureDelta* delta;
    const knCutStore* cuts;
    knMutableLinks own;
    Move* moves;
    size_t moveCount;
    bool parentLives; // some nodes keep its label
} Update;

typedef void VisitFcn(Update* update, uint32_t point);

// The split nodes and their cut points of earlier breaks, those that are in the forest.
static void VisitTouched(Update* u, VisitFcn* visit)
{
    const knTetMesh* mesh = u->forest->mesh;
    for (uint32_t i = 0; i < u->delta->splitNodeCount; ++i)
    {
        uint32_t node = u->delta->splitNodes[i];
        if (u->own.parent[node] != KN_SPHERE_ABSENT)
        {
            visit(u, node);
        }
        uint32_t end = u->delta->firstPoint > 0 ? mesh->nodeEdgeStarts[node + 1] : 0;
        for (uint32_t k = mesh->nodeEdgeStarts[node]; k < end; ++k)
        {
            uint32_t edge = mesh->nodeEdges[k];
            uint32_t cut = u->cuts->edgeCuts[edge];
            if (cut < u->delta->firstPoint)
            {
                visit(u, knCutStore_PointId(u->cuts, cut, mesh->edges[edge].v[1] == node));
            }
        }
    }
}

static uint32_t LabelOf(const Update* u, uint32_t point)
{
    return knSphereLabel(u->forest->mesh, u->cuts, point);
}

static bool IsStray(const Update* u, uint32_t point)
{
    uint32_t parent = u->own.parent[point];
    uint32_t label = LabelOf(u, point);
    return parent & KN_SPHERE_ROOT ? (parent & ~KN_SPHERE_ROOT) != label
                                   : LabelOf(u, parent) != label;
}

// A point's old fragment is the parent, so a child that still has its label was not touched itself
// and is found through its parent only.
static bool IsLeftBehind(const Update* u, uint32_t child)
{
    return LabelOf(u, child) == u->delta->parent;
}

static void CountMoves(Update* u, uint32_t point)
{
    u->moveCount += IsStray(u, point);
    uint32_t c = u->parentLives ? u->own.first[point] : KN_NONE;
    for (; c != KN_NONE; c = u->own.next[c])
    {
        u->moveCount += IsLeftBehind(u, c);
    }
}

static float OldRadius(const Update* u, uint32_t point)
{
    uint32_t child = u->own.first[point];
    return child == KN_NONE ? 0.0f : u->own.reach[child];
}

// The ancestor's sphere reached the point through `via`; what held the subtree then still does.
static Move MakeMove(const Update* u, uint32_t point)
{
    uint32_t label = LabelOf(u, point);
    uint32_t via = point;
    uint32_t ancestor = u->own.parent[point];
    while (!(ancestor & KN_SPHERE_ROOT) && LabelOf(u, ancestor) != label)
    {
        via = ancestor;
        ancestor = u->own.parent[ancestor];
    }
    if (ancestor & KN_SPHERE_ROOT)
    {
        return (Move){point, KN_NONE, 0.0f, u->own.level[point]};
    }
    knVec3 center = knSpherePosition(u->forest->mesh, u->cuts, ancestor);
    knVec3 position = knSpherePosition(u->forest->mesh, u->cuts, point);
    float need = knRadiusSumUp(knSphereDistance2(center, position), OldRadius(u, point));
    need = need < u->own.reach[via] ? need : u->own.reach[via];
    return (Move){point, ancestor, need, u->own.level[via]};
}

static void AddMoves(Update* u, uint32_t point)
{
    if (IsStray(u, point))
    {
        u->moves[u->moveCount++] = MakeMove(u, point);
    }
    uint32_t c = u->parentLives ? u->own.first[point] : KN_NONE;
    for (; c != KN_NONE; c = u->own.next[c])
    {
        if (IsLeftBehind(u, c))
        {
            u->moves[u->moveCount++] = MakeMove(u, c);
        }
    }
    --u->forest->fragments[u->delta->parent].pointCount;
    ++u->forest->fragments[LabelOf(u, point)].pointCount;
}

static void ApplyMoves(Update* u)
{
    for (size_t i = 0; i < u->moveCount; ++i)
    {
        knSphereForest_Unlink(u->forest, u->moves[i].point);
    }
    for (size_t i = 0; i < u->moveCount; ++i)
    {
        const Move* move = &u->moves[i];
        u->own.level[move->point] = move->level;
        if (move->parent == KN_NONE)
        {
            knSphereForest_LinkRoot(u->forest, move->point, LabelOf(u, move->point));
        }
        else
        {
            knSphereForest_LinkChild(u->forest, move->point, move->parent, move->need);
        }
    }
}

static uint32_t ClosestRoot(const Update* u, uint32_t fragment, knVec3 position)
{
    uint32_t closest = KN_NONE;
    double best = (double)INFINITY;
    for (uint32_t r = u->forest->fragments[fragment].firstRoot; r != KN_NONE; r = u->own.next[r])
    {
        double distance2 =
            knSphereDistance2(knSpherePosition(u->forest->mesh, u->cuts, r), position);
        if (distance2 < best)
        {
            best = distance2;
            closest = r;
        }
    }
    return closest;
}

static uint8_t LevelBelow(const Update* u, uint32_t point)
{
    uint8_t level = u->own.level[point];
    return level + 1 < KN_MAX_SPHERE_LEVELS ? (uint8_t)(level + 1) : level;
}

// A node that a rebuild left out, now that a crack has reached it.
static void ReturnNode(Update* u, uint32_t node)
{
    uint32_t fragment = LabelOf(u, node);
    knVec3 position = u->forest->mesh->nodes[node];
    uint32_t root = ClosestRoot(u, fragment, position);
    u->own.first[node] = KN_NONE;
    u->own.level[node] = root == KN_NONE ? 0 : LevelBelow(u, root);
    if (root == KN_NONE)
    {
        knSphereForest_LinkRoot(u->forest, node, fragment);
    }
    else
    {
        knVec3 center = knSpherePosition(u->forest->mesh, u->cuts, root);
        knSphereForest_LinkChild(u->forest, node, root,
                                 knRadiusUp(knSphereDistance2(center, position)));
    }
    ++u->forest->fragments[fragment].pointCount;
}

// One below the node's own level: high in the tree, because it is certainly on the surface.
static void AddCutPoint(Update* u, uint32_t cut, uint32_t side)
{
    const knCutPoint* cutPoint = &u->cuts->points[cut];
    uint32_t node = u->forest->mesh->edges[cutPoint->edge].v[side];
    uint32_t point = knCutStore_PointId(u->cuts, cut, side);
    if (u->own.parent[node] == KN_SPHERE_ABSENT)
    {
        ReturnNode(u, node);
    }
    u->own.first[point] = KN_NONE;
    u->own.level[point] = LevelBelow(u, node);
    double distance2 = knSphereDistance2(u->forest->mesh->nodes[node], cutPoint->position);
    knSphereForest_LinkChild(u->forest, point, node, knRadiusUp(distance2));
    knSphereForest_GrowAbove(u->forest, u->cuts, node, cutPoint->position);
    ++u->forest->fragments[u->cuts->labels[node]].pointCount;
}

// The coarsest roots stay, which the order has spread well; the others go below the closest.
static void Regroup(Update* u, uint32_t fragment)
{
    knSphereForest* forest = u->forest;
    uint32_t keep = forest->maxRoots / 2;
    uint32_t root = forest->fragments[fragment].firstRoot;
    uint32_t last = KN_NONE;
    for (uint32_t i = 0; i < keep; ++i)
    {
        last = root;
        root = u->own.next[root];
    }
    // cut the list in two, so that ClosestRoot sees those that stay
    u->own.next[last] = KN_NONE;
    while (root != KN_NONE)
    {
        uint32_t next = u->own.next[root];
        knVec3 position = knSpherePosition(forest->mesh, u->cuts, root);
        uint32_t parent = ClosestRoot(u, fragment, position);
        knVec3 center = knSpherePosition(forest->mesh, u->cuts, parent);
        float radius = OldRadius(u, root);
        knSphereForest_LinkChild(forest, root, parent,
                                 knRadiusSumUp(knSphereDistance2(center, position), radius));
        root = next;
    }
    forest->fragments[fragment].rootCount = keep;
    ++forest->regroupCount;
}

static void FinishFragment(Update* u, uint32_t fragment)
{
    knSphereFragment* f = &u->forest->fragments[fragment];
    ++f->generation;
    if (f->rootCount > u->forest->maxRoots)
    {
        Regroup(u, fragment);
    }
}

static knResult CheckRoom(const Update* u)
{
    const knSphereForest* forest = u->forest;
    const knFractureDelta* delta = u->delta;
    uint64_t points =
        (uint64_t)forest->mesh->nodeCount + 2 * ((uint64_t)delta->firstPoint + delta->pointCount);
    bool fits = forest->memory && points <= forest->pointCapacity &&
                delta->parent < forest->fragmentCapacity;
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        fits = fits && delta->fragments[i] < forest->fragmentCapacity;
    }
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        fits = fits && u->cuts->labels[delta->splitNodes[i]] < forest->fragmentCapacity;
    }
    return fits ? kn_success
                : knFail(kn_errorLimit, "knSphereForest_Update: reserve more points or fragments");
}

static void NoteFragment(knSphereForest* forest, uint32_t fragment)
{
    forest->fragmentCount = fragment < forest->fragmentCount ? forest->fragmentCount : fragment + 1;
}

static void Apply(Update* u)
{
    const knFractureDelta* delta = u->delta;
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        NoteFragment(u->forest, delta->fragments[i]);
    }
    NoteFragment(u->forest, delta->parent);
    u->moveCount = 0;
    VisitTouched(u, AddMoves);
    ApplyMoves(u);
    for (uint32_t i = 0; i < 2 * delta->pointCount; ++i)
    {
        AddCutPoint(u, delta->firstPoint + i / 2, i % 2);
    }
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        FinishFragment(u, delta->fragments[i]);
    }
    if (!u->parentLives)
    {
        FinishFragment(u, delta->parent);
    }
}

knResult knSphereForest_Update(knSphereForest* forest, const knFractureDelta* delta,
                               const knCutStore* cuts, knArena* scratch)
{
    if (!forest || !forest->mesh || !delta || !cuts || !scratch ||
        cuts->nodeCount != forest->mesh->nodeCount ||
        (uint64_t)delta->firstPoint + delta->pointCount > cuts->pointCount)
    {
        return knFail(kn_errorArgument, "knSphereForest_Update: forest, delta, cuts or scratch");
    }
    Update u = {.forest = forest, .delta = delta, .cuts = cuts};
    knResult result = CheckRoom(&u);
    if (result != kn_success)
    {
        return result;
    }
    u.own = knSphereForest_Own(forest);
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        u.parentLives = u.parentLives || delta->fragments[i] == delta->parent;
    }
    VisitTouched(&u, CountMoves);
    size_t mark = knArena_Mark(scratch);
    if (u.moveCount > 0)
    {
        u.moves = knArena_Allocate(scratch, u.moveCount, sizeof(Move));
        if (!u.moves)
        {
            return knFail(kn_errorLimit, "knSphereForest_Update: %zu moves do not fit the scratch",
                          u.moveCount);
        }
    }
    Apply(&u);
    knArena_Rewind(scratch, mark);
    return kn_success;
}

size_t knSphereForest_UpdateBytes(const knSphereForest* forest, uint32_t fragment)
{
    // a point moves at most once
    size_t points = knSphereForest_Fragment(forest, fragment).pointCount;
    return points * sizeof(Move) + 2 * KN_CACHE_LINE;
}
