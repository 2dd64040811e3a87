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
// Connectivity and boundary edges are kept up to date where the structure changes (bvh_parts.c),
// cones are fitted at each commit.

#define HALF_TURN  3.14159265f
#define EMPTY_CONE (-1.0f)

static const knCone emptyCone = {{0.0f, 0.0f, 0.0f}, EMPTY_CONE};
static const knCone allCone = {{0.0f, 0.0f, 1.0f}, HALF_TURN};

knResult knReserveCones(knBvhScene* s, size_t nodeCount, size_t blockCount)
{
    knResult result =
        knGrow(&s->allocator, (void**)&s->cones, &s->coneCapacity, nodeCount, sizeof *s->cones);
    if (result == kn_success)
    {
        result = knGrow(&s->allocator, (void**)&s->boundaryMasks, &s->boundaryMaskCapacity,
                        blockCount, sizeof *s->boundaryMasks);
    }
    return result == kn_success ? knGrow(&s->allocator, (void**)&s->flood, &s->floodCapacity,
                                         KN_LANES * blockCount, sizeof *s->flood)
                                : result;
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
    knHalfEdge edges[KN_MAX_CONTOUR];
    uint32_t count = knHasContour(s, node) ? knGatherContour(s, node, edges) : KN_MAX_CONTOUR + 1;
    if (count > KN_MAX_CONTOUR)
    {
        return false;
    }
    knVec3 axis = s->cones[node].normal.axis;
    knVec3 side =
        fabsf(axis.x) < 0.6f ? knMakeVec3(1.0f, 0.0f, 0.0f) : knMakeVec3(0.0f, 1.0f, 0.0f);
    knVec3 u = knCross(axis, side), v = knCross(axis, u);
    Flat points[KN_MAX_CONTOUR][2];
    for (uint32_t i = 0; i < count; ++i)
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

// The parts are counted last: they may have to be flooded.
static bool IsSkipped(knBvhScene* s, uint32_t node)
{
    const knBvhCones* c = &s->cones[node];
    bool passes = s->def.culling == kn_bvhCullDualCones
                      ? PassesDualCones(c)
                      : c->normal.angle < 0.5f * HALF_TURN && PassesContour(s, node);
    return passes && knIsOnePart(s, node);
}

static void FitCones(knBvhScene* s)
{
    for (uint32_t block = 0; block < s->blockSlots; ++block)
    {
        if (!knIsBlockFree(s, block))
        {
            SetLeafCones(s, s->blockNodes[block]);
        }
    }
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        uint32_t node = s->order[i];
        const knBvhCones *left = &s->cones[s->nodes[node].child], *right = left + 1;
        s->cones[node].normal = MergeCones(left->normal, right->normal);
        s->cones[node].binormal = MergeCones(left->binormal, right->binormal);
    }
}

void knUpdateCones(knBvhScene* s)
{
    knUpdateBoundary(s);
    FitCones(s);
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        bool isSkipped = IsSkipped(s, node);
        s->cullNodes[node].isCulled = isSkipped;
        bool isDone = isSkipped || knIsLeaf(&s->nodes[node]);
        node = isDone ? knNextAside(s, node) : s->nodes[node].child;
    }
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        knSetSelfCost(s, s->order[i]);
    }
}
