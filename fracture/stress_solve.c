// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

knStressDef knDefaultStressDef(void)
{
    return (knStressDef){0};
}

static knResult CheckImpacts(const knStressDef* def)
{
    if (def->impactCount == 0 || !def->impacts)
    {
        return knFail(kn_errorArgument, "stress needs at least one impact");
    }
    for (uint32_t i = 0; i < def->impactCount; ++i)
    {
        const knImpact* impact = &def->impacts[i];
        if (!knIsFinite(impact->point) || !knIsFinite(impact->impulse))
        {
            return knFail(kn_errorArgument, "impacts[%u] has a point or impulse that is no number",
                          i);
        }
        float least = impact->kind == kn_loadSteady ? 1e-6f : 0.0f;
        if (!(impact->duration >= least && impact->duration <= 10.0f))
        {
            return knFail(kn_errorArgument,
                          "impacts[%u].duration is %g: it must be from %g to 10 s", i,
                          (double)impact->duration, (double)least);
        }
        if ((unsigned)impact->kind >= kn_loadKindCount)
        {
            return knFail(kn_errorArgument, "impacts[%u].kind is %d: there is none of that number",
                          i, (int)impact->kind);
        }
    }
    return kn_success;
}

static knResult CheckAnchors(const knStressDef* def)
{
    if (def->anchorCount > 0 && !def->anchors)
    {
        return knFail(kn_errorArgument, "anchorCount is %u, but anchors is null", def->anchorCount);
    }
    for (uint32_t i = 0; i < def->anchorCount; ++i)
    {
        if (def->anchors[i] >= def->set->nodeCount ||
            (i > 0 && def->anchors[i] <= def->anchors[i - 1]))
        {
            return knFail(kn_errorArgument,
                          "anchors[%u] is %u: anchors must be nodes of the mesh, ascending", i,
                          def->anchors[i]);
        }
    }
    return kn_success;
}

static knResult CheckDef(const knStressDef* def)
{
    if (!def || !def->set)
    {
        return knFail(kn_errorArgument, "stress needs a definition with a fragment set");
    }
    if (def->fragment >= def->set->fragmentCount ||
        def->set->fragments[def->fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorHandle, "fragment %u does not exist or was split", def->fragment);
    }
    if (def->modes && def->modes->modeCount > 0 && def->modes->nodeCount != def->set->nodeCount)
    {
        return knFail(kn_errorArgument, "the modes have %u nodes, the mesh has %u: cook it again",
                      def->modes->nodeCount, def->set->nodeCount);
    }
    knResult result = knValidateMaterial(def->material);
    result = result == kn_success ? CheckImpacts(def) : result;
    return result == kn_success ? CheckAnchors(def) : result;
}

static bool UsesModes(const knStressDef* def)
{
    return knStress_HasModes(def) && def->set->nodeCount >= KN_STRESS_LANES;
}

static void FindPeak(StressTask* task)
{
    knStressResult* r = &task->result;
    for (uint32_t i = 0; i < task->nodeCount; ++i)
    {
        if (task->out[i].tension > r->peakTension)
        {
            r->peakTension = task->out[i].tension;
            r->peakNode = i;
        }
    }
}

knResult knSolveStress(const knStressDef* def, knArena* arena, knStressResult* result)
{
    knResult error = CheckDef(def);
    if (error != kn_success)
    {
        return error;
    }
    if (!arena || !result)
    {
        return knFail(kn_errorArgument, "stress needs an arena and a result");
    }
    const knFragment* fragment = &def->set->fragments[def->fragment];
    size_t before = knArena_Mark(arena);
    StressTask task = {.def = def,
                       .mesh = def->set->cutMesh->mesh,
                       .nodes = knFragmentSet_Nodes(def->set, def->fragment),
                       .nodeCount = fragment->nodeCount,
                       .arena = arena};
    task.out = knArena_Allocate(arena, task.nodeCount, sizeof *task.out);
    size_t after = knArena_Mark(arena);
    error = !task.out        ? kn_errorMemory
            : UsesModes(def) ? knStress_SolveModal(&task)
                             : knStress_SolvePiece(&task);
    if (error != kn_success)
    {
        knArena_Rewind(arena, before);
        return error == kn_errorMemory
                   ? knFail(error,
                            "the arena is too small for the stress of fragment %u: reserve "
                            "knStressBytes",
                            def->fragment)
                   : error;
    }
    knArena_Rewind(arena, after);
    if (!def->noContactStress)
    {
        knStress_AddContacts(&task);
    }
    FindPeak(&task);
    task.result.nodes = task.out;
    task.result.nodeCount = task.nodeCount;
    task.result.timeCount = task.timeCount;
    *result = task.result;
    return kn_success;
}

size_t knStressBytes(const knStressDef* def)
{
    if (CheckDef(def) != kn_success)
    {
        return 0;
    }
    size_t nodes = (size_t)def->set->fragments[def->fragment].nodeCount * sizeof(knNodeStress);
    return nodes + KN_CACHE_LINE +
           (UsesModes(def) ? knStress_ModalBytes(def) : knStress_PieceBytes(def));
}
