// SPDX-License-Identifier: Zlib
#include "command.h"
#include "field_picture.h"
#include "picture_save.h"

#include "knap/random.h"

#include <getopt.h>
#include <string.h>

#define TRIES_PER_PIECE 64
#define MIN_SIZE        160   // pixels; below it the labels leave no room
#define NEAR_CRACK      0.05f // of the radius; where pieces of one object touch

static void PrintHelp(void)
{
    printf("usage: knap field FILE.knap -o OUT.png [OPTION...]\n\n"
           "Draws the depth below the surface on a slice through the middle, before and after\n"
           "breaking: measured against every triangle, and as the distance field answers. Prints\n"
           "how far the two are apart, as a share of the object's radius; within how many\n"
           "degrees 95 of 100 directions are, everywhere and near cracks (0.05 of the radius);\n"
           "and how often the field's depth falls from sample to sample where the true one\n"
           "grows.\n\n"
           "  -o, --output FILE    where to write\n"
           "  --pieces N           break into about so many (default 4)\n"
           "  --seed S             of the random planes (default 1)\n"
           "  --axis x|y|z         normal of the slice (default: the largest cross-section)\n"
           "  --size WxH           pixels (default 1200x700)\n"
           "  --json               print the errors as JSON\n"
           "  --help               this text\n\n"
           "exit codes: 0 drawn, 1 wrong arguments, 2 not a sound asset, 5 cannot write,\n"
           "6 out of memory\n");
}

typedef struct Options
{
    const char* input;
    const char* output;
    double pieces, seed;
    int axis; // -1 for the largest cross-section
    int width, height;
    bool asJson, help;
} Options;

// One row of the picture, with what it is made of.
typedef struct State
{
    knTruth truth;
    knSliceSample* exact;
    knSliceSample* ours;
    knSliceErrors errors;
} State;

typedef struct Job
{
    const Options* options;
    knFamily* family;
    knTaskHooks tasks;
    knFieldLayout layout;
    knSlice slice;
    size_t sampleCount;
    State states[2]; // before, after
} Job;

static uint32_t CountPieces(const knFragmentSet* set, uint32_t* heaviest)
{
    uint32_t count = 0;
    *heaviest = 0;
    for (uint32_t i = 0; i < set->fragmentCount; ++i)
    {
        const knFragment* f = &set->fragments[i];
        if (f->state != kn_fragmentEnded)
        {
            bool heavier = count == 0 || f->mass.mass > set->fragments[*heaviest].mass.mass;
            *heaviest = heavier ? i : *heaviest;
            count += 1;
        }
    }
    return count;
}

static knResult SplitByPlane(knFamily* family, uint32_t fragment, knVec3 normal)
{
    const knFragmentSet* set = knFamily_Fragments(family);
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitPlane;
    def.normal = normal;
    def.offset = knDot(normal, knToFloat(set->fragments[fragment].mass.center));
    knArena arena;
    knResult result = knCreateArena(&arena, knFragmentSet_SplitBytes(set, fragment, &def), NULL);
    if (result == kn_success)
    {
        knSplitResult split;
        result = knFamily_Split(family, fragment, &def, &arena, &split);
        knDestroyArena(&arena);
    }
    return result;
}

// The heaviest first, so that pieces stay of a size. A mesh too coarse for so many gives fewer.
static knResult Break(knFamily* family, uint32_t pieceCount, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    for (uint32_t tries = 0; tries < TRIES_PER_PIECE * pieceCount; ++tries)
    {
        uint32_t heaviest = 0;
        if (CountPieces(knFamily_Fragments(family), &heaviest) >= pieceCount)
        {
            break;
        }
        knResult result = SplitByPlane(family, heaviest, knRandom_UnitVec3(&random));
        if (result != kn_success)
        {
            return result;
        }
    }
    return kn_success;
}

static knResult ChooseSlice(Job* job)
{
    knBox bounds = knAsset_Info(knModel_Asset(knFamily_Model(job->family)))->bounds;
    // a hair off the middle: symmetric meshes have faces there, where a sample is in two at once
    knVec3 hair = knScale(0.0013f, knBox_Extent(bounds));
    bounds = (knBox){knAdd(bounds.lower, hair), knAdd(bounds.upper, hair)};
    int axis = job->options->axis;
    knResult result = kn_success;
    if (axis < 0)
    {
        result = knTruth_LargestAxis(&job->states[0].truth, bounds, &job->tasks, &axis);
    }
    knBox box = knTruth_SliceBox(&job->states[0].truth, bounds, axis);
    job->slice = knMakeSlice(box, axis, KN_FIELD_SAMPLES * job->layout.panelWidth,
                             KN_FIELD_SAMPLES * job->layout.panelHeight);
    job->sampleCount = (size_t)job->slice.columns * (size_t)job->slice.rows;
    return result;
}

