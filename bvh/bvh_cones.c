// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// The papers' culling, for comparison: neither is exact on a hierarchy.
//
// Dual cones (FASTCD 4): a connected part is skipped when one cone holds its normals and another
// the binormals of its boundary, and the axis of the first lies outside the second. Only edges of
// the surface's own boundary count; those that a split of the tree made are ignored, and so a
// penetrating pipe can be missed (Figure 4). Normal cones with contour (Volino-Thalmann, Provot): a
// connected part is skipped when one cone holds its normals and its whole contour, seen along the
// axis, does not cross itself.
//
// Connectivity and boundary edges are found anew when the structure changes, cones at each commit.

#define HALF_TURN   3.14159265f
#define EMPTY_CONE  (-1.0f)
#define MAX_CONTOUR 96 // as in bvh_cull.c: longer lists are not kept

static const knCone emptyCone = {{0.0f, 0.0f, 0.0f}, EMPTY_CONE};
static const knCone allCone = {{0.0f, 0.0f, 1.0f}, HALF_TURN};

knResult knReserveCones(knBvhScene* s, size_t nodeCount, size_t blockCount)
{
    knResult result =
        knGrow(&s->allocator, (void**)&s->cones, &s->coneCapacity, nodeCount, sizeof *s->cones);
    return result == kn_success
               ? knGrow(&s->allocator, (void**)&s->boundaryMasks, &s->boundaryMaskCapacity,
                        blockCount, sizeof *s->boundaryMasks)
               : result;
}

// One side of an edge; sorted by the edge, then by the triangle.
typedef struct Side
{
    uint64_t edge; // lower vertex, higher vertex
    uint32_t triangle;
    uint32_t corner;
} Side;

static int CompareSides(const void* a, const void* b)
{
    const Side *p = a, *q = b;
    if (p->edge != q->edge)
    {
        return p->edge < q->edge ? -1 : 1;
    }
    return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

static uint32_t CollectSides(const knBvhScene* s, Side* sides)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->triangleSlots; ++i)
    {
        const knBvhTriangle* t = &s->triangles[i];
        for (uint32_t k = 0; k < 3 && t->body != 0; ++k)
        {
            uint32_t from = t->v[k], to = t->v[(k + 1) % 3];
            uint32_t low = from < to ? from : to, high = from < to ? to : from;
            sides[count++] = (Side){(uint64_t)low << 32 | high, i, k};
        }
    }
    qsort(sides, count, sizeof *sides, CompareSides);
    return count;
}

static uint32_t DepthOf(const knBvhScene* s, uint32_t node)
{
    uint32_t depth = 0;
    for (; s->cold[node].parent != KN_NONE; node = s->cold[node].parent)
    {
        depth += 1;
    }
    return depth;
}

static uint32_t LeafOf(const knBvhScene* s, uint32_t triangle)
{
    return s->blockNodes[s->triangles[triangle].place / KN_LANES];
}

// Two triangles that hang together, where their ways up meet.
typedef struct Link
{
    uint32_t depth, node;
    uint32_t a, b;
} Link;

static Link MakeLink(const knBvhScene* s, uint32_t a, uint32_t b)
{
    uint32_t p = LeafOf(s, a), q = LeafOf(s, b);
    uint32_t depth = DepthOf(s, p), other = DepthOf(s, q);
    for (; depth > other; --depth)
    {
        p = s->cold[p].parent;
    }
    for (; other > depth; --other)
    {
        q = s->cold[q].parent;
    }
    for (; p != q; --depth)
    {
        p = s->cold[p].parent;
        q = s->cold[q].parent;
    }
    return (Link){depth, p, a, b};
}

