// SPDX-License-Identifier: Zlib

// Defaults, checks and the order of work of a picture.

#include "picture_internal.h"

#include <math.h>
#include <string.h>

#define MAX_LABEL_SIZE 4096.0f // pixels

knPictureMesh knDefaultPictureMesh(void)
{
    knPictureMesh mesh = {
        .color = {0.82f, 0.785f, 0.73f},
        .transform = knIdentityTransform(),
        .edgeColor = {0.12f, 0.11f, 0.11f},
        .castsShadow = true,
    };
    return mesh;
}

knPictureView knDefaultPictureView(void)
{
    knPictureView view = {
        .camera = {.yaw = 0.6f, .pitch = 0.32f, .fieldOfView = 0.5f, .margin = 0.14f},
        .backgroundTop = {0.86f, 0.85f, 0.835f},
        .backgroundBottom = {0.935f, 0.925f, 0.91f},
        .sunDirection = {-0.55f, 1.05f, 0.45f},
        .sunSize = 0.22f,
        .exposure = 1.0f,
        .hasGround = true,
    };
    return view;
}

knPictureLabel knDefaultPictureLabel(void)
{
    knPictureLabel label = {.size = 24.0f, .color = {0.18f, 0.17f, 0.16f}};
    return label;
}

knPictureDef knDefaultPictureDef(void)
{
    knPictureDef def = {
        .width = 1200,
        .height = 800,
        .samples = 3,
        .skyDirections = 64,
        .background = {1.0f, 1.0f, 1.0f},
    };
    return def;
}

static knResult CheckRect(const knPictureDef* def, const knPictureView* view, uint32_t index)
{
    if (view->width == 0)
    {
        return kn_success;
    }
    if (view->x < 0 || view->y < 0 || view->width < 0 || view->height < 1 ||
        view->x > def->width - view->width || view->y > def->height - view->height)
    {
        return knFail(kn_errorArgument,
                      "picture: view %u: %d x %d at (%d, %d) does not lie in %d x %d", index,
                      view->width, view->height, view->x, view->y, def->width, def->height);
    }
    return kn_success;
}

static knResult CheckLabels(const knPictureDef* def)
{
    for (uint32_t i = 0; i < def->labelCount; i++)
    {
        const knPictureLabel* l = &def->labels[i];
        if (!l->text || !(l->size > 0.0f && l->size <= MAX_LABEL_SIZE) || !(fabsf(l->x) < 1.0e6f) ||
            !(fabsf(l->y) < 1.0e6f) || !knIsFinite(l->color) || l->align < kn_alignLeft ||
            l->align > kn_alignRight)
        {
            return knFail(kn_errorArgument,
                          "picture: label %u: its text is null, its size (%g) is not in (0, %g], "
                          "or its place, colour or alignment is bad",
                          i, (double)l->size, (double)MAX_LABEL_SIZE);
        }
    }
    return kn_success;
}

static knResult CheckSizes(const knPictureDef* def)
{
    if (def->width < 1 || def->width > KN_MAX_PICTURE_SIZE || def->height < 1 ||
        def->height > KN_MAX_PICTURE_SIZE)
    {
        return knFail(kn_errorArgument, "picture: %d x %d is not in 1..%d", def->width, def->height,
                      KN_MAX_PICTURE_SIZE);
    }
    if (def->samples < 1 || def->samples > KN_MAX_PICTURE_SAMPLES)
    {
        return knFail(kn_errorArgument, "picture: samples %d is not in 1..%d", def->samples,
                      KN_MAX_PICTURE_SAMPLES);
    }
    if (def->skyDirections < 1 || def->skyDirections > KN_MAX_SKY_DIRECTIONS)
    {
        return knFail(kn_errorArgument, "picture: skyDirections %d is not in 1..%d",
                      def->skyDirections, KN_MAX_SKY_DIRECTIONS);
    }
    if (!knIsFinite(def->background))
    {
        return knFail(kn_errorArgument, "picture: the background is not finite");
    }
    return kn_success;
}

static knResult CheckDef(const knPictureDef* def)
{
    knResult result = CheckSizes(def);
    if (result != kn_success)
    {
        return result;
    }
    if (!def->views || def->viewCount == 0 || (!def->labels && def->labelCount > 0))
    {
        return knFail(kn_errorArgument, "picture: there is no view, or the labels are null");
    }
    for (uint32_t i = 0; i < def->viewCount; i++)
    {
        result = CheckRect(def, &def->views[i], i);
        result = result == kn_success ? knCheckPictureView(&def->views[i], i) : result;
        if (result != kn_success)
        {
            return result;
        }
    }
    result = CheckLabels(def);
    return result == kn_success && def->tasks ? knCheckTaskHooks(def->tasks) : result;
}

