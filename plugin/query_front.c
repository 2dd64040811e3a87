// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

#include <float.h>

// Temporal coherence: a front. It is where a walk over the sphere trees of a pair ended: nodes that
// were far enough and points that were measured, each with a bound of its distance from the other
// piece. When the two have moved against each other, every bound shrinks by what its own ball has
// moved; only where that is used up is anything looked at again, and there the walk goes on. So a
// query costs what has come near, not what is near.
//
// Together the items of a side hold all points of its piece, always: a query that stops early
// leaves bounds that are used up, and the next one begins there.

#define FIRST     0x80000000u // in `point`: it was not measured yet
#define NODE_ROOM 1.0f        // of a node's radius: bounds of more are not asked for

#define CORNERS                                                                                    \
    0xFFFFFFFEu            // in `cursor`: a group of points where cracks meet; `point` is its index
#define CORNER 0xFFFFFFFDu // in `cursor`: one of them

static uint32_t FirstChild(const knQueryWalk* walk, uint32_t point)
{
    return walk->sampled->family->forest.links.first[point];
}

static float Reach(const knQueryWalk* walk, uint32_t cursor)
{
    return cursor == KN_NONE ? 0.0f : walk->sampled->family->forest.links.reach[cursor];
}

// What is further away than this matters to nobody now.
static float Threshold(const knQueryRun* run)
{
    return run->selection.isDeep ? -run->selection.epsilon : run->selection.reach;
}

static knVec3 PlaceOf(const knFrontSide* side, uint32_t i)
{
    return knMakeVec3(side->x[i], side->y[i], side->z[i]);
}

// A node of which only the children from the cursor on are left, or a point without any.
static void SetItem(knFrontSide* side, uint32_t i, knVec3 p, uint32_t point, uint32_t cursor)
{
    side->x[i] = p.x;
    side->y[i] = p.y;
    side->z[i] = p.z;
    side->point[i] = point;
    side->cursor[i] = cursor;
    side->radius[i] = 0.0f;
    side->bound[i] = -FLT_MAX;
}

// A point that the walk meets, with all that hangs below it.
static void SetNew(const knQueryWalk* walk, knFrontSide* side, uint32_t i, uint32_t point)
{
    const knFamily* family = walk->sampled->family;
    knVec3 p = knSpherePosition(family->forest.mesh, &family->cuts, point);
    uint32_t cursor = FirstChild(walk, point);
    SetItem(side, i, p, point | FIRST, cursor);
    side->radius[i] = Reach(walk, cursor);
}

// The place of one more item; false when there is none, and then the front is no use.
static bool Append(knFrontSide* side, uint32_t* place)
{
    if (side->count == side->capacity)
    {
        side->wanted = 2 * side->capacity;
        return false;
    }
    *place = side->count++;
    return true;
}

// No point of the ball is nearer to the other piece than this; more than the threshold when that
// can be shown.
static float BallBound(knQueryRun* run, knQueryWalk* walk, knVec3 p, float radius)
{
    float threshold = Threshold(run), bound = -FLT_MAX;
    for (uint32_t i = 0; i < walk->boundCount; ++i)
    {
        float beyond = knDot(walk->bounds[i].normal, p) - radius - walk->bounds[i].limit;
        bound = fmaxf(bound, beyond + run->boundMargin);
    }
    knVec3 q = knQueryWalk_ToOther(walk, p);
    if (walk->turn < 1.0f)
    {
        // pieces of one object do not overlap where they broke
        bound = fmaxf(bound, -1.001f * (knDistance(p, q) + walk->turn * radius));
    }
    run->result->counters.visits += 1;
    if (bound > threshold)
    {
        return bound;
    }
    float need = fmaxf(radius + threshold, 0.0f);
    float wish = need + run->frontRoom + NODE_ROOM * radius;
    return fmaxf(bound, knFieldQuery_Clearance(&walk->field, q, need, wish) - radius);
}

