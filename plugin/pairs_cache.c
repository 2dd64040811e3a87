// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#include "family_internal.h"

// What a query finds stays true for a while. It says how near the nearest point is that it did not
// list; until the two have moved against each other by that much, nothing new can touch. Contacts
// that are known go with their bodies: a point of one and a plane of the other. A pile at rest asks
// nothing.

#define LONG    16    // steps that an answer is used before it is asked again
#define STILL   0.1f  // of its slack: unless less than this was used up
#define GRACE   2     // queries
#define ALIKE   0.9f  // cosine; ways that hold the same motion
#define HOLD    1.0f  // epsilons, that two ways out may differ by
#define SHALLOW 4.0f  // epsilons; what is deeper takes whatever is shortest
#define SAME    0.98f // cosine; normals that differ by less are the same

// What the answer depends on besides the pose.
static knPairKey MakeKey(const knPairSide* side)
{
    knPairKey key = {.fragment = side->fragment};
    switch (side->kind)
    {
    case kn_sidePiece:
        key.what = side->family;
        // a break makes new fragments
        key.stamp = side->family->fragments.fragmentCount;
        break;
    case kn_sideShape:
        key.what = side->shape;
        break;
    default:
        key.what = side->batch;
        key.stamp = side->serial;
    }
    return key;
}

static bool IsSameKey(knPairKey a, knPairKey b)
{
    return a.what == b.what && a.fragment == b.fragment && a.stamp == b.stamp &&
           a.generation == b.generation;
}

static bool IsKnown(const knPairJob* job)
{
    return IsSameKey(job->cache->keys[0], MakeKey(&job->input->sides[0])) &&
           IsSameKey(job->cache->keys[1], MakeKey(&job->input->sides[1]));
}

// Triangles that nobody numbers may be others in every step.
static bool CanKeep(const knPairJob* job)
{
    for (int i = 0; i < 2; ++i)
    {
        const knPairSide* side = &job->input->sides[i];
        if (side->kind == kn_sideTriangles && side->serial == 0)
        {
            return false;
        }
    }
    return job->limits->coherence > 0.0f && !job->limits->full;
}

static knTransform PoseOf(const knPairInput* input)
{
    return knInvMulTransforms(input->sides[1].motion.start, input->sides[0].motion.start);
}

// No point of the two has moved further than this as the other sees it.
static float Moved(const knPairInput* input, knTransform then, knTransform now)
{
    knQuat turn = knMulQuat(knConjugate(then.rotation), now.rotation);
    float chord = 2.0f * sqrtf(turn.x * turn.x + turn.y * turn.y + turn.z * turn.z);
    float least = FLT_MAX;
    for (int i = 0; i < 2; ++i)
    {
        if (input->sides[i].kind == kn_sidePiece)
        {
            knVec3 from = i == 0 ? then.position : knInvRotate(then.rotation, then.position);
            knVec3 to = i == 0 ? now.position : knInvRotate(now.rotation, now.position);
            least = fminf(least, knDistance(from, to) + chord * input->sides[i].mesh->radius);
        }
    }
    return least;
}

typedef struct Frame
{
    knMat3 rotation;
    knVec3 position;
} Frame;

#define BREAKING 0.05f // of the smaller radius: no touch outlasts more

// A touch lasts until the two are as far apart as they may come together again in a step: else what
// is lifted off its support a little falls freely for a step, and at 30 ms through 9 mm.
static float BreakingDistance(const knPairInput* input)
{
    float radius = FLT_MAX;
    for (int i = 0; i < 2; ++i)
    {
        radius = input->sides[i].kind == kn_sidePiece ? fminf(radius, input->sides[i].mesh->radius)
                                                      : radius;
    }
    float moves = knLength(input->sides[0].motion.move) + knLength(input->sides[1].motion.move);
    return fminf(BREAKING * radius, moves);
}

static void FindFrames(const knPairInput* input, Frame frames[2])
{
    for (int i = 0; i < 2; ++i)
    {
        const knTransform* t = &input->sides[i].motion.start;
        frames[i] = (Frame){knMat3FromQuat(t->rotation), t->position};
    }
}

// As it is now.
static knTouch Refreshed(const Frame frames[2], const knKeptTouch* kept)
{
    const Frame *own = &frames[kept->side], *other = &frames[1 - kept->side];
    knVec3 p = knAdd(knMulMV(own->rotation, kept->point), own->position);
    knVec3 q = knMulMV(knTranspose(other->rotation), knSub(p, other->position));
    knVec3 n = knMulMV(other->rotation, kept->normal);
    float distance = knDot(kept->normal, q) - kept->offset;
    knTouch touch = {
        .normal = kept->side == 0 ? n : knNeg(n), .distance = distance, .feature = kept->feature};
    touch.points[kept->side] = p;
    touch.points[1 - kept->side] = knAddScaled(p, -distance, n);
    return touch;
}

// Comes no nearer, and is not pushed out either.
static knTouch Held(knTouch touch, int side)
{
    touch.points[1 - side] = touch.points[side];
    touch.distance = fmaxf(touch.distance, 0.0f);
    return touch;
}