static knResult Measure(Job* job, State* state)
{
    state->exact = knAllocate(NULL, job->sampleCount, sizeof(knSliceSample));
    state->ours = knAllocate(NULL, job->sampleCount, sizeof(knSliceSample));
    if (!state->exact || !state->ours)
    {
        return kn_errorMemory;
    }
    knTruth_Label(&state->truth, &job->slice, &job->tasks, state->exact);
    knResult result = knTruth_Measure(&state->truth, &job->slice, &job->tasks, state->exact);
    knAskField(knFamily_Field(job->family), &state->truth, &job->slice, &job->tasks, state->ours);
    float near = NEAR_CRACK * knModel_Radius(knFamily_Model(job->family));
    state->errors = knCompareSlices(&job->slice, state->exact, state->ours, near);
    return result;
}

static knResult MeasureBoth(Job* job)
{
    const Options* o = job->options;
    knResult result = knCreateTruth(&job->states[0].truth, job->family);
    result = result == kn_success ? ChooseSlice(job) : result;
    result = result == kn_success ? Measure(job, &job->states[0]) : result;
    result =
        result == kn_success ? Break(job->family, (uint32_t)o->pieces, (uint64_t)o->seed) : result;
    result = result == kn_success ? knCreateTruth(&job->states[1].truth, job->family) : result;
    return result == kn_success ? Measure(job, &job->states[1]) : result;
}

static void ReleaseStates(Job* job)
{
    for (int i = 0; i < 2; ++i)
    {
        State* state = &job->states[i];
        knRelease(NULL, state->exact, job->sampleCount, sizeof(knSliceSample));
        knRelease(NULL, state->ours, job->sampleCount, sizeof(knSliceSample));
        knDestroyTruth(&state->truth);
    }
}

static void JsonErrors(knJson* json, const char* key, const State* state, double radius)
{
    knJson_BeginObject(json, key);
    knJson_Count(json, "pieces", state->truth.pieceCount);
    knJson_Number(json, "meanError", state->errors.mean / radius);
    knJson_Number(json, "worstError", state->errors.worst / radius);
    knJson_Number(json, "deepest", state->errors.deepest / radius);
    knJson_Count(json, "samples", state->errors.count);
    knJson_Count(json, "astray", state->errors.astray);
    knJson_Number(json, "angle95", state->errors.angle);
    knJson_Number(json, "crackAngle95", state->errors.crackAngle);
    knJson_Count(json, "crackSamples", state->errors.crackCount);
    knJson_Count(json, "steps", state->errors.steps);
    knJson_Count(json, "falls", state->errors.falls);
    knJson_Number(json, "worstFall", state->errors.worstFall / radius);
    knJson_EndObject(json);
}

static void Print(const Job* job, double radius)
{
    static const char* const names[2] = {"before", "after"};
    char axis[2] = {"xyz"[job->slice.axis], 0};
    if (job->options->asJson)
    {
        knJson json = knMakeJson(stdout);
        knJson_BeginObject(&json, NULL);
        knJson_String(&json, "file", job->options->input);
        knJson_String(&json, "axis", axis);
        knJson_Number(&json, "radius", radius);
        JsonErrors(&json, names[0], &job->states[0], radius);
        JsonErrors(&json, names[1], &job->states[1], radius);
        knJson_EndObject(&json);
        return;
    }
    printf("%s: slice normal to %s, errors as a share of the radius (%.4g m)\n",
           job->options->input, axis, radius);
    for (int i = 0; i < 2; ++i)
    {
        const knSliceErrors* e = &job->states[i].errors;
        printf("  %-7s %3u pieces  mean %.6f  worst %.6f  (%llu of %llu samples astray)\n",
               names[i], job->states[i].truth.pieceCount, e->mean / radius, e->worst / radius,
               (unsigned long long)e->astray, (unsigned long long)e->count);
        printf("          directions: 95 of 100 within %.1f degrees", e->angle);
        if (e->crackCount > 0)
        {
            printf(", within %.1f near cracks", e->crackAngle);
        }
        printf("; depth falls at %llu of %llu steps inwards, by %.6f at worst\n",
               (unsigned long long)e->falls, (unsigned long long)e->steps, e->worstFall / radius);
    }
}

