// SPDX-License-Identifier: Zlib
#include "picture_scenes.h"

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#endif
#include <stb/stb_image.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

// A ball must fill exactly the disc that geometry asks for, without a hole.
static void ABallCoversItsDisc(void** state)
{
    (void)state;
    Ball* ball = MakeBall();
    knPictureMesh mesh = BallMesh(ball);
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    MakeMask(&view);
    view.camera.distance = 6.0f;
    knPicture picture = Render(&def);
    double scale = 60.0 / tan(0.5 * (double)view.camera.fieldOfView);
    double radius = scale * tan(asin(1.0 / 6.0));
    double area = pi * radius * radius;
    ASSERT_NEAR(TotalLight(&picture), area, 0.01 * area);
    for (int y = 0; y < 120; ++y)
    {
        for (int x = 0; x < 160; ++x)
        {
            double distance = hypot(x + 0.5 - 80.0, y + 0.5 - 60.0);
            assert_true(distance > radius - 1.5 || Pixel(&picture, x, y)[1] >= 253);
            assert_true(distance < radius + 1.5 || Pixel(&picture, x, y)[1] == 0);
        }
    }
    knDestroyPicture(&picture);
    free(ball);
}

// Of two crossing planes the nearer one is seen, on each side of the line where they cross.
static void TheNearerSurfaceIsSeen(void** state)
{
    (void)state;
    const knVec3 rising[4] = {
        {-1.0f, -1.0f, -1.0f}, {1.0f, -1.0f, 1.0f}, {1.0f, 1.0f, 1.0f}, {-1.0f, 1.0f, -1.0f}};
    const knVec3 falling[4] = {
        {-1.0f, -1.0f, 1.0f}, {1.0f, -1.0f, -1.0f}, {1.0f, 1.0f, -1.0f}, {-1.0f, 1.0f, 1.0f}};
    knPictureMesh meshes[2] = {QuadMesh(rising), QuadMesh(falling)};
    meshes[0].color = knMakeVec3(0.8f, 0.1f, 0.1f);
    meshes[1].color = knMakeVec3(0.1f, 0.1f, 0.8f);
    knPictureView view;
    knPictureDef def = SmallDef(&view, meshes, 2);
    view.hasGround = false;
    for (int order = 0; order < 2; ++order)
    {
        knPicture picture = Render(&def);
        for (int x = 66; x < 94; ++x)
        {
            const uint8_t* pixel = Pixel(&picture, x, 60);
            bool isRed = pixel[0] > pixel[2];
            assert_true(x == 79 || x == 80 || isRed == (x > 80));
        }
        knDestroyPicture(&picture);
        knPictureMesh first = meshes[0];
        meshes[0] = meshes[1];
        meshes[1] = first;
    }
}

// A surface that passes under the eye and behind it is cut there, not folded over.
static void ASurfaceBehindTheEyeIsCut(void** state)
{
    (void)state;
    const knVec3 corners[4] = {{-5000.0f, -1.0f, 5000.0f},
                               {5000.0f, -1.0f, 5000.0f},
                               {5000.0f, -1.0f, -5000.0f},
                               {-5000.0f, -1.0f, -5000.0f}};
    knPictureMesh mesh = QuadMesh(corners);
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    MakeMask(&view);
    view.camera.fieldOfView = 1.0f;
    knPicture picture = Render(&def);
    for (int x = 0; x < 160; ++x)
    {
        assert_int_equal(Pixel(&picture, x, 58)[1], 0);
        assert_true(Pixel(&picture, x, 61)[1] >= 253);
        assert_true(Pixel(&picture, x, 119)[1] >= 253);
    }
    knDestroyPicture(&picture);
}

// Which way round a triangle is wound changes neither its outline nor whether it is seen.
static void BothSidesAreDrawn(void** state)
{
    (void)state;
    const knVec3 corners[4] = {
        {-1.0f, -1.0f, 0.0f}, {1.0f, -1.0f, 0.0f}, {1.0f, 1.0f, 0.0f}, {-1.0f, 1.0f, 0.0f}};
    knPictureMesh mesh = QuadMesh(corners);
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    MakeMask(&view);
    double scale = 60.0 / tan(0.5 * (double)view.camera.fieldOfView) / 10.0;
    for (int i = 0; i < 2; ++i)
    {
        view.camera.yaw = i == 0 ? 0.0f : (float)pi;
        knPicture picture = Render(&def);
        ASSERT_NEAR(TotalLight(&picture), 4.0 * scale * scale, 0.04 * scale * scale);
        knDestroyPicture(&picture);
    }
}

