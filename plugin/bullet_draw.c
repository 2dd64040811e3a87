// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

#define SURFACE_COLOR 0xB0A090u
#define CRACK_COLOR   0xC05030u
#define BOX_COLOR     0x406080u
#define CONTACT_COLOR 0x30C030u
#define DEEP_COLOR    0xE02020u
#define TICK          0.02f // m, of a contact's normal

static void DrawSurface(const knDebugDraw* draw, const knPieceMesh* mesh, knTransform t)
{
    for (uint32_t i = 0; i < mesh->triangleCount; ++i)
    {
        knVec3 v[3];
        knPieceMesh_Corners(mesh, i, v);
        uint32_t color = mesh->sources[i].isInterior ? CRACK_COLOR : SURFACE_COLOR;
        for (int k = 0; k < 3; ++k)
        {
            draw->line(draw->user, knTransformPoint(t, v[k]), knTransformPoint(t, v[(k + 1) % 3]),
                       color);
        }
    }
}

static void DrawBox(const knDebugDraw* draw, const knPieceMesh* mesh, knTransform t)
{
    knBox box = mesh->nodes[0].box;
    for (int i = 0; i < 8; ++i)
    {
        for (int axis = 1; axis < 8; axis <<= 1)
        {
            if (i & axis)
            {
                continue;
            }
            int ends[2] = {i, i | axis};
            knVec3 p[2];
            for (int k = 0; k < 2; ++k)
            {
                p[k] = knMakeVec3(ends[k] & 1 ? box.upper.x : box.lower.x,
                                  ends[k] & 2 ? box.upper.y : box.lower.y,
                                  ends[k] & 4 ? box.upper.z : box.lower.z);
            }
            draw->line(draw->user, knTransformPoint(t, p[0]), knTransformPoint(t, p[1]), BOX_COLOR);
        }
    }
}

static void DrawContact(const knPortContact* c, void* user)
{
    const knDebugDraw* draw = user;
    knVec3 end = knAddScaled(c->contact.point, TICK, c->contact.normal);
    draw->line(draw->user, c->contact.point, end,
               c->contact.distance < 0.0f ? DEEP_COLOR : CONTACT_COLOR);
}

knResult knWorld_Draw(const knWorld* w, const knDebugDraw* draw)
{
    if (!w || !draw || !draw->line)
    {
        return knFail(kn_errorArgument, "knWorld_Draw: a world and a function that draws a line");
    }
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        const knBody* body = knPool_Get(&w->bodies, id);
        knBodyState state;
        knPortBody_State(body->port, &state);
        if (body->piece && draw->surfaces)
        {
            DrawSurface(draw, &body->piece->mesh, state.transform);
        }
        if (body->piece && draw->boxes)
        {
            DrawBox(draw, &body->piece->mesh, state.transform);
        }
    }
    if (draw->contacts)
    {
        knDebugDraw copy = *draw;
        knPort_EachContact(w->port, DrawContact, &copy);
    }
    return kn_success;
}