static void MeasurePoint(knQueryRun* run, knQueryWalk* walk, knFrontSide* side, uint32_t i)
{
    const knSelection* selection = &run->selection;
    knProbeDef def = {.margin = selection->isDeep ? 0.0f : selection->reach,
                      .depth = selection->isDeep ? selection->epsilon : 0.0f};
    def.wish = def.margin + run->frontRoom;
    knVec3 q = knQueryWalk_ToOther(walk, PlaceOf(side, i));
    knFieldContact contact;
    run->result->counters.points += 1;
    if (knFieldQuery_Probe(&walk->field, q, &def, &contact, &side->bound[i]))
    {
        knQueryRun_Add(run, walk, q, &contact, side->point[i], kn_contactPoint);
    }
}

// A child comes at its own level, like in a walk from the roots.
static void Wait(knQueryRun* run, knQueryWalk* walk, uint32_t i)
{
    knFrontSide* side = &run->front->sides[walk->side];
    knFrontQueue* queue = &run->queues[walk->side];
    const uint8_t* levels = walk->sampled->family->forest.links.level;
    // corners come last, as they do in a walk
    uint32_t level = KN_MAX_SPHERE_LEVELS - 1;
    if (side->cursor[i] != CORNERS && side->cursor[i] != CORNER)
    {
        bool isRest = (side->point[i] & FIRST) == 0 && side->cursor[i] != KN_NONE;
        level = levels[isRest ? side->cursor[i] : side->point[i] & ~FIRST];
        level = level > queue->level ? level : queue->level;
    }
    side->next[i] = KN_NONE;
    if (queue->levels >> level & 1)
    {
        side->next[queue->tails[level]] = i;
    }
    else
    {
        queue->heads[level] = i;
        queue->levels |= (uint64_t)1 << level;
    }
    queue->tails[level] = i;
}

// The children of a point from the cursor on, of which the last ones may lie in a smaller ball.
static bool AddChildren(knQueryRun* run, knQueryWalk* walk, knVec3 p, uint32_t point,
                        uint32_t cursor, float radius)
{
    const knSphereLinks* links = &walk->sampled->family->forest.links;
    knFrontSide* side = &run->front->sides[walk->side];
    for (; cursor != KN_NONE; cursor = links->next[cursor])
    {
        uint32_t place;
        if (!Append(side, &place))
        {
            return false;
        }
        if (links->reach[cursor] < radius)
        {
            SetItem(side, place, p, point, cursor);
            side->radius[place] = links->reach[cursor];
            Wait(run, walk, place);
            return true;
        }
        SetNew(walk, side, place, cursor);
        Wait(run, walk, place);
    }
    return true;
}

// In place of a node that is near comes its point or its first child, and the others at the end.
static bool OpenNode(knQueryRun* run, knQueryWalk* walk, knFrontSide* side, uint32_t i)
{
    knVec3 p = PlaceOf(side, i);
    uint32_t point = side->point[i], cursor = side->cursor[i];
    float radius = side->radius[i];
    if (point & FIRST)
    {
        SetItem(side, i, p, point & ~FIRST, KN_NONE);
        MeasurePoint(run, walk, side, i);
    }
    else
    {
        SetNew(walk, side, i, cursor);
        Wait(run, walk, i);
        cursor = walk->sampled->family->forest.links.next[cursor];
    }
    return AddChildren(run, walk, p, point & ~FIRST, cursor, radius);
}

// In place of a group comes its first corner, and the others at the end.
static bool OpenCorners(knQueryRun* run, knQueryWalk* walk, knFrontSide* side, uint32_t i)
{
    const knCornerGroup* group = &walk->sampled->mesh->corners[side->point[i]];
    for (uint32_t k = 0; k < group->count; ++k)
    {
        uint32_t place = i;
        if (k > 0 && !Append(side, &place))
        {
            return false;
        }
        knVec3 p = {group->x[k], group->y[k], group->z[k]};
        SetItem(side, place, p, group->points[k], CORNER);
        Wait(run, walk, place);
    }
    return true;
}

