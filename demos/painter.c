// SPDX-License-Identifier: Zlib
#include "demos/painter.h"

#include "demos/overlays.h"

#include <math.h>
#include <string.h>

#define MAX_INSTANCES 8192
#define BALL_RINGS    24

typedef struct Slot
{
    uint32_t serial; // of the render data that the mesh was made from
    uint32_t mesh;   // 0 for none
    uint32_t seen;   // frame
} Slot;

struct knPainter
{
    knView* view;
    uint32_t ball; // of radius 1
    Slot* slots;   // by index of the body's id
    size_t slotCapacity;
    knViewVertex* corners;
    size_t cornerCapacity;
    knInstance* instances;
    knSketch sketch;
    uint32_t instanceCount;
    uint32_t frame;
};

static knVec3 OnSphere(int ring, int side)
{
    float theta = 3.14159265f * (float)ring / (float)BALL_RINGS;
    float phi = 6.28318531f * (float)side / (float)(2 * BALL_RINGS);
    return knMakeVec3(sinf(theta) * cosf(phi), cosf(theta), sinf(theta) * sinf(phi));
}

static knResult MakeBall(knPainter* p)
{
    static const int offsets[6][2] = {{0, 0}, {0, 1}, {1, 1}, {0, 0}, {1, 1}, {1, 0}};
    static knViewVertex v[BALL_RINGS * 2 * BALL_RINGS * 6];
    uint32_t n = 0;
    for (int r = 0; r < BALL_RINGS; ++r)
    {
        for (int s = 0; s < 2 * BALL_RINGS; ++s)
        {
            for (int k = 0; k < 6; ++k)
            {
                knVec3 q = OnSphere(r + offsets[k][0], s + offsets[k][1]);
                v[n++] = (knViewVertex){q, q, 0.0f};
            }
        }
    }
    return knView_AddMesh(p->view, v, n, &p->ball);
}

knOverlays knDefaultOverlays(void)
{
    return (knOverlays){.level = 5, .slice = 0.5f};
}

knResult knCreatePainter(knPainter** out, knView* view)
{
    knPainter* p = knAllocate(NULL, 1, sizeof(knPainter));
    if (!p)
    {
        return kn_errorMemory;
    }
    *p = (knPainter){.view = view};
    p->instances = knAllocate(NULL, MAX_INSTANCES, sizeof(knInstance));
    p->sketch.lines = knAllocate(NULL, KN_VIEW_LINES, sizeof(knViewLine));
    p->sketch.triangles = knAllocate(NULL, KN_VIEW_TRIANGLES, sizeof(knViewTriangle));
    p->sketch.lineCapacity = KN_VIEW_LINES;
    p->sketch.triangleCapacity = KN_VIEW_TRIANGLES;
    bool hasRoom = p->instances && p->sketch.lines && p->sketch.triangles;
    knResult result = hasRoom ? MakeBall(p) : kn_errorMemory;
    if (result != kn_success)
    {
        knDestroyPainter(p);
        return result;
    }
    *out = p;
    return kn_success;
}

void knPainter_Clear(knPainter* p)
{
    for (size_t i = 0; i < p->slotCapacity; ++i)
    {
        knView_RemoveMesh(p->view, p->slots[i].mesh);
        p->slots[i] = (Slot){0};
    }
}

void knDestroyPainter(knPainter* p)
{
    if (!p)
    {
        return;
    }
    knPainter_Clear(p);
    knView_RemoveMesh(p->view, p->ball);
    knRelease(NULL, p->slots, p->slotCapacity, sizeof(Slot));
    knRelease(NULL, p->corners, p->cornerCapacity, sizeof(knViewVertex));
    knRelease(NULL, p->instances, MAX_INSTANCES, sizeof(knInstance));
    knRelease(NULL, p->sketch.lines, KN_VIEW_LINES, sizeof(knViewLine));
    knRelease(NULL, p->sketch.triangles, KN_VIEW_TRIANGLES, sizeof(knViewTriangle));
    knRelease(NULL, p, 1, sizeof(knPainter));
}

