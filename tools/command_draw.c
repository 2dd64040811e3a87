// SPDX-License-Identifier: Zlib
#include "command.h"
#include "picture_save.h"

#include <getopt.h>
#include <string.h>

static void PrintHelp(void)
{
    printf("usage: knap draw FILE.knap -o OUT.png [OPTION...]\n\n"
           "Draws the surface and, beside it, the tetrahedra behind a cut through the middle.\n\n"
           "  -o, --output FILE    where to write\n"
           "  --view WHAT          both (default), surface or tets\n"
           "  --size WxH           pixels (default 1600x900)\n"
           "  --yaw A --pitch A    degrees (default 30 and 20)\n"
           "  --help               this text\n\n"
           "exit codes: 0 drawn, 1 wrong arguments, 2 not a sound asset, 5 cannot write,\n"
           "6 out of memory\n");
}

typedef enum Views
{
    viewSurface = 1,
    viewTets = 2
} Views;

typedef struct Drawing
{
    const char* input;
    const char* output;
    const knAsset* asset;
    int views;
    int width, height;
    double yaw, pitch; // degrees
    bool help;
} Drawing;

// Arrays of one drawn mesh, three corners a triangle.
typedef struct DrawnMesh
{
    knTriangle* triangles;
    knVec3* normals; // null for flat
    knVec3* colors;  // per triangle
    size_t count, capacity;
} DrawnMesh;

static const knVec3 glazeColor = {0.80f, 0.76f, 0.70f};
static const knVec3 insideColor = {0.78f, 0.45f, 0.30f};

static void DestroyDrawn(DrawnMesh* drawn)
{
    knRelease(NULL, drawn->triangles, drawn->capacity, sizeof(knTriangle));
    knRelease(NULL, drawn->normals, 3 * drawn->capacity, sizeof(knVec3));
    knRelease(NULL, drawn->colors, drawn->capacity, sizeof(knVec3));
    *drawn = (DrawnMesh){0};
}

static knResult GatherSurface(const knAsset* asset, DrawnMesh* drawn)
{
    const knSurfaceMesh* s = knAsset_Surface(asset);
    drawn->capacity = s->triangleCount;
    drawn->triangles = knAllocate(NULL, drawn->capacity, sizeof(knTriangle));
    drawn->normals = knAllocate(NULL, 3 * drawn->capacity, sizeof(knVec3));
    if (!drawn->triangles || !drawn->normals)
    {
        return kn_errorMemory;
    }
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        drawn->triangles[i] = s->triangles[i];
        for (uint32_t k = 0; k < 3; ++k)
        {
            drawn->normals[3 * i + k] = s->attributes[s->cornerAttributes[i].v[k]].normal;
        }
    }
    drawn->count = s->triangleCount;
    return kn_success;
}

// Away from the viewer's right hand: the cut faces the camera.
static bool IsKept(const knTetMesh* m, uint32_t tet, knVec3 middle, knVec3 toward)
{
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    for (int k = 0; k < 4; ++k)
    {
        sum = knAdd(sum, knSub(m->nodes[m->tets[tet].v[k]], middle));
    }
    return knDot(sum, toward) < 0.0f;
}

static knResult GatherTets(const Drawing* d, DrawnMesh* drawn)
{
    const knTetMesh* m = knAsset_TetMesh(d->asset);
    float yaw = (float)(d->yaw * 0.017453292519943295);
    knVec3 toward = {sinf(yaw), 0.0f, cosf(yaw)};
    knVec3 middle = knBox_Center(knAsset_Info(d->asset)->bounds);
    drawn->capacity = 4 * (size_t)m->tetCount;
    drawn->triangles = knAllocate(NULL, drawn->capacity, sizeof(knTriangle));
    drawn->colors = knAllocate(NULL, drawn->capacity, sizeof(knVec3));
    if (!drawn->triangles || !drawn->colors)
    {
        return kn_errorMemory;
    }
    for (uint32_t face = 0; face < 4 * m->tetCount; ++face)
    {
        uint32_t other = m->neighbors[face / 4].t[face % 4];
        if (!IsKept(m, face / 4, middle, toward) ||
            (other != KN_NONE && IsKept(m, other, middle, toward)))
        {
            continue;
        }
        drawn->triangles[drawn->count] = knTetMesh_BoundaryTriangle(m, face);
        drawn->colors[drawn->count] = other == KN_NONE ? glazeColor : insideColor;
        drawn->count += 1;
    }
    return kn_success;
}

static knPictureMesh ToPictureMesh(const Drawing* d, const DrawnMesh* drawn, float edgeWidth)
{
    const knTetMesh* m = knAsset_TetMesh(d->asset);
    knPictureMesh mesh = knDefaultPictureMesh();
    mesh.positions = m->nodes;
    mesh.positionCount = m->nodeCount;
    mesh.triangles = drawn->triangles;
    mesh.triangleCount = (uint32_t)drawn->count;
    mesh.cornerNormals = drawn->normals;
    mesh.triangleColors = drawn->colors;
    mesh.color = glazeColor;
    mesh.edgeWidth = edgeWidth;
    return mesh;
}

