// SPDX-License-Identifier: Zlib
#include "bench/benches.h"
#include "bench/break_run.h"
#include "bench/breakage.h"
#include "bench/files.h"

#include <math.h>
#include <string.h>

// Steps in which something breaks, beside the median step of the same scene, for the scenes of the
// demos; the same for peers that make shapes of the pieces anew. And what jumps at a break.
//
// A run is the same every time, to the bit: of each step the least of several runs is taken, so
// that what remains of a worst step is its own.

static const char* const sceneNames[] = {"plates", "bunnies", "drop-bunnies", "bricks", "piggy"};
static const char* const modelNames[] = {"plate", "shelf", "bunny", "brick", "piggy"};
static const knPileMethod peers[] = {kn_pileGimpact, kn_pileHull};
static const char* const peerNames[] = {"gimpact", "hull"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

// What a game that must not stutter would set: one break after the other, body by body.
#define BUDGET_WORK   2000
#define BUDGET_BODIES 1

typedef struct Spread
{
    double median, worst; // s
    uint32_t worstAt;
} Spread;

static Spread SpreadOf(const knBreakRun* run, size_t field)
{
    double samples[KN_BREAK_STEPS];
    Spread spread = {0};
    for (uint32_t i = 0; i < run->stepCount; ++i)
    {
        memcpy(&samples[i], (const char*)&run->steps[i] + field, sizeof samples[i]);
        spread.worstAt = samples[i] > spread.worst ? i : spread.worstAt;
        spread.worst = fmax(spread.worst, samples[i]);
    }
    spread.median = knMedian(samples, run->stepCount);
    return spread;
}

// ---- rows

static void DescribeWorst(char* note, size_t size, const knBreakRun* run, Spread spread)
{
    const knBreakStep* s = &run->steps[spread.worstAt];
    snprintf(note, size,
             "worst step %u of %u, %u pieces made: collision %.2f ms, contacts %.2f, cracks and "
             "bodies %.2f, update %.2f, engine %.2f; %u pieces in the end",
             spread.worstAt, run->stepCount, s->pieces, 1e3 * s->collision, 1e3 * s->contacts,
             1e3 * s->fracture, 1e3 * s->update, 1e3 * s->engine, run->pieceCount);
}

static knResult AddRows(knBenchRun* bench, knBenchRow* rows, size_t count, const char* peerName)
{
    knResult result = kn_success;
    for (size_t i = 0; result == kn_success && i < count; ++i)
    {
        rows[i].ratio = knBetterRatio(rows[i].ours, rows[i].peer, false);
        snprintf(rows[i].peerName, sizeof rows[i].peerName, "%s", peerName);
        result = knBenchRun_AddRow(bench, &rows[i]);
    }
    return result;
}

static knResult AddPair(knBenchRun* bench, const char* name, const knBreakRun* ours,
                        const knBreakRun* theirs, const char* peerName)
{
    Spread a = SpreadOf(ours, offsetof(knBreakStep, ours));
    Spread b = SpreadOf(theirs, offsetof(knBreakStep, peer));
    Spread shapes = SpreadOf(theirs, offsetof(knBreakStep, shapes));
    Spread update = SpreadOf(ours, offsetof(knBreakStep, update));
    knBenchRow rows[3] = {knBenchRun_MakeRow(bench, name, "step", "ms"),
                          knBenchRun_MakeRow(bench, name, "spike", "x median"),
                          knBenchRun_MakeRow(bench, name, "rebuild", "ms")};
    rows[0].ours = 1e3 * a.median;
    rows[0].worst = 1e3 * a.worst;
    rows[0].peer = 1e3 * b.median;
    rows[0].peerWorst = 1e3 * b.worst;
    snprintf(rows[0].note, sizeof rows[0].note,
             "ours with cracks, cuts and bodies; the peer's without, in the places of ours");
    rows[1].ours = a.worst / a.median;
    rows[1].peer = b.worst / b.median;
    DescribeWorst(rows[1].note, sizeof rows[1].note, ours, a);
    rows[2].ours = 1e3 * update.worst;
    rows[2].peer = 1e3 * shapes.worst;
    snprintf(rows[2].note, sizeof rows[2].note,
             "most in one step: ours field, forest and edges; the peer's shapes");
    return AddRows(bench, rows, COUNT(rows), peerName);
}

// ---- scenes

static knResult Repeat(knBreakRun* run, const knStageDef* def, knPileMethod method, int count)
{
    *run = (knBreakRun){0};
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < count; ++i)
    {
        result = knBreakRun_Add(run, def, method);
    }
    return result;
}

static knResult RunScene(knBenchRun* bench, const char* folder, const knScene* scene,
                         bool hasBudget)
{
    static knBreakRun ours, theirs;
    knStageDef def = {.scene = scene, .assetFolder = folder, .seed = 1};
    def.config = knScene_Config(scene);
    if (hasBudget)
    {
        def.config.breaking.workPerStep = BUDGET_WORK;
        def.config.breaking.bodiesPerStep = BUDGET_BODIES;
        def.config.breaking.breaksPerStep = 1;
    }
    int count = bench->options.quick ? 2 : 3;
    knResult result = Repeat(&ours, &def, kn_pileKnap, count);
    for (size_t p = 0; result == kn_success && p < COUNT(peers); ++p)
    {
        char name[64];
        snprintf(name, sizeof name, "%s/%s/%s", scene->name, hasBudget ? "budget" : "free",
                 peerNames[p]);
        result = Repeat(&theirs, &def, peers[p], bench->options.quick ? 1 : 2);
        result = result == kn_success ? AddPair(bench, name, &ours, &theirs, peerNames[p]) : result;
    }
    return result;
}

