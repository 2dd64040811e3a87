// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // open_memstream

#include "selfcollide_ccd.h"

#include "command.h"
#include "file.h"
#include "frame.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Steps
{
    const knCcdFrames* job;
    knCcdStep* step; // kept from frame to frame
    knTaskPool* pool;
    knJson json; // of the statistics
} Steps;

bool knTakeCcdWord(knCcdStepDef* def, const char* word)
{
    static const struct
    {
        const char* name;
        int field, value; // method, culling, solver, instructions, rebuild, build, bound
    } words[] = {{"features", 0, kn_ccdFeatures},
                 {"triangles", 0, kn_ccdTriangles},
                 {"everytest", 0, kn_ccdEveryTest},
                 {"cull", 1, kn_ccdCullExact},
                 {"nocull", 1, kn_ccdCullNone},
                 {"cones", 1, kn_ccdCullCones},
                 {"conesonly", 1, kn_ccdCullConesOnly},
                 {"boundary", 1, kn_ccdCullBoundary},
                 {"dualcones", 1, kn_ccdCullDualCones},
                 {"conservative", 2, kn_ccdConservative},
                 {"cubic", 2, kn_ccdCubic},
                 {"filtered", 2, kn_ccdFiltered},
                 {"scalar", 3, kn_instructionsScalar},
                 {"sse", 3, kn_instructionsSse},
                 {"avx2", 3, kn_instructionsAvx2},
                 {"refit", 4, false},
                 {"rebuild", 4, true},
                 {"median", 5, kn_ccdByMedians},
                 {"connectivity", 5, kn_ccdByConnectivity},
                 {"boxes", 6, kn_ccdBoxes},
                 {"dops", 6, kn_ccdDops}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
    {
        if (strcmp(word, words[i].name) == 0)
        {
            int field = words[i].field, value = words[i].value;
            def->method = field == 0 ? (knCcdMethod)value : def->method;
            def->culling = field == 1 ? (knCcdCulling)value : def->culling;
            def->solver = field == 2 ? (knCcdSolver)value : def->solver;
            def->instructions = field == 3 ? (knInstructionSet)value : def->instructions;
            def->rebuild = field == 4 ? value != 0 : def->rebuild;
            def->build = field == 5 ? (knCcdBuild)value : def->build;
            def->bound = field == 6 ? (knCcdBound)value : def->bound;
            return true;
        }
    }
    return false;
}

static double NowMs(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

// Vertices are numbered first, then edges, then faces.
static void PrintContacts(FILE* out, const knCcdStep* step, size_t vertexCount)
{
    size_t count, edgeCount;
    const knCcdContact* contacts = knCcdStep_Contacts(step, &count);
    knCcdStep_Edges(step, &edgeCount);
    for (size_t i = 0; i < count; ++i)
    {
        const knCcdContact* c = &contacts[i];
        bool isEdges = c->kind == kn_ccdEdgeEdge;
        // to the last digit: a time that is rounded up would no longer be before the contact
        fprintf(out, "%s %zu %zu %.17g\n", isEdges ? "ee" : "vf",
                c->a + (isEdges ? vertexCount : 0), c->b + vertexCount + (isEdges ? 0 : edgeCount),
                c->time);
    }
}

static int WriteContacts(const Steps* steps, const knCcdStep* step, size_t vertexCount, int index)
{
    if (!steps->job->featuresPath)
    {
        PrintContacts(stdout, step, vertexCount);
        return kn_exitOk;
    }
    char path[4096];
    snprintf(path, sizeof path, steps->job->frameCount > 2 ? "%s.%d" : "%s",
             steps->job->featuresPath, index);
    char* text = NULL;
    size_t size = 0;
    FILE* out = open_memstream(&text, &size);
    if (!out)
    {
        knFail(kn_errorMemory, "no memory for the contacts");
        return knReportFailure(kn_exitInternal);
    }
    PrintContacts(out, step, vertexCount);
    fclose(out);
    knResult result = knWriteFile(path, text, size);
    free(text);
    return result == kn_success ? kn_exitOk : knReportFailure(kn_exitUnwritable);
}

static void JsonStep(knJson* json, const knCcdStep* step, const char* path, bool isDouble,
                     double ms)
{
    size_t count, edges = 0;
    const knCcdContact* contacts = knCcdStep_Contacts(step, &count);
    knCcdFunnel f = knCcdStep_Funnel(step);
    double first = 1.0;
    for (size_t i = 0; i < count; ++i)
    {
        edges += contacts[i].kind == kn_ccdEdgeEdge;
        first = contacts[i].time < first ? contacts[i].time : first;
    }
    fprintf(stderr, "%s: %zu edge-edge, %zu vertex-face contacts, the first at %.9g; %.2f ms\n",
            knFileName(path), edges, count - edges, first, ms);
    knJson_BeginObject(json, NULL);
    knJson_String(json, "file", path);
    knJson_Count(json, "edge_edge", edges);
    knJson_Count(json, "vertex_face", count - edges);
    knJson_Number(json, "first_time", first);
    knJson_Count(json, "node_tests", f.nodeTests);
    knJson_Count(json, "edge_tests", f.edgeTests);
    knJson_Count(json, "face_tests", f.faceTests);
    knJson_Count(json, "exact_tests", f.exactTests);
    knJson_Count(json, "orphan_tests", f.orphanTests);
    knJson_Count(json, "culled_nodes", f.culledNodes);
    knJson_Count(json, "steps", f.steps);
    knJson_Count(json, "capped_tests", f.cappedTests);
    knJson_Bool(json, "doubles", isDouble);
    knJson_Number(json, "ccd_ms", ms);
    knJson_EndObject(json);
}

// From one frame to the next, with the faces of the latter.
static int RunStep(Steps* steps, const knFrame* from, const knFrame* to, const char* path,
                   int index)
{
    if (from->positionCount != to->positionCount)
    {
        fprintf(stderr,
                "knap: %s has %zu vertices after %zu: there is no motion between these frames\n",
                knFileName(path), to->positionCount, from->positionCount);
        return kn_exitUnreadable;
    }
    knTaskHooks hooks = knTaskPool_Hooks(steps->pool);
    knCcdStepDef def = steps->job->def;
    def.start = from->positions;
    def.end = to->positions;
    def.exactStart = from->isExact && to->isExact ? NULL : from->exact;
    def.exactEnd = from->isExact && to->isExact ? NULL : to->exact;
    def.vertexCount = (uint32_t)to->positionCount;
    def.triangles = to->triangles;
    def.triangleCount = (uint32_t)to->triangleCount;
    def.tasks = steps->job->threads > 1 ? &hooks : NULL;
    double begin = NowMs();
    knResult result = knCcdStep_Run(steps->step, &def);
    if (result != kn_success)
    {
        return knReportFailure(result == kn_errorArgument ? kn_exitUsage : kn_exitInternal);
    }
    JsonStep(&steps->json, steps->step, path, def.exactStart != NULL, NowMs() - begin);
    return WriteContacts(steps, steps->step, to->positionCount, index);
}

static int RunFrames(Steps* steps)
{
    char** frames = steps->job->frames;
    knFrame from = {0}, to = {0};
    int code = kn_exitOk;
    for (int i = 0; i < steps->job->frameCount && code == kn_exitOk; ++i)
    {
        if (knReadFrame(&to, frames[i], NULL) != kn_success)
        {
            code = knReportFailure(kn_exitUnreadable);
            break;
        }
        if (!to.isTriangular)
        {
            // the edges that a polygon has and those within it would be numbered alike
            knFail(kn_errorFormat, "%s: --ccd takes faces of three corners only", frames[i]);
            code = knReportFailure(kn_exitUnreadable);
            knDestroyFrame(&to);
            break;
        }
        code = i > 0 ? RunStep(steps, &from, &to, frames[i], i - 1) : kn_exitOk;
        knDestroyFrame(&from);
        from = to;
        to = (knFrame){0};
    }
    knDestroyFrame(&from);
    return code;
}

// The step and its workers live as long as the frames go on.
static int RunSteps(Steps* steps)
{
    int code = knCreateCcdStep(&steps->step, NULL) == kn_success &&
                       knCreateTaskPool(&steps->pool, steps->job->threads, NULL) == kn_success
                   ? RunFrames(steps)
                   : knReportFailure(kn_exitInternal);
    knDestroyCcdStep(steps->step);
    knDestroyTaskPool(steps->pool);
    return code;
}

int knRunCcdFrames(const knCcdFrames* job)
{
    if (job->frameCount < 2)
    {
        return knUsageError("selfcollide", "--ccd needs two frames at least");
    }
    char* text = NULL;
    size_t size = 0;
    FILE* out = open_memstream(&text, &size);
    if (!out)
    {
        knFail(kn_errorMemory, "no memory for the statistics");
        return knReportFailure(kn_exitInternal);
    }
    Steps steps = {.job = job, .json = knMakeJson(out)};
    knJson_BeginObject(&steps.json, NULL);
    knJson_BeginArray(&steps.json, "steps");
    int code = RunSteps(&steps);
    knJson_EndArray(&steps.json);
    knJson_EndObject(&steps.json);
    fclose(out);
    if (code == kn_exitOk && job->statsPath &&
        knWriteFile(job->statsPath, text, size) != kn_success)
    {
        code = knReportFailure(kn_exitUnwritable);
    }
    free(text);
    return code;
}
