// SPDX-License-Identifier: Zlib
#include "demos/colliding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CONTACTS 65536
#define MAX_POINTS   65536

typedef struct Counter
{
    const knStage* stage;
    knArena arena;
    knWorldContact* contacts;
    knPairContact* points;
    knCollidingFcn* visit;
    void* user;
} Counter;

static void Visit(const Counter* c, knVec3 point, float depth, float radius)
{
    if (c->visit)
    {
        knColliding colliding = {point, depth, radius};
        c->visit(c->user, &colliding);
    }
}

static int ById(const void* a, const void* b)
{
    const knWorldContact *x = a, *y = b;
    for (int i = 0; i < 2; ++i)
    {
        if (x->bodies[i].index != y->bodies[i].index)
        {
            return x->bodies[i].index < y->bodies[i].index ? -1 : 1;
        }
    }
    return 0;
}

static bool ReadPiece(const knStage* stage, knBodyId id, knBodyPiece* piece, knTransform* transform)
{
    knBodyState state;
    if (knWorld_BodyPiece(stage->world, id, piece) != kn_success ||
        knWorld_BodyState(stage->world, id, &state) != kn_success)
    {
        return false;
    }
    *transform = state.transform;
    return true;
}

static knQueryPiece MakeQueryPiece(const knBodyPiece* piece, knTransform transform)
{
    // from the asset's frame: the body's has its origin in the centre of mass
    transform.position = knTransformPoint(transform, knNeg(piece->mesh->center));
    return (knQueryPiece){piece->object, piece->fragment, transform, piece->mesh};
}

static uint32_t CountPieces(Counter* c, const knQueryPiece* a, const knQueryPiece* b, float radius)
{
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    limits.margin = 0.0f;
    limits.edgeContacts = 0;
    knPairState state = {0};
    knPairResult result = {0};
    knArena_Reset(&c->arena);
    if (knQueryBytes(a, b) > c->arena.capacity)
    {
        (void)knArena_Reserve(&c->arena, knQueryBytes(a, b));
    }
    knResult done = knQueryPair(a, b, &limits, &state, &c->arena, c->points, MAX_POINTS, &result);
    uint32_t count = done == kn_success ? result.count : 0;
    for (uint32_t i = 0; c->visit && i < count; ++i)
    {
        // on the triangles: grids round edges off, and the judge must not share what it judges
        knVec3 p = c->points[i].contact.point;
        const knQueryPiece* other = c->points[i].side == 0 ? b : a;
        knVec3 q = knSub(knInvTransformPoint(other->transform, p), other->mesh->center);
        Visit(c, p, knPieceMesh_Depth(other->mesh, q), radius);
    }
    return count;
}

// Vertices under the floor or inside the ball; a vertex of several normals counts once.
static uint32_t CountVertices(const Counter* c, const knBodyPiece* piece, knTransform transform,
                              knBodyId other)
{
    float radius = 0.0f;
    knBodyState ball = {0};
    for (uint32_t i = 0; i < c->stage->propCount; ++i)
    {
        radius = knId_Equals(c->stage->props[i].body, other) ? c->stage->props[i].radius : radius;
    }
    if (radius > 0.0f && knWorld_BodyState(c->stage->world, other, &ball) != kn_success)
    {
        return 0;
    }
    uint32_t count = 0, last = KN_NONE;
    for (uint32_t i = 0; i < piece->mesh->vertexCount; ++i)
    {
        const knMeshVertex* v = &piece->mesh->vertices[i];
        knVec3 p = knTransformPoint(transform, v->position);
        float depth = radius > 0.0f ? radius - knDistance(p, ball.transform.position) : -p.y;
        if (depth > 0.0f && v->point != last)
        {
            Visit(c, p, depth, piece->mesh->radius);
            count += 1;
        }
        last = v->point;
    }
    return count;
}

static uint32_t CountPair(Counter* c, const knBodyId bodies[2])
{
    knBodyPiece pieces[2];
    knTransform transforms[2];
    bool isPiece[2];
    for (int i = 0; i < 2; ++i)
    {
        isPiece[i] = ReadPiece(c->stage, bodies[i], &pieces[i], &transforms[i]);
    }
    if (isPiece[0] && isPiece[1])
    {
        knQueryPiece a = MakeQueryPiece(&pieces[0], transforms[0]);
        knQueryPiece b = MakeQueryPiece(&pieces[1], transforms[1]);
        return CountPieces(c, &a, &b, fminf(pieces[0].mesh->radius, pieces[1].mesh->radius));
    }
    int side = isPiece[0] ? 0 : 1;
    return isPiece[side] ? CountVertices(c, &pieces[side], transforms[side], bodies[1 - side]) : 0;
}

static uint32_t CountAll(Counter* c)
{
    uint32_t count = 0, sum = 0;
    if (knWorld_Contacts(c->stage->world, c->contacts, MAX_CONTACTS, &count) != kn_success)
    {
        return 0;
    }
    count = count < MAX_CONTACTS ? count : MAX_CONTACTS;
    qsort(c->contacts, count, sizeof(knWorldContact), ById);
    for (uint32_t i = 0; i < count; ++i)
    {
        if (i == 0 || ById(&c->contacts[i - 1], &c->contacts[i]) != 0)
        {
            sum += CountPair(c, c->contacts[i].bodies);
        }
    }
    return sum;
}

uint32_t knVisitColliding(const knStage* stage, knCollidingFcn* visit, void* user)
{
    Counter counter = {.stage = stage, .visit = visit, .user = user};
    counter.contacts = knAllocate(NULL, MAX_CONTACTS, sizeof(knWorldContact));
    counter.points = knAllocate(NULL, MAX_POINTS, sizeof(knPairContact));
    bool hasRoom = counter.contacts && counter.points &&
                   knCreateArena(&counter.arena, 1 << 20, NULL) == kn_success;
    uint32_t count = hasRoom ? CountAll(&counter) : 0;
    knDestroyArena(&counter.arena);
    knRelease(NULL, counter.contacts, MAX_CONTACTS, sizeof(knWorldContact));
    knRelease(NULL, counter.points, MAX_POINTS, sizeof(knPairContact));
    return count;
}
