// SPDX-License-Identifier: Zlib
#include "fracture/crack_internal.h"

#include <string.h>

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
    c->phi = knAllocate(&a, (size_t)nodeCount + KN_CRACK_PAD, sizeof(float));
    c->placeBlock = knAllocate(&a, 3 * ((size_t)nodeCount + KN_CRACK_PAD), sizeof(float));
    for (int i = 0; c->placeBlock && i < 3; ++i)
    {
        c->places[i] = c->placeBlock + (size_t)i * ((size_t)nodeCount + KN_CRACK_PAD);
    }
    if (!c->placeBlock || !c->stress || !c->scores || !c->spacings || !c->isFresh || !c->heap ||
        !c->phi)
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
    knRelease(&a, c->phi, (size_t)c->nodeCapacity + KN_CRACK_PAD, sizeof(float));
    knRelease(&a, c->placeBlock, 3 * ((size_t)c->nodeCapacity + KN_CRACK_PAD), sizeof(float));
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

// Edge of a regular tetrahedron of the mean volume.
static double MeanEdge(const knFragmentSet* set)
{
    double volume = set->fragments[0].mass.volume;
    return cbrt(8.49 * volume / (double)set->cutMesh->mesh->tetCount);
}

static float ChooseSpacing(const knFragmentSet* set, const knCrackDef* def, double edge)
{
    if (def->minSpacing > 0.0f)
    {
        return def->minSpacing;
    }
    double volume = set->fragments[0].mass.volume;
    double least = fmax(0.05 * cbrt(volume), edge);
    // a tough material still has pieces to fall into
    return (float)fmax(least, fmin(4.0 * def->length, 0.2 * cbrt(volume)));
}

static double RatioOf(const knCracks* c, uint32_t i, uint32_t node, double largest)
{
    float scale = (float)(1.0 / largest);
    return knCrack_Ratio(c, node, (double)(scale * c->def.stress[i].tension));
}

static double FindWeakest(const knCracks* c, double largest)
{
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, c->def.fragment);
    uint32_t count = c->set->fragments[c->def.fragment].nodeCount;
    double weakest = 0.0;
    for (uint32_t i = 0; i < count; ++i)
    {
        weakest = fmax(weakest, RatioOf(c, i, nodes[i], largest));
    }
    return weakest;
}

// Stress over the largest tension: the list of cracks cannot depend on the blow's size.
static void FillScores(knCracks* c, double largest)
{
    const uint32_t* nodes = knFragmentSet_Nodes(c->set, c->def.fragment);
    uint32_t count = c->set->fragments[c->def.fragment].nodeCount;
    float scale = (float)(1.0 / largest);
    for (uint32_t i = 0; i < count; ++i)
    {
        double ratio = RatioOf(c, i, nodes[i], largest);
        c->stress[nodes[i]] = Scaled(&c->def.stress[i], scale);
        c->scores[nodes[i]] = knCrack_Score(c, nodes[i], ratio, c->def.stress[i].direction);
        c->isFresh[nodes[i]] = 1;
        c->spacings[nodes[i]] = knCrack_Spacing(c, c->set->cutMesh->mesh->nodes[nodes[i]]);
    }
    knCrack_FillHeap(c, nodes, count);
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
    c->firstNode = set->fragments[def->fragment].firstNode;
    knCrack_LoadPlaces(c, c->firstNode, count);
    for (uint32_t i = 0; i < def->hitCount; ++i)
    {
        c->hits[i] = knCrack_MakeHitFrame(&def->hits[i], set->cutMesh->mesh,
                                          knFragmentSet_Nodes(set, def->fragment), count);
    }
    knCrack_FillNoise(c->lattice, def->seed);
    c->edge = MeanEdge(set);
    c->minSpacing = ChooseSpacing(set, def, c->edge);
    c->hasFound = false;
    c->minVolume = def->minVolumeShare * set->fragments[0].mass.volume;
    double strain = def->strainEnergy * def->impulse * def->impulse;
    double lost = def->maxEnergy > 0.0 ? def->maxEnergy : HUGE_VAL;
    c->wholeEnergy = fmin(strain, lost);
    double energy = fmin((double)def->energyShare * strain, (double)def->contactShare * lost);
    c->report = (knCrackReport){.isDone = true, .breakingShare = HUGE_VAL, .pieceCount = 1};
    c->report.energy = energy;
    if (largest > 0.0 && def->impulse > 0.0)
    {
        c->scale = largest * def->impulse / def->strength;
        c->report.breakingShare = 1.0 / (FindWeakest(c, largest) * c->scale);
        c->report.breaks = c->report.breakingShare <= 1.0;
        c->report.isDone = !c->report.breaks;
        c->report.work += 3 * (uint64_t)count;
        if (c->report.breaks)
        {
            // what holds needs no list
            FillScores(c, largest);
        }
    }
    // what they point to may be gone when the next crack is asked for
    c->def.stress = NULL;
    c->def.hits = NULL;
    return kn_success;
}