static void AddInstance(knPainter* p, knInstance instance)
{
    if (p->instanceCount < MAX_INSTANCES)
    {
        p->instances[p->instanceCount++] = instance;
    }
}

static knResult Upload(knPainter* p, const knPieceMesh* mesh, uint32_t* id)
{
    size_t count = (size_t)3 * mesh->triangleCount;
    knResult result =
        knGrow(NULL, (void**)&p->corners, &p->cornerCapacity, count, sizeof(knViewVertex));
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t t = 0; t < mesh->triangleCount; ++t)
    {
        for (int k = 0; k < 3; ++k)
        {
            const knMeshVertex* v = &mesh->vertices[mesh->triangles[t].v[k]];
            p->corners[3 * t + (uint32_t)k] =
                (knViewVertex){v->position, v->normal, (float)mesh->sources[t].isInterior};
        }
    }
    return knView_AddMesh(p->view, p->corners, (uint32_t)count, id);
}

// The slot of a body, its mesh made anew when the piece is another.
static knResult Refresh(knPainter* p, knBodyId body, const knBodyPiece* piece, Slot** out)
{
    size_t before = p->slotCapacity;
    knResult result =
        knGrow(NULL, (void**)&p->slots, &p->slotCapacity, (size_t)body.index + 1, sizeof(Slot));
    if (result != kn_success)
    {
        return result;
    }
    memset(p->slots + before, 0, (p->slotCapacity - before) * sizeof(Slot));
    Slot* slot = &p->slots[body.index];
    if (slot->mesh == 0 || slot->serial != piece->serial)
    {
        knView_RemoveMesh(p->view, slot->mesh);
        slot->mesh = 0;
        result = Upload(p, piece->mesh, &slot->mesh);
        slot->serial = piece->serial;
    }
    slot->seen = p->frame;
    *out = slot;
    return result;
}

static knResult AddPieces(knPainter* p, const knStage* stage, const knOverlays* overlays)
{
    knResult result = kn_success;
    knBodyId none = {0};
    for (knBodyId id = knWorld_NextBody(stage->world, none);
         result == kn_success && !knId_IsNull(id); id = knWorld_NextBody(stage->world, id))
    {
        knBodyPiece piece;
        knBodyState state;
        Slot* slot;
        if (knWorld_BodyPiece(stage->world, id, &piece) != kn_success ||
            knWorld_BodyState(stage->world, id, &state) != kn_success)
        {
            continue;
        }
        result = Refresh(p, id, &piece, &slot);
        if (result == kn_success)
        {
            static const knLook cracks = {{0.42f, 0.43f, 0.44f}, {0.75f, 0.06f, 0.03f}, 0.0f};
            knLook look = overlays->cracks ? cracks : knStage_Look(stage, piece.object);
            AddInstance(p, (knInstance){slot->mesh,
                                        state.transform,
                                        look.color,
                                        look.insideColor,
                                        look.gloss,
                                        knWorld_Fade(stage->world, id),
                                        {1.0f, 1.0f, 1.0f}});
        }
    }
    return result;
}

static void DropUnseen(knPainter* p)
{
    for (size_t i = 0; i < p->slotCapacity; ++i)
    {
        if (p->slots[i].mesh != 0 && p->slots[i].seen != p->frame)
        {
            knView_RemoveMesh(p->view, p->slots[i].mesh);
            p->slots[i] = (Slot){0};
        }
    }
}

static void AddProps(knPainter* p, const knStage* stage)
{
    for (uint32_t i = 0; i < stage->propCount; ++i)
    {
        const knProp* prop = &stage->props[i];
        knBodyState state;
        if (knWorld_BodyState(stage->world, prop->body, &state) == kn_success)
        {
            knVec3 scale = {prop->radius, prop->radius, prop->radius};
            AddInstance(p, (knInstance){p->ball, state.transform, prop->color, prop->color, 0.9f,
                                        1.0f, scale});
        }
    }
}

