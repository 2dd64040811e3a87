// SPDX-License-Identifier: Zlib
#include "break.h"
#include "command.h"
#include "file.h"
#include "picture_save.h"

#include <getopt.h>
#include <string.h>

// Without --impulse: at least so many times what would just break it, and enough for cracks of so
// large a share of the surface.
#define DEFAULT_EXCESS 1.5
#define DEFAULT_AREA   0.4

static void PrintHelp(void)
{
    printf(
        "usage: knap break FILE.knap -o OUT.obj|OUT.png [OPTION...]\n\n"
        "Hits the object and writes the pieces: as OBJ in place, one object each, or as a\n"
        "picture that shows them moved apart.\n\n"
        "  -o, --output FILE    where to write; the ending says what\n"
        "  --at X,Y,Z           where it is hit, metres (default: the top)\n"
        "  --dir X,Y,Z          where the blow goes (default: into the surface)\n"
        "  --impulse N          newton seconds (default: what makes a good heap of pieces)\n"
        "  --energy J           what the contact lost, joules: a share of it is all that cracks\n"
        "                       get (default: not known)\n"
        "  --paint X,Y,Z,R,F    strength times F within R metres of the point; may come again,\n"
        "                       the last one counts\n"
        "  --material NAME      ceramic, glass, stone, brick, ice or plaster (default: the\n"
        "                       asset's)\n"
        "  --pattern P          stress (default), voronoi, radial or plane\n"
        "  --pieces N           stress: at most about so many (default 200); others: about so\n"
        "                       many (default 24)\n"
        "  --seed S             (default 1)\n"
        "  --size WxH           pixels of a picture (default 1600x1000)\n"
        "  --yaw A --pitch A    degrees of a picture (default 30 and 30)\n"
        "  --explode F          how far pieces are moved apart (default 0.25)\n"
        "  --json               print the statistics as JSON\n"
        "  --help               this text\n\n"
        "exit codes: 0 done, also when it did not break; 1 wrong arguments, 2 not a sound\n"
        "asset, 5 cannot write, 6 out of memory\n");
}

#define MAX_PAINTS 64

// A ball of other strength.
typedef struct Paint
{
    knVec3 center;
    float radius, factor;
} Paint;

typedef struct Options
{
    const char* input;
    const char* output;
    knVec3 at, direction;
    bool hasAt, hasDirection;
    double impulse; // 0: from what breaks it
    double energy;  // 0: not known
    Paint paints[MAX_PAINTS];
    int paintCount;
    const knMaterial* material;
    knBreakPattern pattern;
    double pieces, seed; // 0 pieces: the pattern's default
    knBrokenPicture picture;
    bool asJson, help;
} Options;

typedef struct Job
{
    const Options* options;
    knAsset* asset;
    knModel* model;
    knFamily* family;
    knBreaker* breaker;
    knImpact hit;
    double impulse;
    float* factors; // of the strength, by node; null without paint
    knBreakResult result;
} Job;

// Null stays null: nothing is painted.
static knResult PaintNodes(Job* job)
{
    const Options* o = job->options;
    const knTetMesh* mesh = knAsset_TetMesh(job->asset);
    job->factors = o->paintCount > 0 ? knAllocate(NULL, mesh->nodeCount, sizeof(float)) : NULL;
    for (uint32_t i = 0; job->factors && i < mesh->nodeCount; ++i)
    {
        job->factors[i] = 1.0f;
        for (int k = 0; k < o->paintCount; ++k)
        {
            bool isIn = knDistance(mesh->nodes[i], o->paints[k].center) <= o->paints[k].radius;
            job->factors[i] = isIn ? o->paints[k].factor : job->factors[i];
        }
    }
    return job->factors || o->paintCount == 0 ? kn_success : kn_errorMemory;
}

static int PlaceHit(Job* job)
{
    const Options* o = job->options;
    knSurfacePlace place = o->hasAt ? knNearestPlace(job->asset, o->at) : knTopPlace(job->asset);
    float radius = knModel_Radius(job->model);
    if (place.distance > 0.05f * radius)
    {
        const knBox b = knAsset_Info(job->asset)->bounds;
        fprintf(stderr,
                "knap: --at is %.3g m off the surface; the nearest point on it is %.4g,%.4g,%.4g, "
                "and the object reaches from %.4g,%.4g,%.4g to %.4g,%.4g,%.4g\n",
                (double)place.distance, (double)place.point.x, (double)place.point.y,
                (double)place.point.z, (double)b.lower.x, (double)b.lower.y, (double)b.lower.z,
                (double)b.upper.x, (double)b.upper.y, (double)b.upper.z);
        return kn_exitUsage;
    }
    job->hit = (knImpact){.kind = kn_loadImpact, .point = place.point};
    job->hit.impulse = o->hasDirection ? knNormalize(o->direction) : place.inwards;
    return kn_exitOk;
}

