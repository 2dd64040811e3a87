// SPDX-License-Identifier: Zlib
// From cut fragments to bodies: all pieces of a body get theirs at once, or it waits.
#include "bullet_internal.h"

#include <string.h>

knResult knWorld_BeginEvent(knWorld* w, const knBlow* blow, knBreakEvent** out)
{
    knWorldBreaks* b = &w->breaks;
    knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, blow->body));
    knResult room = knGrow(&w->allocator, (void**)&b->live, &b->liveCapacity, b->liveCount + 1,
                           sizeof(knBreakEvent));
    knBreakEvent event = {.family = body->piece->family, .blow = *blow, .share = 1.0};
    room = room == kn_success ? knGrow(&w->allocator, (void**)&event.pieces, &event.pieceCapacity,
                                       8, sizeof(knEventPiece))
                              : room;
    if (room != kn_success)
    {
        return room;
    }
    knWorld_FindStrikers(w, &event.blow);
    event.id = ++b->lastId;
    event.pieces[event.pieceCount++] =
        (knEventPiece){.fragment = body->piece->fragment, .body = blow->body};
    body->breakId = event.id;
    b->live[b->liveCount] = event;
    *out = &b->live[b->liveCount++];
    return kn_success;
}

// The pieces of an event meet a striker again.
static void Readmit(const knWorld* w, const knBreakEvent* event, const knStriker* striker)
{
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, event->pieces[i].body));
        if (body && body->breakId == event->id)
        {
            knPortBody_Ignore(body->port, striker->object, false);
        }
    }
}

void knWorld_ForgetStriker(knWorld* w, knBodyId id)
{
    for (uint32_t e = 0; e < w->breaks.liveCount; ++e)
    {
        knBreakEvent* event = &w->breaks.live[e];
        knBlow* blow = &event->blow;
        for (uint32_t i = blow->strikerCount; i > 0; --i)
        {
            knStriker* striker = &blow->strikers[i - 1];
            if (knId_Equals(striker->body, id))
            {
                Readmit(w, event, striker);
                blow->strikerCount -= 1;
                *striker = blow->strikers[blow->strikerCount];
            }
        }
    }
}

void knWorld_EndEvent(knWorld* w, uint32_t index)
{
    knWorldBreaks* b = &w->breaks;
    knBreakEvent* event = &b->live[index];
    if (event->isCutting || event->isKept)
    {
        knBreaker_Cancel(b->breaker);
    }
    knBreakEvent_DropReady(w, event);
    for (uint32_t i = 0; i < event->blow.strikerCount; ++i)
    {
        Readmit(w, event, &event->blow.strikers[i]);
    }
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, event->pieces[i].body));
        if (body && body->breakId == event->id)
        {
            body->breakId = 0;
        }
    }
    knRelease(&w->allocator, event->pieces, event->pieceCapacity, sizeof(knEventPiece));
    knRelease(&w->allocator, event->parents, event->parentCapacity, sizeof(knEventParent));
    b->liveCount -= 1;
    memmove(event, event + 1, (b->liveCount - index) * sizeof *event);
}

void knWorld_CancelEvents(knWorld* w, knFamilyId family)
{
    for (uint32_t i = w->breaks.liveCount; i > 0; --i)
    {
        if (knId_Equals(w->breaks.live[i - 1].family, family))
        {
            knWorld_EndEvent(w, i - 1);
        }
    }
}

// ---- the list of pieces

// A piece whose fragment has ended: its body becomes a parent, and its fragment's children follow.
static void EndPiece(const knWorld* w, knBreakEvent* event, knEventPiece piece,
                     const knFragment* fragment)
{
    if (knPool_Get(&w->bodies, knWorld_Untagged(w, piece.body)))
    {
        event->parents[event->parentCount++] =
            (knEventParent){.body = piece.body, .fragment = piece.fragment};
    }
    for (uint32_t i = 0; i < fragment->childCount; ++i)
    {
        event->pieces[event->pieceCount++] =
            (knEventPiece){.fragment = fragment->firstChild + i, .isNew = true};
    }
}

