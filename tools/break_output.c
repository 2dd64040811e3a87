// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // open_memstream

#include "break.h"
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

knResult knCreateBrokenView(knBrokenView* view, const knFamily* family, const uint32_t* pieces,
                            uint32_t count)
{
    *view = (knBrokenView){0};
    view->surfaces = knAllocate(NULL, count, sizeof(knPieceSurface));
    knResult result = knCreateArena(&view->arena, (size_t)1 << 20, NULL);
    if (!view->surfaces || result != kn_success)
    {
        knDestroyBrokenView(view);
        return kn_errorMemory;
    }
    view->count = count;
    knPieceOptions options = knDefaultPieceOptions();
    options.smoothCracks = true;
    options.textureScale = 4.0f;
    for (uint32_t i = 0; i < count;)
    {
        result = knFragmentSet_Surface(knFamily_Fragments(family), pieces[i], &options,
                                       &view->arena, &view->surfaces[i]);
        i += 1;
        if (result == kn_errorMemory)
        {
            // the arena only grows when it is empty: all over again in a larger one
            size_t capacity = 2 * view->arena.capacity;
            knArena_Reset(&view->arena);
            result = knArena_Reserve(&view->arena, capacity);
            i = 0;
        }
        if (result != kn_success)
        {
            knDestroyBrokenView(view);
            return result;
        }
    }
    return kn_success;
}

void knDestroyBrokenView(knBrokenView* view)
{
    knRelease(NULL, view->surfaces, view->count, sizeof(knPieceSurface));
    knDestroyArena(&view->arena);
    *view = (knBrokenView){0};
}

static void WriteFaces(FILE* out, const knPieceSurface* s, bool isCrack, const uint32_t firsts[2])
{
    fprintf(out, "g %s\nusemtl %s\n", isCrack ? "inside" : "outside",
            isCrack ? "inside" : "outside");
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        if (s->sources[i].isCrack != isCrack)
        {
            continue;
        }
        fputc('f', out);
        for (uint32_t k = 0; k < 3; ++k)
        {
            uint32_t corner = firsts[1] + 3 * i + k;
            fprintf(out, " %u/%u/%u", firsts[0] + s->triangles[i].v[k], corner, corner);
        }
        fputc('\n', out);
    }
}

static void WritePiece(FILE* out, const knPieceSurface* s, uint32_t index, uint32_t firsts[2])
{
    fprintf(out, "o piece_%u\n", index);
    for (uint32_t i = 0; i < s->vertexCount; ++i)
    {
        knVec3 p = s->positions[i];
        fprintf(out, "v %.9g %.9g %.9g\n", (double)p.x, (double)p.y, (double)p.z);
    }
    for (uint32_t i = 0; i < 3 * s->triangleCount; ++i)
    {
        const knCornerAttribute* c = &s->corners[i];
        fprintf(out, "vt %.6g %.6g\nvn %.5g %.5g %.5g\n", (double)c->u, (double)c->v,
                (double)c->normal.x, (double)c->normal.y, (double)c->normal.z);
    }
    WriteFaces(out, s, false, firsts);
    WriteFaces(out, s, true, firsts);
    firsts[0] += s->vertexCount;
    firsts[1] += 3 * s->triangleCount;
}

knResult knWriteBrokenObj(const knBrokenView* view, const char* path)
{
    char* text = NULL;
    size_t size = 0;
    FILE* out = open_memstream(&text, &size);
    if (!out)
    {
        return knFail(kn_errorMemory, "no memory for the text of %s", path);
    }
    fprintf(out, "# pieces broken by knap; groups: outside, inside\n");
    uint32_t firsts[2] = {1, 1};
    for (uint32_t i = 0; i < view->count; ++i)
    {
        WritePiece(out, &view->surfaces[i], i, firsts);
    }
    bool good = !ferror(out);
    good &= fclose(out) == 0;
    knResult result = good ? knWriteFile(path, text, size)
                           : knFail(kn_errorMemory, "no memory for the text of %s", path);
    free(text);
    return result;
}

// Outside as it was glazed or weathered, inside the lighter raw material.
typedef struct Colors
{
    const char* material;
    knVec3 outside, inside;
} Colors;

