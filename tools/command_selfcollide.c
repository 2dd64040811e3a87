// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // open_memstream

#include "command.h"
#include "file.h"
#include "frame.h"
#include "knap/bvh.h"
#include "selfcollide_ccd.h"
#include "selfcollide_hierarchy.h"
#include "selfcollide_pairs.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Finds the triangle pairs of a surface that meet, frame by frame.

typedef struct Options
{
    knBvhSceneDef scene;
    knHierarchyDef hierarchy;
    bool usesHierarchy; // one of the papers' instead of the scene
    bool skipAdjacent;
    int threads;
    const char* pairsPath;
    const char* statsPath;
    const char* featuresPath;
    bool isContinuous; // between frames
    knCcdStepDef step;
    const char* method; // words, for one way or the other
    char** frames;
    int frameCount;
} Options;

typedef struct FrameStats
{
    size_t vertices, faces, triangles, pairs, missed, rounded;
    bool isUpdate; // the hierarchy of the frame before was kept
    double readMs, updateMs, queryMs;
    knBvhFunnel funnel;
    knBvhSceneInfo info;
    knHierarchyWork work;
} FrameStats;

typedef struct Job
{
    const Options* options;
    knBvhScene* scene;
    knHierarchy* hierarchy;
    knBvhQuery* query;
    knFacePairs pairs;
    knTaskPool* pool;
    knFrame frame; // the one before
    knId body;
    FrameStats* stats;
} Job;

static void PrintHelp(void)
{
    printf(
        "usage: knap selfcollide FRAME... [OPTION...]\n\n"
        "Finds every pair of triangles that meet in a surface, exactly. Frames are PLY or OBJ\n"
        "files, one per time step; while they have the same faces the hierarchy is kept and\n"
        "updated. Pairs go to standard output, or to files, one 'i j' a line, i < j, sorted;\n"
        "numbers are the file's own face indices, from 0. A polygon is the fan of triangles from\n"
        "its first corner.\n\n"
        "  --method M     how the hierarchy is built and kept, words joined by '-' or ',':\n"
        "                 median, midpoint (default), grid; refit (default), rebuild, selective;\n"
        "                 cull (default), nocull, or the papers' dualcones and cones, which may\n"
        "                 miss pairs: how many is said;\n"
        "                 balanced, lazy or swiper: another structure, on one thread;\n"
        "                 scalar, sse, avx2 (default: the best there is)\n"
        "  --no-adjacent  leave out pairs that share a vertex\n"
        "  --pairs FILE   write the pairs there; with several frames, to FILE.0, FILE.1, ...\n"
        "  --stats FILE   write counts and times as JSON\n"
        "  --threads N    workers (default 1)\n"
        "  --ccd          find the features that touch between each frame and the next, which\n"
        "                 move on straight lines, with the faces of the latter; frames must have\n"
        "                 as many vertices. A line is 'ee i j time' or 'vf v f time', where\n"
        "                 vertices are numbered first, then edges by (higher, lower) vertex, then\n"
        "                 faces; time goes from 0 to 1, and there is no contact before it. Words\n"
        "                 of --method are then features (default), triangles (pairs with "
        "orphans),\n"
        "                 everytest (all tests of all pairs); cull (default), nocull, cones, or\n"
        "                 boundary, dualcones, conesonly, which may miss; conservative (default),\n"
        "                 or cubic, filtered, which may miss; refit, rebuild; median (default) or\n"
        "                 connectivity, a tree for each object; boxes (default) or dops;\n"
        "                 scalar, sse, avx2\n"
        "  --features FILE  write these there; with more than one step, to FILE.0, FILE.1, ...\n"
        "  --separation D   with --ccd: a distance of at most D is a contact (default 0)\n"
        "  --help         this text\n\n"
        "exit codes: 0 good, 1 wrong arguments, 2 unreadable frame, 5 output not written,\n"
        "6 out of memory\n");
}

