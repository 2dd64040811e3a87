// SPDX-License-Identifier: Zlib
#include "bench/bvh_keep.h"

#include "bench/bvh_walls.h"

#include <stdlib.h>

// The breaking walls of FASTCD: 80 frames, 8 of them with a wall that breaks.

#define FRAMES 80
#define PERIOD (FRAMES / WALLS)

static bool IsBreak(const knKeepScene* s, int frame)
{
    (void)s;
    return frame % PERIOD == PERIOD / 2;
}

static void Show(knKeepScene* s, const Walls* w)
{
    s->positions = w->positions;
    s->vertexCount = w->vertexCount;
    s->triangles = w->triangles;
    s->triangleCount = w->triangleCount;
}

static void Advance(knKeepScene* s, int frame)
{
    Walls* w = s->data;
    if (IsBreak(s, frame))
    {
        BreakWall(w);
    }
    MoveWalls(w, frame, PERIOD);
    Show(s, w);
}

static knResult Start(knKeepScene* s, knKeeper* k)
{
    const Walls* w = s->data;
    uint32_t count = WallTriangleCount();
    knResult result = knBvhScene_AddVertices(k->scene, w->rest, w->vertexCount, NULL);
    for (uint32_t i = 0; i < WALLS && result == kn_success; ++i)
    {
        result = knBvhScene_AddBody(k->scene, w->triangles + i * count, count, NULL, &k->bodies[i]);
    }
    return result;
}

// The wall goes and its pieces come, the last triangles of the walls.
static knResult Change(knKeepScene* s, knKeeper* k, int frame)
{
    const Walls* w = s->data;
    if (!IsBreak(s, frame))
    {
        return kn_success;
    }
    uint32_t count = PieceTriangleCount(), wall = (uint32_t)w->brokenCount - 1;
    knResult result = knBvhScene_DeleteBody(k->scene, k->bodies[wall]);
    if (result == kn_success)
    {
        result = knBvhScene_AddVertices(k->scene, w->rest + w->pieceFirst[wall],
                                        PIECES * PieceVertexCount(), NULL);
    }
    for (uint32_t i = 0; i < PIECES && result == kn_success; ++i)
    {
        const knTriangle* first = w->triangles + w->triangleCount - (PIECES - i) * count;
        result = knBvhScene_AddBody(k->scene, first, count, NULL, NULL);
    }
    return result;
}

bool knMakeBreakingWalls(knKeepScene* s)
{
    Walls* w = calloc(1, sizeof *w);
    *s = (knKeepScene){.name = "walls"};
    if (!w || !MakeWalls(w))
    {
        free(w);
        return false;
    }
    *s = (knKeepScene){.name = "walls, 44K to 145K, 8 of 80",
                       .frameCount = FRAMES,
                       .bodyCapacity = WALLS,
                       .data = w,
                       .advance = Advance,
                       .start = Start,
                       .change = Change,
                       .isBreak = IsBreak,
                       .paperVolumeRule = 1.76,
                       .paperHash = 20.0};
    Show(s, w);
    return true;
}

void knDestroyBreakingWalls(knKeepScene* s)
{
    if (s->data)
    {
        FreeWalls(s->data);
        free(s->data);
    }
}
