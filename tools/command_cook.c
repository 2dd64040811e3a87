// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // isatty

#include "command.h"
#include "file.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

static void PrintHelp(void)
{
    printf("usage: knap cook MESH -o OUT.knap [OPTION...]\n\n"
           "Imports, diagnoses, repairs and tetrahedralizes a closed mesh and writes a cooked\n"
           "asset. MESH: OBJ, PLY, STL, OFF, glTF and what else Assimp reads, or a ready-made\n"
           "tetrahedral mesh as TetGen's .node and .ele.\n\n"
           "  -o, --output FILE    where to write; written whole or not at all\n"
           "  --radius-edge R      quality bound of the tetrahedra, 1 to 10 (default 2)\n"
           "  --max-edge L         longest edge inside, metres (default: twice the longest\n"
           "                       surface edge)\n"
           "  --target N           aim for N tetrahedra\n"
           "  --material NAME      ceramic (default), glass, stone, brick, ice or plaster\n"
           "  --density D          kg/m^3 (default: the material's)\n"
           "  --modes N            elastic modes to store, 0 for none (default %d)\n"
           "  --poisson NU         Poisson's ratio of the modes, 0 to 0.45 (default %g)\n"
           "  --anchor WHERE       nodes that hold the object: below=Y, above=Y (metres, y up) or\n"
           "                       box=x,y,z,x,y,z; several add up\n"
           "  --recenter           move the middle of the mesh to the origin\n"
           "  --crease A           edges sharper than A degrees stay sharp where the file has no\n"
           "                       normals (default 60)\n" KN_MESH_HELP
           "  --json               print the statistics as JSON\n"
           "  --quiet              no progress display\n"
           "  --help               this text\n\n"
           "exit codes: 0 cooked, 1 wrong arguments, 2 unreadable, 3 the mesh is unfit,\n"
           "4 TetGen failed on it, 5 cannot write, 6 out of memory\n",
           KN_DEFAULT_MODE_COUNT, KN_DEFAULT_POISSON);
}

typedef struct CookCall
{
    const char* input;
    const char* output;
    const char* materialName;
    double density; // 0 for the material's
    knCookOptions options;
    bool asJson;
    bool quiet;
    bool help;
} CookCall;

static void ShowProgress(knCookStage stage, void* user)
{
    const CookCall* call = user;
    fprintf(stderr, "\r\033[K%s: %s...", knFileName(call->input), knCookStageName(stage));
    fflush(stderr);
}