static knPictureView MakeView(const Drawing* d, const knPictureMesh* mesh, int index, int count)
{
    knPictureView view = knDefaultPictureView();
    view.meshes = mesh;
    view.meshCount = 1;
    view.camera.yaw = (float)(d->yaw * 0.017453292519943295);
    view.camera.pitch = (float)(d->pitch * 0.017453292519943295);
    view.x = index * d->width / count;
    view.width = (index + 1) * d->width / count - view.x;
    view.height = d->height;
    return view;
}

static knResult Render(const Drawing* d, const DrawnMesh drawn[2], knPicture* picture)
{
    // thin enough for a hundred tetrahedra across a panel
    const float edgeWidth = 0.7f;
    knPictureMesh meshes[2];
    knPictureView views[2];
    int count = 0;
    int viewCount = d->views == (viewSurface | viewTets) ? 2 : 1;
    for (int i = 0; i < 2; ++i)
    {
        if (d->views & (1 << i))
        {
            meshes[count] = ToPictureMesh(d, &drawn[i], i == 0 ? 0.0f : edgeWidth);
            views[count] = MakeView(d, &meshes[count], count, viewCount);
            count += 1;
        }
    }
    knTaskPool* pool = NULL;
    knResult result = knCreateTaskPool(&pool, 0, NULL);
    if (result != kn_success)
    {
        return result;
    }
    knTaskHooks tasks = knTaskPool_Hooks(pool);
    knPictureDef def = knDefaultPictureDef();
    def.width = d->width;
    def.height = d->height;
    def.views = views;
    def.viewCount = (uint32_t)count;
    def.tasks = &tasks;
    result = knRenderPicture(&def, NULL, picture);
    knDestroyTaskPool(pool);
    return result;
}

static int Draw(Drawing* d)
{
    knAsset* asset = NULL;
    if (knLoadAsset(&asset, d->input, NULL) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    d->asset = asset;
    DrawnMesh drawn[2] = {{0}, {0}};
    knPicture picture = {0};
    knResult result = GatherSurface(asset, &drawn[0]);
    result = result == kn_success ? GatherTets(d, &drawn[1]) : result;
    result = result == kn_success ? Render(d, drawn, &picture) : result;
    knExit code = result == kn_success ? kn_exitOk : kn_exitInternal;
    if (result == kn_success)
    {
        result = knSavePicture(&picture, d->output);
        code = result == kn_success ? kn_exitOk : kn_exitUnwritable;
        knDestroyPicture(&picture);
    }
    DestroyDrawn(&drawn[0]);
    DestroyDrawn(&drawn[1]);
    knDestroyAsset(asset);
    return result == kn_success ? kn_exitOk : knReportFailure(code);
}

static bool TakeView(Drawing* d, const char* name)
{
    static const char* const names[] = {"surface", "tets", "both"};
    for (int i = 0; i < 3; ++i)
    {
        if (strcmp(name, names[i]) == 0)
        {
            d->views = i + 1;
            return true;
        }
    }
    knUsageError("draw", "--view wants both, surface or tets, got '%s'", name);
    return false;
}

static bool TakeOption(Drawing* d, int option, const char* argument)
{
    switch (option)
    {
    case 'o':
        d->output = argument;
        return true;
    case 'v':
        return TakeView(d, argument);
    case 's':
        if (sscanf(argument, "%5dx%5d", &d->width, &d->height) != 2 || d->width < 16 ||
            d->height < 16 || d->width > KN_MAX_PICTURE_SIZE || d->height > KN_MAX_PICTURE_SIZE)
        {
            knUsageError("draw", "--size wants WIDTHxHEIGHT from 16 to %d, got '%s'",
                         KN_MAX_PICTURE_SIZE, argument);
            return false;
        }
        return true;
    case 'y':
        return knParseNumber("draw", "--yaw", argument, -360.0, 360.0, &d->yaw);
    case 'p':
        return knParseNumber("draw", "--pitch", argument, -89.0, 89.0, &d->pitch);
    case 'h':
        d->help = true;
        return true;
    default:
        knUsageError("draw", "that option is not known");
        return false;
    }
}

int knCommandDraw(int argc, char** argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"view", required_argument, NULL, 'v'},
                                            {"size", required_argument, NULL, 's'},
                                            {"yaw", required_argument, NULL, 'y'},
                                            {"pitch", required_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    Drawing d = {
        .views = viewSurface | viewTets, .width = 1600, .height = 900, .yaw = 30.0, .pitch = 20.0};
    for (int option; (option = getopt_long(argc, argv, "o:", options, NULL)) != -1;)
    {
        if (!TakeOption(&d, option, optarg))
        {
            return kn_exitUsage;
        }
    }
    if (d.help)
    {
        PrintHelp();
        return kn_exitOk;
    }
    if (optind + 1 != argc || !d.output)
    {
        return knUsageError("draw", "one cooked file and -o OUT.png are needed");
    }
    d.input = argv[optind];
    return Draw(&d);
}
