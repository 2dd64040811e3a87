// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // st_mtim

#include "demos/window.h"

#include "demos/panel.h"
#include "demos/png.h"
#include "demos/replay.h"
#include "knap/world_save.h"

// epoxy goes first: it declares what GLFW would
#include <epoxy/gl.h>

#include <GLFW/glfw3.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Window
{
    const knWindowDef* def;
    GLFWwindow* window;
    knStage* stage;
    knView* view;
    knPainter* painter;
    knControls controls;
    knStats stats;
    // the camera turns around its target
    knVec3 target, wishedTarget;
    float shift; // clear of the panel
    float yaw, pitch, distance, wishedYaw, wishedPitch, wishedDistance;
    double mouseX, mouseY;
    bool isTurning, isPanning, isHolding;
    float holdDistance; // from the eye to the point that is held
    double owed;        // s of simulation that are due
    uint32_t frame;
    uint32_t ballCount, holdCount, resetCount, pictureCount; // what the user did
    int width, height;                                       // of the framebuffer
    struct timespec configTime;                              // of the file that was read last
    double nextLook;                                         // s; when the file is looked at again
    char message[256];                                       // about a file
    bool isBad;
} Window;

static void AimCamera(Window* w)
{
    knVec3 way = knSub(w->stage->scene->eye, w->stage->scene->target);
    w->wishedTarget = w->target = w->stage->scene->target;
    w->wishedDistance = w->distance = knLength(way);
    w->wishedYaw = w->yaw = atan2f(way.x, way.z);
    w->wishedPitch = w->pitch = asinf(way.y / w->distance);
}

static knCamera MakeCamera(const Window* w)
{
    knVec3 way =
        knMakeVec3(cosf(w->pitch) * sinf(w->yaw), sinf(w->pitch), cosf(w->pitch) * cosf(w->yaw));
    return (knCamera){knAddScaled(w->target, w->distance, way), w->target, 0.7f, w->shift};
}

// The middle of what the panel leaves free.
static float WishedShift(const Window* w)
{
    int width = 1, height = 1;
    glfwGetWindowSize(w->window, &width, &height);
    float covered = w->controls.showPanel ? knPanel_Right() / (float)width : 0.0f;
    return fminf(covered, 0.5f);
}

// Towards where the user wants it, the same at any frame rate.
static void MoveCamera(Window* w, double seconds)
{
    float share = 1.0f - expf(-14.0f * (float)seconds);
    w->yaw += share * (w->wishedYaw - w->yaw);
    w->pitch += share * (w->wishedPitch - w->pitch);
    w->distance += share * (w->wishedDistance - w->distance);
    w->target = knAddScaled(w->target, share, knSub(w->wishedTarget, w->target));
    w->shift += share * (WishedShift(w) - w->shift);
}

static void MouseRay(const Window* w, knVec3* from, knVec3* direction)
{
    int width = 1, height = 1;
    glfwGetWindowSize(w->window, &width, &height);
    knCamera camera = MakeCamera(w);
    knCamera_Ray(&camera, (float)w->mouseX, (float)w->mouseY, (float)width, (float)height, from,
                 direction);
}

static bool TakeHold(Window* w)
{
    knVec3 from, direction;
    MouseRay(w, &from, &direction);
    knVec3 to = knAddScaled(from, 50.0f * w->stage->scene->reach, direction);
    knRayHit hit;
    knBodyId body = {0};
    bool isHit = false;
    if (knWorld_CastRay(w->stage->world, from, to, -1, &hit, &isHit) != kn_success || !isHit ||
        knWorld_Pick(w->stage->world, from, to, &body) != kn_success || knId_IsNull(body))
    {
        return false;
    }
    w->holdDistance = knDistance(from, hit.point);
    w->stage->isInteractive = true;
    w->holdCount += 1;
    return true;
}

static void DragHeld(const Window* w)
{
    knVec3 from, direction;
    MouseRay(w, &from, &direction);
    (void)knWorld_Drag(w->stage->world, knAddScaled(from, w->holdDistance, direction));
}

static void ThrowBall(Window* w)
{
    knVec3 from, direction;
    MouseRay(w, &from, &direction);
    float reach = w->stage->scene->reach;
    w->stage->isInteractive = true;
    w->ballCount += 1;
    knVec3 start = knAddScaled(from, 0.15f * w->distance, direction);
    // a full stage throws no more; nothing else can fail
    (void)knStage_AddBall(w->stage, start, 0.03f * fminf(reach, 1.5f), knScale(6.0f, direction),
                          NULL);
}