static void ClearProgress(const CookCall* call)
{
    if (call->options.progress)
    {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
}

static void JsonCook(knJson* json, const knCooked* cooked)
{
    const knTetStats* s = &cooked->tetStats;
    knJson_BeginObject(json, "cook");
    knJson_Number(json, "seconds", cooked->seconds);
    knJson_Number(json, "modeSeconds", cooked->modeSeconds);
    knJson_String(json, "modeNote", cooked->modeNote);
    knJson_Number(json, "surfaceVolume", cooked->surfaceVolume);
    knJson_Count(json, "tetgenRuns", (unsigned long long)s->runCount);
    knJson_Number(json, "radiusEdge", s->radiusEdge);
    knJson_Number(json, "maxEdge", s->maxEdge);
    knJson_Number(json, "longestSurfaceEdge", s->longestSurface);
    knJson_Number(json, "longestEdge", s->longestInterior);
    knJson_Count(json, "overlongEdges", s->overlongEdges);
    knJson_Count(json, "addedPoints", s->addedPoints);
    knJsonReport(json, &cooked->report);
    knJson_EndObject(json);
}

static void PrintCook(const CookCall* call, const knCooked* cooked, const knAsset* asset)
{
    const knTetStats* s = &cooked->tetStats;
    knPrintAsset(stdout, asset, call->output);
    knPrintReport(stdout, &cooked->report, kn_actionRepair);
    if (s->runCount > 0 && s->radiusEdge != call->options.tet.radiusEdge)
    {
        printf("  note: TetGen failed at radius-edge %g and worked %s\n",
               call->options.tet.radiusEdge, s->radiusEdge > 0.0 ? "at a looser one" : "without");
    }
    if (s->overlongEdges > 0)
    {
        bool coarse = s->maxEdge < s->longestSurface;
        printf("  note: edges up to %.4g m are left inside, longer than the limit of %.4g m%s\n",
               s->longestInterior, s->maxEdge,
               coarse ? "; the surface itself is coarser than that" : "");
    }
    if (cooked->modeNote[0])
    {
        printf("  warning: no elastic modes: %s\n", cooked->modeNote);
    }
    printf("  cooked in %.2f s, %.2f s of it for modes\n", cooked->seconds, cooked->modeSeconds);
}

// Says what was written by reading the very bytes back.
static knResult Report(const CookCall* call, const knCooked* cooked)
{
    knAsset* asset = NULL;
    knResult result = knCreateAssetInPlace(&asset, cooked->bytes, cooked->size, NULL);
    if (result != kn_success)
    {
        return result;
    }
    if (call->asJson)
    {
        knJson json = knMakeJson(stdout);
        knJson_BeginObject(&json, NULL);
        knJson_String(&json, "file", call->output);
        knJsonAsset(&json, asset);
        JsonCook(&json, cooked);
        knJson_EndObject(&json);
    }
    else
    {
        PrintCook(call, cooked, asset);
    }
    knDestroyAsset(asset);
    return kn_success;
}

static knExit ExitOf(knResult result, knCookStage stage)
{
    if (result == kn_errorMemory)
    {
        return kn_exitInternal;
    }
    switch (stage)
    {
    case kn_stageImport:
        return result == kn_errorMesh ? kn_exitUnfit : kn_exitUnreadable;
    case kn_stageDiagnose:
        return kn_exitUnfit;
    case kn_stageTetrahedralize:
        return kn_exitTetgen;
    case kn_stageWrite:
        return kn_exitUnwritable;
    case kn_stageModes:
        return result == kn_errorArgument ? kn_exitUsage : kn_exitInternal;
    default:
        return result == kn_errorMesh ? kn_exitUnfit : kn_exitInternal;
    }
}

// The pair of a tetrahedral mesh is two files, either of which may have been named.
static bool WouldReplaceInput(const CookCall* call)
{
    char other[4096];
    int stem = (int)strlen(call->input);
    stem -= knHasEnding(call->input, ".node") ? 5 : (knHasEnding(call->input, ".ele") ? 4 : 0);
    bool same = knIsSameFile(call->input, call->output);
    snprintf(other, sizeof other, "%.*s.node", stem, call->input);
    same = same || (knIsTetFile(call->input) && knIsSameFile(other, call->output));
    snprintf(other, sizeof other, "%.*s.ele", stem, call->input);
    return same || (knIsTetFile(call->input) && knIsSameFile(other, call->output));
}

static int Cook(CookCall* call)
{
    knCooked cooked;
    if (WouldReplaceInput(call))
    {
        return knUsageError("cook", "the output would replace the input '%s'", call->output);
    }
    if (!call->quiet && isatty(STDERR_FILENO))
    {
        call->options.progress = ShowProgress;
        call->options.progressUser = call;
    }
    knResult result = knCook(call->input, &call->options, NULL, &cooked);
    if (result == kn_success)
    {
        cooked.stage = kn_stageWrite;
        result = knWriteFile(call->output, cooked.bytes, cooked.size);
    }
    ClearProgress(call);
    result = result == kn_success ? Report(call, &cooked) : result;
    int code = result == kn_success ? kn_exitOk : knReportFailure(ExitOf(result, cooked.stage));
    knDestroyCooked(&cooked);
    return code;
}

static bool TakeAnchor(knModeOptions* modes, const char* argument)
{
    if (modes->ruleCount == KN_MAX_ANCHOR_RULES)
    {
        knUsageError("cook", "more than %d anchors", KN_MAX_ANCHOR_RULES);
        return false;
    }
    if (knParseAnchorRule(argument, &modes->rules[modes->ruleCount]) != kn_success)
    {
        knUsageError("cook", "%s", knLastError());
        return false;
    }
    ++modes->ruleCount;
    return true;
}

static bool TakeOption(CookCall* call, int option, const char* argument)
{
    double number = 0.0;
    bool good = true;
    knTetOptions* tet = &call->options.tet;
    knMeshOptions shared = {&call->options.import, &call->options.doctor};
    switch (option)
    {
    case 'o':
        call->output = argument;
        return true;
    case 'r':
        return knParseNumber("cook", "--radius-edge", argument, 1.0, 10.0, &tet->radiusEdge);
    case 'e':
        return knParseNumber("cook", "--max-edge", argument, 1e-9, 1e9, &tet->maxEdge);
    case 'N':
        good = knParseNumber("cook", "--target", argument, 1.0, 5e7, &number);
        tet->targetTets = (uint32_t)number;
        return good;
    case 'M':
        call->materialName = argument;
        return true;
    case 'D':
        return knParseNumber("cook", "--density", argument, 1e-6, 1e6, &call->density);
    case 'k':
        good = knParseNumber("cook", "--modes", argument, 0.0, KN_MAX_MODES, &number);
        call->options.modes.count = (uint32_t)number;
        return good;
    case 'p':
        return knParseNumber("cook", "--poisson", argument, 0.0, 0.45,
                             &call->options.modes.poisson);
    case 'a':
        return TakeAnchor(&call->options.modes, argument);
    case 'R':
        call->options.recenter = true;
        return true;
    case 'A':
        good = knParseNumber("cook", "--crease", argument, 0.0, 180.0, &number);
        call->options.creaseDegrees = (float)number;
        return good;
    case 'j':
        call->asJson = true;
        return true;
    case 'q':
        call->quiet = true;
        return true;
    case 'h':
        call->help = true;
        return true;
    default:
        if (!knTakeMeshOption("cook", option, argument, &shared, &good))
        {
            knUsageError("cook", "that option is not known");
            return false;
        }
        return good;
    }
}

static bool TakeMaterial(CookCall* call)
{
    if (call->materialName)
    {
        const knMaterial* preset = knFindMaterialPreset(call->materialName);
        if (!preset)
        {
            knUsageError("cook", "there is no material '%s'", call->materialName);
            return false;
        }
        call->options.material = *preset;
    }
    if (call->density > 0.0)
    {
        call->options.material.density = call->density;
    }
    // one limit serves every contained run
    call->options.tet.limits = call->options.import.limits;
    return true;
}

int knCommandCook(int argc, char** argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"radius-edge", required_argument, NULL, 'r'},
                                            {"max-edge", required_argument, NULL, 'e'},
                                            {"target", required_argument, NULL, 'N'},
                                            {"material", required_argument, NULL, 'M'},
                                            {"density", required_argument, NULL, 'D'},
                                            {"modes", required_argument, NULL, 'k'},
                                            {"poisson", required_argument, NULL, 'p'},
                                            {"anchor", required_argument, NULL, 'a'},
                                            {"recenter", no_argument, NULL, 'R'},
                                            {"crease", required_argument, NULL, 'A'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            KN_MESH_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    CookCall call = {.options = knDefaultCookOptions()};
    for (int option; (option = getopt_long(argc, argv, "o:", options, NULL)) != -1;)
    {
        if (!TakeOption(&call, option, optarg))
        {
            return kn_exitUsage;
        }
    }
    if (call.help)
    {
        PrintHelp();
        return kn_exitOk;
    }
    if (optind + 1 != argc || !call.output)
    {
        return knUsageError("cook", "one mesh and -o OUT.knap are needed");
    }
    call.input = argv[optind];
    return TakeMaterial(&call) ? Cook(&call) : kn_exitUsage;
}
