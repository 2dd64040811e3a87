// SPDX-License-Identifier: Zlib
#include "bench/benches.h"
#include "bench/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Table 1 of the paper.
static const struct
{
    const char* name;
    double triangles, tetrahedra, points;
} meshes[] = {
    {"piggy", 9722, 20807, 5870}, {"bunny", 7940, 18767, 5089}, {"brick", 468, 594, 224},
    {"plate", 5392, 8617, 2711},  {"shelf", 4652, 10200, 2989},
};

typedef struct State
{
    char knap[PATH_MAX];
    char mesh[PATH_MAX];
    char cooked[PATH_MAX];
    char report[PATH_MAX];
    char off[PATH_MAX]; // the same surface in a format that TetGen's program reads
    char peerNodes[PATH_MAX];
    char peerTets[PATH_MAX];
} State;

// Without modes: TetGen has no counterpart of them.
static knResult Cook(void* context)
{
    State* s = context;
    const char* arguments[] = {s->knap,  "cook",    s->mesh, "-o",      s->cooked,
                               "--json", "--modes", "0",     "--quiet", NULL};
    return knRunProgram(arguments, s->report);
}

static knResult CookWithModes(State* s)
{
    const char* arguments[] = {s->knap,   "cook",   s->mesh,   "-o",
                               s->cooked, "--json", "--quiet", NULL};
    return knRunProgram(arguments, s->report);
}

// TetGen alone, with the files that it writes without being asked.
static knResult RunTetGen(void* context)
{
    State* s = context;
    const char* arguments[] = {"tetgen", "-pYq2.0", s->off, NULL};
    return knRunProgram(arguments, NULL);
}

// The number behind "key": in a flat report; NaN when it is not there.
static double FindNumber(const char* text, const char* key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char* place = strstr(text, quoted);
    if (!place)
    {
        return (double)NAN;
    }
    place += strlen(quoted);
    place += strspn(place, " \t\r\n");
    char* end = NULL;
    double number = *place == ':' ? strtod(place + 1, &end) : 0.0;
    return end && end != place + 1 ? number : (double)NAN;
}

// The first number of the file, which is a count; NaN when there is none.
static double FirstNumber(const char* path)
{
    double number = (double)NAN;
    FILE* file = fopen(path, "r");
    if (file)
    {
        number = fscanf(file, "%lf", &number) == 1 ? number : (double)NAN;
        fclose(file);
    }
    return number;
}

static knResult AddCount(knBenchRun* run, const char* name, const char* metric, double ours,
                         double peer, double paper)
{
    if (!isfinite(ours))
    {
        return knFail(kn_errorFormat, "%s: the report of knap cook has no \"%s\"", name, metric);
    }
    knBenchRow row = knBenchRun_MakeRow(run, name, metric, "1");
    row.ours = ours;
    row.peer = peer;
    row.paper = paper;
    snprintf(row.peerName, sizeof row.peerName, "%s", isfinite(peer) ? "tetgen -pYq2.0" : "");
    snprintf(row.note, sizeof row.note, "no ratio: neither more nor fewer is better");
    return knBenchRun_AddRow(run, &row);
}

#define REPORT_CAPACITY 16384

static knResult ReadReport(const State* s, char text[REPORT_CAPACITY])
{
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knReadWholeFile(s->report, &bytes, &size);
    if (result == kn_success)
    {
        size_t kept = size < REPORT_CAPACITY - 1 ? size : REPORT_CAPACITY - 1;
        memcpy(text, bytes, kept);
        text[kept] = 0;
        knRelease(NULL, bytes, size, 1);
    }
    return result;
}

static knResult AddModeRow(knBenchRun* run, const char* name, const char* metric, const char* unit,
                           double value)
{
    knBenchRow row = knBenchRun_MakeRow(run, name, metric, unit);
    row.ours = value;
    row.peer = row.paper = (double)NAN;
    snprintf(row.note, sizeof row.note, "one run, what modes add to the cooking");
    return knBenchRun_AddRow(run, &row);
}

// `bytes` is the size of the file without modes.
static knResult AddModes(knBenchRun* run, State* s, size_t mesh, double bytes)
{
    char text[REPORT_CAPACITY] = {0};
    knResult result = CookWithModes(s);
    result = result == kn_success ? ReadReport(s, text) : result;
    double seconds = FindNumber(text, "modeSeconds"), all = FindNumber(text, "bytes");
    if (result == kn_success && !(isfinite(seconds) && isfinite(all)))
    {
        result = knFail(kn_errorFormat, "the report of knap cook has no modes");
    }
    const char* name = meshes[mesh].name;
    result = result == kn_success ? AddModeRow(run, name, "mode seconds", "s", seconds) : result;
    return result == kn_success ? AddModeRow(run, name, "mode bytes", "B", all - bytes) : result;
}

