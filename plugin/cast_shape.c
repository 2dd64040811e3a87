// SPDX-License-Identifier: Zlib
#include "cast_internal.h"

#define TOLERANCE  1e-5 // of the piece's radius: nearer than that is a hit
#define MAX_ROUNDS 64

// One cast: a convex body along a straight way.
typedef struct Cast
{
    const knPieceMesh* mesh;
    knShape shape;
    knTransform start;
    knVec3 move;
    double rounding, tolerance;
    double best; // fraction
    knGap gap;   // at the best
    uint32_t triangle;
} Cast;

static void Measure(const Cast* cast, const knVec3 v[3], double t, knGap* gap)
{
    knTransform at = cast->start;
    at.position = knAddScaled(at.position, (float)t, cast->move);
    if (cast->shape.kind == kn_shapeSphere)
    {
        knDVec3 corners[3] = {knToDouble(v[0]), knToDouble(v[1]), knToDouble(v[2])};
        double weights[3];
        gap->pointA = knDAdd(knToDouble(cast->start.position), knDScale(t, knToDouble(cast->move)));
        gap->pointB = knDNearestOnTriangle(gap->pointA, corners, weights);
        knDVec3 d = knDSub(gap->pointA, gap->pointB);
        gap->distance = gap->bound = knDLength(d);
        gap->normal = gap->distance > 0.0 ? knDScale(1.0 / gap->distance, d)
                                          : knToDouble(knTriangleNormal(v));
        return;
    }
    knConvex a = knMakeConvexShape(&cast->shape, at), b = knMakeConvexPoints(v, 3);
    knMeasureGap(&a, &b, gap);
}

// The distance of two convex bodies is a convex function of the time while one moves along a line:
// steps by its slope come nearer and nearer to the first touch and never beyond.
static void CastAt(Cast* cast, uint32_t triangle, double from)
{
    knVec3 v[3];
    knPieceMesh_Corners(cast->mesh, triangle, v);
    double t = from;
    for (int i = 0; i < MAX_ROUNDS && t < cast->best; ++i)
    {
        knGap gap;
        Measure(cast, v, t, &gap);
        double room = gap.bound - cast->rounding;
        double rate = -knDDot(gap.normal, knToDouble(cast->move));
        if (room <= cast->tolerance || i == MAX_ROUNDS - 1)
        {
            // what slides past or leaves is no hit, unless they overlap
            if (rate > 0.0 || room <= 0.0)
            {
                cast->best = t;
                cast->gap = gap;
                cast->triangle = triangle;
            }
            return;
        }
        if (rate <= 0.0)
        {
            return;
        }
        // to half the tolerance: at the touch itself there is no direction
        t += (room - 0.5 * cast->tolerance) / rate;
    }
}

// The share of the way at which the box of the moving shape meets that of the node.
static bool Entry(const Cast* cast, const knBox* node, const knBox* moving, double* entry)
{
    const double low[3] = {(double)node->lower.x - (double)moving->upper.x,
                           (double)node->lower.y - (double)moving->upper.y,
                           (double)node->lower.z - (double)moving->upper.z};
    const double high[3] = {(double)node->upper.x - (double)moving->lower.x,
                            (double)node->upper.y - (double)moving->lower.y,
                            (double)node->upper.z - (double)moving->lower.z};
    const double way[3] = {(double)cast->move.x, (double)cast->move.y, (double)cast->move.z};
    double near = 0.0, far = cast->best;
    for (int i = 0; i < 3; ++i)
    {
        double slack = cast->tolerance + 1e-6 * (fabs(low[i]) + fabs(high[i]));
        if (way[i] == 0.0)
        {
            if (low[i] - slack > 0.0 || high[i] + slack < 0.0)
            {
                return false;
            }
            continue;
        }
        double t0 = (low[i] - slack) / way[i], t1 = (high[i] + slack) / way[i];
        near = fmax(near, fmin(t0, t1));
        far = fmin(far, fmax(t0, t1));
    }
    *entry = near;
    return near <= far;
}

static void Traverse(Cast* cast)
{
    const knPieceMesh* mesh = cast->mesh;
    knBox moving = knShape_Box(&cast->shape, cast->start);
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &mesh->nodes[index];
        double entry[2];
        if (!Entry(cast, &node->box, &moving, &entry[0]))
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            CastAt(cast, mesh->order[node->first + i], entry[0]);
        }
        if (node->count == 0)
        {
            uint32_t child[2] = {index + 1, node->first};
            bool isLeftFirst = true;
            if (Entry(cast, &mesh->nodes[child[0]].box, &moving, &entry[0]) &&
                Entry(cast, &mesh->nodes[child[1]].box, &moving, &entry[1]))
            {
                isLeftFirst = entry[0] <= entry[1];
            }
            stack[depth++] = child[isLeftFirst ? 1 : 0];
            stack[depth++] = child[isLeftFirst ? 0 : 1];
        }
    }
}

static bool StartsInside(const Cast* cast, knCastHit* hit)
{
    knVec3 core = knShape_CoreSupport(&cast->shape, knMakeVec3(1.0f, 0.0f, 0.0f));
    knVec3 p = knTransformPoint(cast->start, core);
    if (!knPieceMesh_Contains(cast->mesh, p))
    {
        return false;
    }
    *hit = (knCastHit){0.0f, p, knNeg(knNormalize(cast->move)), KN_NONE, 0};
    return true;
}