static void TileTask(int begin, int end, int worker, void* user)
{
    const knViewContext* context = user;
    knTileBuffer* buffer = &context->buffers[worker];
    for (int tile = begin; tile < end; tile++)
    {
        knRasterTile(context->bins, context->scene, tile, buffer);
        knShadeTile(context, tile, buffer);
    }
}

static knResult RenderTiles(knViewContext* context)
{
    const knAllocator* allocator = context->scene->allocator;
    size_t workers = context->def->tasks ? (size_t)context->def->tasks->workerCount : 1;
    size_t side = (size_t)KN_TILE_SIZE * (size_t)context->bins->samples;
    size_t count = workers * side * side;
    float* depth = knAllocate(allocator, count, sizeof(float));
    uint32_t* triangle = knAllocate(allocator, count, sizeof(uint32_t));
    knTileBuffer* buffers = knAllocate(allocator, workers, sizeof(knTileBuffer));
    knResult result = depth && triangle && buffers ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        for (size_t i = 0; i < workers; i++)
        {
            buffers[i].depth = depth + i * side * side;
            buffers[i].triangle = triangle + i * side * side;
        }
        context->buffers = buffers;
        knParallelFor(context->def->tasks, (int)context->bins->tileCount, 1, TileTask, context);
    }
    knRelease(allocator, depth, count, sizeof(float));
    knRelease(allocator, triangle, count, sizeof(uint32_t));
    knRelease(allocator, buffers, workers, sizeof(knTileBuffer));
    return result;
}

static knResult RenderScene(knViewContext* context, knPictureScene* scene)
{
    int longer = context->width > context->height ? context->width : context->height;
    knPictureLights lights;
    knPictureBins bins;
    knResult result =
        knCreatePictureLights(&lights, scene, context->view, context->def->skyDirections, longer);
    if (result != kn_success)
    {
        return result;
    }
    result = knCreatePictureBins(&bins, scene, &context->camera, context->width, context->height,
                                 context->def->samples);
    if (result == kn_success)
    {
        context->lights = &lights;
        context->bins = &bins;
        result = RenderTiles(context);
        knDestroyPictureBins(&bins, scene);
    }
    knDestroyPictureLights(&lights, scene);
    return result;
}

static knResult RenderView(const knPictureDef* def, const knPictureView* source, knPicture* picture)
{
    knPictureView view = *source;
    bool isWhole = view.width == 0;
    knViewContext context = {.def = def,
                             .view = &view,
                             .x = isWhole ? 0 : view.x,
                             .y = isWhole ? 0 : view.y,
                             .width = isWhole ? def->width : view.width,
                             .height = isWhole ? def->height : view.height,
                             .picture = picture};
    if (view.camera.distance == 0.0f)
    {
        float aspect = (float)context.width / (float)context.height;
        knResult fit = knFitPictureCamera(source, aspect, &view.camera);
        if (fit != kn_success)
        {
            return fit;
        }
    }
    knPictureScene scene;
    knResult result = knCreatePictureScene(&scene, &view, &picture->allocator, def->tasks);
    if (result != kn_success)
    {
        return result;
    }
    context.scene = &scene;
    context.camera = knMakePictureEye(&scene, &view, context.width, context.height);
    result = RenderScene(&context, &scene);
    knDestroyPictureScene(&scene);
    return result;
}

static void FillBackground(knPicture* picture, knVec3 color)
{
    knVec3 linear = knLinearFromSrgb(color);
    for (int y = 0; y < picture->height; y++)
    {
        for (int x = 0; x < picture->width; x++)
        {
            knStorePixel(picture, x, y, linear);
        }
    }
}

knResult knRenderPicture(const knPictureDef* def, const knAllocator* allocator, knPicture* picture)
{
    if (!def || !picture)
    {
        return knFail(kn_errorArgument, "picture: the definition or the picture is null");
    }
    knResult result = knCheckAllocator(allocator);
    result = result == kn_success ? CheckDef(def) : result;
    if (result != kn_success)
    {
        return result;
    }
    knPicture made = {allocator ? *allocator : knDefaultAllocator(), def->width, def->height, NULL};
    made.pixels = knAllocate(&made.allocator, 3 * (size_t)def->width, (size_t)def->height);
    if (!made.pixels)
    {
        return kn_errorMemory;
    }
    FillBackground(&made, def->background);
    for (uint32_t i = 0; i < def->viewCount && result == kn_success; i++)
    {
        result = RenderView(def, &def->views[i], &made);
    }
    if (result != kn_success)
    {
        knDestroyPicture(&made);
        return result;
    }
    for (uint32_t i = 0; i < def->labelCount; i++)
    {
        knDrawLabel(&made, &def->labels[i]);
    }
    *picture = made;
    return kn_success;
}

void knDestroyPicture(knPicture* picture)
{
    if (!picture)
    {
        return;
    }
    knRelease(&picture->allocator, picture->pixels, 3 * (size_t)picture->width,
              (size_t)picture->height);
    memset(picture, 0, sizeof(*picture));
}
