// SPDX-License-Identifier: Zlib
#include "fracture/crack_internal.h"

#include <string.h>

// A side is a sliver when its mean depth is below this share of the spacing.
#define SLIVER_SHARE 0.2f

// Nor is it longer than this allows: mean depth over the spread of the face.
#define BAND_SHARE 0.25

// The mean of the directions from the hit to a face is shorter than this when it goes round it.
#define CLOSED_MEAN 0.6f

// A crack does not run through what is, on the mean, so many times stronger than where it began.
#define STRONG_RATIO 3.0

// What a crack that stopped does to the strength along it, and the most that many do.
#define STOP_DAMAGE 0.6f
#define MAX_DAMAGE  0.9f

knResult knCreateCracks(knCracks** out, uint32_t nodeCount, const knAllocator* allocator)
{
    knResult result = out && nodeCount > 0
                          ? knCheckAllocator(allocator)
                          : knFail(kn_errorArgument, "knCreateCracks: out is null or nodeCount 0");
    if (result != kn_success)
    {
        return result;
    }
    knAllocator a = allocator ? *allocator : knDefaultAllocator();
    knCracks* c = knAllocate(&a, 1, sizeof(knCracks));
    if (!c)
    {
        return kn_errorMemory;
    }
    memset(c, 0, sizeof *c);
    c->allocator = a;
    c->nodeCapacity = nodeCount;
    c->report.isDone = true;
    c->stress = knAllocate(&a, nodeCount, sizeof(StressTensor));
    c->scores = knAllocate(&a, nodeCount, sizeof(float));
    c->spacings = knAllocate(&a, nodeCount, sizeof(float));
    c->isFresh = knAllocate(&a, nodeCount, sizeof(uint8_t));
    c->heap = knAllocate(&a, nodeCount, sizeof(uint32_t));
    c->phi = knAllocate(&a, nodeCount, sizeof(float));
    if (!c->stress || !c->scores || !c->spacings || !c->isFresh || !c->heap || !c->phi)
    {
        knDestroyCracks(c);
        return kn_errorMemory;
    }
    *out = c;
    return kn_success;
}

void knDestroyCracks(knCracks* c)
{
    if (!c)
    {
        return;
    }
    knAllocator a = c->allocator;
    knRelease(&a, c->stress, c->nodeCapacity, sizeof(StressTensor));
    knRelease(&a, c->scores, c->nodeCapacity, sizeof(float));
    knRelease(&a, c->spacings, c->nodeCapacity, sizeof(float));
    knRelease(&a, c->isFresh, c->nodeCapacity, sizeof(uint8_t));
    knRelease(&a, c->heap, c->nodeCapacity, sizeof(uint32_t));
    knRelease(&a, c->phi, c->nodeCapacity, sizeof(float));
    knRelease(&a, c, 1, sizeof(knCracks));
}

const knCrackReport* knCracks_Report(const knCracks* c)
{
    return &c->report;
}

static knResult CheckBegin(const knCracks* c, const knFragmentSet* set, const knCrackDef* def)
{
    if (!c || !set || !set->nodes)
    {
        return knFail(kn_errorArgument, "knCracks_Begin: cracks or set is null");
    }
    knResult result = knValidateCrackDef(def);
    if (result != kn_success)
    {
        return result;
    }
    if (def->fragment >= set->fragmentCount ||
        set->fragments[def->fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorHandle, "knCracks_Begin: fragment %u has ended or never was",
                      def->fragment);
    }
    if (set->nodeCount > c->nodeCapacity)
    {
        return knFail(kn_errorLimit, "knCracks_Begin: made for %u nodes, the mesh has %u",
                      c->nodeCapacity, set->nodeCount);
    }
    return kn_success;
}

static StressTensor Scaled(const knNodeStress* s, float scale)
{
    const float* t = s->tensor;
    return (StressTensor){scale * t[0], scale * t[1], scale * t[2],
                          scale * t[3], scale * t[5], scale * t[4]};
}

// The largest tension, in Pa for 1 N s; negative when something is not a number.
static double LargestTension(const knNodeStress* stress, uint32_t count)
{
    float most = 0.0f;
    for (uint32_t i = 0; i < count; ++i)
    {
        const float* t = stress[i].tensor;
        if (!isfinite(t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + stress[i].tension) ||
            !knIsFinite(stress[i].direction))
        {
            return -1.0;
        }
        most = fmaxf(most, stress[i].tension);
    }
    return (double)most;
}