static int CompareLinks(const void* a, const void* b)
{
    const Link *p = a, *q = b;
    if (p->depth != q->depth)
    {
        return p->depth > q->depth ? -1 : 1; // the deepest first
    }
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

// An edge of two triangles links them; every other one, that of three or more included, is
// boundary, as if the surface were cut there into manifolds.
static uint32_t FindLinks(knBvhScene* s, const Side* sides, uint32_t sideCount, Link* links)
{
    uint32_t count = 0;
    memset(s->boundaryMasks, 0, s->blockSlots * sizeof *s->boundaryMasks);
    for (uint32_t i = 0, end; i < sideCount; i = end)
    {
        for (end = i + 1; end < sideCount && sides[end].edge == sides[i].edge; ++end)
        {
        }
        if (end - i == 2 && sides[i].triangle != sides[i + 1].triangle)
        {
            links[count++] = MakeLink(s, sides[i].triangle, sides[i + 1].triangle);
            continue;
        }
        for (uint32_t k = i; k < end; ++k)
        {
            uint32_t place = s->triangles[sides[k].triangle].place;
            s->boundaryMasks[place / KN_LANES] |= 1u << (3 * (place % KN_LANES) + sides[k].corner);
        }
    }
    qsort(links, count, sizeof *links, CompareLinks);
    return count;
}

static uint32_t FindRoot(uint32_t* parents, uint32_t i)
{
    while (parents[i] != i)
    {
        parents[i] = parents[parents[i]];
        i = parents[i];
    }
    return i;
}

// Links below a node join its parts before those at the node do: what is left is its components.
static void CountComponents(knBvhScene* s, const Link* links, uint32_t linkCount, uint32_t* parents)
{
    for (uint32_t i = 0; i < s->triangleSlots; ++i)
    {
        parents[i] = i;
    }
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        s->cones[s->order[i]].componentCount = 0;
    }
    for (uint32_t i = 0; i < linkCount; ++i)
    {
        uint32_t a = FindRoot(parents, links[i].a), b = FindRoot(parents, links[i].b);
        s->cones[links[i].node].componentCount -= a != b; // wraps; the sum below is right
        parents[a > b ? a : b] = a > b ? b : a;
    }
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        const knBvhNode* n = &s->nodes[s->order[i]];
        s->cones[s->order[i]].componentCount +=
            knIsLeaf(n) ? n->count
                        : s->cones[n->child].componentCount + s->cones[n->child + 1].componentCount;
    }
}

// What hangs together, and where the surface ends.
static knResult UpdateConnectivity(knBvhScene* s)
{
    size_t slots = s->triangleSlots > 0 ? s->triangleSlots : 1;
    Side* sides = knAllocate(&s->allocator, 3 * slots, sizeof *sides);
    Link* links = knAllocate(&s->allocator, 2 * slots, sizeof *links);
    uint32_t* parents = knAllocate(&s->allocator, slots, sizeof *parents);
    bool isGood = sides && links && parents;
    if (isGood)
    {
        uint32_t sideCount = CollectSides(s, sides);
        CountComponents(s, links, FindLinks(s, sides, sideCount, links), parents);
        s->conesAreValid = true;
    }
    knRelease(&s->allocator, sides, 3 * slots, sizeof *sides);
    knRelease(&s->allocator, links, 2 * slots, sizeof *links);
    knRelease(&s->allocator, parents, slots, sizeof *parents);
    return isGood ? kn_success : kn_errorMemory;
}

static float Angle(knVec3 a, knVec3 b)
{
    float cosine = knDot(a, b);
    return acosf(cosine > 1.0f ? 1.0f : (cosine < -1.0f ? -1.0f : cosine));
}

// A cone around unit vectors: the axis is the direction of their sum.
static knCone ConeAround(const knVec3* vectors, uint32_t count)
{
    knVec3 sum = knMakeVec3(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i < count; ++i)
    {
        sum = knAdd(sum, vectors[i]);
    }
    float length = knLength(sum);
    if (count == 0 || !(length > 1e-6f))
    {
        return count == 0 ? emptyCone : allCone;
    }
    knCone cone = {knScale(1.0f / length, sum), 0.0f};
    for (uint32_t i = 0; i < count; ++i)
    {
        cone.angle = fmaxf(cone.angle, Angle(cone.axis, vectors[i]));
    }
    return cone;
}

// Provot's: the axis halfway between, and an angle that is enough for both.
static knCone MergeCones(knCone a, knCone b)
{
    if (a.angle < 0.0f || b.angle < 0.0f)
    {
        return a.angle < 0.0f ? b : a;
    }
    knVec3 sum = knAdd(a.axis, b.axis);
    float length = knLength(sum);
    float angle = 0.5f * Angle(a.axis, b.axis) + fmaxf(a.angle, b.angle);
    return length > 1e-6f && angle < HALF_TURN ? (knCone){knScale(1.0f / length, sum), angle}
                                               : allCone;
}

static bool Normalize(knVec3* v)
{
    float length = knLength(*v);
    *v = knScale(1.0f / length, *v);
    return length > 0.0f && length <= FLT_MAX && knIsFinite(*v);
}

static knVec3 CornerOf(const knBvhScene* s, const knBvhBlock* b, uint32_t lane, uint32_t corner)
{
    return s->positions[b->vertex[corner % 3][lane]];
}

