// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // open_memstream

#include "selfcollide_ccd.h"

#include "command.h"
#include "file.h"
#include "frame.h"
#include "knap/bvh_ccd.h"

#include <stdlib.h>
#include <time.h>

typedef struct Steps
{
    int frameCount;
    double separation;
    const char* featuresPath;
    knJson json; // of the statistics
} Steps;

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
        fprintf(out, "%s %zu %zu %.9g\n", isEdges ? "ee" : "vf", c->a + (isEdges ? vertexCount : 0),
                c->b + vertexCount + (isEdges ? 0 : edgeCount), c->time);
    }
}

static int WriteContacts(const Steps* steps, const knCcdStep* step, size_t vertexCount, int index)
{
    if (!steps->featuresPath)
    {
        PrintContacts(stdout, step, vertexCount);
        return kn_exitOk;
    }
    char path[4096];
    snprintf(path, sizeof path, steps->frameCount > 2 ? "%s.%d" : "%s", steps->featuresPath, index);
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

static void JsonStep(knJson* json, const knCcdStep* step, const char* path, double ms)
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
    knJson_Count(json, "steps", f.steps);
    knJson_Count(json, "capped_tests", f.cappedTests);
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
    knCcdStepDef def = knDefaultCcdStepDef();
    def.start = from->positions;
    def.end = to->positions;
    def.vertexCount = (uint32_t)to->positionCount;
    def.triangles = to->triangles;
    def.triangleCount = (uint32_t)to->triangleCount;
    def.separation = steps->separation;
    knCcdStep* step = NULL;
    double begin = NowMs();
    if (knCreateCcdStep(&step, NULL) != kn_success || knCcdStep_Run(step, &def) != kn_success)
    {
        return knReportFailure(kn_exitInternal);
    }
    JsonStep(&steps->json, step, path, NowMs() - begin);
    int code = WriteContacts(steps, step, to->positionCount, index);
    knDestroyCcdStep(step);
    return code;
}

static int RunFrames(Steps* steps, char** frames)
{
    knFrame from = {0}, to = {0};
    int code = kn_exitOk;
    for (int i = 0; i < steps->frameCount && code == kn_exitOk; ++i)
    {
        if (knReadFrame(&to, frames[i], NULL) != kn_success)
        {
            code = knReportFailure(kn_exitUnreadable);
            break;
        }
        if (to.roundedCount > 0)
        {
            fprintf(stderr, "%s: %zu coordinates were no floats and are rounded\n",
                    knFileName(frames[i]), to.roundedCount);
        }
        code = i > 0 ? RunStep(steps, &from, &to, frames[i], i - 1) : kn_exitOk;
        knDestroyFrame(&from);
        from = to;
        to = (knFrame){0};
    }
    knDestroyFrame(&from);
    return code;
}

int knRunCcdFrames(char** frames, int frameCount, double separation, const char* featuresPath,
                   const char* statsPath)
{
    if (frameCount < 2)
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
    Steps steps = {frameCount, separation, featuresPath, knMakeJson(out)};
    knJson_BeginObject(&steps.json, NULL);
    knJson_BeginArray(&steps.json, "steps");
    int code = RunFrames(&steps, frames);
    knJson_EndArray(&steps.json);
    knJson_EndObject(&steps.json);
    fclose(out);
    if (code == kn_exitOk && statsPath && knWriteFile(statsPath, text, size) != kn_success)
    {
        code = knReportFailure(kn_exitUnwritable);
    }
    free(text);
    return code;
}