static bool TestItem(knQueryRun* run, knQueryWalk* walk, knFrontSide* side, uint32_t i)
{
    if (side->cursor[i] == KN_NONE || side->cursor[i] == CORNER)
    {
        side->point[i] &= ~FIRST;
        MeasurePoint(run, walk, side, i);
        return true;
    }
    side->bound[i] = BallBound(run, walk, PlaceOf(side, i), side->radius[i]);
    return side->bound[i] > Threshold(run) ||
           (side->cursor[i] == CORNERS ? OpenCorners : OpenNode)(run, walk, side, i);
}

// By how much the ways of points differ that are apart: the norm of the difference of two
// rotations, a little more.
static float TurnBetween(const knMat3* d)
{
    float sum = knLengthSquared(d->cx) + knLengthSquared(d->cy) + knLengthSquared(d->cz);
    return 0.7072f * sqrtf(sum) + 1e-6f;
}

knFrontMove knMakeFrontMove(const knQueryWalk* walk, const knFrontPose* then)
{
    knFrontMove move = {.turn = {knSub(walk->rotation.cx, then->rotation.cx),
                                 knSub(walk->rotation.cy, then->rotation.cy),
                                 knSub(walk->rotation.cz, then->rotation.cz)},
                        .shift = knSub(walk->offset, then->offset)};
    move.spread = TurnBetween(&move.turn);
    knBox box = knFragmentField_Box(walk->sampled->family->field, walk->sampled->fragment);
    move.slack = 1e-6f * (knLength(walk->offset) + knLength(box.lower) + knLength(box.upper));
    return move;
}

// Takes off the bounds what their balls have moved since.
static void ShrinkBounds(const knQueryWalk* walk, knFrontSide* side)
{
    knFrontMove m = knMakeFrontMove(walk, &side->pose);
    const float *x = side->x, *y = side->y, *z = side->z, *radius = side->radius;
    float* bound = side->bound;
    for (uint32_t i = 0; i < side->count; ++i)
    {
        float dx = x[i] * m.turn.cx.x + y[i] * m.turn.cy.x + z[i] * m.turn.cz.x + m.shift.x;
        float dy = x[i] * m.turn.cx.y + y[i] * m.turn.cy.y + z[i] * m.turn.cz.y + m.shift.y;
        float dz = x[i] * m.turn.cx.z + y[i] * m.turn.cy.z + z[i] * m.turn.cz.z + m.shift.z;
        float moved = sqrtf(dx * dx + dy * dy + dz * dz) * 1.00001f;
        bound[i] -= moved + m.spread * radius[i] + m.slack;
    }
    side->pose = (knFrontPose){walk->rotation, walk->offset};
}

// And lifts those that half-spaces know to be far: nothing of the other piece is beyond them.
static void LiftBounds(const knQueryRun* run, const knQueryWalk* walk, knFrontSide* side)
{
    const float *x = side->x, *y = side->y, *z = side->z, *radius = side->radius;
    float* bound = side->bound;
    for (uint32_t k = 0; k < walk->boundCount; ++k)
    {
        knVec3 n = walk->bounds[k].normal;
        float limit = walk->bounds[k].limit - run->boundMargin;
        for (uint32_t i = 0; i < side->count; ++i)
        {
            float beyond = x[i] * n.x + y[i] * n.y + z[i] * n.z - radius[i] - limit;
            bound[i] = beyond > bound[i] ? beyond : bound[i];
        }
    }
}

static bool PutCorners(const knQueryWalk* walk, knFrontSide* side)
{
    const knPieceMesh* mesh = walk->sampled->mesh;
    uint32_t place, groupCount = mesh ? mesh->cornerGroupCount : 0;
    for (uint32_t k = 0; k < groupCount; ++k)
    {
        if (!Append(side, &place))
        {
            return false;
        }
        SetItem(side, place, mesh->corners[k].center, k, CORNERS);
        side->radius[place] = mesh->corners[k].radius;
    }
    return true;
}