// The heaviest first: most callers follow one piece. Insertion: an event has dozens of pieces.
static void SortPieces(knBreakEvent* event, const knFragmentSet* set)
{
    for (uint32_t i = 1; i < event->pieceCount; ++i)
    {
        knEventPiece piece = event->pieces[i];
        double mass = set->fragments[piece.fragment].mass.mass;
        uint32_t k = i;
        for (; k > 0 && set->fragments[event->pieces[k - 1].fragment].mass.mass < mass; --k)
        {
            event->pieces[k] = event->pieces[k - 1];
        }
        event->pieces[k] = piece;
    }
}

static uint32_t CountNew(const knBreakEvent* event, uint32_t parent)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        count += event->pieces[i].isNew && (parent == KN_NONE || event->pieces[i].parent == parent);
    }
    return count;
}

knResult knBreakEvent_FindPieces(knWorld* w, knBreakEvent* event)
{
    const knFragmentSet* set = knFamily_Fragments(knWorld_GetFamily(w, event->family)->family);
    // every fragment is in the list once, and most have ended
    event->isStale = true;
    knResult room = knGrow(&w->allocator, (void**)&event->pieces, &event->pieceCapacity,
                           event->pieceCount + set->fragmentCount, sizeof(knEventPiece));
    room = room == kn_success
               ? knGrow(&w->allocator, (void**)&event->parents, &event->parentCapacity,
                        event->parentCount + event->pieceCount, sizeof(knEventParent))
               : room;
    if (room != kn_success)
    {
        return room;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        knEventPiece piece = event->pieces[i];
        const knFragment* fragment = &set->fragments[piece.fragment];
        if (fragment->state == kn_fragmentEnded)
        {
            EndPiece(w, event, piece, fragment);
        }
        else
        {
            event->pieces[kept++] = piece;
        }
    }
    event->pieceCount = kept;
    SortPieces(event, set);
    // without a body they came from, as the game has taken it away, new pieces are debris
    event->hasNews = event->parentCount > 0 || CountNew(event, KN_NONE) > 0;
    event->isStale = false;
    return kn_success;
}

// ---- bodies

static void TellConstraint(void* constraint, void* user)
{
    knWorld* w = ((void**)user)[0];
    const knBodyId* body = ((void**)user)[1];
    knJointEvent event = {.from = *body, .isBroken = true, .constraint = constraint};
    knWorld_AddJointEvent(w, &event);
}

static void TakeOut(knWorld* w, knEventParent* parent)
{
    knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, parent->body));
    if (!body || parent->isOut)
    {
        return;
    }
    parent->def = knDefaultBodyDef();
    knPortBody_Def(body->port, &parent->def);
    parent->def.user = body->user;
    knWorld_LoosenJoints(w, parent->body);
    void* context[2] = {w, &parent->body};
    knPort_ReleaseConstraints(w->port, body->port, TellConstraint, context);
    knWorld_WakeNeighbours(w, body);
    knPort_TakeOut(w->port, body->port);
    parent->isOut = true;
}

// The parent that a new piece came from; KN_NONE when the game has taken it away meanwhile.
static uint32_t ParentOf(const knWorld* w, const knBreakEvent* event, const knFragmentSet* set,
                         uint32_t fragment)
{
    for (uint32_t at = set->fragments[fragment].parent; at != KN_NONE;
         at = set->fragments[at].parent)
    {
        for (uint32_t i = 0; i < event->parentCount; ++i)
        {
            if (event->parents[i].fragment == at &&
                knPool_Get(&w->bodies, knWorld_Untagged(w, event->parents[i].body)))
            {
                return i;
            }
        }
    }
    return KN_NONE;
}

static knParting MakeParting(const knWorld* w, const knEventParent* parent)
{
    const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, parent->body));
    knParting parting = {.def = parent->def, .center = body->piece->mesh.center};
    knPortBody_State(body->port, &parting.state);
    return parting;
}

static bool IsSmall(const knWorld* w, const knFamily* family, uint32_t fragment)
{
    knVec3 e = knBox_Extent(knFragmentField_Box(knFamily_Field(family), fragment));
    return knFamily_Fragments(family)->fragments[fragment].state == kn_fragmentDebris ||
           fmaxf(e.x, fmaxf(e.y, e.z)) < w->breaks.limits.minSize;
}