static float ChooseSpacing(const knFragmentSet* set, const knCrackDef* def)
{
    if (def->minSpacing > 0.0f)
    {
        return def->minSpacing;
    }
    double volume = set->fragments[0].mass.volume;
    // edge of a regular tetrahedron of the mean volume: finer than that nothing can be cut
    double edge = cbrt(8.49 * volume / (double)set->cutMesh->mesh->tetCount);
    double least = fmax(0.05 * cbrt(volume), edge);
    // a tough material still has pieces to fall into
    return (float)fmax(least, fmin(4.0 * def->length, 0.2 * cbrt(volume)));
}

// Stress over the largest tension: the list of cracks cannot depend on the blow's size.
static double FillScores(knCracks* c, double largest)
{
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, c->def.fragment);
    uint32_t count = c->set->fragments[c->def.fragment].nodeCount;
    float scale = (float)(1.0 / largest);
    double weakest = 0.0;
    for (uint32_t i = 0; i < count; ++i)
    {
        c->stress[nodes[i]] = Scaled(&c->def.stress[i], scale);
        double ratio = knCrack_Ratio(c, nodes[i], (double)(scale * c->def.stress[i].tension));
        c->scores[nodes[i]] = knCrack_Score(c, nodes[i], ratio, c->def.stress[i].direction);
        c->isFresh[nodes[i]] = 1;
        c->spacings[nodes[i]] = knCrack_Spacing(c, c->set->cutMesh->mesh->nodes[nodes[i]]);
        weakest = fmax(weakest, ratio);
    }
    knCrack_FillHeap(c, nodes, count);
    c->report.work += count;
    return weakest;
}

knResult knCracks_Begin(knCracks* c, knFragmentSet* set, const knCrackDef* def)
{
    knResult result = CheckBegin(c, set, def);
    if (result != kn_success)
    {
        return result;
    }
    uint32_t count = set->fragments[def->fragment].nodeCount;
    double largest = LargestTension(def->stress, count);
    if (largest < 0.0)
    {
        return knFail(kn_errorArgument, "knCrackDef: stress is not finite at some node");
    }
    c->set = set;
    c->def = *def;
    for (uint32_t i = 0; i < def->hitCount; ++i)
    {
        c->hits[i] = knCrack_MakeHitFrame(&def->hits[i], set->cutMesh->mesh,
                                          knFragmentSet_Nodes(set, def->fragment), count);
    }
    knCrack_FillNoise(c->lattice, def->seed);
    c->minSpacing = ChooseSpacing(set, def);
    c->minVolume = def->minVolumeShare * set->fragments[0].mass.volume;
    double energy = def->strainEnergy * def->impulse * def->impulse;
    energy = def->maxEnergy > 0.0 ? fmin(energy, def->maxEnergy) : energy;
    c->report = (knCrackReport){.isDone = true, .breakingShare = HUGE_VAL, .pieceCount = 1};
    c->report.energy = energy;
    if (largest > 0.0 && def->impulse > 0.0)
    {
        c->scale = largest * def->impulse / def->strength;
        double weakest = FillScores(c, largest);
        c->report.breakingShare = 1.0 / (weakest * c->scale);
        c->report.breaks = c->report.breakingShare <= 1.0;
        c->report.isDone = !c->report.breaks;
    }
    // what they point to may be gone when the next crack is asked for
    c->def.stress = NULL;
    c->def.hits = NULL;
    return kn_success;
}

// The face through a node, with its value at every node of the piece.
typedef struct Candidate
{
    CrackFace face;
    uint32_t fragment;
    uint32_t node;
    float extent;     // m, from the seed to the furthest node
    double paidShare; // of its area; earlier cracks have paid for the rest
    bool isRefused;
} Candidate;

static float ExtentFrom(const knCracks* c, uint32_t fragment, knVec3 p)
{
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, fragment);
    float most = 0.0f;
    for (uint32_t i = 0; i < c->set->fragments[fragment].nodeCount; ++i)
    {
        most = fmaxf(most, knLengthSquared(knSub(c->set->cutMesh->mesh->nodes[nodes[i]], p)));
    }
    return sqrtf(most);
}