static double NowMs(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static bool TakeWord(Options* o, const char* word)
{
    knBvhSceneDef* def = &o->scene;
    static const struct
    {
        const char* name;
        int field, value; // build, update, instructions, culling, hierarchy
    } words[] = {{"median", 0, kn_bvhBuildMedian},     {"midpoint", 0, kn_bvhBuildMidpoint},
                 {"grid", 0, kn_bvhBuildGrid},         {"refit", 1, kn_bvhUpdateRefit},
                 {"rebuild", 1, kn_bvhUpdateRebuild},  {"selective", 1, kn_bvhUpdateSelective},
                 {"scalar", 2, kn_instructionsScalar}, {"sse", 2, kn_instructionsSse},
                 {"avx2", 2, kn_instructionsAvx2},     {"cull", 3, kn_bvhCullExact},
                 {"nocull", 3, kn_bvhCullNothing},     {"dualcones", 3, kn_bvhCullDualCones},
                 {"cones", 3, kn_bvhCullNormalCones},  {"balanced", 4, kn_hierarchyBalanced},
                 {"lazy", 4, kn_hierarchyLazy},        {"swiper", 4, kn_hierarchySwiper}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
    {
        if (strcmp(word, words[i].name) == 0)
        {
            def->build = words[i].field == 0 ? (knBvhBuild)words[i].value : def->build;
            def->update = words[i].field == 1 ? (knBvhUpdate)words[i].value : def->update;
            def->instructions =
                words[i].field == 2 ? (knInstructionSet)words[i].value : def->instructions;
            def->culling = words[i].field == 3 ? (knBvhCulling)words[i].value : def->culling;
            o->hierarchy.instructions = def->instructions;
            if (words[i].field == 4)
            {
                o->hierarchy.method = (knHierarchyMethod)words[i].value;
                o->usesHierarchy = true;
            }
            return true;
        }
    }
    knUsageError("selfcollide", "'%s' is no word of --method", word);
    return false;
}

static bool TakeMethod(Options* o)
{
    bool good = true;
    for (const char* text = o->method; *text && good;)
    {
        size_t length = strcspn(text, "-,");
        char word[32] = "";
        memcpy(word, text, length < sizeof word ? length : sizeof word - 1);
        good = o->isContinuous ? knTakeCcdWord(&o->step, word) : TakeWord(o, word);
        if (!good && o->isContinuous)
        {
            knUsageError("selfcollide", "'%s' is no word of --method with --ccd", word);
        }
        text += length + (text[length] != 0);
    }
    return good;
}

static bool TakeOption(Options* o, int option)
{
    double threads = 1.0;
    switch (option)
    {
    case 'm':
        o->method = optarg;
        return true;
    case 'a':
        o->skipAdjacent = true;
        return true;
    case 'p':
        o->pairsPath = optarg;
        return true;
    case 's':
        o->statsPath = optarg;
        return true;
    case 'c':
        o->isContinuous = true;
        return true;
    case 'f':
        o->featuresPath = optarg;
        o->isContinuous = true;
        return true;
    case 'd':
        return knParseNumber("selfcollide", "--separation", optarg, 0.0, 1e30, &o->step.separation);
    case 't':
        if (!knParseNumber("selfcollide", "--threads", optarg, 1, KN_MAX_WORKERS, &threads))
        {
            return false;
        }
        o->threads = (int)threads;
        return true;
    default:
        knUsageError("selfcollide", "that option is not known");
        return false;
    }
}

static bool SameFaces(const knFrame* a, const knFrame* b)
{
    return a->positionCount == b->positionCount && a->triangleCount == b->triangleCount &&
           (a->triangleCount == 0 ||
            memcmp(a->triangles, b->triangles, a->triangleCount * sizeof *a->triangles) == 0);
}

static knResult UpdateScene(Job* job, const knFrame* frame, FrameStats* stats)
{
    knTaskHooks hooks = knTaskPool_Hooks(job->pool);
    stats->isUpdate = (job->scene || job->hierarchy) && SameFaces(&job->frame, frame) &&
                      job->options->scene.update != kn_bvhUpdateRebuild;
    knResult result = kn_success;
    if (job->options->usesHierarchy)
    {
        return knUpdateFrameHierarchy(&job->hierarchy, &job->options->hierarchy, frame,
                                      stats->isUpdate);
    }
    if (stats->isUpdate)
    {
        result = knBvhScene_MoveVertices(job->scene, 0, (uint32_t)frame->positionCount,
                                         frame->positions);
    }
    else
    {
        knDestroyBvhScene(job->scene);
        job->scene = NULL;
        result = knCreateBvhScene(&job->scene, &job->options->scene, NULL);
        if (result == kn_success)
        {
            result = knBvhScene_AddVertices(job->scene, frame->positions,
                                            (uint32_t)frame->positionCount, NULL);
        }
        if (result == kn_success)
        {
            result = knBvhScene_AddBody(job->scene, frame->triangles,
                                        (uint32_t)frame->triangleCount, NULL, &job->body);
        }
    }
    return result == kn_success ? knBvhScene_Commit(job->scene, &hooks) : result;
}

// What culling by cones has lost; asked before the query whose pairs are written.
static knResult CountMissed(Job* job, FrameStats* stats)
{
    knBvhQueryDef def = knDefaultBvhQueryDef();
    def.skipAdjacent = job->options->skipAdjacent;
    size_t all = 0, found = 0;
    knResult result = knBvhQuery_Run(job->query, job->scene, &def);
    knBvhQuery_Pairs(job->query, &found);
    def.searchAll = true;
    result = result == kn_success ? knBvhQuery_Run(job->query, job->scene, &def) : result;
    knBvhQuery_Pairs(job->query, &all);
    stats->missed = all - found;
    return result;
}

static knResult QueryHierarchy(Job* job, FrameStats* stats)
{
    knBvhQueryDef def = knDefaultBvhQueryDef();
    knHierarchyInfo info;
    def.skipAdjacent = job->options->skipAdjacent;
    knResult result = knBvhQuery_RunHierarchy(job->query, job->hierarchy, &def);
    knHierarchy_Info(job->hierarchy, &info);
    stats->funnel = knBvhQuery_Funnel(job->query);
    stats->work = knHierarchy_TakeWork(job->hierarchy);
    stats->info.bytes = info.bytes;
    stats->info.brokenCount = info.brokenCount;
    return result;
}

static knResult QueryScene(Job* job, FrameStats* stats)
{
    if (job->options->usesHierarchy)
    {
        return QueryHierarchy(job, stats);
    }
    knTaskHooks hooks = knTaskPool_Hooks(job->pool);
    knBvhQueryDef def = knDefaultBvhQueryDef();
    def.skipAdjacent = job->options->skipAdjacent;
    def.tasks = &hooks;
    knResult result = knBvhQuery_Run(job->query, job->scene, &def);
    stats->funnel = knBvhQuery_Funnel(job->query);
    knBvhScene_Info(job->scene, &stats->info);
    return result;
}

static int WritePairs(Job* job, int frame)
{
    const char* path = job->options->pairsPath;
    char numbered[4096];
    if (path && job->options->frameCount > 1)
    {
        int length = snprintf(numbered, sizeof numbered, "%s.%d", path, frame);
        if (length >= (int)sizeof numbered)
        {
            knFail(kn_errorFile, "the name of the pairs' file is too long");
            return knReportFailure(kn_exitUnwritable);
        }
        path = numbered;
    }
    knResult result = knWriteFacePairs(&job->pairs, path);
    return result == kn_success
               ? kn_exitOk
               : knReportFailure(result == kn_errorMemory ? kn_exitInternal : kn_exitUnwritable);
}

static void TellFrame(const FrameStats* stats, const char* path)
{
    fprintf(stderr, "%s: %zu %s, %zu pairs; %s %.2f ms, query %.2f ms\n", knFileName(path),
            stats->faces, stats->faces == stats->triangles ? "triangles" : "faces", stats->pairs,
            stats->isUpdate ? "update" : "build", stats->updateMs, stats->queryMs);
    if (stats->info.brokenCount > 0)
    {
        fprintf(stderr, "  %u triangles have a coordinate that is not finite and meet nothing\n",
                stats->info.brokenCount);
    }
    if (stats->missed > 0)
    {
        fprintf(stderr, "  culling by cones missed %zu pairs\n", stats->missed);
    }
    if (stats->rounded > 0)
    {
        fprintf(stderr, "  %zu coordinates were no floats and are rounded\n", stats->rounded);
    }
}

static int RunFrame(Job* job, int index)
{
    FrameStats* stats = &job->stats[index];
    knFrame frame;
    double start = NowMs();
    if (knReadFrame(&frame, job->options->frames[index], NULL) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    stats->vertices = frame.positionCount;
    stats->triangles = frame.triangleCount;
    stats->faces = frame.faceCount;
    stats->rounded = frame.roundedCount;
    double read = NowMs();
    knResult result = UpdateScene(job, &frame, stats);
    stats->updateMs = NowMs() - read;
    if (result == kn_success && !job->options->usesHierarchy &&
        job->options->scene.culling > kn_bvhCullExact)
    {
        result = CountMissed(job, stats);
    }
    double updated = NowMs();
    result = result == kn_success ? QueryScene(job, stats) : result;
    stats->queryMs = NowMs() - updated;
    stats->readMs = read - start;
    result = result == kn_success
                 ? knGatherFacePairs(&job->pairs, job->query, &frame, job->options->skipAdjacent)
                 : result;
    stats->pairs = job->pairs.count;
    knDestroyFrame(&job->frame);
    job->frame = frame;
    if (result != kn_success)
    {
        return knReportFailure(kn_exitInternal);
    }
    TellFrame(stats, job->options->frames[index]);
    return WritePairs(job, index);
}

static void JsonFunnel(knJson* json, const knBvhFunnel* f)
{
    knJson_BeginObject(json, "funnel");
    knJson_Count(json, "node_tests", f->nodeTests);
    knJson_Count(json, "culled_nodes", f->culledNodes);
    knJson_Count(json, "leaf_pairs", f->leafPairs);
    knJson_Count(json, "box_pairs", f->boxPairs);
    knJson_Count(json, "filter_pairs", f->filterPairs);
    knJson_Count(json, "exact_signs", f->exactSigns);
    knJson_Count(json, "pairs", f->reportedPairs);
    knJson_EndObject(json);
}

static void JsonFrame(knJson* json, const FrameStats* s, const char* path)
{
    knJson_BeginObject(json, NULL);
    knJson_String(json, "file", path);
    knJson_Count(json, "vertices", s->vertices);
    knJson_Count(json, "faces", s->faces);
    knJson_Count(json, "triangles", s->triangles);
    knJson_Count(json, "pairs", s->pairs);
    knJson_Count(json, "missed_pairs", s->missed);
    knJson_Count(json, "rounded_coordinates", s->rounded);
    knJson_Count(json, "not_finite", s->info.brokenCount);
    knJson_Bool(json, "kept_hierarchy", s->isUpdate);
    knJson_Number(json, "read_ms", s->readMs);
    knJson_Number(json, "update_ms", s->updateMs);
    knJson_Number(json, "query_ms", s->queryMs);
    knJson_Count(json, "bytes", s->info.bytes);
    knJson_Number(json, "inter_cost", s->info.interCost);
    knJson_Number(json, "self_cost", s->info.selfCost);
    JsonFunnel(json, &s->funnel);
    knJsonHierarchyWork(json, &s->work);
    knJson_EndObject(json);
}

static int WriteStats(const Job* job)
{
    char* text = NULL;
    size_t size = 0;
    FILE* out = open_memstream(&text, &size);
    if (!out)
    {
        knFail(kn_errorMemory, "no memory for the statistics");
        return knReportFailure(kn_exitInternal);
    }
    knJson json = knMakeJson(out);
    knJson_BeginObject(&json, NULL);
    knJson_BeginArray(&json, "frames");
    for (int i = 0; i < job->options->frameCount; ++i)
    {
        JsonFrame(&json, &job->stats[i], job->options->frames[i]);
    }
    knJson_EndArray(&json);
    knJson_EndObject(&json);
    fclose(out);
    knResult result = knWriteFile(job->options->statsPath, text, size);
    free(text);
    return result == kn_success ? kn_exitOk : knReportFailure(kn_exitUnwritable);
}

static int RunJob(const Options* o)
{
    knAllocator a = knDefaultAllocator();
    Job job = {.options = o, .pairs = {.allocator = a}};
    job.stats = knAllocate(&a, (size_t)o->frameCount, sizeof *job.stats);
    int code = kn_exitOk;
    if (!job.stats || knCreateBvhQuery(&job.query, NULL) != kn_success ||
        knCreateTaskPool(&job.pool, o->threads, NULL) != kn_success)
    {
        code = knReportFailure(kn_exitInternal);
    }
    if (job.stats)
    {
        memset(job.stats, 0, (size_t)o->frameCount * sizeof *job.stats);
    }
    for (int i = 0; i < o->frameCount && code == kn_exitOk; ++i)
    {
        code = RunFrame(&job, i);
    }
    if (code == kn_exitOk && o->statsPath)
    {
        code = WriteStats(&job);
    }
    knDestroyFrame(&job.frame);
    knDestroyFacePairs(&job.pairs);
    knDestroyBvhQuery(job.query);
    knDestroyBvhScene(job.scene);
    knDestroyHierarchy(job.hierarchy);
    knDestroyTaskPool(job.pool);
    knRelease(&a, job.stats, (size_t)o->frameCount, sizeof *job.stats);
    return code;
}

int knCommandSelfcollide(int argc, char** argv)
{
    static const struct option longOptions[] = {
        {"method", required_argument, NULL, 'm'},   {"no-adjacent", no_argument, NULL, 'a'},
        {"pairs", required_argument, NULL, 'p'},    {"stats", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},  {"ccd", no_argument, NULL, 'c'},
        {"features", required_argument, NULL, 'f'}, {"separation", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
    Options o = {.scene = knDefaultBvhSceneDef(),
                 .hierarchy = knDefaultHierarchyDef(),
                 .step = knDefaultCcdStepDef(),
                 .method = "",
                 .threads = 1};
    for (int option; (option = getopt_long(argc, argv, "", longOptions, NULL)) != -1;)
    {
        if (option == 'h')
        {
            PrintHelp();
            return kn_exitOk;
        }
        if (!TakeOption(&o, option))
        {
            return kn_exitUsage;
        }
    }
    if (optind >= argc)
    {
        return knUsageError("selfcollide", "at least one frame is needed");
    }
    if (!TakeMethod(&o))
    {
        return kn_exitUsage;
    }
    o.frames = argv + optind;
    o.frameCount = argc - optind;
    const knCcdFrames steps = {o.step,    o.frames,       o.frameCount,
                               o.threads, o.featuresPath, o.statsPath};
    return o.isContinuous ? knRunCcdFrames(&steps) : RunJob(&o);
}