static void SetLeafCones(knBvhScene* s, uint32_t node)
{
    const knBvhNode* n = &s->nodes[node];
    const knBvhBlock* block = &s->blocks[n->child];
    knVec3 normals[KN_LANES], binormals[3 * KN_LANES];
    uint32_t binormalCount = 0;
    bool isGood = true;
    for (uint32_t lane = 0; lane < n->count && isGood; ++lane)
    {
        knVec3 a = CornerOf(s, block, lane, 0), b = CornerOf(s, block, lane, 1);
        normals[lane] = knCross(knSub(b, a), knSub(CornerOf(s, block, lane, 2), a));
        isGood = Normalize(&normals[lane]);
        for (uint32_t k = 0; k < 3 && isGood; ++k)
        {
            if (s->boundaryMasks[n->child] >> (3 * lane + k) & 1u)
            {
                knVec3 edge = knSub(CornerOf(s, block, lane, k + 1), CornerOf(s, block, lane, k));
                binormals[binormalCount] = knCross(edge, normals[lane]); // away from the triangle
                isGood = Normalize(&binormals[binormalCount++]);
            }
        }
    }
    s->cones[node].normal = isGood ? ConeAround(normals, n->count) : allCone;
    s->cones[node].binormal = isGood ? ConeAround(binormals, binormalCount) : allCone;
}

static bool PassesDualCones(const knBvhCones* c)
{
    float along = fabsf(knDot(c->normal.axis, c->binormal.axis));
    return c->normal.angle < 0.5f * HALF_TURN &&
           (c->binormal.angle < 0.0f ||
            (c->binormal.angle < 0.5f * HALF_TURN && along < cosf(c->binormal.angle)));
}

typedef struct Flat
{
    double x, y;
} Flat;

static double Turn(Flat a, Flat b, Flat c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Touching counts; edges that share a vertex do not.
static bool EdgesCross(const Flat* p, const Flat* q)
{
    if (fmax(p[0].x, p[1].x) < fmin(q[0].x, q[1].x) ||
        fmax(q[0].x, q[1].x) < fmin(p[0].x, p[1].x) ||
        fmax(p[0].y, p[1].y) < fmin(q[0].y, q[1].y) || fmax(q[0].y, q[1].y) < fmin(p[0].y, p[1].y))
    {
        return false;
    }
    return Turn(p[0], p[1], q[0]) * Turn(p[0], p[1], q[1]) <= 0.0 &&
           Turn(q[0], q[1], p[0]) * Turn(q[0], q[1], p[1]) <= 0.0;
}

// Every edge against every other, as in the original method.
static bool PassesContour(const knBvhScene* s, uint32_t node)
{
    const knBvhContour* c = &s->contours[node];
    if (c->count > MAX_CONTOUR)
    {
        return false;
    }
    const knHalfEdge* edges = s->halfEdges + c->first;
    knVec3 axis = s->cones[node].normal.axis;
    knVec3 side =
        fabsf(axis.x) < 0.6f ? knMakeVec3(1.0f, 0.0f, 0.0f) : knMakeVec3(0.0f, 1.0f, 0.0f);
    knVec3 u = knCross(axis, side), v = knCross(axis, u);
    Flat points[MAX_CONTOUR][2];
    for (uint32_t i = 0; i < c->count; ++i)
    {
        knVec3 from = s->positions[edges[i].from], to = s->positions[edges[i].to];
        points[i][0] = (Flat){(double)knDot(from, u), (double)knDot(from, v)};
        points[i][1] = (Flat){(double)knDot(to, u), (double)knDot(to, v)};
        for (uint32_t k = 0; k < i; ++k)
        {
            bool isShared = edges[k].from == edges[i].from || edges[k].from == edges[i].to ||
                            edges[k].to == edges[i].from || edges[k].to == edges[i].to;
            if (!isShared && EdgesCross(points[i], points[k]))
            {
                return false;
            }
        }
    }
    return true;
}

static bool IsSkipped(const knBvhScene* s, uint32_t node)
{
    const knBvhCones* c = &s->cones[node];
    if (c->componentCount != 1)
    {
        return false;
    }
    return s->def.culling == kn_bvhCullDualCones
               ? PassesDualCones(c)
               : c->normal.angle < 0.5f * HALF_TURN && PassesContour(s, node);
}

knResult knUpdateCones(knBvhScene* s)
{
    knResult result = s->conesAreValid ? kn_success : UpdateConnectivity(s);
    if (result != kn_success)
    {
        return result;
    }
    memset(s->culled, 0, s->nodeSlots);
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        uint32_t node = s->order[i], child = s->nodes[node].child;
        if (knIsLeaf(&s->nodes[node]))
        {
            SetLeafCones(s, node);
            continue;
        }
        const knBvhCones *left = &s->cones[child], *right = left + 1;
        s->cones[node].normal = MergeCones(left->normal, right->normal);
        s->cones[node].binormal = MergeCones(left->binormal, right->binormal);
    }
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        s->culled[node] = IsSkipped(s, node);
        bool isDone = s->culled[node] || knIsLeaf(&s->nodes[node]);
        node = isDone ? knNextAside(s, node) : s->nodes[node].child;
    }
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        if (!knIsLeaf(&s->nodes[s->order[i]]))
        {
            knSetSelfCost(s, s->order[i]);
        }
    }
    return kn_success;
}