// Whether the face closes around the hit, as in a ring or a tube: what it would cut out hangs in
// it.
static bool IsClosedAround(const knCracks* c, const Candidate* k)
{
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->set->fragments[k->fragment].nodeCount; ++i)
    {
        if (fabsf(c->phi[i]) < c->minSpacing)
        {
            knVec3 p = positions[nodes[i]];
            sum = knAdd(sum, knNormalize(knSub(p, k->face.hit->point)));
            count += 1;
        }
    }
    return knLength(sum) < CLOSED_MEAN * (float)count;
}

static void EvaluateCandidate(knCracks* c, Candidate* k)
{
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    uint32_t count = c->set->fragments[k->fragment].nodeCount;
    double depths[2] = {0.0, 0.0};
    uint32_t counts[2] = {0, 0};
    double damage = 0.0;
    double factor = 0.0;
    double squares = 0.0;
    uint32_t nearCount = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        float phi = knCrack_EvaluateFace(&k->face, positions[nodes[i]]);
        c->phi[i] = phi;
        depths[phi < 0.0f] += (double)fabsf(phi);
        counts[phi < 0.0f] += 1;
        if (fabsf(phi) < c->minSpacing)
        {
            damage += c->def.damage ? (double)c->def.damage[nodes[i]] : 0.0;
            factor += c->def.strengthFactor ? (double)c->def.strengthFactor[nodes[i]] : 1.0;
            squares += (double)knLengthSquared(knSub(positions[nodes[i]], k->face.seed));
            nearCount += 1;
        }
    }
    int lesser = counts[0] < counts[1] ? 0 : 1;
    // neither thin for its place nor for its length
    double spread = nearCount > 0 ? sqrt(squares / nearCount) : 0.0;
    double limit = fmax((double)(SLIVER_SHARE * c->spacings[k->node]), BAND_SHARE * spread);
    double own = c->def.strengthFactor ? (double)c->def.strengthFactor[k->node] : 1.0;
    k->isRefused = counts[lesser] == 0 || depths[lesser] < limit * counts[lesser] ||
                   factor > STRONG_RATIO * own * nearCount;
    k->paidShare = nearCount > 0 ? 1.0 - damage / nearCount : 1.0;
    c->report.work += 2 * (uint64_t)count;
}

// Nodes within the spacing of the new faces lose the tension across them.
static void RelieveAround(knCracks* c, const CrackFace* face, const uint32_t* nodes, uint32_t count)
{
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    for (uint32_t i = 0; i < count; ++i)
    {
        float t = c->phi[i] / c->spacings[nodes[i]];
        if (t * t < 1.0f)
        {
            knVec3 normal = knCrack_FaceNormal(face, positions[nodes[i]]);
            float w = 1.0f - t * t;
            knCrack_Relieve(&c->stress[nodes[i]], normal, w * w);
            c->isFresh[nodes[i]] = 0;
        }
    }
    c->report.work += count;
}

// The seed could not be used: neither can those right beside it.
static void GiveUpSeed(knCracks* c, const Candidate* k)
{
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    float reach = 0.5f * c->spacings[k->node];
    for (uint32_t i = 0; i < c->set->fragments[k->fragment].nodeCount; ++i)
    {
        float t = knDistance(positions[nodes[i]], k->face.seed) / reach;
        if (t < 1.0f)
        {
            float w = 1.0f - t * t;
            knCrack_Relieve(&c->stress[nodes[i]], k->face.normal, w * w);
            c->isFresh[nodes[i]] = 0;
        }
    }
    c->scores[k->node] = 0.0f;
    c->report.work += c->set->fragments[k->fragment].nodeCount;
}

// As far as the energy reached, nearest to the seed first.
static void LeaveDamage(knCracks* c, const Candidate* k, double share)
{
    c->report.isUnfinished = true;
    c->report.isDone = true;
    if (!c->def.damage)
    {
        return;
    }
    const knVec3* positions = c->set->cutMesh->mesh->nodes;
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, k->fragment);
    float reach = k->extent * (float)sqrt(fmin(fmax(share, 0.0), 1.0));
    for (uint32_t i = 0; i < c->set->fragments[k->fragment].nodeCount; ++i)
    {
        bool isNear = fabsf(c->phi[i]) < c->minSpacing &&
                      knDistance(positions[nodes[i]], k->face.seed) <= reach;
        if (isNear)
        {
            float* damage = &c->def.damage[nodes[i]];
            *damage = fminf(MAX_DAMAGE, 1.0f - (1.0f - *damage) * (1.0f - STOP_DAMAGE));
        }
    }
}