#define ROOM 2.0f // margins beyond the margin, at a coherence of 1

// None for two that have used it up in the very next step.
float knPairCache_Room(const knPairJob* job)
{
    const knPairCache* cache = job->cache;
    const knPairSide *a = &job->input->sides[0], *b = &job->input->sides[1];
    float room = ROOM * job->limits->coherence * job->limits->margin;
    if (cache->age > 0 || cache->count > 0 || a->kind != kn_sidePiece || b->kind != kn_sidePiece ||
        !IsKnown(job))
    {
        return room;
    }
    float most = room * fminf(a->mesh->radius, b->mesh->radius);
    return Moved(job->input, cache->pose, PoseOf(job->input)) > most ? 0.0f : room;
}

bool knPairCache_Answer(const knPairJob* job, float* left, uint32_t* count)
{
    knPairCache* cache = job->cache;
    if (!(cache->slack > 0.0f) || !CanKeep(job) || !IsKnown(job))
    {
        return false;
    }
    float moved = Moved(job->input, cache->pose, PoseOf(job->input));
    *left = cache->slack - moved;
    // what creeps to rest must not stay as deep as it may be on the way
    bool isStale = cache->age >= LONG && cache->count > 0 && moved > STILL * cache->slack;
    if (!(*left > 0.0f) || isStale)
    {
        return false;
    }
    *count = 0;
    cache->age += 1;
    float breaking = fmaxf(cache->margin, BreakingDistance(job->input));
    Frame frames[2];
    if (cache->count > 0)
    {
        FindFrames(job->input, frames);
    }
    for (uint32_t i = 0; i < cache->count; ++i)
    {
        knKeptTouch* kept = &job->kept[i];
        knTouch touch = Refreshed(frames, kept);
        kept->touched = touch.distance <= (kept->touched ? breaking : cache->margin);
        kept->isChosen = kept->isChosen || touch.distance < -cache->epsilon;
        if (kept->touched && kept->isChosen)
        {
            job->touches[(*count)++] = kept->grace > 0 ? Held(touch, kept->side) : touch;
        }
    }
    return true;
}

// Near an edge a point has two ways out that are as good: which one is the nearer changes from step
// to step, and what rests on the point loses its hold. It keeps the way that it had, until the
// other is shorter by more than epsilon.
void knPairCache_HoldNormals(const knPairJob* job, knPairContact* contacts, uint32_t count,
                             float radius)
{
    const knPairCache* cache = job->cache;
    if (cache->count == 0 || !CanKeep(job) || !IsKnown(job))
    {
        return;
    }
    float epsilon = job->limits->epsilon * radius;
    int first = knPairInput_PieceSide(job->input);
    Frame frames[2];
    FindFrames(job->input, frames);
    for (uint32_t i = 0; i < cache->count; ++i)
    {
        const knKeptTouch* kept = &job->kept[i];
        for (uint32_t k = 0; k < count && kept->touched; ++k)
        {
            knPairContact* c = &contacts[k];
            if (c->contact.feature != kept->feature || (c->side ^ first) != kept->side)
            {
                continue;
            }
            knTouch touch = Refreshed(frames, kept);
            knVec3 normal = kept->side == 0 ? touch.normal : knNeg(touch.normal);
            float better = touch.distance - c->contact.distance;
            if (fabsf(better) < HOLD * epsilon && touch.distance > -SHALLOW * epsilon &&
                touch.distance < cache->margin && knDot(normal, c->contact.normal) < SAME)
            {
                c->contact.normal = normal;
                c->contact.distance = touch.distance;
            }
            break;
        }
    }
}

#define SLOW 0.05f // of the smaller radius, in a step: else a front is spent before it is used

float knPairInput_Moves(const knPairInput* input)
{
    const knPairSide *a = &input->sides[0], *b = &input->sides[1];
    return knDistance(a->motion.move, b->motion.move) + knLength(a->motion.turn) * a->mesh->radius +
           knLength(b->motion.turn) * b->mesh->radius;
}

static bool IsSlow(const knPairInput* input)
{
    return knPairInput_Moves(input) <
           SLOW * fminf(input->sides[0].mesh->radius, input->sides[1].mesh->radius);
}

// Trees change also without a break, when they are made anew.
static knPairKey FrontKey(const knPairSide* side)
{
    knPairKey key = MakeKey(side);
    key.generation = knSphereForest_Fragment(&side->family->forest, side->fragment).generation;
    return key;
}

knQueryFront* knPairCache_Front(const knPairJob* job)
{
    if (!CanKeep(job) || !IsSlow(job->input))
    {
        return NULL;
    }
    for (int i = 0; i < 2; ++i)
    {
        knPairKey key = FrontKey(&job->input->sides[i]);
        job->front->isKnown = job->front->isKnown && IsSameKey(job->cache->frontKeys[i], key);
        job->cache->frontKeys[i] = key;
    }
    bool hasRoom = true;
    for (int i = 0; i < 2; ++i)
    {
        knFrontSide* side = &job->front->sides[i];
        side->wanted = side->wanted > 0 ? side->wanted : KN_FRONT_FIRST;
        hasRoom = hasRoom && side->capacity > 0 && side->wanted <= KN_FRONT_MOST;
    }
    return hasRoom ? job->front : NULL;
}