static knBreakDef MakeDef(const Job* job)
{
    const Options* o = job->options;
    knBreakDef def = knDefaultBreakDef();
    def.material = o->material;
    def.impacts = &job->hit;
    def.impactCount = 1;
    def.pattern = o->pattern;
    def.always = o->pattern != kn_patternStress;
    def.seed = (uint64_t)o->seed;
    def.lostEnergy = o->energy;
    def.strengthFactor = job->factors;
    if (o->pieces > 0.0)
    {
        def.maxPieces = (uint32_t)o->pieces;
        def.pieceCount = (uint32_t)o->pieces;
    }
    return def;
}

static const knMaterial* Material(const Job* job)
{
    const knMaterial* preset = knFindMaterialPreset(knAsset_Info(job->asset)->material);
    return job->options->material ? job->options->material : preset;
}

// The impulse asked for, or some times the one that just breaks it.
static knResult ChooseImpulse(Job* job)
{
    job->impulse = job->options->impulse;
    knBreakDef def = MakeDef(job);
    def.pattern = kn_patternStress;
    knResult result = kn_success;
    if (job->impulse == 0.0)
    {
        // tried with 1 N s, and nothing is to come of it
        def.maxPieces = 1;
        result = knBreaker_Begin(job->breaker, job->family, &def, NULL);
        result =
            result == kn_success ? knBreaker_Continue(job->breaker, NULL, &job->result) : result;
        double area = DEFAULT_AREA * knAsset_Info(job->asset)->area;
        double enough = sqrt(area * Material(job)->fractureEnergy / job->result.cracks.energy);
        job->impulse = fmax(DEFAULT_EXCESS * job->result.breakingShare, enough);
        job->impulse = isfinite(job->impulse) ? job->impulse : 1.0;
    }
    job->hit.impulse = knScale((float)job->impulse, job->hit.impulse);
    return result;
}

static knResult Break(Job* job)
{
    knResult result = ChooseImpulse(job);
    if (result != kn_success)
    {
        return result;
    }
    knBreakDef def = MakeDef(job);
    result = knBreaker_Begin(job->breaker, job->family, &def, NULL);
    do
    {
        result =
            result == kn_success ? knBreaker_Continue(job->breaker, NULL, &job->result) : result;
    } while (result == kn_success && !job->result.isDone);
    return result;
}

static uint32_t CountHeld(const knBreakResult* r)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->pieceCount; ++i)
    {
        count += r->isHeld[i];
    }
    return count;
}

static void PrintJson(const Job* job)
{
    const knBreakResult* r = &job->result;
    const knFragment* fragments = knFamily_Fragments(job->family)->fragments;
    const double at[3] = {(double)job->hit.point.x, (double)job->hit.point.y,
                          (double)job->hit.point.z};
    const double impulse[3] = {(double)job->hit.impulse.x, (double)job->hit.impulse.y,
                               (double)job->hit.impulse.z};
    const double seed[3] = {(double)r->cracks.firstSeed.x, (double)r->cracks.firstSeed.y,
                            (double)r->cracks.firstSeed.z};
    knJson json = knMakeJson(stdout);
    knJson_BeginObject(&json, NULL);
    knJson_String(&json, "file", job->options->input);
    knJson_Numbers(&json, "at", at, 3);
    knJson_Numbers(&json, "impulse", impulse, 3);
    knJson_Bool(&json, "breaks", r->breaks);
    knJson_Number(&json, "breakingImpulse", job->impulse * r->breakingShare);
    knJson_Count(&json, "pieces", r->pieceCount);
    knJson_Count(&json, "cracks", r->cracks.crackCount);
    knJson_Number(&json, "crackArea", r->cracks.crackArea);
    knJson_Count(&json, "held", CountHeld(r));
    knJson_Number(&json, "energy", r->cracks.energy);
    knJson_Number(&json, "spentEnergy", r->cracks.spentEnergy);
    knJson_Bool(&json, "unfinishedCrack", r->cracks.isUnfinished);
    knJson_Numbers(&json, "firstCrackAt", seed, 3);
    knJson_BeginArray(&json, "masses");
    for (uint32_t i = 0; i < r->pieceCount; ++i)
    {
        knJson_Number(&json, NULL, fragments[r->pieces[i]].mass.mass);
    }
    knJson_EndArray(&json);
    knJson_EndObject(&json);
}

