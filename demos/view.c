// SPDX-License-Identifier: Zlib
#include "demos/view.h"

#include "demos/view_shaders.h"
#include "knap/memory.h"

#include <cglm/cglm.h>
#include <epoxy/gl.h>
#include <math.h>
#include <stddef.h>

#define SHADOW_SIZE 2048
#define SAMPLES     4
#define MAX_POINTS  (2 * KN_VIEW_LINES + 3 * KN_VIEW_TRIANGLES)

static const vec3 sunDirection = {0.45f, 0.80f, 0.40f};

typedef struct Mesh
{
    GLuint array, buffer; // 0 while free
    GLsizei count;
} Mesh;

typedef struct LineVertex
{
    knVec3 position;
    uint8_t color[4];
} LineVertex;

struct knView
{
    int width, height;
    GLuint shadowProgram, solidProgram, floorProgram, lineProgram;
    GLuint shadowMap, shadowTarget;
    GLuint samples, sampleDepth, sampleTarget; // antialiased
    GLuint picture, pictureTarget;             // resolved
    GLuint floorArray, floorBuffer;
    GLuint lineArray, lineBuffer;
    LineVertex* lineVertices;
    Mesh* meshes;
    size_t meshCapacity;
    uint32_t meshCount; // the highest in use, plus one
};

static GLuint Compile(GLenum kind, const char* text)
{
    GLuint shader = glCreateShader(kind);
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    GLint good = 0;
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (!good)
    {
        char log[512] = "";
        glGetShaderInfoLog(shader, sizeof log, NULL, log);
        (void)knFail(kn_errorProcess, "a shader does not compile: %s", log);
        glDeleteShader(shader);
        return 0;
    }
    return shader;
}

static knResult Link(const char* vertexText, const char* fragmentText, GLuint* program)
{
    GLuint vertex = Compile(GL_VERTEX_SHADER, vertexText);
    GLuint fragment = vertex ? Compile(GL_FRAGMENT_SHADER, fragmentText) : 0;
    GLint good = 0;
    if (fragment)
    {
        *program = glCreateProgram();
        glAttachShader(*program, vertex);
        glAttachShader(*program, fragment);
        glLinkProgram(*program);
        glGetProgramiv(*program, GL_LINK_STATUS, &good);
    }
    glDeleteShader(vertex);
    glDeleteShader(fragment);
    return good ? kn_success : kn_errorProcess;
}

static knResult MakePrograms(knView* v)
{
    knResult result = Link(knShadowVertex, knShadowFragment, &v->shadowProgram);
    result = result == kn_success ? Link(knSolidVertex, knSolidFragment, &v->solidProgram) : result;
    result = result == kn_success ? Link(knFloorVertex, knFloorFragment, &v->floorProgram) : result;
    return result == kn_success ? Link(knLineVertex, knLineFragment, &v->lineProgram) : result;
}

static void MakeShadow(knView* v)
{
    glGenTextures(1, &v->shadowMap);
    glBindTexture(GL_TEXTURE_2D, v->shadowMap);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE, 0,
                 GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, NULL);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE);
    glGenFramebuffers(1, &v->shadowTarget);
    glBindFramebuffer(GL_FRAMEBUFFER, v->shadowTarget);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, v->shadowMap, 0);
    glDrawBuffer(GL_NONE);
    glReadBuffer(GL_NONE);
}

static void MakeFloor(knView* v)
{
    static const float corners[] = {-1.0f, -1.0f, -1.0f, 1.0f, 1.0f, -1.0f, 1.0f, 1.0f};
    glGenVertexArrays(1, &v->floorArray);
    glGenBuffers(1, &v->floorBuffer);
    glBindVertexArray(v->floorArray);
    glBindBuffer(GL_ARRAY_BUFFER, v->floorBuffer);
    glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
    glEnableVertexAttribArray(0);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
}

static void MakeLines(knView* v)
{
    glGenVertexArrays(1, &v->lineArray);
    glGenBuffers(1, &v->lineBuffer);
    glBindVertexArray(v->lineArray);
    glBindBuffer(GL_ARRAY_BUFFER, v->lineBuffer);
    glBufferData(GL_ARRAY_BUFFER, MAX_POINTS * sizeof(LineVertex), NULL, GL_STREAM_DRAW);
    glEnableVertexAttribArray(0);
    glEnableVertexAttribArray(1);
    glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, sizeof(LineVertex), NULL);
    glVertexAttribPointer(1, 4, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(LineVertex),
                          (void*)offsetof(LineVertex, color));
}

