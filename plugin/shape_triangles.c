// SPDX-License-Identifier: Zlib
#include "shape_batch_internal.h"

#include "family_internal.h"

// A query of one piece against the triangles around it.
typedef struct MeshRun
{
    knShapeRun run;
    knBatch batch;
    knVec3 center; // of mass, in the frame of the mesh
    float reach;   // m; points deeper than this are lost
} MeshRun;

static uint32_t PointCount(const knQueryPiece* piece)
{
    return knSphereForest_Fragment(&piece->family->forest, piece->fragment).pointCount;
}

static size_t RoundUp(size_t bytes)
{
    return (bytes + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

size_t knQueryTrianglesBytes(const knQueryPiece* piece, uint32_t triangleCount)
{
    return RoundUp(PointCount(piece) * sizeof(knSphereQueryItem)) + RoundUp(sizeof(MeshRun)) +
           knBatchBytes(triangleCount);
}

knBox knQueryTriangles_Box(const knQueryPiece* piece, const knContactLimits* limits)
{
    knBox box = knFragmentField_Box(piece->family->field, piece->fragment);
    knVec3 half = knScale(0.5f, knBox_Extent(box));
    knMat3 r = knMat3FromQuat(piece->transform.rotation);
    knVec3 around = {fabsf(r.cx.x) * half.x + fabsf(r.cy.x) * half.y + fabsf(r.cz.x) * half.z,
                     fabsf(r.cx.y) * half.x + fabsf(r.cy.y) * half.y + fabsf(r.cz.y) * half.z,
                     fabsf(r.cx.z) * half.x + fabsf(r.cy.z) * half.y + fabsf(r.cz.z) * half.z};
    knVec3 center = knTransformPoint(piece->transform, knBox_Center(box));
    float radius = knLength(half);
    knBox world = {knSub(center, around), knAdd(center, around)};
    return knBox_Expand(world, radius * (1.0f + limits->margin));
}

// Whether the mesh has cut the piece between its centre and this point: it stands between them, and
// where it does there is material. A hook around an edge is not cut.
static bool IsCutOff(MeshRun* m, knVec3 p)
{
    knVec3 point;
    return knBatch_Between(&m->batch, m->center, p, &point) != KN_NONE &&
           knFieldQuery_Inside(&m->run.field, knShapeRun_ToPiece(&m->run, point));
}

// The signed distance of a point of the piece, in the frame of the mesh.
static float MeasurePoint(MeshRun* m, knVec3 p, float limit, knVec3* normal)
{
    knBatchPoint near;
    bool isOneSided = m->batch.source->isOneSided;
    if (!knBatch_Nearest(&m->batch, p, limit, isOneSided ? NULL : &m->center, &near))
    {
        return FLT_MAX;
    }
    knVec3 away = knSub(p, near.point);
    bool isBehind = knDot(away, near.normal) < 0.0f && !near.isAtEnd;
    isBehind = isBehind && (isOneSided || IsCutOff(m, p));
    // close to the surface the way between two points is mostly rounding
    bool isFace = near.distance < 1e-4f * m->reach ||
                  fabsf(knDot(away, near.normal)) > 0.9999f * near.distance;
    *normal = near.normal;
    if (!isFace)
    {
        *normal = knScale((isBehind ? -1.0f : 1.0f) / near.distance, away);
    }
    float margin = m->batch.source->margin;
    return (isBehind ? -near.distance : near.distance) - margin;
}

static void TestNode(MeshRun* m, uint32_t i)
{
    knShapeRun* run = &m->run;
    knSphereBatch* batch = &run->batch;
    knVec3 p = {batch->x[i], batch->y[i], batch->z[i]};
    float reach = run->selection.isDeep ? batch->radius[i] - run->selection.epsilon
                                        : batch->radius[i] + run->selection.reach;
    if (batch->first[i])
    {
        // a point below it may still be within reach
        float limit =
            batch->radius[i] + fmaxf(run->selection.reach + m->batch.source->margin, m->reach);
        knVec3 normal;
        float distance = MeasurePoint(m, knShapeRun_ToShape(run, p), limit, &normal);
        batch->cache[i] = distance;
        run->result.counters.points += 1;
        if (distance < run->selection.reach && distance > -m->reach)
        {
            knShapeRun_AddPoint(run, p, distance, normal, batch->point[i], kn_contactPoint);
        }
    }
    batch->descend[i] = batch->cache[i] < reach;
}

static void WalkTree(MeshRun* m)
{
    knShapeRun* run = &m->run;
    while (!run->selection.isStopped && knSphereQuery_Next(&run->tree, &run->batch))
    {
        for (uint32_t i = 0; i < run->batch.count && !run->selection.isStopped; ++i)
        {
            TestNode(m, i);
            run->result.counters.visits += 1;
        }
    }
}

static void TestPieceCorners(MeshRun* m)
{
    knShapeRun* run = &m->run;
    const knPieceMesh* mesh = run->piece->mesh;
    uint32_t groupCount = mesh ? mesh->cornerGroupCount : 0;
    float limit = fmaxf(run->selection.reach + m->batch.source->margin, m->reach);
    for (uint32_t k = 0; k < groupCount; ++k)
    {
        const knCornerGroup* g = &mesh->corners[k];
        for (uint32_t i = 0; i < g->count && !run->selection.isStopped; ++i)
        {
            knVec3 p = {g->x[i], g->y[i], g->z[i]}, normal;
            float distance = MeasurePoint(m, knShapeRun_ToShape(run, p), limit, &normal);
            run->result.counters.points += 1;
            if (distance < run->selection.reach && distance > -m->reach)
            {
                knShapeRun_AddPoint(run, p, distance, normal, g->points[i], kn_contactPoint);
            }
        }
    }
}

static uint32_t FeatureId(const knMeshTriangle* triangle, uint32_t feature)
{
    return (6 * triangle->id + feature) & 0x0FFFFFFFu;
}

// Corners on sharp edges, each once.
static void TestCorners(MeshRun* m)
{
    const knTriangleBatch* source = m->batch.source;
    for (uint32_t i = 0; i < 3 * source->count && !m->run.selection.isStopped; ++i)
    {
        uint32_t id = m->batch.welded[i / 3].v[i % 3];
        if (id != i || !m->batch.isSharp[id])
        {
            continue;
        }
        const knMeshTriangle* t = &source->triangles[i / 3];
        knShapeFeature f = {.a = t->v[i % 3],
                            .b = t->v[i % 3],
                            .radiusA = source->margin,
                            .radiusB = source->margin};
        knShapeRun_TestFeature(&m->run, &f, FeatureId(t, i % 3));
    }
}

static void TestEdges(MeshRun* m)
{
    const knTriangleBatch* source = m->batch.source;
    for (uint32_t i = 0; i < 3 * source->count && !m->run.selection.isStopped; ++i)
    {
        if (!(m->batch.sharpSides[i / 3] >> i % 3 & 1))
        {
            continue;
        }
        const knMeshTriangle* t = &source->triangles[i / 3];
        knShapeFeature f = {.a = t->v[i % 3],
                            .b = t->v[(i + 1) % 3],
                            .radiusA = source->margin,
                            .radiusB = source->margin,
                            .isEdge = true};
        m->run.result.counters.edges += 1;
        knShapeRun_TestFeature(&m->run, &f, FeatureId(t, 3 + i % 3));
    }
}

static knResult CheckBatch(const knTriangleBatch* batch)
{
    if (!batch || (!batch->triangles && batch->count > 0) || !(batch->margin >= 0.0f) ||
        batch->count > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument,
                      "knQueryTriangles: the batch or its triangles are null, or its margin is "
                      "negative");
    }
    for (uint32_t i = 0; i < batch->count; ++i)
    {
        const knVec3* v = batch->triangles[i].v;
        if (!knIsFinite(v[0]) || !knIsFinite(v[1]) || !knIsFinite(v[2]))
        {
            return knFail(kn_errorArgument, "knQueryTriangles: triangle %u is not finite", i);
        }
    }
    return kn_success;
}

static void Begin(MeshRun* m, const knQueryPiece* piece, const knTriangleBatch* batch,
                  knSphereQueryItem* items)
{
    float radius = knQueryPieceRadius(piece);
    const knFragment* fragment = &piece->family->fragments.fragments[piece->fragment];
    knShapeRun_Begin(&m->run, piece, batch->transform, radius, items);
    m->center = knShapeRun_ToShape(&m->run, knToFloat(fragment->mass.center));
    m->reach = radius;
}

static void Run(MeshRun* m)
{
    if (m->batch.source->count == 0)
    {
        return;
    }
    TestCorners(m);
    WalkTree(m);
    TestPieceCorners(m);
    if (m->run.result.count - m->run.result.beyond < m->run.limits->edgeContacts &&
        !m->run.selection.isStopped)
    {
        TestEdges(m);
    }
}

knResult knQueryTriangles(const knQueryPiece* piece, const knTriangleBatch* batch,
                          const knContactLimits* limits, knPairState* state, knArena* scratch,
                          knPairContact* contacts, uint32_t capacity, knPairResult* result)
{
    knResult checked = state && scratch && result
                           ? CheckBatch(batch)
                           : knFail(kn_errorArgument, "knQueryTriangles: an argument is null");
    checked = checked == kn_success ? knCheckShapeQuery("knQueryTriangles", piece, batch->transform,
                                                        limits, contacts, capacity)
                                    : checked;
    if (checked != kn_success)
    {
        return checked;
    }
    size_t mark = knArena_Mark(scratch);
    MeshRun* m = knArena_Allocate(scratch, 1, sizeof(MeshRun));
    knSphereQueryItem* items = knArena_Allocate(scratch, PointCount(piece), sizeof *items);
    bool fits = m && (items || PointCount(piece) == 0);
    if (!fits || (batch->count > 0 && !knMakeBatch(&m->batch, batch, scratch)))
    {
        knArena_Rewind(scratch, mark);
        return knFail(kn_errorMemory, "the arena is too small for a query of %u triangles",
                      batch->count);
    }
    m->batch.source = batch;
    m->run.limits = limits;
    m->run.shape = NULL;
    m->run.mesh = NULL;
    Begin(m, piece, batch, items);
    m->run.selection = knMakeSelection(limits, state, m->run.result.radius);
    m->run.selection.contacts = contacts;
    knSelection_Fit(&m->run.selection, capacity);
    Run(m);
    knSelection_End(&m->run.selection, state, &m->run.result);
    m->run.result.counters.fields[1] = m->run.field.counters;
    *result = m->run.result;
    knArena_Rewind(scratch, mark);
    return kn_success;
}