static void Print(const Job* job)
{
    const knBreakResult* r = &job->result;
    if (job->options->asJson)
    {
        PrintJson(job);
        return;
    }
    printf("%s: hit with %.4g N s at %.4g,%.4g,%.4g\n", job->options->input, job->impulse,
           (double)job->hit.point.x, (double)job->hit.point.y, (double)job->hit.point.z);
    if (!r->breaks)
    {
        printf("  it holds; %.4g N s would break it\n", job->impulse * r->breakingShare);
        return;
    }
    printf("  %u pieces, %.4g m2 of cracks", r->pieceCount, r->cracks.crackArea);
    if (job->options->pattern == kn_patternStress)
    {
        printf("; %.4g N s would just break it, %.3g of %.3g J spent",
               job->impulse * r->breakingShare, r->cracks.spentEnergy, r->cracks.energy);
    }
    printf("%s\n", r->cracks.isUnfinished ? "; the last crack stopped half way" : "");
    if (CountHeld(r) > 0)
    {
        printf("  %u of them held by anchors; the others are loose\n", CountHeld(r));
    }
}

static int Write(const Job* job)
{
    const Options* o = job->options;
    knBrokenView view;
    if (knCreateBrokenView(&view, job->family, job->result.pieces, job->result.pieceCount) !=
        kn_success)
    {
        return knReportFailure(kn_exitInternal);
    }
    knResult result = kn_success;
    knExit code = kn_exitUnwritable;
    if (knHasEnding(o->output, ".obj"))
    {
        result = knWriteBrokenObj(&view, o->output);
    }
    else
    {
        knBrokenPicture how = o->picture;
        how.center = knToFloat(knAsset_Info(job->asset)->center);
        how.material = o->material ? o->material->name : knAsset_Info(job->asset)->material;
        knPicture picture;
        result = knDrawBroken(&view, &how, &picture);
        code = result == kn_success ? kn_exitUnwritable : kn_exitInternal;
        if (result == kn_success)
        {
            result = knSavePicture(&picture, o->output);
            knDestroyPicture(&picture);
        }
    }
    knDestroyBrokenView(&view);
    return result == kn_success ? kn_exitOk : knReportFailure(code);
}

static int RunOnModel(Job* job)
{
    knFamilyDef def = knDefaultFamilyDef();
    def.model = job->model;
    def.density = job->options->material ? job->options->material->density : 0.0;
    int code = PlaceHit(job);
    if (code != kn_exitOk)
    {
        return code;
    }
    knResult result = knCreateFamily(&job->family, &def, NULL);
    result = result == kn_success ? knCreateBreaker(&job->breaker, NULL) : result;
    result = result == kn_success ? PaintNodes(job) : result;
    result = result == kn_success ? Break(job) : result;
    code = result == kn_success ? Write(job) : knReportFailure(kn_exitInternal);
    if (code == kn_exitOk)
    {
        Print(job);
    }
    knRelease(NULL, job->factors, knAsset_TetMesh(job->asset)->nodeCount, sizeof(float));
    knDestroyBreaker(job->breaker);
    knDestroyFamily(job->family);
    return code;
}

static int Run(const Options* options)
{
    Job job = {.options = options};
    if (knLoadAsset(&job.asset, options->input, NULL) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    knResult result = knCreateModel(&job.model, job.asset, NULL);
    int code = kn_exitOk;
    if (result == kn_success)
    {
        code = RunOnModel(&job);
        knDestroyModel(job.model);
    }
    else
    {
        code = knReportFailure(result == kn_errorMemory ? kn_exitInternal : kn_exitUnreadable);
    }
    knDestroyAsset(job.asset);
    return code;
}

static bool TakeVector(const char* option, const char* argument, knVec3* v)
{
    double x = 0.0, y = 0.0, z = 0.0;
    char end = 0;
    if (sscanf(argument, "%lf,%lf,%lf%c", &x, &y, &z, &end) != 3 ||
        !knIsFinite(knMakeVec3((float)x, (float)y, (float)z)))
    {
        knUsageError("break", "%s wants three numbers X,Y,Z, got '%s'", option, argument);
        return false;
    }
    *v = knMakeVec3((float)x, (float)y, (float)z);
    return true;
}

static bool TakeDirection(Options* o, const char* argument)
{
    o->hasDirection = true;
    if (!TakeVector("--dir", argument, &o->direction))
    {
        return false;
    }
    if (!(knLength(o->direction) > 0.0f))
    {
        knUsageError("break", "--dir wants a direction, not 0,0,0");
        return false;
    }
    return true;
}

static bool TakePaint(Options* o, const char* argument)
{
    double v[5];
    char end = 0;
    if (o->paintCount == MAX_PAINTS)
    {
        knUsageError("break", "--paint can come %d times at most", MAX_PAINTS);
        return false;
    }
    if (sscanf(argument, "%lf,%lf,%lf,%lf,%lf%c", &v[0], &v[1], &v[2], &v[3], &v[4], &end) != 5 ||
        !knIsFinite(knMakeVec3((float)v[0], (float)v[1], (float)v[2])) ||
        !(v[3] > 0.0 && v[3] < 1e9) || !(v[4] > 0.0 && v[4] <= 100.0))
    {
        knUsageError("break",
                     "--paint wants X,Y,Z, a radius above 0 and a factor in (0, 100], got '%s'",
                     argument);
        return false;
    }
    o->paints[o->paintCount++] =
        (Paint){knMakeVec3((float)v[0], (float)v[1], (float)v[2]), (float)v[3], (float)v[4]};
    return true;
}

static bool TakeMaterial(Options* o, const char* name)
{
    o->material = knFindMaterialPreset(name);
    if (!o->material)
    {
        char names[256] = "";
        for (int i = 0; i < knMaterialPresetCount(); ++i)
        {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                     knMaterialPreset(i)->name);
        }
        knUsageError("break", "--material '%s' is not known; there are %s", name, names);
    }
    return o->material != NULL;
}