static knResult SplitCandidate(knCracks* c, const Candidate* k, knArena* arena,
                               knSplitResult* result)
{
    double left = c->report.energy - c->report.spentEnergy;
    double cost = c->def.fractureEnergy * k->paidShare;
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitNodal;
    def.phi = c->phi;
    def.small = c->def.small;
    def.minVolume = c->minVolume;
    // zero would mean no limit
    def.maxArea = cost > 0.0 ? fmax(left / cost, DBL_MIN) : 0.0;
    c->report.work += 4 * (uint64_t)c->set->fragments[k->fragment].nodeCount;
    double start = c->def.clock ? c->def.clock(c->def.clockUser) : 0.0;
    knResult status = knFragmentSet_Split(c->set, k->fragment, &def, arena, result);
    c->report.cutSeconds += c->def.clock ? c->def.clock(c->def.clockUser) - start : 0.0;
    if (status != kn_success)
    {
        return status;
    }
    if (result->outcome == kn_splitTooLarge)
    {
        LeaveDamage(c, k, def.maxArea / result->crackArea);
    }
    else if (result->outcome == kn_splitDone)
    {
        c->report.firstSeed = c->report.crackCount == 0 ? k->face.seed : c->report.firstSeed;
        c->report.crackCount += 1;
        c->report.crackArea += result->crackArea;
        c->report.spentEnergy += result->crackArea * cost;
        c->report.pieceCount += result->delta.fragmentCount - 1;
        RelieveAround(c, &k->face, result->delta.splitNodes, result->delta.splitNodeCount);
    }
    return kn_success;
}

// The score that a crack needs. Where the blow just breaks the piece, only what is about as tense
// as the place where it broke follows; the harder it is, the less is enough.
static double NeededScore(const knCracks* c)
{
    double least = (double)c->def.runShare;
    double excess = 1.0 / c->report.breakingShare - 1.0;
    double needed = least + (1.0 - least) / (1.0 + 2.0 * excess * excess);
    return (c->report.crackCount > 0 ? needed : least) / c->scale;
}

// KN_NONE at the end of the list, or of what the blow takes of it.
static uint32_t NextNode(knCracks* c, knVec3* direction)
{
    uint32_t node = c->report.isDone ? KN_NONE : knCrack_TopNode(c, direction);
    bool isLast = node == KN_NONE || (double)c->scores[node] < NeededScore(c) ||
                  c->report.pieceCount >= c->def.maxPieces;
    c->report.isDone |= isLast;
    return isLast ? KN_NONE : node;
}

uint32_t knCracks_NextFragment(knCracks* c)
{
    knVec3 direction;
    uint32_t node = c ? NextNode(c, &direction) : KN_NONE;
    return node == KN_NONE ? KN_NONE : c->set->store->labels[node];
}

knResult knCracks_Next(knCracks* c, knArena* arena, knSplitResult* result)
{
    if (!c || !arena || !result)
    {
        return knFail(kn_errorArgument, "knCracks_Next: an argument is null");
    }
    *result = (knSplitResult){.outcome = kn_splitNothing};
    Candidate k = {.paidShare = 1.0};
    knVec3 direction;
    k.node = NextNode(c, &direction);
    if (k.node == KN_NONE)
    {
        return kn_success;
    }
    c->report.tryCount += 1;
    k.fragment = c->set->store->labels[k.node];
    k.extent = ExtentFrom(c, k.fragment, c->set->cutMesh->mesh->nodes[k.node]);
    k.face = knCrack_MakeFace(c, k.node, direction, k.extent);
    EvaluateCandidate(c, &k);
    if (!k.face.isRadial && (k.isRefused || IsClosedAround(c, &k)))
    {
        // before anything comes loose around the hit, or long and thin, it cracks through the hit
        knCrack_TurnThroughHit(&k.face);
        EvaluateCandidate(c, &k);
    }
    knResult status = k.isRefused ? kn_success : SplitCandidate(c, &k, arena, result);
    if (status == kn_success && result->outcome != kn_splitDone && !c->report.isDone)
    {
        GiveUpSeed(c, &k);
    }
    return status;
}

size_t knCracks_Bytes(const knCracks* c)
{
    if (!c || !c->set)
    {
        return 0;
    }
    size_t most = 0;
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitNodal;
    for (uint32_t i = 0; i < c->set->fragmentCount; ++i)
    {
        if (c->set->fragments[i].state != kn_fragmentEnded)
        {
            size_t bytes = knFragmentSet_SplitBytes(c->set, i, &def);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}