static bool IsWanted(const knBenchRun* bench, const char* name)
{
    return !bench->options.caseName || strstr(name, bench->options.caseName);
}

static void RunScenes(knBenchRun* bench, const char* folder)
{
    for (size_t i = 0; i < COUNT(sceneNames); ++i)
    {
        const knScene* scene = knFindScene(sceneNames[i]);
        // the others take minutes: a short run has them only when they are asked for
        bool isShort = strcmp(sceneNames[i], "piggy") == 0 || bench->options.caseName;
        if (!IsWanted(bench, sceneNames[i]) || (bench->options.quick && !isShort))
        {
            continue;
        }
        for (int hasBudget = 0; hasBudget < 2; ++hasBudget)
        {
            if (RunScene(bench, folder, scene, hasBudget != 0) != kn_success)
            {
                knBenchRun_Skip(bench, scene->name, knLastError());
            }
        }
    }
}

// ---- pop

static knResult AddPop(knBenchRun* bench, const char* model, const char* peerName, const knPop* pop)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s", model, peerName);
    knBenchRow rows[2] = {knBenchRun_MakeRow(bench, name, "pop", "m/s"),
                          knBenchRun_MakeRow(bench, name, "jump", "mm")};
    rows[0].ours = pop->ours;
    rows[0].peer = pop->peer;
    snprintf(rows[0].note, sizeof rows[0].note,
             "fastest of %u pieces, 50 ms after the break in free fall; falling alone makes 0.49; "
             "the peer's solver is Bullet's own",
             pop->pieceCount);
    rows[1].ours = 1e3 * pop->oursMiss;
    rows[1].peer = 1e3 * pop->peerMiss;
    snprintf(rows[1].note, sizeof rows[1].note,
             "furthest of them beside its fall then; the peer's solver is set as ours");
    return AddRows(bench, rows, COUNT(rows), peerName);
}

// Every object that breaks in the scenes.
static knResult RunPops(knBenchRun* bench, const char* folder)
{
    knResult result = kn_success;
    for (size_t m = 0; m < COUNT(modelNames); ++m)
    {
        bool isObject = strcmp(modelNames[m], "shelf") != 0 && IsWanted(bench, modelNames[m]);
        for (size_t p = 0; isObject && result == kn_success && p < COUNT(peers); ++p)
        {
            knPop pop;
            result = knMeasurePop(modelNames[m], folder, peers[p], &pop);
            result =
                result == kn_success ? AddPop(bench, modelNames[m], peerNames[p], &pop) : result;
        }
    }
    return result;
}

// ---- assets

// As the demos cook them; a short run goes without modes, which take most of the time.
static knResult CookAll(const knBenchRun* bench, const char* folder)
{
    knResult result = kn_success;
    for (size_t i = 0; result == kn_success && i < COUNT(modelNames); ++i)
    {
        char mesh[PATH_MAX], path[PATH_MAX], name[32];
        snprintf(name, sizeof name, "%s.obj", modelNames[i]);
        result = knFindMesh(mesh, bench->options.meshPath, name);
        snprintf(name, sizeof name, "%s.knap", modelNames[i]);
        result = result == kn_success ? knJoinPath(path, folder, name) : result;
        bool isPlain = bench->options.quick || strcmp(modelNames[i], "shelf") == 0;
        knBenchModel model = {0};
        if (result == kn_success)
        {
            result =
                isPlain ? knCookBenchModel(&model, mesh, 0, 0.0) : knCookGameModel(&model, mesh);
        }
        if (result == kn_success)
        {
            result = knWriteWholeFile(path, model.bytes, model.size);
            knDestroyBenchModel(&model);
        }
    }
    return result;
}

static bool HasAll(const char* folder)
{
    for (size_t i = 0; folder && i < COUNT(modelNames); ++i)
    {
        char path[PATH_MAX], name[32];
        snprintf(name, sizeof name, "%s.knap", modelNames[i]);
        if (knJoinPath(path, folder, name) != kn_success || !knPathExists(path))
        {
            return false;
        }
    }
    return folder != NULL;
}

static knResult RunBreak(knBenchRun* bench)
{
    char scratch[PATH_MAX];
    const char* folder = bench->options.assetPath;
    bool isCooked = HasAll(folder);
    knResult result = isCooked ? kn_success : knMakeScratchFolder(scratch);
    if (result != kn_success)
    {
        return result;
    }
    folder = isCooked ? folder : scratch;
    result = isCooked ? kn_success : CookAll(bench, folder);
    result = result == kn_success ? RunPops(bench, folder) : result;
    if (result == kn_success)
    {
        RunScenes(bench, folder);
    }
    if (!isCooked)
    {
        knRemoveScratchFolder(scratch);
    }
    return result;
}

const knBench knBenchBreak = {"break", "steps in which things break, beside the median step",
                              RunBreak};