static void OnButton(GLFWwindow* window, int button, int action, int mods)
{
    Window* w = glfwGetWindowUserPointer(window);
    (void)mods;
    bool down = action == GLFW_PRESS && !knPanel_HasMouse();
    if (button == GLFW_MOUSE_BUTTON_LEFT)
    {
        if (w->isHolding && !down)
        {
            (void)knWorld_Drop(w->stage->world);
        }
        w->isHolding = down && TakeHold(w);
        w->isTurning = down && !w->isHolding;
    }
    w->isPanning = button == GLFW_MOUSE_BUTTON_MIDDLE ? down : w->isPanning;
    if (button == GLFW_MOUSE_BUTTON_RIGHT)
    {
        w->isTurning = down;
    }
}

static void OnMove(GLFWwindow* window, double x, double y)
{
    Window* w = glfwGetWindowUserPointer(window);
    float dx = (float)(x - w->mouseX), dy = (float)(y - w->mouseY);
    w->mouseX = x;
    w->mouseY = y;
    if (w->isTurning)
    {
        w->wishedYaw -= 0.006f * dx;
        w->wishedPitch = fminf(fmaxf(w->wishedPitch + 0.006f * dy, -0.05f), 1.5f);
    }
    if (w->isPanning)
    {
        knVec3 right = knMakeVec3(cosf(w->yaw), 0.0f, -sinf(w->yaw));
        w->wishedTarget = knAddScaled(w->wishedTarget, -0.0012f * dx * w->distance, right);
        w->wishedTarget.y = fmaxf(w->wishedTarget.y + 0.0012f * dy * w->distance, 0.0f);
    }
}

static void OnScroll(GLFWwindow* window, double x, double y)
{
    Window* w = glfwGetWindowUserPointer(window);
    (void)x;
    if (!knPanel_HasMouse())
    {
        float reach = w->stage->scene->reach;
        float wished = w->wishedDistance * powf(0.9f, (float)y);
        w->wishedDistance = fminf(fmaxf(wished, 0.2f * reach), 8.0f * reach);
    }
}

static void MoveOverlay(knOverlays* o, bool isUp)
{
    o->level = isUp ? (o->level < 12 ? o->level + 1 : 12) : (o->level > 0 ? o->level - 1 : 0);
    o->slice = fminf(fmaxf(o->slice + (isUp ? 0.05f : -0.05f), 0.0f), 1.0f);
}