static void PutRoots(const knQueryWalk* walk, knFrontSide* side)
{
    const knSphereForest* forest = &walk->sampled->family->forest;
    uint32_t root = knSphereForest_Fragment(forest, walk->sampled->fragment).firstRoot;
    side->pose = (knFrontPose){walk->rotation, walk->offset};
    side->count = 0;
    side->edgeCount = 0;
    uint32_t place;
    for (; root != KN_NONE && Append(side, &place); root = forest->links.next[root])
    {
        SetNew(walk, side, place, root);
    }
    side->isWhole = root == KN_NONE && PutCorners(walk, side);
}

// Lines up what must be looked at. When that is most, or too much has been opened, the roots are
// the better start.
static bool LineUp(knQueryRun* run, knQueryWalk* walk)
{
    const knFrontSide* side = &run->front->sides[walk->side];
    float threshold = Threshold(run);
    uint32_t used = 0;
    for (uint32_t i = 0; i < side->count; ++i)
    {
        if (side->bound[i] <= threshold)
        {
            Wait(run, walk, i);
            used += 1;
        }
    }
    return used <= 32 + side->count / 2 && side->count <= 64 + 2 * side->freshCount;
}

static void BeginSide(knQueryRun* run, knQueryWalk* walk)
{
    knFrontSide* side = &run->front->sides[walk->side];
    knFrontQueue* queue = &run->queues[walk->side];
    queue->levels = 0;
    queue->level = 0;
    side->isFresh = true;
    if (run->front->isKnown)
    {
        ShrinkBounds(walk, side);
        LiftBounds(run, walk, side);
        side->isFresh = !LineUp(run, walk);
    }
    if (side->isFresh)
    {
        PutRoots(walk, side);
        queue->levels = 0;
        (void)LineUp(run, walk);
    }
}

static uint32_t LowestLevel(uint64_t levels)
{
    uint32_t level = 0;
    while (level < KN_MAX_SPHERE_LEVELS && !(levels >> level & 1))
    {
        ++level;
    }
    return level;
}

// All that waits at a level, and what joins it meanwhile.
static void TestLevel(knQueryRun* run, knQueryWalk* walk, uint32_t level)
{
    knFrontSide* side = &run->front->sides[walk->side];
    knFrontQueue* queue = &run->queues[walk->side];
    queue->level = level;
    while (queue->levels >> level & 1 && side->isWhole && !run->selection.isStopped)
    {
        uint32_t i = queue->heads[level];
        queue->heads[level] = side->next[i];
        queue->levels &= ~((uint64_t)(side->next[i] == KN_NONE) << level);
        // with contacts enough less is used up than at first
        if (side->bound[i] <= Threshold(run))
        {
            side->isWhole = TestItem(run, walk, side, i);
        }
    }
}

bool knQueryRun_TestFront(knQueryRun* run)
{
    knFrontSide* sides = run->front->sides;
    BeginSide(run, &run->walks[0]);
    BeginSide(run, &run->walks[1]);
    uint64_t levels = run->queues[0].levels | run->queues[1].levels;
    while (levels != 0 && sides[0].isWhole && sides[1].isWhole && !run->selection.isStopped)
    {
        // both directions in turn, level by level: neither may use up all contacts
        uint32_t level = LowestLevel(levels);
        TestLevel(run, &run->walks[0], level);
        TestLevel(run, &run->walks[1], level);
        levels = run->queues[0].levels | run->queues[1].levels;
    }
    for (int i = 0; i < 2; ++i)
    {
        sides[i].freshCount = sides[i].isFresh ? sides[i].count : sides[i].freshCount;
    }
    run->front->isKnown = sides[0].isWhole && sides[1].isWhole;
    return run->front->isKnown;
}