static void DropTargets(knView* v)
{
    glDeleteFramebuffers(1, &v->sampleTarget);
    glDeleteFramebuffers(1, &v->pictureTarget);
    glDeleteRenderbuffers(1, &v->samples);
    glDeleteRenderbuffers(1, &v->sampleDepth);
    glDeleteRenderbuffers(1, &v->picture);
}

knResult knView_Resize(knView* v, int width, int height)
{
    if (width < 1 || height < 1 || width > 16384 || height > 16384)
    {
        return knFail(kn_errorArgument, "a picture of %d by %d; from 1 to 16384 makes sense", width,
                      height);
    }
    GLint before = 0;
    glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &before);
    DropTargets(v);
    v->width = width;
    v->height = height;
    glGenRenderbuffers(1, &v->samples);
    glBindRenderbuffer(GL_RENDERBUFFER, v->samples);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, SAMPLES, GL_RGBA8, width, height);
    glGenRenderbuffers(1, &v->sampleDepth);
    glBindRenderbuffer(GL_RENDERBUFFER, v->sampleDepth);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, SAMPLES, GL_DEPTH_COMPONENT24, width, height);
    glGenFramebuffers(1, &v->sampleTarget);
    glBindFramebuffer(GL_FRAMEBUFFER, v->sampleTarget);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, v->samples);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, v->sampleDepth);
    bool good = glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
    glGenRenderbuffers(1, &v->picture);
    glBindRenderbuffer(GL_RENDERBUFFER, v->picture);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
    glGenFramebuffers(1, &v->pictureTarget);
    glBindFramebuffer(GL_FRAMEBUFFER, v->pictureTarget);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, v->picture);
    good = good && glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
    glBindFramebuffer(GL_FRAMEBUFFER, (GLuint)before);
    return good ? kn_success
                : knFail(kn_errorProcess,
                         "no antialiased picture of %d by %d; the "
                         "driver needs OpenGL 3.3",
                         width, height);
}

knResult knCreateView(knView** out, int width, int height)
{
    if (epoxy_gl_version() < 33)
    {
        return knFail(kn_errorProcess, "OpenGL 3.3 is needed, this context has %d.%d",
                      epoxy_gl_version() / 10, epoxy_gl_version() % 10);
    }
    knView* v = knAllocate(NULL, 1, sizeof(knView));
    LineVertex* lines = knAllocate(NULL, MAX_POINTS, sizeof(LineVertex));
    if (!v || !lines)
    {
        knRelease(NULL, v, 1, sizeof(knView));
        knRelease(NULL, lines, MAX_POINTS, sizeof(LineVertex));
        return kn_errorMemory;
    }
    *v = (knView){.lineVertices = lines, .meshCount = 1};
    knResult result = MakePrograms(v);
    result = result == kn_success ? knView_Resize(v, width, height) : result;
    if (result != kn_success)
    {
        knDestroyView(v);
        return result;
    }
    MakeShadow(v);
    MakeFloor(v);
    MakeLines(v);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    *out = v;
    return kn_success;
}

void knDestroyView(knView* v)
{
    if (!v)
    {
        return;
    }
    for (uint32_t i = 1; i < v->meshCount; ++i)
    {
        knView_RemoveMesh(v, i);
    }
    DropTargets(v);
    glDeleteProgram(v->shadowProgram);
    glDeleteProgram(v->solidProgram);
    glDeleteProgram(v->floorProgram);
    glDeleteProgram(v->lineProgram);
    glDeleteTextures(1, &v->shadowMap);
    glDeleteFramebuffers(1, &v->shadowTarget);
    glDeleteVertexArrays(1, &v->floorArray);
    glDeleteBuffers(1, &v->floorBuffer);
    glDeleteVertexArrays(1, &v->lineArray);
    glDeleteBuffers(1, &v->lineBuffer);
    knRelease(NULL, v->lineVertices, MAX_POINTS, sizeof(LineVertex));
    knRelease(NULL, v->meshes, v->meshCapacity, sizeof(Mesh));
    knRelease(NULL, v, 1, sizeof(knView));
}