bool knCastShape(const knPieceMesh* mesh, const knShape* shape, knTransform start, knVec3 move,
                 knCastHit* hit)
{
    if (!mesh || !hit || mesh->nodeCount == 0 || !shape || shape->kind == kn_shapePlane ||
        knValidateShape(shape) != kn_success || !knIsFiniteTransform(start) || !knIsFinite(move))
    {
        return false;
    }
    Cast cast = {.mesh = mesh, .shape = *shape, .start = start, .move = move, .best = 1.0};
    cast.rounding = (double)knShapeRounding(shape);
    cast.tolerance = TOLERANCE * (double)mesh->radius;
    cast.triangle = KN_NONE;
    if (StartsInside(&cast, hit))
    {
        return true;
    }
    Traverse(&cast);
    if (cast.triangle == KN_NONE)
    {
        return false;
    }
    knVec3 normal = knToFloat(cast.gap.normal), point = knToFloat(cast.gap.pointB);
    if (cast.gap.distance <= 0.0)
    {
        knVec3 v[3];
        float weights[3];
        knPieceMesh_Corners(mesh, cast.triangle, v);
        normal = knTriangleNormal(v);
        point = knNearestOnTriangle(start.position, v, weights);
    }
    *hit = (knCastHit){(float)cast.best, point, normal, cast.triangle,
                       mesh->sources[cast.triangle].isInterior};
    return true;
}

bool knCastSphere(const knPieceMesh* mesh, knVec3 from, knVec3 to, float radius, knCastHit* hit)
{
    knShape ball = knMakeSphereShape(radius);
    knTransform start = {from, knIdentityQuat()};
    return knCastShape(mesh, &ball, start, knSub(to, from), hit);
}

// Distance between two boxes.
static double BoxGap(const knBox* a, const knBox* b)
{
    knVec3 zero = {0.0f, 0.0f, 0.0f};
    knVec3 d = knMax(zero, knMax(knSub(a->lower, b->upper), knSub(b->lower, a->upper)));
    return (double)knLength(d) * (1.0 - 1e-6);
}

static void MeasureLeaf(Cast* cast, const knMeshNode* node)
{
    for (uint32_t i = 0; i < node->count; ++i)
    {
        knVec3 v[3];
        knGap gap;
        uint32_t triangle = cast->mesh->order[node->first + i];
        knPieceMesh_Corners(cast->mesh, triangle, v);
        Measure(cast, v, 0.0, &gap);
        double distance = fmax(gap.distance - cast->rounding, 0.0);
        if (distance < cast->best || (distance == cast->best && cast->triangle == KN_NONE))
        {
            cast->best = distance;
            cast->gap = gap;
            cast->triangle = triangle;
        }
    }
}

// The nearest triangle, branch and bound; `best` is a distance here.
static void FindNearest(Cast* cast)
{
    const knPieceMesh* mesh = cast->mesh;
    knBox box = knShape_Box(&cast->shape, cast->start);
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &mesh->nodes[index];
        if (BoxGap(&node->box, &box) > cast->best)
        {
            continue;
        }
        MeasureLeaf(cast, node);
        if (node->count == 0)
        {
            bool isLeftFirst = BoxGap(&mesh->nodes[index + 1].box, &box) <=
                               BoxGap(&mesh->nodes[node->first].box, &box);
            stack[depth++] = isLeftFirst ? node->first : index + 1;
            stack[depth++] = isLeftFirst ? index + 1 : node->first;
        }
    }
}

bool knClosestToShape(const knPieceMesh* mesh, const knShape* shape, knTransform transform,
                      float maxDistance, knClosest* closest)
{
    if (!mesh || !closest || mesh->nodeCount == 0 || !shape || shape->kind == kn_shapePlane ||
        knValidateShape(shape) != kn_success || !knIsFiniteTransform(transform) ||
        !(maxDistance >= 0.0f))
    {
        return false;
    }
    Cast cast = {.mesh = mesh, .shape = *shape, .start = transform, .triangle = KN_NONE};
    cast.rounding = (double)knShapeRounding(shape);
    cast.best = (double)maxDistance;
    knCastHit inside;
    if (StartsInside(&cast, &inside))
    {
        *closest = (knClosest){
            .pointOnMesh = inside.point, .pointOnOther = inside.point, .triangle = KN_NONE};
        return true;
    }
    FindNearest(&cast);
    if (cast.triangle == KN_NONE)
    {
        return false;
    }
    knVec3 n = knToFloat(cast.gap.normal), zero = {0.0f, 0.0f, 0.0f};
    knVec3 a = knAddScaled(knToFloat(cast.gap.pointA), (float)-cast.rounding, n);
    *closest = (knClosest){.distance = (float)cast.best,
                           .pointOnMesh = knToFloat(cast.gap.pointB),
                           .pointOnOther = a,
                           .normal = cast.best > 0.0 ? n : zero,
                           .triangle = cast.triangle};
    return true;
}

float knPieceMesh_Depth(const knPieceMesh* mesh, knVec3 p)
{
    if (!mesh || !knIsFinite(p) || !knPieceMesh_Contains(mesh, p))
    {
        return 0.0f;
    }
    Cast cast = {.mesh = mesh,
                 .shape = knMakeSphereShape(0.0f),
                 .start = {p, knIdentityQuat()},
                 .best = INFINITY,
                 .triangle = KN_NONE};
    FindNearest(&cast);
    return (float)cast.best;
}

bool knClosestToPoint(const knPieceMesh* mesh, knVec3 p, float maxDistance, knClosest* closest)
{
    knShape point = knMakeSphereShape(0.0f);
    knTransform at = {p, knIdentityQuat()};
    return knClosestToShape(mesh, &point, at, maxDistance, closest);
}