static double MeanLight(const knPicture* picture, const knPictureCamera* camera, knVec3 point)
{
    double at[2];
    Project(camera, picture->width, picture->height, point, at);
    double sum = 0.0;
    for (int i = 0; i < 9; ++i)
    {
        sum += Light(picture, (int)at[0] - 1 + i % 3, (int)at[1] - 1 + i / 3);
    }
    return sum / 9.0;
}

// The shadow lies opposite the sun, begins at the foot of what casts it, and ends.
static void TheShadowFallsAwayFromTheSun(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    def.width = 320;
    def.height = 240;
    def.skyDirections = 32;
    view.camera.pitch = 0.9f;
    view.camera.distance = 20.0f;
    view.sunSize = 0.05f;
    for (int i = 0; i < 2; ++i)
    {
        float side = i == 0 ? 1.0f : -1.0f;
        view.sunDirection = knMakeVec3(-side, 1.2f, 0.0f);
        knPicture picture = Render(&def);
        double shadow = MeanLight(&picture, &view.camera, knMakeVec3(2.0f * side, -1.0f, 0.0f));
        double foot = MeanLight(&picture, &view.camera, knMakeVec3(1.15f * side, -1.0f, 0.0f));
        double sunny = MeanLight(&picture, &view.camera, knMakeVec3(-2.0f * side, -1.0f, 0.0f));
        double beyond = MeanLight(&picture, &view.camera, knMakeVec3(3.6f * side, -1.0f, 0.0f));
        assert_true(shadow < 0.75 * sunny);
        assert_true(foot < shadow);
        assert_true(beyond > 1.2 * shadow);
        knDestroyPicture(&picture);
    }
}

// A mesh that casts no shadow leaves the backdrop as it is without a floor.
static void ShadowsCanBeTurnedOff(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    mesh.castsShadow = false;
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    view.camera.pitch = 0.6f;
    knPicture picture = Render(&def);
    view.hasGround = false;
    knPicture bare = Render(&def);
    for (int i = 0; i < 160; ++i)
    {
        assert_memory_equal(Pixel(&picture, i, 110), Pixel(&bare, i, 110), 3);
    }
    knDestroyPicture(&picture);
    knDestroyPicture(&bare);
}

// An open plane never shades itself, whatever the slope towards the sun.
static void AFlatSurfaceHasNoAcne(void** state)
{
    (void)state;
    const knVec3 corners[4] = {
        {-3.0f, 0.0f, 3.0f}, {3.0f, 0.0f, 3.0f}, {3.0f, 0.0f, -3.0f}, {-3.0f, 0.0f, -3.0f}};
    knPictureMesh mesh = QuadMesh(corners);
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    def.skyDirections = 32;
    view.hasGround = false;
    view.camera.pitch = 1.0f;
    for (int i = 0; i < 6; ++i)
    {
        double height = 0.05 + 0.25 * i;
        view.sunDirection = knMakeVec3(-0.9f, (float)height, 0.4f);
        knPicture picture = Render(&def);
        for (int y = 45; y < 75; ++y)
        {
            for (int x = 55; x < 105; ++x)
            {
                int step = Pixel(&picture, x, y)[1] - Pixel(&picture, x + 1, y)[1];
                assert_true(abs(step) <= 3);
            }
        }
        knDestroyPicture(&picture);
    }
}

// Lines lie on the edges of the triangles and nowhere else.
static void LinesFollowTheEdges(void** state)
{
    (void)state;
    const knVec3 corners[4] = {
        {-1.0f, -1.0f, 0.0f}, {1.0f, -1.0f, 0.0f}, {1.0f, 1.0f, 0.0f}, {-1.0f, 1.0f, 0.0f}};
    knPictureMesh mesh = QuadMesh(corners);
    mesh.edgeWidth = 2.0f;
    mesh.edgeColor = knMakeVec3(0.0f, 0.0f, 0.0f);
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    view.hasGround = false;
    view.camera.distance = 5.0f;
    knPicture picture = Render(&def);
    // the diagonal runs from the lower left to the upper right
    double plain = Light(&picture, 70, 50);
    assert_true(Light(&picture, 80, 60) < 0.6 * plain);
    assert_true(Light(&picture, 100, 40) < 0.6 * plain);
    ASSERT_NEAR(Light(&picture, 92, 72), plain, 0.15 * plain);
    knDestroyPicture(&picture);
}