static int DrawAndPrint(Job* job)
{
    double radius = (double)knModel_Radius(knFamily_Model(job->family));
    knFieldRow rows[2];
    for (int i = 0; i < 2; ++i)
    {
        State* s = &job->states[i];
        rows[i] = (knFieldRow){s->exact, s->ours, s->errors, s->truth.pieceCount, job->slice.step};
    }
    knPicture picture;
    if (knDrawField(&job->layout, rows, radius, &picture) != kn_success)
    {
        return knReportFailure(kn_exitInternal);
    }
    knResult result = knSavePicture(&picture, job->options->output);
    knDestroyPicture(&picture);
    if (result != kn_success)
    {
        return knReportFailure(kn_exitUnwritable);
    }
    Print(job, radius);
    return kn_exitOk;
}

static int RunOnModel(const Options* options, const knModel* model)
{
    Job job = {.options = options};
    job.layout = knMakeFieldLayout(options->width, options->height);
    knFamilyDef def = knDefaultFamilyDef();
    def.model = model;
    knTaskPool* pool = NULL;
    int code = kn_exitInternal;
    if (knCreateFamily(&job.family, &def, NULL) != kn_success)
    {
        return knReportFailure(kn_exitInternal);
    }
    if (knCreateTaskPool(&pool, 0, NULL) != kn_success)
    {
        knDestroyFamily(job.family);
        return knReportFailure(kn_exitInternal);
    }
    job.tasks = knTaskPool_Hooks(pool);
    knResult result = MeasureBoth(&job);
    code = result == kn_success ? DrawAndPrint(&job) : knReportFailure(kn_exitInternal);
    ReleaseStates(&job);
    knDestroyTaskPool(pool);
    knDestroyFamily(job.family);
    return code;
}

static int Run(const Options* options)
{
    knAsset* asset = NULL;
    knModel* model = NULL;
    if (knLoadAsset(&asset, options->input, NULL) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    knResult result = knCreateModel(&model, asset, NULL);
    int code = kn_exitOk;
    if (result == kn_success)
    {
        code = RunOnModel(options, model);
        knDestroyModel(model);
    }
    else
    {
        code = knReportFailure(result == kn_errorMemory ? kn_exitInternal : kn_exitUnreadable);
    }
    knDestroyAsset(asset);
    return code;
}

static bool TakeAxis(Options* o, const char* argument)
{
    const char* place = argument[0] && !argument[1] ? strchr("xyz", argument[0]) : NULL;
    if (!place)
    {
        knUsageError("field", "--axis wants x, y or z, got '%s'", argument);
        return false;
    }
    o->axis = (int)(place[0] - 'x');
    return true;
}

static bool TakeOption(Options* o, int option, const char* argument)
{
    switch (option)
    {
    case 'o':
        o->output = argument;
        return true;
    case 'p':
        // a plane may part a piece into several: room for those
        return knParseWhole("field", "--pieces", argument, 1.0, KN_MAX_SLICE_PIECES / 2,
                            &o->pieces);
    case 'r':
        return knParseWhole("field", "--seed", argument, 0.0, 0x1p53, &o->seed);
    case 'a':
        return TakeAxis(o, argument);
    case 's':
        return knParseSize("field", argument, MIN_SIZE, &o->width, &o->height);
    case 'j':
        o->asJson = true;
        return true;
    case 'h':
        o->help = true;
        return true;
    default:
        knUsageError("field", "that option is not known");
        return false;
    }
}

int knCommandField(int argc, char** argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"pieces", required_argument, NULL, 'p'},
        {"seed", required_argument, NULL, 'r'},   {"axis", required_argument, NULL, 'a'},
        {"size", required_argument, NULL, 's'},   {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    Options o = {.pieces = 4.0, .seed = 1.0, .axis = -1, .width = 1200, .height = 700};
    for (int option; (option = getopt_long(argc, argv, "o:", options, NULL)) != -1;)
    {
        if (!TakeOption(&o, option, optarg))
        {
            return kn_exitUsage;
        }
    }
    if (o.help)
    {
        PrintHelp();
        return kn_exitOk;
    }
    if (optind + 1 != argc || !o.output)
    {
        return knUsageError("field", "one cooked file and -o OUT.png are needed");
    }
    o.input = argv[optind];
    return Run(&o);
}
