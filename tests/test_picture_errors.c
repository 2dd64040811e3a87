// SPDX-License-Identifier: Zlib
#include "picture_scenes.h"

static void Refuses(const knPictureDef* def, const char* word)
{
    knPicture picture;
    MarkUntouched(&picture, sizeof(picture));
    knClearLastError();
    assert_int_equal(knRenderPicture(def, NULL, &picture), kn_errorArgument);
    assert_non_null(strstr(knLastError(), word));
    assert_true(IsUntouched(&picture, sizeof(picture)));
}

static void BadDefinitionsAreRefused(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    knPictureView view;
    const knPictureDef good = SmallDef(&view, &mesh, 1);
    Refuses(NULL, "null");
    assert_int_equal(knRenderPicture(&good, NULL, NULL), kn_errorArgument);
    const int sizes[4][2] = {{0, 10}, {10, -1}, {KN_MAX_PICTURE_SIZE + 1, 10}, {10, 1 << 30}};
    for (size_t i = 0; i < COUNT_OF(sizes); ++i)
    {
        knPictureDef def = good;
        def.width = sizes[i][0];
        def.height = sizes[i][1];
        Refuses(&def, "1..16384");
    }
    knPictureDef def = good;
    def.samples = 0;
    Refuses(&def, "samples");
    def.samples = KN_MAX_PICTURE_SAMPLES + 1;
    Refuses(&def, "samples");
    def = good;
    def.skyDirections = KN_MAX_SKY_DIRECTIONS + 1;
    Refuses(&def, "skyDirections");
    def = good;
    def.views = NULL;
    Refuses(&def, "view");
    def = good;
    def.labelCount = 1;
    Refuses(&def, "labels");
    knPictureLabel label = knDefaultPictureLabel();
    def.labels = &label;
    Refuses(&def, "label 0");
    label.text = "text";
    label.x = NAN;
    Refuses(&def, "label 0");
    knTaskHooks hooks = {0};
    def = good;
    def.tasks = &hooks;
    knPicture picture;
    assert_int_equal(knRenderPicture(&def, NULL, &picture), kn_errorArgument);
}

static void BadViewsAreRefused(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    knPictureView view;
    const knPictureDef def = SmallDef(&view, &mesh, 1);
    const knPictureView good = view;
    view.meshCount = 0;
    Refuses(&def, "no meshes");
    view = good;
    view.width = 161;
    view.height = 10;
    Refuses(&def, "161");
    view.width = 10;
    view.x = INT32_MAX;
    Refuses(&def, "lie");
    view = good;
    view.camera.yaw = NAN;
    Refuses(&def, "yaw");
    view = good;
    view.camera.distance = -1.0f;
    Refuses(&def, "distance");
    view = good;
    view.camera.fieldOfView = 0.0f;
    Refuses(&def, "fieldOfView");
    view = good;
    view.sunDirection = knMakeVec3(0.0f, 0.0f, 0.0f);
    Refuses(&def, "sun");
    view = good;
    view.exposure = NAN;
    Refuses(&def, "exposure");
    view = good;
    view.backgroundTop.y = INFINITY;
    Refuses(&def, "background");
}

static void BadMeshesAreRefused(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    knPictureView view;
    const knPictureDef def = SmallDef(&view, &mesh, 1);
    knVec3 values[36] = {{0.0f, 0.0f, 0.0f}};
    values[3].z = NAN;
    const knPictureMesh good = mesh;
    mesh.positions = NULL;
    Refuses(&def, "null");
    mesh = good;
    mesh.triangleCount = 0;
    Refuses(&def, "no triangles");
    mesh = good;
    mesh.positionCount = 7;
    Refuses(&def, "names position 7 of 7");
    mesh = good;
    mesh.positions = values;
    Refuses(&def, "positions[3]");
    mesh = good;
    mesh.cornerNormals = values;
    Refuses(&def, "cornerNormals[3]");
    mesh = good;
    mesh.cornerColors = values;
    Refuses(&def, "cornerColors[3]");
    mesh = good;
    mesh.triangleColors = values;
    Refuses(&def, "triangleColors[3]");
    mesh = good;
    mesh.transform.rotation = (knQuat){0.0f, 0.0f, 0.0f, 0.0f};
    Refuses(&def, "transform");
    mesh = good;
    mesh.transform.position.x = 1.0e30f;
    Refuses(&def, "1e15");
    mesh = good;
    values[3].z = 0.0f;
    mesh.positions = values;
    Refuses(&def, "radius");
    knPictureCamera camera;
    assert_int_equal(knFitPictureCamera(NULL, 1.0f, &camera), kn_errorArgument);
    assert_int_equal(knFitPictureCamera(&view, NAN, &camera), kn_errorArgument);
    assert_int_equal(knFitPictureCamera(&view, 1.0f, NULL), kn_errorArgument);
}

// Slivers, repeated corners, far away pieces, an eye inside the mesh: odd, but drawn.
static void OddMeshesAreDrawn(void** state)
{
    (void)state;
    const knVec3 positions[6] = {{0.0f, 0.0f, 0.0f},     {1.0f, 0.0f, 0.0f}, {0.5f, 1.0e-20f, 0.0f},
                                 {1.0e14f, 1.0f, -3.0f}, {0.0f, 1.0f, 0.0f}, {2.0f, 0.0f, 0.0f}};
    const knTriangle triangles[5] = {
        {{0, 1, 2}}, {{0, 0, 0}}, {{0, 1, 5}}, {{0, 1, 3}}, {{0, 1, 4}}};
    const knVec3 normals[15] = {{0.0f, 0.0f, 0.0f}};
    knPictureMesh mesh = knDefaultPictureMesh();
    mesh.positions = positions;
    mesh.positionCount = 6;
    mesh.triangles = triangles;
    mesh.triangleCount = 5;
    mesh.cornerNormals = normals;
    mesh.edgeWidth = 1.0f;
    knPictureView view;
    knPictureDef def = SmallDef(&view, &mesh, 1);
    def.width = 40;
    def.height = 30;
    const float distances[4] = {0.0f, 1.0e-30f, 1.0f, 1.0e15f};
    for (size_t i = 0; i < COUNT_OF(distances); ++i)
    {
        view.camera.distance = distances[i];
        knPicture picture = Render(&def);
        knDestroyPicture(&picture);
    }
    mesh = BoxMesh();
    view.camera.distance = 0.5f;
    knPicture inside = Render(&def);
    knDestroyPicture(&inside);
}

static knResult AttemptRender(const knAllocator* allocator, void* context)
{
    knPicture picture;
    MarkUntouched(&picture, sizeof(picture));
    knResult result = knRenderPicture(context, allocator, &picture);
    if (result == kn_success)
    {
        knDestroyPicture(&picture);
    }
    else
    {
        assert_true(IsUntouched(&picture, sizeof(picture)));
    }
    return result;
}

static void APictureSurvivesAllocationFailures(void** state)
{
    (void)state;
    knPictureMesh mesh = BoxMesh();
    knPictureView views[2];
    knPictureDef def = SmallDef(&views[0], &mesh, 1);
    SmallDef(&views[1], &mesh, 1);
    def.width = 16;
    def.height = 16;
    def.viewCount = 2;
    def.skyDirections = 1;
    SurviveAllocationFailures(AttemptRender, &def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(BadDefinitionsAreRefused),
        cmocka_unit_test(BadViewsAreRefused),
        cmocka_unit_test(BadMeshesAreRefused),
        cmocka_unit_test(OddMeshesAreDrawn),
        cmocka_unit_test(APictureSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
