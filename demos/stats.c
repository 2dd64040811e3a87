// SPDX-License-Identifier: Zlib
#include "demos/stats.h"

#include "demos/colliding.h"

#include <math.h>

static void CountPieces(knStats* stats, const knStage* stage)
{
    stats->trianglesNow = stats->pieces = stats->fragments = 0;
    for (knBodyId id = knWorld_NextBody(stage->world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(stage->world, id))
    {
        knBodyPiece piece;
        knBodyState state;
        if (knWorld_BodyPiece(stage->world, id, &piece) == kn_success &&
            knWorld_BodyState(stage->world, id, &state) == kn_success)
        {
            stats->trianglesNow += piece.mesh->triangleCount;
            stats->pieces += 1;
            stats->fragments += state.mass > 0.0f;
        }
    }
}

void knStats_Begin(knStats* stats, const knStage* stage, bool countsAll)
{
    *stats = (knStats){.countsAll = countsAll};
    CountPieces(stats, stage);
    stats->trianglesBefore = stats->trianglesNow;
    stats->families = stats->pieces;
    knJudge_Begin(&stats->judge, stage);
}

static void Accumulate(knStepStats* sum, const knStepStats* s)
{
    sum->pieces += s->pieces;
    sum->pairs += s->pairs;
    sum->contacts += s->contacts;
    sum->colliding += s->colliding;
    sum->total += s->total;
    sum->collision += s->collision;
    sum->physics += s->physics;
    sum->update += s->update;
    sum->fracture += s->fracture;
}

static uint32_t More(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void KeepWorst(knStepStats* worst, const knStepStats* s)
{
    worst->pieces = More(worst->pieces, s->pieces);
    worst->pairs = More(worst->pairs, s->pairs);
    worst->contacts = More(worst->contacts, s->contacts);
    worst->colliding = More(worst->colliding, s->colliding);
    worst->total = fmax(worst->total, s->total);
    worst->collision = fmax(worst->collision, s->collision);
    worst->physics = fmax(worst->physics, s->physics);
    worst->update = fmax(worst->update, s->update);
    worst->fracture = fmax(worst->fracture, s->fracture);
}

void knStats_Add(knStats* stats, const knStage* stage)
{
    knWorldProfile profile = knWorld_Profile(stage->world);
    knWorldCounters counters = knWorld_Counters(stage->world);
    CountPieces(stats, stage);
    knJudge_Step(&stats->judge, stage);
    stats->trianglesBefore = stage->triangleCount; // objects may come later
    stats->families = More(stats->families, counters.families);
    knStepStats s = {.pieces = stats->pieces,
                     .pairs = (uint32_t)counters.pairs.pairs,
                     .contacts = (uint32_t)counters.pairs.contacts,
                     .colliding = stats->countsAll ? knVisitColliding(stage, NULL, NULL) : 0,
                     .total = 1e3 * profile.step,
                     .collision = 1e3 * (profile.collision + profile.contacts),
                     .update = 1e3 * profile.update,
                     .fracture = 1e3 * profile.fracture};
    s.physics = s.total - s.collision - s.update - s.fracture;
    Accumulate(&stats->sum, &s);
    KeepWorst(&stats->worst, &s);
    stats->last = s;
    stats->stepCount += 1;
    const float values[kn_graphCount] = {(float)s.total,  (float)s.collision, (float)s.physics,
                                         (float)s.update, (float)s.fracture,  (float)s.contacts,
                                         (float)s.pairs,  (float)s.pieces};
    for (int i = 0; i < kn_graphCount; ++i)
    {
        stats->history[i][stats->historyAt] = values[i];
    }
    stats->historyAt = (stats->historyAt + 1) % KN_STATS_HISTORY;
}

void knWriteStatsHeader(FILE* csv)
{
    fprintf(csv, "step,pieces,pairs,contacts,colliding,total_ms,collision_ms,physics_ms,update_ms,"
                 "fracture_ms\n");
}

void knWriteStatsRow(FILE* csv, const knStats* stats)
{
    const knStepStats* s = &stats->last;
    fprintf(csv, "%u,%u,%u,%u,%u,%.4f,%.4f,%.4f,%.4f,%.4f\n", stats->stepCount, s->pieces, s->pairs,
            s->contacts, s->colliding, s->total, s->collision, s->physics, s->update, s->fracture);
}

static void WriteMeasure(FILE* json, const char* name, double sum, double worst, double count)
{
    fprintf(json, "  \"%s\": { \"average\": %.6g, \"max\": %.6g },\n", name, sum / count, worst);
}

void knWriteStatsJson(FILE* json, const knStats* stats, const knStage* stage, uint64_t seed,
                      int threads)
{
    const knStepStats* sum = &stats->sum;
    const knStepStats* worst = &stats->worst;
    double count = stats->stepCount > 0 ? (double)stats->stepCount : 1.0;
    fprintf(json, "{\n  \"scene\": \"%s\",\n  \"seed\": %llu,\n  \"threads\": %d,\n",
            stage->scene->name, (unsigned long long)seed, threads);
    fprintf(json, "  \"steps\": %u,\n  \"time_step_ms\": %g,\n", stats->stepCount,
            1e3 * (double)stage->scene->dt);
    fprintf(json, "  \"triangles\": { \"original\": %u, \"fractured\": %u },\n",
            stats->trianglesBefore, stats->trianglesNow);
    fprintf(json, "  \"objects\": %u,\n  \"fragments\": %u,\n", stats->families, stats->fragments);
    WriteMeasure(json, "output_points", sum->contacts, worst->contacts, count);
    if (stats->countsAll)
    {
        WriteMeasure(json, "colliding_points", sum->colliding, worst->colliding, count);
    }
    WriteMeasure(json, "pairs", sum->pairs, worst->pairs, count);
    WriteMeasure(json, "total_ms", sum->total, worst->total, count);
    WriteMeasure(json, "collision_ms", sum->collision, worst->collision, count);
    WriteMeasure(json, "physics_ms", sum->physics, worst->physics, count);
    fprintf(json, "  \"update_ms\": { \"max\": %.6g },\n  \"fracture_ms\": { \"max\": %.6g },\n",
            worst->update, worst->fracture);
    const knJudge* j = &stats->judge;
    fprintf(json, "  \"energy_j\": { \"available\": %.6g, \"worst_excess\": %.6g },\n",
            j->available + stage->addedEnergy, j->worstExcess);
    fprintf(json,
            "  \"end\": { \"fastest_mps\": %.6g, \"deepest_m\": %.6g, \"deepest_share\": %.6g },\n",
            (double)j->fastest, (double)j->deepest, (double)j->deepestShare);
    fprintf(json, "  \"state_hash\": \"%016llx\"\n}\n", (unsigned long long)knStage_Hash(stage));
}