// An anchored node holds its piece. What the game splits stays what it was; what a hit breaks
// moves.
static knBodyKind KindOf(const knWorld* w, const knBreakEvent* event, const knEventPiece* piece)
{
    const knFamily* family = knWorld_GetFamily(w, event->family)->family;
    const uint32_t* labels = knFamily_Cuts(family)->labels;
    knAnchors anchors;
    bool hasAnchors =
        knOpenAnchors(&anchors, knModel_Asset(knFamily_Model(family))) == kn_success &&
        anchors.count > 0;
    for (uint32_t i = 0; hasAnchors && i < anchors.count; ++i)
    {
        if (labels[anchors.nodes[i]] == piece->fragment)
        {
            return kn_bodyStatic;
        }
    }
    bool isSplit = event->blow.impactCount == 0 && !hasAnchors;
    return isSplit ? event->parents[piece->parent].def.kind : kn_bodyDynamic;
}

static knResult MakeBody(knWorld* w, knBreakEvent* event, knEventPiece* piece)
{
    const knFamily* family = knWorld_GetFamily(w, event->family)->family;
    const knFragment* fragment = &knFamily_Fragments(family)->fragments[piece->fragment];
    knParting parting = MakeParting(w, &event->parents[piece->parent]);
    knBodyDef def = knParting_Def(&parting, knToFloat(fragment->mass.center));
    def.kind = KindOf(w, event, piece);
    knBodyId id;
    knPieceMesh* ready = knBreakEvent_Ready(event, piece->fragment);
    knResult result = knWorld_AddPiece(w, &def, event->family, piece->fragment, ready, &id);
    if (result != kn_success)
    {
        return result;
    }
    knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, id));
    piece->body = id;
    body->breakId = event->id;
    for (uint32_t i = 0; event->isCutting && i < event->blow.strikerCount; ++i)
    {
        // it has paid for the break; until all pieces are there it must not pay again
        knPortBody_Ignore(body->port, event->blow.strikers[i].object, true);
    }
    return kn_success;
}

static knResult MakeBodies(knWorld* w, knBreakEvent* event)
{
    const knFamily* family = knWorld_GetFamily(w, event->family)->family;
    const knFragmentSet* set = knFamily_Fragments(family);
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        knEventPiece* piece = &event->pieces[i];
        if (!piece->isNew)
        {
            continue;
        }
        piece->parent = ParentOf(w, event, set, piece->fragment);
        piece->isDebris = piece->parent == KN_NONE || IsSmall(w, family, piece->fragment);
        knResult result = piece->isDebris ? kn_success : MakeBody(w, event, piece);
        if (result != kn_success)
        {
            return result;
        }
    }
    return kn_success;
}

static void UnmakeBodies(knWorld* w, knBreakEvent* event)
{
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        knEventPiece* piece = &event->pieces[i];
        if (piece->isNew && !knId_IsNull(piece->body))
        {
            knWorld_RemoveBody(w, piece->body);
            piece->body = (knBodyId){0};
        }
    }
}

// ---- telling

static void TellDebris(knWorld* w, const knBreakEvent* event, const knEventPiece* piece,
                       knFractureEvent* fracture)
{
    const knFamily* family = knWorld_GetFamily(w, event->family)->family;
    const knMassProperties* mass = &knFamily_Fragments(family)->fragments[piece->fragment].mass;
    knParting parting = MakeParting(w, &event->parents[piece->parent]);
    knBodyDef def = knParting_Def(&parting, knToFloat(mass->center));
    knDebrisEvent debris = {.family = event->family,
                            .body = fracture->parent,
                            .fragment = piece->fragment,
                            .reason = kn_debrisSmall,
                            .place = def.transform.position,
                            .velocity = def.velocity,
                            .spin = def.spin,
                            .mass = mass->mass,
                            .volume = mass->volume};
    knWorld_AddDebrisEvent(w, &debris);
    fracture->debrisMass += mass->mass;
    fracture->debrisCount += 1;
}