static knResult AddCounts(knBenchRun* run, State* s, size_t mesh, bool hasPeer)
{
    char text[REPORT_CAPACITY] = {0};
    knResult result = ReadReport(s, text);
    if (result != kn_success)
    {
        return result;
    }
    double none = (double)NAN;
    double peerTets = hasPeer ? FirstNumber(s->peerTets) : none;
    double peerNodes = hasPeer ? FirstNumber(s->peerNodes) : none;
    const char* name = meshes[mesh].name;
    result = AddCount(run, name, "triangles", FindNumber(text, "triangles"), none,
                      meshes[mesh].triangles);
    result = result == kn_success
                 ? AddCount(run, name, "tetrahedra", FindNumber(text, "tetrahedra"), peerTets,
                            meshes[mesh].tetrahedra)
                 : result;
    result = result == kn_success ? AddCount(run, name, "points", FindNumber(text, "points"),
                                             peerNodes, meshes[mesh].points)
                                  : result;
    // a quick run shows that it works on the smallest mesh
    bool wanted = !run->options.quick || strcmp(name, "brick") == 0;
    return result == kn_success && wanted ? AddModes(run, s, mesh, FindNumber(text, "bytes"))
                                          : result;
}

static knResult BenchMesh(knBenchRun* run, State* s, size_t mesh, bool hasPeer)
{
    knResult result = kn_success;
    if (hasPeer)
    {
        result = knConvertObjToOff(s->mesh, s->off);
        knMeasureDef def = knDefaultMeasureDef(run);
        def.caseName = meshes[mesh].name;
        def.metric = "seconds";
        def.unit = "s";
        def.scale = 1.0;
        def.ours = Cook;
        def.peer = RunTetGen;
        def.context = s;
        def.peerName = "tetgen -pYq2.0";
        def.note = "whole programs; ours also checks the mesh and writes all sections";
        def.repetitions = run->options.quick ? 1 : 5;
        result = result == kn_success ? knBenchRun_Measure(run, &def) : result;
    }
    else
    {
        result = Cook(s);
    }
    return result == kn_success ? AddCounts(run, s, mesh, hasPeer) : result;
}

static knResult FillPaths(State* s, const char* scratch)
{
    knResult result = knJoinPath(s->cooked, scratch, "mesh.knap");
    result = result == kn_success ? knJoinPath(s->report, scratch, "report.json") : result;
    result = result == kn_success ? knJoinPath(s->off, scratch, "mesh.off") : result;
    result = result == kn_success ? knJoinPath(s->peerNodes, scratch, "mesh.1.node") : result;
    return result == kn_success ? knJoinPath(s->peerTets, scratch, "mesh.1.ele") : result;
}

// A mesh that fails does not keep the others from being measured.
static knResult BenchMeshes(knBenchRun* run, State* s, const char* folder)
{
    bool hasPeer = knProgramIsInPath("tetgen");
    if (!hasPeer)
    {
        knBenchRun_Skip(run, "the rows of seconds", "tetgen is not in PATH");
    }
    knResult failure = kn_success;
    for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; ++i)
    {
        char file[64];
        snprintf(file, sizeof file, "%s.obj", meshes[i].name);
        knResult result = knJoinPath(s->mesh, folder, file);
        if (result == kn_success && !knPathExists(s->mesh))
        {
            knBenchRun_Skip(run, file, "no such mesh in the folder");
            continue;
        }
        result = result == kn_success ? BenchMesh(run, s, i, hasPeer) : result;
        if (result != kn_success)
        {
            fprintf(stderr, "knap-bench: %s: %s: %s\n", run->bench, file, knLastError());
            failure = result;
        }
    }
    return failure;
}

static knResult Run(knBenchRun* run)
{
    static State s;
    char program[PATH_MAX], folder[PATH_MAX], scratch[PATH_MAX];
    knResult result = knProgramFolder(program);
    result = result == kn_success ? knJoinPath(s.knap, program, "knap") : result;
    if (result != kn_success)
    {
        return result;
    }
    if (!knPathExists(s.knap))
    {
        knBenchRun_Skip(run, "all rows", "there is no knap beside knap-bench");
        return kn_success;
    }
    const char* given = run->options.meshPath;
    snprintf(folder, sizeof folder, "%s", given ? given : "");
    if (!given && knFindUpwards(folder, "demos/assets") != kn_success)
    {
        knBenchRun_Skip(run, "all rows", "no demos/assets above knap-bench; name it with --meshes");
        return kn_success;
    }
    result = knMakeScratchFolder(scratch);
    if (result == kn_success)
    {
        result = FillPaths(&s, scratch);
        result = result == kn_success ? BenchMeshes(run, &s, folder) : result;
        knRemoveScratchFolder(scratch);
    }
    return result;
}

const knBench knBenchCook = {"cook", "knap cook on the demo meshes beside TetGen and the paper",
                             Run};