static knResult FindSlot(knView* v, uint32_t* slot)
{
    for (uint32_t i = 1; i < v->meshCount; ++i)
    {
        if (v->meshes[i].array == 0)
        {
            *slot = i;
            return kn_success;
        }
    }
    knResult result =
        knGrow(NULL, (void**)&v->meshes, &v->meshCapacity, v->meshCount + 1, sizeof(Mesh));
    if (result == kn_success)
    {
        *slot = v->meshCount++;
        v->meshes[*slot] = (Mesh){0};
    }
    return result;
}

knResult knView_AddMesh(knView* v, const knViewVertex* vertices, uint32_t count, uint32_t* mesh)
{
    uint32_t slot;
    knResult result = FindSlot(v, &slot);
    if (result != kn_success)
    {
        return result;
    }
    Mesh* m = &v->meshes[slot];
    glGenVertexArrays(1, &m->array);
    glGenBuffers(1, &m->buffer);
    glBindVertexArray(m->array);
    glBindBuffer(GL_ARRAY_BUFFER, m->buffer);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(count * sizeof(knViewVertex)), vertices,
                 GL_STATIC_DRAW);
    for (GLuint i = 0; i < 3; ++i)
    {
        static const size_t offsets[] = {offsetof(knViewVertex, position),
                                         offsetof(knViewVertex, normal),
                                         offsetof(knViewVertex, interior)};
        glEnableVertexAttribArray(i);
        glVertexAttribPointer(i, i < 2 ? 3 : 1, GL_FLOAT, GL_FALSE, sizeof(knViewVertex),
                              (void*)offsets[i]);
    }
    m->count = (GLsizei)count;
    *mesh = slot;
    return kn_success;
}

void knView_RemoveMesh(knView* v, uint32_t mesh)
{
    if (mesh > 0 && mesh < v->meshCount && v->meshes[mesh].array != 0)
    {
        glDeleteVertexArrays(1, &v->meshes[mesh].array);
        glDeleteBuffers(1, &v->meshes[mesh].buffer);
        v->meshes[mesh] = (Mesh){0};
    }
}

static void ModelMatrix(const knInstance* instance, mat4 m)
{
    knTransform t = instance->transform;
    versor q = {t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w};
    vec3 scale = {instance->scale.x, instance->scale.y, instance->scale.z};
    glm_quat_mat4(q, m);
    glm_scale(m, scale);
    m[3][0] = t.position.x;
    m[3][1] = t.position.y;
    m[3][2] = t.position.z;
}

static void Uniform(GLuint program, const char* name, mat4 m)
{
    glUniformMatrix4fv(glGetUniformLocation(program, name), 1, GL_FALSE, m[0]);
}

static void Uniform3(GLuint program, const char* name, knVec3 p)
{
    glUniform3f(glGetUniformLocation(program, name), p.x, p.y, p.z);
}

static void Uniform1(GLuint program, const char* name, float x)
{
    glUniform1f(glGetUniformLocation(program, name), x);
}

// The sun sees a square around the focus, moved in whole texels so that shadows do not crawl.
static void LightMatrix(const knFrame* f, mat4 m)
{
    vec3 sun, eye, up = {0.0f, 1.0f, 0.0f};
    glm_vec3_normalize_to((float*)sunDirection, sun);
    float texel = 2.0f * f->reach / (float)SHADOW_SIZE;
    vec3 center = {texel * floorf(f->focus.x / texel), f->focus.y,
                   texel * floorf(f->focus.z / texel)};
    glm_vec3_copy(center, eye);
    glm_vec3_muladds(sun, 3.0f * f->reach, eye);
    mat4 look, project;
    glm_lookat(eye, center, up, look);
    glm_ortho(-f->reach, f->reach, -f->reach, f->reach, 0.1f * f->reach, 6.0f * f->reach, project);
    glm_mat4_mul(project, look, m);
}

static void CameraMatrix(const knView* v, const knCamera* c, mat4 m)
{
    vec3 eye = {c->eye.x, c->eye.y, c->eye.z};
    vec3 target = {c->target.x, c->target.y, c->target.z};
    vec3 up = {0.0f, 1.0f, 0.0f};
    float distance = knDistance(c->eye, c->target);
    mat4 look, project;
    glm_lookat(eye, target, up, look);
    glm_perspective(c->fieldOfView, (float)v->width / (float)v->height, 0.02f * distance,
                    60.0f * distance, project);
    project[2][0] = -c->shift;
    glm_mat4_mul(project, look, m);
}

static float Opacity(const knFrame* f, const knInstance* instance)
{
    return f->isXray ? fminf(0.25f, instance->opacity) : instance->opacity;
}