// Keys that switch something on and off.
static bool Toggle(knControls* c, int key)
{
    const struct
    {
        int key;
        bool* value;
    } table[] = {{GLFW_KEY_P, &c->isPaused},        {GLFW_KEY_W, &c->overlays.isWireframe},
                 {GLFW_KEY_X, &c->overlays.isXray}, {GLFW_KEY_C, &c->overlays.contacts},
                 {GLFW_KEY_K, &c->overlays.cracks}, {GLFW_KEY_T, &c->overlays.spheres},
                 {GLFW_KEY_D, &c->overlays.field},  {GLFW_KEY_TAB, &c->showPanel},
                 {GLFW_KEY_H, &c->showHelp},        {GLFW_KEY_F1, &c->showHelp}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    {
        if (table[i].key == key)
        {
            *table[i].value = !*table[i].value;
            return true;
        }
    }
    return false;
}

static void OnKey(GLFWwindow* window, int key, int code, int action, int mods)
{
    Window* w = glfwGetWindowUserPointer(window);
    knControls* c = &w->controls;
    (void)code;
    (void)mods;
    if (action != GLFW_PRESS || knPanel_HasKeys() || Toggle(c, key))
    {
        return;
    }
    switch (key)
    {
    case GLFW_KEY_ESCAPE:
    case GLFW_KEY_Q:
        glfwSetWindowShouldClose(window, GLFW_TRUE);
        break;
    case GLFW_KEY_SPACE:
        c->throwBall = true;
        break;
    case GLFW_KEY_N:
        c->isPaused = c->stepOnce = true;
        break;
    case GLFW_KEY_S:
        c->speed = c->speed < 1.0f ? 1.0f : 0.2f;
        break;
    case GLFW_KEY_R:
        c->reset = true;
        break;
    case GLFW_KEY_F12:
        c->takePicture = true;
        break;
    case GLFW_KEY_LEFT_BRACKET:
    case GLFW_KEY_RIGHT_BRACKET:
        MoveOverlay(&c->overlays, key == GLFW_KEY_RIGHT_BRACKET);
        break;
    default:
        break;
    }
}

static knResult OpenWindow(Window* w)
{
    if (!glfwInit())
    {
        return knFail(kn_errorProcess, "no display to open a window on; try --headless");
    }
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    w->window = glfwCreateWindow(w->def->width, w->def->height, "Knap", NULL, NULL);
    if (!w->window)
    {
        return knFail(kn_errorProcess, "no window with OpenGL 3.3; try --headless");
    }
    glfwMakeContextCurrent(w->window);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(w->window, w);
    glfwSetMouseButtonCallback(w->window, OnButton);
    glfwSetCursorPosCallback(w->window, OnMove);
    glfwSetScrollCallback(w->window, OnScroll);
    glfwSetKeyCallback(w->window, OnKey);
    return kn_success;
}

static knResult StartStage(Window* w)
{
    knStage* fresh;
    knStageDef def = *w->def->stage;
    def.config = w->controls.config;
    knResult result = knCreateStage(&fresh, &def);
    if (result != kn_success)
    {
        return result;
    }
    knDestroyStage(w->stage);
    w->stage = fresh;
    w->isHolding = false;
    w->owed = 0.0;
    knStats_Begin(&w->stats, w->stage, false);
    return w->def->record ? knWorld_StartRecording(w->stage->world) : kn_success;
}

// The file over the scene's own values, when it is another than last time. A wrong one changes
// nothing; the panel says why.
static void WatchConfig(Window* w, double now)
{
    struct stat status;
    if (!w->def->config || now < w->nextLook)
    {
        return;
    }
    w->nextLook = now + 0.25;
    if (stat(w->def->config, &status) != 0 || (status.st_mtim.tv_sec == w->configTime.tv_sec &&
                                               status.st_mtim.tv_nsec == w->configTime.tv_nsec))
    {
        return;
    }
    bool isFirst = w->configTime.tv_sec == 0; // it was read before the window opened
    w->configTime = status.st_mtim;
    if (isFirst)
    {
        return;
    }
    knConfig config = knScene_Config(w->stage->scene);
    knResult result = knLoadConfig(&config, w->def->config);
    result = result == kn_success ? knWorld_ApplyConfig(w->stage->world, &config) : result;
    w->isBad = result != kn_success;
    if (!w->isBad)
    {
        w->controls.config = config;
    }
    snprintf(w->message, sizeof w->message, "%s%s", w->isBad ? knLastError() : w->def->config,
             w->isBad ? "" : " was read again");
}

static knResult Advance(Window* w, double seconds)
{
    knControls* c = &w->controls;
    double dt = (double)w->stage->scene->dt;
    // a slow machine runs late rather than ever later
    w->owed = c->isPaused ? 0.0 : fmin(w->owed + (double)c->speed * seconds, 3.0 * dt);
    if (c->stepOnce)
    {
        w->owed = dt;
        c->stepOnce = false;
    }
    if (w->isHolding)
    {
        DragHeld(w);
    }
    knResult result = kn_success;
    while (result == kn_success && w->owed >= dt)
    {
        result = knStage_Step(w->stage);
        knStats_Add(&w->stats, w->stage);
        w->owed -= dt;
    }
    return result;
}

static knResult Obey(Window* w)
{
    knResult result = kn_success;
    if (w->controls.reset)
    {
        w->controls.reset = false;
        w->resetCount += 1;
        result = StartStage(w);
        knPainter_Clear(w->painter);
    }
    if (result == kn_success && w->controls.throwBall)
    {
        w->controls.throwBall = false;
        ThrowBall(w);
    }
    return result;
}

static knResult Resize(Window* w)
{
    int width = 0, height = 0;
    glfwGetFramebufferSize(w->window, &width, &height);
    bool same = width == w->width && height == w->height;
    // a window that is hidden has no size
    if (same || width == 0 || height == 0)
    {
        return kn_success;
    }
    w->width = width;
    w->height = height;
    return knView_Resize(w->view, width, height);
}

// The scene without the panel, beside earlier ones.
static void TakePicture(Window* w)
{
    const char* scene = w->stage->scene->name;
    char path[64];
    int number = 1;
    do
    {
        snprintf(path, sizeof path, "%s-%04d.png", scene, number);
    } while (access(path, F_OK) == 0 && ++number < 10000);
    knResult result = knSaveView(path, w->view, w->width, w->height);
    w->isBad = result != kn_success;
    w->pictureCount += !w->isBad;
    snprintf(w->message, sizeof w->message, "%s%s", w->isBad ? knLastError() : path,
             w->isBad ? "" : " was written");
}

static knResult ShowFrame(Window* w, double seconds)
{
    knCamera camera = MakeCamera(w);
    knResult result = Resize(w);
    result = result == kn_success
                 ? knPainter_Paint(w->painter, w->stage, &camera, &w->controls.overlays, true)
                 : result;
    knPanelInfo info = {.title = w->stage->scene->title,
                        .stats = &w->stats,
                        .pieces = w->stats.last.pieces,
                        .contacts = w->stats.last.contacts,
                        .framesPerSecond = 1.0 / fmax(seconds, 1e-3),
                        .message = w->message,
                        .isBad = w->isBad};
    if (knDrawPanel(&info, &w->controls) && result == kn_success)
    {
        result = knWorld_ApplyConfig(w->stage->world, &w->controls.config);
    }
    if (result == kn_success && w->controls.takePicture)
    {
        w->controls.takePicture = false;
        TakePicture(w);
    }
    w->frame += 1;
    if (w->def->png && w->frame == w->def->frameCount)
    {
        result =
            result == kn_success ? knSaveFramebuffer(w->def->png, w->width, w->height) : result;
    }
    glfwSwapBuffers(w->window);
    return result;
}

static void WriteSliders(FILE* file)
{
    const knSettingTable* table = knContactSettings();
    fprintf(file, "  \"sliders\": {");
    for (uint32_t i = 0; i < table->count; ++i)
    {
        knSliderPlace p = knPanel_Slider(i);
        fprintf(file, "%s\n    \"%s\": [%g, %g, %g, %g]", i ? "," : "", table->rows[i].key,
                (double)p.x, (double)p.y, (double)p.width, (double)p.height);
    }
    fprintf(file, "\n  }\n}\n");
}

// Beside its place first: who watches it never reads a half.
static knResult WriteState(const Window* w)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.new", w->def->state);
    FILE* file = fopen(path, "w");
    if (!file)
    {
        return knFail(kn_errorFile, "%s: cannot be written", path);
    }
    const knControls* c = &w->controls;
    knCamera camera = MakeCamera(w);
    fprintf(file, "{\n  \"frames\": %u,\n  \"steps\": %u,\n  \"pieces\": %u,\n", w->frame,
            w->stage->step, w->stats.pieces);
    fprintf(file, "  \"balls\": %u,\n  \"holds\": %u,\n  \"resets\": %u,\n", w->ballCount,
            w->holdCount, w->resetCount);
    fprintf(file, "  \"pictures\": %u,\n", w->pictureCount);
    fprintf(file, "  \"paused\": %d,\n  \"speed\": %g,\n  \"panel\": %d,\n  \"help\": %d,\n",
            c->isPaused, (double)c->speed, c->showPanel, c->showHelp);
    fprintf(file, "  \"wireframe\": %d,\n  \"contacts\": %d,\n  \"cracks\": %d,\n",
            c->overlays.isWireframe, c->overlays.contacts, c->overlays.cracks);
    fprintf(file, "  \"spheres\": %d,\n  \"field\": %d,\n  \"xray\": %d,\n", c->overlays.spheres,
            c->overlays.field, c->overlays.isXray);
    fprintf(file, "  \"eye\": [%g, %g, %g],\n  \"firstLimit\": %u,\n  \"mostLimit\": %u,\n",
            (double)camera.eye.x, (double)camera.eye.y, (double)camera.eye.z,
            c->config.contacts.contacts, c->config.contacts.maxContacts);
    fprintf(file, "  \"bad\": %d,\n  \"message\": \"%s\",\n", w->isBad, w->message);
    WriteSliders(file);
    return fclose(file) == 0 && rename(path, w->def->state) == 0
               ? kn_success
               : knFail(kn_errorFile, "%s: cannot be written", w->def->state);
}

