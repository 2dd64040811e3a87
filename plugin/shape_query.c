// SPDX-License-Identifier: Zlib
#include "shape_internal.h"

#include "family_internal.h"

#define FEATURES_AT_A_TIME 8
#define SECTIONS           24 // of the golden section: an edge to 1e-5 of its length

static uint32_t PointCount(const knQueryPiece* piece)
{
    return knSphereForest_Fragment(&piece->family->forest, piece->fragment).pointCount;
}

static size_t RoundUp(size_t bytes)
{
    return (bytes + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

size_t knQueryShapeBytes(const knQueryPiece* piece)
{
    return RoundUp(PointCount(piece) * sizeof(knSphereQueryItem)) + RoundUp(sizeof(knShapeRun));
}

// One node of the tree: its distance is kept in the batch and comes back on deeper levels.
static void TestNode(knShapeRun* run, uint32_t i)
{
    knSphereBatch* batch = &run->batch;
    knVec3 p = {batch->x[i], batch->y[i], batch->z[i]};
    if (batch->first[i])
    {
        knVec3 normal;
        float distance = knShape_Distance(run->shape, knShapeRun_ToShape(run, p), &normal);
        batch->cache[i] = distance;
        run->result.counters.points += 1;
        if (distance < run->selection.reach)
        {
            knShapeRun_AddPoint(run, p, distance, normal, batch->point[i], kn_contactPoint);
        }
    }
    float reach = run->selection.isDeep ? batch->radius[i] - run->selection.epsilon
                                        : batch->radius[i] + run->selection.reach;
    batch->descend[i] = batch->cache[i] < reach;
}

static void StepTree(knShapeRun* run)
{
    run->isWalked = run->isWalked || !knSphereQuery_Next(&run->tree, &run->batch);
    if (run->isWalked)
    {
        return;
    }
    for (uint32_t i = 0; i < run->batch.count && !run->selection.isStopped; ++i)
    {
        TestNode(run, i);
        run->result.counters.visits += 1;
    }
}

// The points where cracks meet, which the tree does not have.
static void TestCorners(knShapeRun* run)
{
    const knPieceMesh* mesh = run->piece->mesh;
    uint32_t groupCount = mesh ? mesh->cornerGroupCount : 0;
    for (uint32_t k = 0; k < groupCount; ++k)
    {
        const knCornerGroup* g = &mesh->corners[k];
        knVec3 normal, center = knShapeRun_ToShape(run, g->center);
        if (knShape_Distance(run->shape, center, NULL) - g->radius > run->selection.reach)
        {
            continue;
        }
        for (uint32_t i = 0; i < g->count && !run->selection.isStopped; ++i)
        {
            knVec3 p = {g->x[i], g->y[i], g->z[i]};
            float distance = knShape_Distance(run->shape, knShapeRun_ToShape(run, p), &normal);
            run->result.counters.points += 1;
            if (distance < run->selection.reach)
            {
                knShapeRun_AddPoint(run, p, distance, normal, g->points[i], kn_contactPoint);
            }
        }
    }
}

static void StepFeatures(knShapeRun* run)
{
    uint32_t end = run->nextFeature + FEATURES_AT_A_TIME;
    end = end < run->featureCount ? end : run->featureCount;
    for (; run->nextFeature < end && !run->selection.isStopped; ++run->nextFeature)
    {
        knShapeFeature f = knShape_Feature(run->shape, run->nextFeature);
        if (!f.isEdge)
        {
            knShapeRun_TestFeature(run, &f, run->nextFeature);
        }
    }
}

// The distance to a convex shape is convex along an edge: one minimum, found by golden section.
static float NearestAlong(const knShape* shape, knVec3 a, knVec3 b)
{
    const float ratio = 0.618034f;
    float low = 0.0f, high = 1.0f;
    float s = 1.0f - ratio, t = ratio;
    float ds = knShape_Distance(shape, knLerp(a, b, s), NULL);
    float dt = knShape_Distance(shape, knLerp(a, b, t), NULL);
    for (int i = 0; i < SECTIONS; ++i)
    {
        if (ds < dt)
        {
            high = t;
            t = s;
            dt = ds;
            s = high - ratio * (high - low);
            ds = knShape_Distance(shape, knLerp(a, b, s), NULL);
        }
        else
        {
            low = s;
            s = t;
            ds = dt;
            t = low + ratio * (high - low);
            dt = knShape_Distance(shape, knLerp(a, b, t), NULL);
        }
    }
    return 0.5f * (low + high);
}

static void TestPieceEdge(knShapeRun* run, const knPieceEdge* edge)
{
    knVec3 a = knShapeRun_ToShape(run, edge->a), b = knShapeRun_ToShape(run, edge->b);
    float reach = 0.5f * knDistance(a, b) + run->selection.reach;
    if (!(knShape_Distance(run->shape, knLerp(a, b, 0.5f), NULL) < reach))
    {
        return;
    }
    run->result.counters.edges += 1;
    float t = NearestAlong(run->shape, a, b);
    knVec3 normal;
    float distance = knShape_Distance(run->shape, knLerp(a, b, t), &normal);
    // an end is a point of the tree, and a contact already
    if (distance < run->selection.reach && t > 1e-3f && t < 1.0f - 1e-3f)
    {
        knShapeRun_AddPoint(run, knLerp(edge->a, edge->b, t), distance, normal, edge->id,
                            kn_contactEdge);
    }
}

static void TestPieceEdges(knShapeRun* run)
{
    const knFamily* family = run->piece->family;
    if (run->piece->fragment >= family->edgeCapacity)
    {
        return;
    }
    knTransform toPiece = knInvMulTransforms(run->piece->transform, run->toWorld);
    knBox box = knBox_Expand(knShape_Box(run->shape, toPiece), run->selection.reach);
    const knPieceEdges* list = &family->edges[run->piece->fragment];
    for (uint32_t i = 0; i < list->count && !run->selection.isStopped; ++i)
    {
        const knPieceEdge* edge = &list->edges[i];
        knBox edgeBox = {knMin(edge->a, edge->b), knMax(edge->a, edge->b)};
        if (knBox_Overlaps(box, edgeBox))
        {
            TestPieceEdge(run, edge);
        }
    }
}

static void TestShapeEdges(knShapeRun* run)
{
    for (uint32_t i = 0; i < run->featureCount && !run->selection.isStopped; ++i)
    {
        knShapeFeature f = knShape_Feature(run->shape, i);
        if (f.isEdge)
        {
            run->result.counters.edges += 1;
            knShapeRun_TestFeature(run, &f, i);
        }
    }
}

// Balls and capsules meet edges with their centres; against a plane, ends are points.
static bool HasEdgeContacts(const knShape* shape)
{
    return shape->kind != kn_shapeSphere && shape->kind != kn_shapeCapsule &&
           shape->kind != kn_shapePlane;
}

// Whether the piece's box is further away than anything matters.
static bool IsApart(const knShapeRun* run)
{
    knTransform toPiece = knInvMulTransforms(run->piece->transform, run->toWorld);
    if (run->shape->kind == kn_shapePlane)
    {
        // a plane has no box of its own but for those that stand upright on it
        knVec3 e = knScale(0.5f, knBox_Extent(run->box));
        knVec3 n = knRotate(toPiece.rotation, run->shape->half);
        float half = e.x * fabsf(n.x) + e.y * fabsf(n.y) + e.z * fabsf(n.z);
        knVec3 middle = knShapeRun_ToShape(run, knBox_Center(run->box));
        return knShape_Distance(run->shape, middle, NULL) - 1.0001f * half > run->selection.reach;
    }
    return !knBox_Overlaps(knBox_Expand(run->box, run->selection.reach),
                           knShape_Box(run->shape, toPiece));
}

static void Run(knShapeRun* run)
{
    if (IsApart(run))
    {
        return;
    }
    run->featureCount = knShape_FeatureCount(run->shape);
    while (!run->selection.isStopped && !(run->isWalked && run->nextFeature == run->featureCount))
    {
        // both ways in turn: neither may use up all contacts
        StepFeatures(run);
        if (!run->selection.isStopped)
        {
            StepTree(run);
        }
    }
    TestCorners(run);
    if (HasEdgeContacts(run->shape) &&
        run->result.count - run->result.beyond < run->limits->edgeContacts)
    {
        TestShapeEdges(run);
        if (run->result.count - run->result.beyond < run->limits->edgeContacts)
        {
            TestPieceEdges(run);
        }
    }
}

// Half the diagonal of the shape's box, or the piece's radius for what has no end.
static float ShapeRadius(const knShape* shape)
{
    knBox box = knShape_Box(shape, knIdentityTransform());
    bool isBounded = shape->kind != kn_shapePlane && shape->kind != kn_shapeTriangle;
    float radius = 0.5f * knLength(knBox_Extent(box));
    return isBounded && radius > 0.0f ? radius : FLT_MAX;
}

knResult knQueryShapeOnMesh(const knQueryPiece* piece, const knPieceMesh* mesh,
                            const knShape* shape, knTransform transform,
                            const knContactLimits* limits, knPairState* state, knArena* scratch,
                            knPairContact* contacts, uint32_t capacity, knPairResult* result)
{
    knResult checked =
        state && scratch && result
            ? knCheckShapeQuery("knQueryShape", piece, transform, limits, contacts, capacity)
            : knFail(kn_errorArgument, "knQueryShape: an argument is null");
    checked = checked == kn_success ? knValidateShape(shape) : checked;
    if (checked != kn_success)
    {
        return checked;
    }
    size_t mark = knArena_Mark(scratch);
    knShapeRun* run = knArena_Allocate(scratch, 1, sizeof(knShapeRun));
    knSphereQueryItem* items = knArena_Allocate(scratch, PointCount(piece), sizeof *items);
    if (!run || (!items && PointCount(piece) > 0))
    {
        knArena_Rewind(scratch, mark);
        return knFail(kn_errorMemory, "the arena is too small for a query of %u points",
                      PointCount(piece));
    }
    run->limits = limits;
    run->shape = shape;
    run->mesh = mesh;
    float radius = fminf(knQueryPieceRadius(piece), ShapeRadius(shape));
    knShapeRun_Begin(run, piece, transform, radius, items);
    run->selection = knMakeSelection(limits, state, radius);
    run->selection.contacts = contacts;
    knSelection_Fit(&run->selection, capacity);
    Run(run);
    knSelection_End(&run->selection, state, &run->result);
    run->result.counters.fields[1] = run->field.counters;
    *result = run->result;
    knArena_Rewind(scratch, mark);
    return kn_success;
}

knResult knQueryShape(const knQueryPiece* piece, const knShape* shape, knTransform transform,
                      const knContactLimits* limits, knPairState* state, knArena* scratch,
                      knPairContact* contacts, uint32_t capacity, knPairResult* result)
{
    return knQueryShapeOnMesh(piece, NULL, shape, transform, limits, state, scratch, contacts,
                              capacity, result);
}