// A cable from where a ball hangs to its middle: a ball drawn out thin.
static void AddCables(knPainter* p, const knStage* stage)
{
    for (uint32_t i = 0; i < stage->propCount; ++i)
    {
        const knProp* prop = &stage->props[i];
        knBodyState state;
        if (!prop->hangs || knWorld_BodyState(stage->world, prop->body, &state) != kn_success)
        {
            continue;
        }
        knVec3 way = knSub(prop->pivot, state.transform.position);
        float length = knLength(way);
        knVec3 axis = knCross(knMakeVec3(0.0f, 1.0f, 0.0f), way);
        float turn = acosf(fminf(fmaxf(way.y / length, -1.0f), 1.0f));
        bool isTurned = knLength(axis) > 1e-6f * length;
        knTransform place = {knAddScaled(state.transform.position, 0.5f, way),
                             isTurned ? knMakeQuat(knNormalize(axis), turn) : knIdentityQuat()};
        knVec3 color = {0.12f, 0.12f, 0.13f}, scale = {0.008f, 0.5f * length, 0.008f};
        AddInstance(p, (knInstance){p->ball, place, color, color, 0.0f, 1.0f, scale});
    }
}

// From the point that the hand holds to where it pulls.
static void AddSpring(knPainter* p, const knStage* stage)
{
    knVec3 point, target;
    if (knWorld_Held(stage->world, &point, &target))
    {
        knSketch_Line(&p->sketch, point, target, 0x202020);
        knSketch_Cross(&p->sketch, point, 0.01f * stage->scene->reach, 0x202020);
    }
}

static void AddOverlays(knPainter* p, const knStage* stage, const knOverlays* overlays)
{
    knBodyId none = {0};
    if (overlays->contacts)
    {
        knSketchContacts(&p->sketch, stage);
    }
    for (knBodyId id = knWorld_NextBody(stage->world, none);
         !knId_IsNull(id) && (overlays->spheres || overlays->field);
         id = knWorld_NextBody(stage->world, id))
    {
        knBodyPiece piece;
        knBodyState state;
        if (knWorld_BodyPiece(stage->world, id, &piece) != kn_success ||
            knWorld_BodyState(stage->world, id, &state) != kn_success)
        {
            continue;
        }
        if (overlays->spheres)
        {
            knSketchSpheres(&p->sketch, &piece, state.transform, overlays->level);
        }
        if (overlays->field)
        {
            knSketchField(&p->sketch, &piece, state.transform, overlays->slice);
        }
    }
}

knResult knPainter_Paint(knPainter* p, const knStage* stage, const knCamera* camera,
                         const knOverlays* overlays, bool isShown)
{
    p->frame += 1;
    p->instanceCount = 0;
    p->sketch.lineCount = p->sketch.triangleCount = 0;
    knResult result = AddPieces(p, stage, overlays);
    DropUnseen(p);
    AddProps(p, stage);
    AddCables(p, stage);
    AddOverlays(p, stage, overlays);
    AddSpring(p, stage);
    knFrame frame = {.camera = *camera,
                     .focus = stage->scene->target,
                     .reach = stage->scene->reach,
                     .instances = p->instances,
                     .instanceCount = p->instanceCount,
                     .lines = p->sketch.lines,
                     .lineCount = p->sketch.lineCount,
                     .triangles = p->sketch.triangles,
                     .triangleCount = p->sketch.triangleCount,
                     .isWireframe = overlays->isWireframe,
                     // spheres and slices are inside
                     .isXray = overlays->isXray || overlays->spheres || overlays->field,
                     .isShown = isShown};
    knView_Draw(p->view, &frame);
    return result;
}