static uint32_t PlannedPoints(const knCracks* c, const Candidate* k)
{
    double most = 4.0 * c->set->fragments[k->fragment].nodeCount;
    double points = KN_LAYER_POINTS * k->layer * c->edge / (double)c->minSpacing;
    return (uint32_t)fmin(points, most) + 1;
}

static uint64_t CutUnits(uint32_t nodes, uint32_t points)
{
    return KN_CUT_UNITS + KN_CUT_NODE_UNITS * (uint64_t)nodes +
           KN_CUT_POINT_UNITS * (uint64_t)points;
}

static knResult SplitCandidate(knCracks* c, const Candidate* k, knArena* arena,
                               knSplitResult* result)
{
    // a lone crack runs as slowly as it likes and takes what it needs; many fast ones do not
    double left =
        c->report.crackCount > 0 ? c->report.energy - c->report.spentEnergy : c->wholeEnergy;
    double cost = c->def.fractureEnergy * k->paidShare;
    uint32_t firstNode = c->set->fragments[k->fragment].firstNode;
    uint32_t nodeCount = c->set->fragments[k->fragment].nodeCount;
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitNodal;
    def.phi = c->phi;
    def.small = c->def.small;
    def.minVolume = c->minVolume;
    // zero would mean no limit
    def.maxArea = cost > 0.0 ? fmax(left / cost, DBL_MIN) : 0.0;
    double start = c->def.clock ? c->def.clock(c->def.clockUser) : 0.0;
    knResult status = knFragmentSet_Split(c->set, k->fragment, &def, arena, result);
    c->report.cutSeconds += c->def.clock ? c->def.clock(c->def.clockUser) - start : 0.0;
    if (status != kn_success)
    {
        return status;
    }
    // what came to nothing was cut and measured all the same
    bool isDone = result->outcome == kn_splitDone;
    uint32_t pointCount = isDone ? result->delta.pointCount : PlannedPoints(c, k);
    c->report.work += CutUnits(nodeCount, pointCount);
    if (result->outcome == kn_splitTooLarge)
    {
        knCrack_LeaveDamage(c, k, def.maxArea / result->crackArea);
    }
    else if (isDone)
    {
        c->report.firstSeed = c->report.crackCount == 0 ? k->face.seed : c->report.firstSeed;
        c->report.crackCount += 1;
        c->report.crackArea += result->crackArea;
        c->report.spentEnergy += result->crackArea * cost;
        c->report.energy = fmax(c->report.energy, c->report.spentEnergy);
        c->report.pieceCount += result->delta.fragmentCount - 1;
        knCrack_RelieveAround(c, &k->face, result->delta.splitNodes, result->delta.splitNodeCount);
        knCrack_LoadPlaces(c, firstNode, result->delta.splitNodeCount);
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

uint64_t knCracks_FindWork(const knCracks* c)
{
    if (!c || c->report.isDone || c->hasFound || c->heapCount == 0)
    {
        return 0;
    }
    uint32_t fragment = c->set->store->labels[c->heap[0]];
    // judged twice, and given waves
    return KN_TRY_UNITS + (uint64_t)c->set->fragments[fragment].nodeCount / 2;
}

// A face through the next node, or through the hit when that would not do.
static bool TryFace(knCracks* c, Candidate* k)
{
    knVec3 direction;
    *k = (Candidate){.paidShare = 1.0, .node = NextNode(c, &direction)};
    if (k->node == KN_NONE)
    {
        return false;
    }
    c->report.tryCount += 1;
    c->report.work += KN_TRY_UNITS;
    k->fragment = c->set->store->labels[k->node];
    k->face = knCrack_MakeFace(c, k->node, direction);
    knCrack_Judge(c, k);
    if (!k->face.isRadial && (k->isRefused || k->isClosed))
    {
        // before anything comes loose around the hit, or long and thin, it cracks through the hit
        knCrack_TurnThroughHit(&k->face);
        knCrack_Judge(c, k);
    }
    if (k->isRefused)
    {
        knCrack_GiveUp(c, k);
        return false;
    }
    knCrack_Roughen(c, k);
    return true;
}

bool knCracks_Find(knCracks* c, knCrackPlan* plan)
{
    if (!c || !plan)
    {
        return false;
    }
    c->hasFound = c->hasFound || TryFace(c, &c->found);
    if (c->hasFound)
    {
        uint32_t count = c->set->fragments[c->found.fragment].nodeCount;
        plan->fragment = c->found.fragment;
        plan->pointCount = PlannedPoints(c, &c->found);
        plan->work = CutUnits(count, plan->pointCount);
    }
    return c->hasFound;
}

knResult knCracks_Next(knCracks* c, knArena* arena, knSplitResult* result)
{
    if (!c || !arena || !result)
    {
        return knFail(kn_errorArgument, "knCracks_Next: an argument is null");
    }
    *result = (knSplitResult){.outcome = kn_splitNothing};
    knCrackPlan plan;
    if (!knCracks_Find(c, &plan))
    {
        return kn_success;
    }
    knResult status = SplitCandidate(c, &c->found, arena, result);
    c->hasFound = status != kn_success;
    if (status == kn_success && result->outcome != kn_splitDone && !c->report.isDone)
    {
        knCrack_GiveUp(c, &c->found);
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