static void DrawShadows(const knView* v, const knFrame* f, mat4 light)
{
    glBindFramebuffer(GL_FRAMEBUFFER, v->shadowTarget);
    glViewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    glClear(GL_DEPTH_BUFFER_BIT);
    glUseProgram(v->shadowProgram);
    glEnable(GL_POLYGON_OFFSET_FILL);
    glPolygonOffset(1.5f, 3.0f);
    for (uint32_t i = 0; i < f->instanceCount; ++i)
    {
        const knInstance* instance = &f->instances[i];
        const Mesh* mesh = &v->meshes[instance->mesh];
        mat4 model, all;
        ModelMatrix(instance, model);
        glm_mat4_mul(light, model, all);
        Uniform(v->shadowProgram, "lightFromModel", all);
        Uniform1(v->shadowProgram, "opacity", Opacity(f, instance));
        glBindVertexArray(mesh->array);
        glDrawArrays(GL_TRIANGLES, 0, mesh->count);
    }
    glDisable(GL_POLYGON_OFFSET_FILL);
}

static void SetLight(const knView* v, GLuint program, mat4 camera, mat4 light)
{
    vec3 sun;
    glm_vec3_normalize_to((float*)sunDirection, sun);
    glUseProgram(program);
    Uniform(program, "clipFromWorld", camera);
    Uniform(program, "lightFromWorld", light);
    Uniform3(program, "sunDirection", knMakeVec3(sun[0], sun[1], sun[2]));
    glUniform1i(glGetUniformLocation(program, "shadowMap"), 0);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, v->shadowMap);
}

static void DrawSolid(const knView* v, const knFrame* f, const knInstance* instance)
{
    GLuint p = v->solidProgram;
    mat4 model;
    ModelMatrix(instance, model);
    Uniform(p, "worldFromModel", model);
    Uniform3(p, "outsideColor", instance->color);
    Uniform3(p, "insideColor", instance->insideColor);
    Uniform1(p, "gloss", instance->gloss);
    Uniform1(p, "opacity", Opacity(f, instance));
    glBindVertexArray(v->meshes[instance->mesh].array);
    glDrawArrays(GL_TRIANGLES, 0, v->meshes[instance->mesh].count);
}

static void DrawSolidsThat(const knView* v, const knFrame* f, bool areFaint)
{
    for (uint32_t i = 0; i < f->instanceCount; ++i)
    {
        bool isFaint = f->isXray || f->instances[i].opacity < 1.0f;
        if (isFaint == areFaint && f->instances[i].opacity > 0.0f)
        {
            DrawSolid(v, f, &f->instances[i]);
        }
    }
}

// Only the nearest face of what fades, so that none of its own shows through; under x-rays all.
static void DrawFaint(const knView* v, const knFrame* f)
{
    if (!f->isXray)
    {
        glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
        DrawSolidsThat(v, f, true);
        glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    }
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    glDepthFunc(GL_LEQUAL);
    glDepthMask(GL_FALSE);
    DrawSolidsThat(v, f, true);
    glDepthMask(GL_TRUE);
    glDepthFunc(GL_LESS);
    glDisable(GL_BLEND);
}

static void DrawSolids(const knView* v, const knFrame* f, mat4 camera, mat4 light)
{
    SetLight(v, v->solidProgram, camera, light);
    Uniform3(v->solidProgram, "eye", f->camera.eye);
    glPolygonMode(GL_FRONT_AND_BACK, f->isWireframe ? GL_LINE : GL_FILL);
    DrawSolidsThat(v, f, false);
    DrawFaint(v, f);
    glPolygonMode(GL_FRONT_AND_BACK, GL_FILL);
}

