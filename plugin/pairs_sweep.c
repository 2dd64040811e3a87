// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

static uint32_t Sweep(const knPairInput* input, knSweepContact* contacts)
{
    int first = knPairInput_PieceSide(input);
    const knPairSide* a = &input->sides[first];
    const knPairSide* b = &input->sides[1 - first];
    switch (b->kind)
    {
    case kn_sidePiece:
        return knSweepPair(a->mesh, &a->motion, b->mesh, &b->motion, contacts);
    case kn_sideShape:
        return knSweepShape(a->mesh, &a->motion, b->shape, &b->motion, contacts);
    default:
        return knSweepTriangles(a->mesh, &a->motion, b->batch, contacts);
    }
}

#define FAST_SHARE 0.25f // of the thinnest side, in a step

// A small ball passes through the thin board of a large piece.
static bool IsFastShape(const knShape* shape, const knMotion* motion)
{
    if (shape->kind == kn_shapePlane)
    {
        return false;
    }
    knVec3 e = knBox_Extent(knShape_Box(shape, knIdentityTransform()));
    return knLength(motion->move) > FAST_SHARE * fminf(e.x, fminf(e.y, e.z));
}

// Motion of one side as the other sees it, at the distance of the larger: nothing moves nearer by
// more.
bool knPairInput_IsFast(const knPairInput* input, bool isTouching)
{
    const knPairSide* a = &input->sides[knPairInput_PieceSide(input)];
    const knPairSide* b = &input->sides[1 - knPairInput_PieceSide(input)];
    knMotion relative = a->motion;
    relative.move = knSub(a->motion.move, b->motion.move);
    if (isTouching)
    {
        // contacts hold it already: the rest may go as deep as the thinnest side, no deeper
        relative.move = knScale(FAST_SHARE, relative.move);
        relative.turn = knScale(FAST_SHARE, relative.turn);
    }
    bool isFast = knMotion_IsFast(&relative, a->mesh);
    if (b->kind == kn_sidePiece)
    {
        relative.turn = isTouching ? knScale(FAST_SHARE, b->motion.turn) : b->motion.turn;
        isFast = isFast || knMotion_IsFast(&relative, b->mesh);
    }
    if (b->kind == kn_sideShape)
    {
        isFast = isFast || IsFastShape(b->shape, &relative);
    }
    return isFast;
}

uint32_t knPairJob_AddSwept(const knPairJob* job, uint32_t count)
{
    if (!knPairInput_IsFast(job->input, count > 0))
    {
        return count;
    }
    knSweepContact swept[KN_MAX_SWEEP_CONTACTS];
    uint32_t found = Sweep(job->input, swept);
    int first = knPairInput_PieceSide(job->input);
    for (uint32_t i = 0; i < found && count < job->capacity; ++i)
    {
        const knSweepContact* s = &swept[i];
        knTouch touch = {.normal = first == 0 ? s->normal : knNeg(s->normal),
                         .distance = s->gap,
                         .feature = s->feature,
                         .isSwept = true};
        touch.points[first] = s->pointA;
        touch.points[1 - first] = s->pointB;
        job->touches[count++] = touch;
    }
    job->counters->swept += 1;
    return count;
}