static bool TakePattern(Options* o, const char* name)
{
    static const char* const names[] = {"stress", "voronoi", "radial", "plane"};
    for (int i = 0; i < 4; ++i)
    {
        if (strcmp(name, names[i]) == 0)
        {
            o->pattern = (knBreakPattern)i;
            return true;
        }
    }
    knUsageError("break", "--pattern wants stress, voronoi, radial or plane, got '%s'", name);
    return false;
}

static bool TakePictureOption(Options* o, int option, const char* argument)
{
    switch (option)
    {
    case 'z':
        return knParseSize("break", argument, 16, &o->picture.width, &o->picture.height);
    case 'y':
        return knParseNumber("break", "--yaw", argument, -360.0, 360.0, &o->picture.yaw);
    case 't':
        return knParseNumber("break", "--pitch", argument, -89.0, 89.0, &o->picture.pitch);
    case 'e':
        return knParseNumber("break", "--explode", argument, 0.0, 10.0, &o->picture.explode);
    default:
        knUsageError("break", "that option is not known");
        return false;
    }
}

static bool TakeOption(Options* o, int option, const char* argument)
{
    switch (option)
    {
    case 'o':
        o->output = argument;
        return true;
    case 'a':
        o->hasAt = true;
        return TakeVector("--at", argument, &o->at);
    case 'd':
        return TakeDirection(o, argument);
    case 'i':
        return knParseNumber("break", "--impulse", argument, 1e-9, 1e9, &o->impulse);
    case 'E':
        return knParseNumber("break", "--energy", argument, 1e-12, 1e12, &o->energy);
    case 'P':
        return TakePaint(o, argument);
    case 'm':
        return TakeMaterial(o, argument);
    case 'p':
        return TakePattern(o, argument);
    case 'n':
        return knParseWhole("break", "--pieces", argument, 1.0, 4096.0, &o->pieces);
    case 's':
        return knParseWhole("break", "--seed", argument, 0.0, 0x1p53, &o->seed);
    case 'j':
        o->asJson = true;
        return true;
    case 'h':
        o->help = true;
        return true;
    default:
        return TakePictureOption(o, option, argument);
    }
}

int knCommandBreak(int argc, char** argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"at", required_argument, NULL, 'a'},
                                            {"dir", required_argument, NULL, 'd'},
                                            {"impulse", required_argument, NULL, 'i'},
                                            {"energy", required_argument, NULL, 'E'},
                                            {"paint", required_argument, NULL, 'P'},
                                            {"material", required_argument, NULL, 'm'},
                                            {"pattern", required_argument, NULL, 'p'},
                                            {"pieces", required_argument, NULL, 'n'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"size", required_argument, NULL, 'z'},
                                            {"yaw", required_argument, NULL, 'y'},
                                            {"pitch", required_argument, NULL, 't'},
                                            {"explode", required_argument, NULL, 'e'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    Options o = {
        .seed = 1.0,
        .picture = {.width = 1600, .height = 1000, .yaw = 30.0, .pitch = 30.0, .explode = 0.25}};
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
        return knUsageError("break", "one cooked file and -o OUT.obj or OUT.png are needed");
    }
    if (!knHasEnding(o.output, ".obj") && !knHasEnding(o.output, ".png"))
    {
        return knUsageError("break", "-o wants a name that ends in .obj or .png, got '%s'",
                            o.output);
    }
    o.input = argv[optind];
    return Run(&o);
}