static knResult Loop(Window* w)
{
    knResult result = kn_success;
    double last = glfwGetTime();
    while (result == kn_success && !glfwWindowShouldClose(w->window) &&
           (w->def->frameCount == 0 || w->frame < w->def->frameCount))
    {
        glfwPollEvents();
        double now = glfwGetTime();
        double seconds = fmin(now - last, 0.25);
        last = now;
        MoveCamera(w, seconds);
        WatchConfig(w, now);
        result = Obey(w);
        result = result == kn_success ? Advance(w, seconds) : result;
        result = result == kn_success ? ShowFrame(w, seconds) : result;
        result = result == kn_success && w->def->state ? WriteState(w) : result;
    }
    return result;
}

knResult knRunWindow(const knWindowDef* def)
{
    static Window window; // the statistics are large
    Window* w = &window;
    *w = (Window){.def = def, .width = def->width, .height = def->height};
    w->controls.config = def->stage->config;
    w->controls.overlays = def->overlays;
    w->controls.speed = 1.0f;
    w->controls.showPanel = true;
    knResult result = OpenWindow(w);
    result = result == kn_success ? StartStage(w) : result;
    result = result == kn_success ? knCreateView(&w->view, def->width, def->height) : result;
    result = result == kn_success ? knCreatePainter(&w->painter, w->view) : result;
    result = result == kn_success ? knCreatePanel(w->window) : result;
    if (result == kn_success)
    {
        AimCamera(w);
        result = Loop(w);
        if (result == kn_success && def->record)
        {
            result = knStage_SaveRecording(w->stage, def->record);
        }
        knDestroyPanel();
    }
    knDestroyPainter(w->painter);
    knDestroyView(w->view);
    knDestroyStage(w->stage);
    if (w->window)
    {
        glfwDestroyWindow(w->window);
    }
    glfwTerminate();
    return result;
}