static Colors ColorsOf(const char* material)
{
    static const Colors table[] = {
        {"ceramic", {0.36f, 0.52f, 0.60f}, {0.93f, 0.89f, 0.82f}},
        {"glass", {0.55f, 0.72f, 0.68f}, {0.80f, 0.93f, 0.89f}},
        {"stone", {0.47f, 0.46f, 0.44f}, {0.74f, 0.72f, 0.69f}},
        {"brick", {0.56f, 0.26f, 0.19f}, {0.92f, 0.66f, 0.52f}},
        {"ice", {0.66f, 0.80f, 0.88f}, {0.90f, 0.96f, 0.99f}},
        {"plaster", {0.78f, 0.74f, 0.68f}, {0.96f, 0.95f, 0.92f}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    {
        if (strcmp(table[i].material, material) == 0)
        {
            return table[i];
        }
    }
    return table[0];
}

// One mesh of the picture, in arrays behind each other in the arena.
static knResult MakeMesh(knArena* arena, const knPieceSurface* s, const knBrokenPicture* how,
                         knPictureMesh* mesh)
{
    Colors colors = ColorsOf(how->material);
    knVec3* normals = knArena_Allocate(arena, 3 * (size_t)s->triangleCount, sizeof(knVec3));
    knVec3* faces = knArena_Allocate(arena, s->triangleCount, sizeof(knVec3));
    if (!normals || !faces)
    {
        return kn_errorMemory;
    }
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        faces[i] = s->sources[i].isCrack ? colors.inside : colors.outside;
        for (uint32_t k = 0; k < 3; ++k)
        {
            normals[3 * i + k] = s->corners[3 * i + k].normal;
            sum = knAdd(sum, s->positions[s->triangles[i].v[k]]);
        }
    }
    knVec3 middle = knScale(1.0f / (3.0f * (float)s->triangleCount), sum);
    *mesh = knDefaultPictureMesh();
    mesh->positions = s->positions;
    mesh->positionCount = s->vertexCount;
    mesh->triangles = s->triangles;
    mesh->triangleCount = s->triangleCount;
    mesh->cornerNormals = normals;
    mesh->triangleColors = faces;
    mesh->transform.position = knScale((float)how->explode, knSub(middle, how->center));
    return kn_success;
}

static knResult Render(const knPictureMesh* meshes, uint32_t count, const knBrokenPicture* how,
                       knPicture* picture)
{
    knTaskPool* pool = NULL;
    knResult result = knCreateTaskPool(&pool, 0, NULL);
    if (result != kn_success)
    {
        return result;
    }
    knTaskHooks tasks = knTaskPool_Hooks(pool);
    knPictureView view = knDefaultPictureView();
    view.meshes = meshes;
    view.meshCount = count;
    view.camera.yaw = (float)(how->yaw * 0.017453292519943295);
    view.camera.pitch = (float)(how->pitch * 0.017453292519943295);
    knPictureDef def = knDefaultPictureDef();
    def.width = how->width;
    def.height = how->height;
    def.views = &view;
    def.viewCount = 1;
    def.tasks = &tasks;
    result = knRenderPicture(&def, NULL, picture);
    knDestroyTaskPool(pool);
    return result;
}

knResult knDrawBroken(const knBrokenView* view, const knBrokenPicture* how, knPicture* picture)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < view->count; ++i)
    {
        bytes += 4 * (size_t)view->surfaces[i].triangleCount * sizeof(knVec3) + 4 * KN_CACHE_LINE;
    }
    knArena arena;
    knPictureMesh* meshes = knAllocate(NULL, view->count, sizeof(knPictureMesh));
    knResult result = meshes ? knCreateArena(&arena, bytes, NULL) : kn_errorMemory;
    if (result != kn_success)
    {
        knRelease(NULL, meshes, view->count, sizeof(knPictureMesh));
        return result;
    }
    for (uint32_t i = 0; result == kn_success && i < view->count; ++i)
    {
        result = MakeMesh(&arena, &view->surfaces[i], how, &meshes[i]);
    }
    result = result == kn_success ? Render(meshes, view->count, how, picture) : result;
    knRelease(NULL, meshes, view->count, sizeof(knPictureMesh));
    knDestroyArena(&arena);
    return result;
}