// The fitted camera holds everything inside the margin, and could not be nearer.
static void AFittedCameraIsTight(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    mesh.transform.position = knMakeVec3(30.0f, -7.0f, 4.0f);
    mesh.transform.rotation = knMakeQuat(knMakeVec3(0.6f, 0.8f, 0.0f), 1.1f);
    knPictureView view;
    SmallDef(&view, &mesh, 1);
    view.camera.distance = 0.0f;
    view.camera.margin = 0.2f;
    const int sizes[3][2] = {{300, 200}, {200, 300}, {900, 100}};
    for (int i = 0; i < 12; ++i)
    {
        int width = sizes[i % 3][0];
        int height = sizes[i % 3][1];
        view.camera.yaw = 0.7f * (float)i;
        view.camera.pitch = 0.2f * (float)i - 1.1f;
        knPictureCamera camera;
        float aspect = (float)width / (float)height;
        assert_int_equal(knFitPictureCamera(&view, aspect, &camera), kn_success);
        double reach = 0.0;
        for (int k = 0; k < 8; ++k)
        {
            double at[2];
            Project(&camera, width, height, knTransformPoint(mesh.transform, boxPositions[k]), at);
            reach = fmax(reach, fabs(2.0 * at[0] / width - 1.0));
            reach = fmax(reach, fabs(2.0 * at[1] / height - 1.0));
        }
        ASSERT_NEAR(reach, 0.8, 0.002);
    }
}

// The number of workers must not be seen in the picture.
static void TheBytesDoNotDependOnTheWorkers(void** state)
{
    (void)state;
    Ball* ball = MakeBall();
    knPictureMesh meshes[2] = {BallMesh(ball), BoxMesh()};
    meshes[1].transform.position = knMakeVec3(1.5f, 0.2f, 0.3f);
    meshes[1].edgeWidth = 1.0f;
    knPictureView view;
    knPictureDef def = SmallDef(&view, meshes, 2);
    view.camera.pitch = 0.4f;
    knPicture serial = Render(&def);
    for (int workers = 1; workers <= 3; ++workers)
    {
        knTaskPool* pool = NULL;
        assert_int_equal(knCreateTaskPool(&pool, workers, NULL), kn_success);
        knTaskHooks hooks = knTaskPool_Hooks(pool);
        def.tasks = &hooks;
        knPicture parallel = Render(&def);
        assert_memory_equal(parallel.pixels, serial.pixels, 3 * 160 * 120);
        knDestroyPicture(&parallel);
        knDestroyTaskPool(pool);
    }
    knDestroyPicture(&serial);
    free(ball);
}

// Panels stay in their rectangles: each is the picture it would be alone, and the gap is plain.
static void PanelsDoNotMix(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    knPictureView views[2];
    knPictureDef def = SmallDef(&views[0], &mesh, 1);
    SmallDef(&views[1], &mesh, 1);
    for (int i = 0; i < 2; ++i)
    {
        views[i].x = i * 90;
        views[i].y = 10;
        views[i].width = 70;
        views[i].height = 50;
        views[i].camera.yaw = (float)i;
    }
    def.background = knMakeVec3(0.0f, 0.0f, 1.0f);
    def.viewCount = 2;
    knPicture both = Render(&def);
    def.viewCount = 1;
    knPicture left = Render(&def);
    for (int y = 0; y < 120; ++y)
    {
        assert_memory_equal(Pixel(&both, 0, y), Pixel(&left, 0, y), 3 * 90);
        const uint8_t* gap = Pixel(&both, 80, y);
        assert_true(gap[0] == 0 && gap[1] == 0 && gap[2] == 255);
    }
    assert_memory_not_equal(Pixel(&both, 90, 35), Pixel(&left, 90, 35), 3 * 70);
    knDestroyPicture(&both);
    knDestroyPicture(&left);
}

// Reads one character back from its own picture.
static knPicture RenderCharacter(char character)
{
    const char text[2] = {character, 0};
    knPictureMesh mesh = BoxMesh();
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    knPictureLabel label = knDefaultPictureLabel();
    label.text = text;
    label.x = 12.0f;
    label.y = 24.0f;
    label.size = 20.0f;
    label.color = knMakeVec3(0.0f, 0.0f, 0.0f);
    def.width = 36;
    def.height = 34;
    def.samples = 1;
    def.skyDirections = 1;
    view.x = 35;
    view.y = 33;
    view.width = 1;
    view.height = 1;
    def.labels = &label;
    def.labelCount = 1;
    return Render(&def);
}