// Energy and area of a slice are shared out by the number of cracks that each body got.
static void Tell(knWorld* w, knBreakEvent* event, uint32_t parent, double crackShare)
{
    knWorldBreaks* b = &w->breaks;
    knFractureEvent* fracture = &b->fractures[b->fractureCount++];
    *fracture = (knFractureEvent){.family = event->family,
                                  .parent = event->parents[parent].body,
                                  .firstChild = b->childCount,
                                  .place = event->blow.place,
                                  .impulse = (float)event->blow.impulse,
                                  .share = (float)event->share,
                                  .energy = crackShare * (event->energy - event->toldEnergy),
                                  .crackArea = crackShare * (event->area - event->toldArea),
                                  .breakId = event->id,
                                  .mayGoOn = event->isCutting};
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        const knEventPiece* piece = &event->pieces[i];
        if (!piece->isNew || piece->parent != parent)
        {
            continue;
        }
        if (piece->isDebris)
        {
            TellDebris(w, event, piece, fracture);
        }
        else
        {
            b->children[b->childCount++] = piece->body;
            fracture->childCount += 1;
        }
    }
    knBodyId heir = fracture->childCount > 0 ? b->children[fracture->firstChild] : (knBodyId){0};
    knWorld_NoteHeir(w, fracture->parent, heir);
    knWorld_HandJointsOn(w, event, parent, fracture);
}

// Room for all that will be told, before anything is made.
static knResult ReserveEvents(knWorld* w, const knBreakEvent* event)
{
    knWorldBreaks* b = &w->breaks;
    uint32_t news = CountNew(event, KN_NONE);
    knResult room = knGrow(&w->allocator, (void**)&b->fractures, &b->fractureCapacity,
                           b->fractureCount + event->parentCount, sizeof(knFractureEvent));
    room = room == kn_success ? knGrow(&w->allocator, (void**)&b->children, &b->childCapacity,
                                       b->childCount + news, sizeof(knBodyId))
                              : room;
    return room == kn_success ? knGrow(&w->allocator, (void**)&b->debris, &b->debrisCapacity,
                                       b->debrisCount + news, sizeof(knDebrisEvent))
                              : room;
}

static void Finish(knWorld* w, knBreakEvent* event)
{
    knWorldFamily* family = knWorld_GetFamily(w, event->family);
    double cracks = 0.0;
    for (uint32_t i = 0; i < event->parentCount; ++i)
    {
        cracks += fmax((double)CountNew(event, i) - 1.0, 0.0);
    }
    for (uint32_t i = 0; i < event->parentCount; ++i)
    {
        // the game may have taken the body away while its pieces waited
        if (event->parents[i].isOut &&
            knPool_Get(&w->bodies, knWorld_Untagged(w, event->parents[i].body)))
        {
            double own = fmax((double)CountNew(event, i) - 1.0, 0.0);
            Tell(w, event, i, cracks > 0.0 ? own / cracks : 1.0);
            knWorld_RemoveBody(w, event->parents[i].body);
        }
    }
    event->toldEnergy = event->energy;
    event->toldArea = event->area;
    event->parentCount = 0;
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        event->pieces[i].isNew = false;
        if (event->pieces[i].isDebris && !event->isCutting)
        {
            // not before: the cracks may still look at it
            knFamily_Remove(family->family, event->pieces[i].fragment);
            knWorldFamily_TellRemoval(family, event->pieces[i].fragment);
        }
    }
    event->hasNews = false;
}

knResult knBreakEvent_Commit(knWorld* w, knBreakEvent* event)
{
    knResult result = event->isStale ? knBreakEvent_FindPieces(w, event) : kn_success;
    for (uint32_t i = 0; result == kn_success && i < event->parentCount; ++i)
    {
        TakeOut(w, &event->parents[i]);
    }
    result = result == kn_success ? ReserveEvents(w, event) : result;
    result = result == kn_success ? MakeBodies(w, event) : result;
    if (result != kn_success)
    {
        UnmakeBodies(w, event);
        return result;
    }
    Finish(w, event);
    if (!event->isKept)
    {
        knBreakEvent_DropReady(w, event);
    }
    return kn_success;
}