static void DrawFloor(const knView* v, const knFrame* f, mat4 camera, mat4 light)
{
    SetLight(v, v->floorProgram, camera, light);
    Uniform3(v->floorProgram, "eye", f->camera.eye);
    Uniform3(v->floorProgram, "focus", f->focus);
    Uniform1(v->floorProgram, "reach", 8.0f * f->reach);
    Uniform1(v->floorProgram, "tile", f->reach > 2.0f ? 1.0f : f->reach > 0.5f ? 0.25f : 0.1f);
    glBindVertexArray(v->floorArray);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static LineVertex MakeLineVertex(knVec3 p, uint32_t color)
{
    return (LineVertex){p, {(uint8_t)(color >> 16), (uint8_t)(color >> 8), (uint8_t)color, 255}};
}

static void DrawLines(const knView* v, const knFrame* f, mat4 camera)
{
    uint32_t count = f->lineCount < KN_VIEW_LINES ? f->lineCount : KN_VIEW_LINES;
    uint32_t fills = f->triangleCount < KN_VIEW_TRIANGLES ? f->triangleCount : KN_VIEW_TRIANGLES;
    LineVertex* fill = v->lineVertices + 2 * count;
    for (uint32_t i = 0; i < count; ++i)
    {
        v->lineVertices[2 * i] = MakeLineVertex(f->lines[i].a, f->lines[i].color);
        v->lineVertices[2 * i + 1] = MakeLineVertex(f->lines[i].b, f->lines[i].color);
    }
    for (uint32_t i = 0; i < 3 * fills; ++i)
    {
        fill[i] = MakeLineVertex(f->triangles[i / 3].v[i % 3], f->triangles[i / 3].color);
    }
    glUseProgram(v->lineProgram);
    Uniform(v->lineProgram, "clipFromWorld", camera);
    glBindVertexArray(v->lineArray);
    glBindBuffer(GL_ARRAY_BUFFER, v->lineBuffer);
    glBufferSubData(GL_ARRAY_BUFFER, 0, (GLsizeiptr)((2 * count + 3 * fills) * sizeof(LineVertex)),
                    v->lineVertices);
    glLineWidth(1.0f);
    glDrawArrays(GL_TRIANGLES, (GLint)(2 * count), (GLsizei)(3 * fills));
    // contacts are between bodies: seen through them
    glDisable(GL_DEPTH_TEST);
    glDrawArrays(GL_LINES, 0, (GLsizei)(2 * count));
    glEnable(GL_DEPTH_TEST);
}

void knView_Draw(knView* v, const knFrame* f)
{
    GLint target = 0;
    glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &target);
    mat4 light, camera;
    LightMatrix(f, light);
    CameraMatrix(v, &f->camera, camera);
    glEnable(GL_DEPTH_TEST);
    glDepthMask(GL_TRUE);
    glDisable(GL_CULL_FACE);
    glDisable(GL_SCISSOR_TEST);
    DrawShadows(v, f, light);
    glBindFramebuffer(GL_FRAMEBUFFER, v->sampleTarget);
    glViewport(0, 0, v->width, v->height);
    glClearColor(0.80f, 0.83f, 0.86f, 1.0f);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    DrawFloor(v, f, camera, light);
    DrawSolids(v, f, camera, light);
    DrawLines(v, f, camera);
    glBindVertexArray(0);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, v->sampleTarget);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, v->pictureTarget);
    glBlitFramebuffer(0, 0, v->width, v->height, 0, 0, v->width, v->height, GL_COLOR_BUFFER_BIT,
                      GL_NEAREST);
    if (f->isShown)
    {
        glBindFramebuffer(GL_READ_FRAMEBUFFER, v->pictureTarget);
        glBindFramebuffer(GL_DRAW_FRAMEBUFFER, (GLuint)target);
        glBlitFramebuffer(0, 0, v->width, v->height, 0, 0, v->width, v->height, GL_COLOR_BUFFER_BIT,
                          GL_NEAREST);
    }
    glBindFramebuffer(GL_FRAMEBUFFER, (GLuint)target);
}

void knView_ReadPixels(knView* v, uint8_t* rgb)
{
    GLint before = 0;
    glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &before);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, v->pictureTarget);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    for (int y = 0; y < v->height; ++y)
    {
        glReadPixels(0, v->height - 1 - y, v->width, 1, GL_RGB, GL_UNSIGNED_BYTE,
                     rgb + (size_t)3 * (size_t)v->width * (size_t)y);
    }
    glBindFramebuffer(GL_READ_FRAMEBUFFER, (GLuint)before);
}

void knCamera_Ray(const knCamera* camera, float x, float y, float width, float height, knVec3* from,
                  knVec3* direction)
{
    knVec3 forward = knNormalize(knSub(camera->target, camera->eye));
    knVec3 right = knNormalize(knCross(forward, knMakeVec3(0.0f, 1.0f, 0.0f)));
    knVec3 up = knCross(right, forward);
    float t = tanf(0.5f * camera->fieldOfView);
    float u = t * (2.0f * x / width - 1.0f - camera->shift) * width / height;
    float w = t * (1.0f - 2.0f * y / height);
    *from = camera->eye;
    *direction = knNormalize(knAddScaled(knAddScaled(forward, u, right), w, up));
}
