// SPDX-License-Identifier: Zlib
#include "demos/judge.h"

#include "demos/colliding.h"

#include <math.h>

static float BallRadius(const knStage* stage, knBodyId id)
{
    for (uint32_t i = 0; i < stage->propCount; ++i)
    {
        if (knId_Equals(stage->props[i].body, id))
        {
            return stage->props[i].radius;
        }
    }
    return 0.0f;
}

// Of the spin, J.
static double SpinEnergy(const knStage* stage, knBodyId id, const knBodyState* s)
{
    knBodyPiece piece;
    if (knWorld_BodyPiece(stage->world, id, &piece) != kn_success)
    {
        double r = (double)BallRadius(stage, id), w = (double)knLength(s->spin);
        return 0.5 * 0.4 * (double)s->mass * r * r * w * w;
    }
    const knDSym3* i = &knFamily_Fragments(piece.object)->fragments[piece.fragment].mass.inertia;
    knDVec3 w = knToDouble(knInvRotate(s->transform.rotation, s->spin));
    return 0.5 * (i->xx * w.x * w.x + i->yy * w.y * w.y + i->zz * w.z * w.z) + i->xy * w.x * w.y +
           i->xz * w.x * w.z + i->yz * w.y * w.z;
}

// Height counts for what is held too: it may break loose and fall.
static double BodyEnergy(const knStage* stage, knBodyId id, const knBodyState* s)
{
    knBodyPiece piece;
    bool isPiece = knWorld_BodyPiece(stage->world, id, &piece) == kn_success;
    double mass = isPiece ? knFamily_Fragments(piece.object)->fragments[piece.fragment].mass.mass
                          : (double)s->mass;
    double v = (double)knLength(s->velocity), height = (double)s->transform.position.y;
    double moving = s->mass > 0.0f ? 0.5 * mass * v * v + SpinEnergy(stage, id, s) : 0.0;
    return 9.81 * mass * height + moving;
}

static double Energy(const knStage* stage)
{
    double sum = 0.0;
    for (knBodyId id = knWorld_NextBody(stage->world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(stage->world, id))
    {
        knBodyState s;
        if (knWorld_BodyState(stage->world, id, &s) == kn_success)
        {
            sum += BodyEnergy(stage, id, &s);
        }
    }
    return sum;
}

void knJudge_Begin(knJudge* judge, const knStage* stage)
{
    *judge = (knJudge){.available = Energy(stage)};
    judge->energy = judge->available;
}

void knJudge_Step(knJudge* judge, const knStage* stage)
{
    judge->energy = Energy(stage);
    if (stage->isHandled)
    {
        return; // nobody knows what a hand gave
    }
    double excess = judge->energy - judge->available - stage->addedEnergy;
    judge->worstExcess = fmax(judge->worstExcess, excess);
}

static void Deepen(void* user, const knColliding* c)
{
    knJudge* judge = user;
    judge->deepest = fmaxf(judge->deepest, c->depth);
    judge->deepestShare = fmaxf(judge->deepestShare, c->depth / c->radius);
}

void knJudge_Rest(knJudge* judge, const knStage* stage)
{
    judge->deepest = judge->deepestShare = judge->fastest = 0.0f;
    (void)knVisitColliding(stage, Deepen, judge);
    for (knBodyId id = knWorld_NextBody(stage->world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(stage->world, id))
    {
        knBodyState s;
        knBodyPiece piece;
        if (knWorld_BodyState(stage->world, id, &s) == kn_success && s.mass > 0.0f &&
            knWorld_BodyPiece(stage->world, id, &piece) == kn_success)
        {
            float rim = piece.mesh->radius * knLength(s.spin);
            judge->fastest = fmaxf(judge->fastest, fmaxf(knLength(s.velocity), rim));
        }
    }
}