static void KeepTouch(const knPairJob* job, const knPairContact* c, int first, knKeptTouch* kept)
{
    int side = c->side ^ first;
    const knTransform* own = &job->input->sides[side].motion.start;
    const knTransform* other = &job->input->sides[1 - side].motion.start;
    kept->side = (uint8_t)side;
    kept->touched = c->contact.distance <= job->cache->margin;
    kept->feature = c->contact.feature;
    kept->grace = 0;
    kept->point = knInvTransformPoint(*own, c->contact.point);
    kept->normal = knInvRotate(other->rotation, c->contact.normal);
    kept->offset =
        knDot(kept->normal, knInvTransformPoint(*other, c->contact.point)) - c->contact.distance;
}

static void Begin(const knPairJob* job, float slack, float margin, float epsilon)
{
    knPairCache* cache = job->cache;
    cache->slack = slack;
    cache->age = 0;
    cache->margin = margin;
    cache->epsilon = epsilon;
    cache->count = 0;
    cache->pose = PoseOf(job->input);
    for (int i = 0; i < 2; ++i)
    {
        cache->keys[i] = MakeKey(&job->input->sides[i]);
    }
}

void knPairCache_Keep(const knPairJob* job, const knPairContact* contacts, const knChoice* choices,
                      const knPairResult* result)
{
    job->cache->slack = 0.0f;
    job->cache->count = 0;
    if (!CanKeep(job))
    {
        return;
    }
    // what comes new is found at the margin, or while it is little deeper than epsilon
    float margin = job->limits->margin * result->radius;
    float epsilon = job->limits->epsilon * result->radius;
    float deepest = (1.0f + job->limits->coherence) * epsilon;
    Begin(job, result->reach < 0.0f ? result->reach + deepest : result->reach - margin, margin,
          epsilon);
    int first = knPairInput_PieceSide(job->input);
    for (uint32_t i = 0; i < result->count; ++i)
    {
        knKeptTouch* kept = &job->kept[job->cache->count++];
        KeepTouch(job, &contacts[i], first, kept);
        kept->isChosen = choices[i].isChosen;
    }
}

void knPairCache_KeepApart(const knPairJob* job, const knPart* part)
{
    job->cache->slack = 0.0f;
    job->cache->count = 0;
    job->cache->axis = part->axis;
    if (CanKeep(job))
    {
        Begin(job, part->room - part->margin, part->margin, 0.0f);
    }
}

static bool HasFeature(const knTouch* touches, uint32_t count, uint32_t feature)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (touches[i].feature == feature)
        {
            return true;
        }
    }
    return false;
}

// What has slid past the face or the edge that it lay on is found no more, from one step to the
// next. Where nothing else holds the two apart that way, they would fall into each other meanwhile.
static bool IsMissed(const knPairJob* job, const knKeptTouch* kept, const knTouch* touch,
                     uint32_t found)
{
    float margin = job->cache->margin;
    bool isShallow = touch->distance <= margin && touch->distance > -SHALLOW * margin;
    bool isHeld = !isShallow || kept->grace == GRACE;
    for (uint32_t i = 0; i < found && !isHeld; ++i)
    {
        isHeld = knDot(job->touches[i].normal, touch->normal) > ALIKE;
    }
    return !isHeld;
}

uint32_t knPairCache_Linger(const knPairJob* job, uint32_t count, knKeptTouch* linger,
                            uint32_t* lingerCount)
{
    const knPairCache* cache = job->cache;
    *lingerCount = 0;
    if (cache->count == 0 || !CanKeep(job) || !IsKnown(job))
    {
        return count;
    }
    float breaking = BreakingDistance(job->input);
    uint32_t found = count, most = job->limits->contacts;
    Frame frames[2];
    FindFrames(job->input, frames);
    for (uint32_t i = 0;
         i < cache->count && count < most && count < job->capacity && *lingerCount < KN_MAX_LINGER;
         ++i)
    {
        const knKeptTouch* kept = &job->kept[i];
        if (!kept->touched || HasFeature(job->touches, found, kept->feature))
        {
            continue;
        }
        knTouch touch = Refreshed(frames, kept);
        bool isLifted = touch.distance > cache->margin && touch.distance <= breaking;
        bool isGone = !isLifted && IsMissed(job, kept, &touch, found);
        if (isLifted || isGone)
        {
            linger[*lingerCount] = *kept;
            linger[*lingerCount].isChosen = true;
            linger[(*lingerCount)++].grace += isGone;
            job->touches[count++] = isGone ? Held(touch, kept->side) : touch;
        }
    }
    return count;
}

void knPairCache_KeepLinger(const knPairJob* job, const knKeptTouch* linger, uint32_t count)
{
    knPairCache* cache = job->cache;
    for (uint32_t i = 0; i < count && cache->count < job->capacity; ++i)
    {
        job->kept[cache->count++] = linger[i];
    }
}