// All printable characters are drawn, and no two look the same.
static void CharactersCanBeToldApart(void** state)
{
    (void)state;
    knPicture pictures[95];
    for (int i = 0; i < 95; ++i)
    {
        pictures[i] = RenderCharacter((char)(32 + i));
        for (int k = 0; k < i; ++k)
        {
            int different = 0;
            for (int p = 0; p < 36 * 33; ++p)
            {
                different += abs(pictures[i].pixels[3 * p] - pictures[k].pixels[3 * p]) > 64;
            }
            // a lone dot covers four pixels
            assert_true(different >= 3);
        }
    }
    knPicture unknown = RenderCharacter('\t');
    assert_memory_equal(unknown.pixels, pictures['?' - 32].pixels, 3 * 36 * 33);
    knDestroyPicture(&unknown);
    for (int i = 0; i < 95; ++i)
    {
        knDestroyPicture(&pictures[i]);
    }
}

static void TextIsMeasuredAsItIsDrawn(void** state)
{
    (void)state;
    ASSERT_NEAR(knMeasureText("", 20.0f), 0.0, 0.0);
    ASSERT_NEAR(knMeasureText(NULL, 20.0f), 0.0, 0.0);
    float width = knMeasureText("Knap 0.1", 20.0f);
    assert_true(width > 40.0f && width < 120.0f);
    ASSERT_NEAR(knMeasureText("Knap 0.1", 40.0f), 2.0f * width, 1.0e-3);
    ASSERT_NEAR(knMeasureText("K\nKnap 0.1\n", 20.0f), width, 1.0e-3);
}

static void ALabelOutsideThePictureIsHarmless(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    knPicture plain = Render(&def);
    knPictureLabel labels[3] = {knDefaultPictureLabel(), knDefaultPictureLabel(),
                                knDefaultPictureLabel()};
    labels[0].x = -5000.0f;
    labels[1].y = 9000.0f;
    labels[2].x = 900000.0f;
    for (int i = 0; i < 3; ++i)
    {
        labels[i].text = i == 2 ? "" : "far\noff";
    }
    def.labels = labels;
    def.labelCount = 3;
    knPicture labelled = Render(&def);
    assert_memory_equal(plain.pixels, labelled.pixels, 3 * 160 * 120);
    knDestroyPicture(&plain);
    knDestroyPicture(&labelled);
}

// What is written can be read back by somebody else's decoder, byte for byte.
static void APngDecodesToThePicture(void** state)
{
    (void)state;
    const char* path = "picture_round_trip.png";
    knPictureMesh mesh = BoxMesh();
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    def.width = 61;
    def.height = 47;
    knPicture picture = Render(&def);
    assert_int_equal(knSavePng(&picture, path), kn_success);
    int width = 0, height = 0, channels = 0;
    unsigned char* pixels = stbi_load(path, &width, &height, &channels, 0);
    assert_non_null(pixels);
    assert_int_equal(width, 61);
    assert_int_equal(height, 47);
    assert_int_equal(channels, 3);
    assert_memory_equal(pixels, picture.pixels, 3 * 61 * 47);
    stbi_image_free(pixels);
    assert_int_equal(remove(path), 0);

    assert_int_equal(knSavePng(&picture, "no/such/folder/p.png"), kn_errorFile);
    assert_non_null(strstr(knLastError(), "no/such/folder/p.png"));
    assert_int_equal(knSavePng(&picture, NULL), kn_errorArgument);
    assert_int_equal(knSavePng(NULL, path), kn_errorArgument);
    knDestroyPicture(&picture);
    assert_int_equal(knSavePng(&picture, path), kn_errorArgument);
    knDestroyPicture(&picture);
    knDestroyPicture(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ABallCoversItsDisc),
        cmocka_unit_test(TheNearerSurfaceIsSeen),
        cmocka_unit_test(ASurfaceBehindTheEyeIsCut),
        cmocka_unit_test(BothSidesAreDrawn),
        cmocka_unit_test(TheShadowFallsAwayFromTheSun),
        cmocka_unit_test(ShadowsCanBeTurnedOff),
        cmocka_unit_test(AFlatSurfaceHasNoAcne),
        cmocka_unit_test(LinesFollowTheEdges),
        cmocka_unit_test(AFittedCameraIsTight),
        cmocka_unit_test(TheBytesDoNotDependOnTheWorkers),
        cmocka_unit_test(PanelsDoNotMix),
        cmocka_unit_test(CharactersCanBeToldApart),
        cmocka_unit_test(TextIsMeasuredAsItIsDrawn),
        cmocka_unit_test(ALabelOutsideThePictureIsHarmless),
        cmocka_unit_test(APngDecodesToThePicture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
