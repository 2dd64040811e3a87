// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

#define JACOBI_SWEEPS 16

// One rotation of Jacobi's method: the element (p, q) becomes 0.
static void RotateJacobi(double a[3][3], double v[3][3], int p, int q)
{
    if (fabs(a[p][q]) <= 1e-300)
    {
        return;
    }
    double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int k = 0; k < 3; ++k)
    {
        double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (int k = 0; k < 3; ++k)
    {
        double x = a[p][k], y = a[q][k];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
        x = v[k][p];
        y = v[k][q];
        v[k][p] = c * x - s * y;
        v[k][q] = s * x + c * y;
    }
}

static knQuat QuatOfRotation(double m[3][3])
{
    double q[4] = {1.0 + m[0][0] - m[1][1] - m[2][2], 1.0 - m[0][0] + m[1][1] - m[2][2],
                   1.0 - m[0][0] - m[1][1] + m[2][2], 1.0 + m[0][0] + m[1][1] + m[2][2]};
    int largest = 0;
    for (int i = 1; i < 4; ++i)
    {
        largest = q[i] > q[largest] ? i : largest;
    }
    double r = sqrt(fmax(q[largest], 0.0)) * 0.5, s = 0.25 / r;
    double x = (m[2][1] - m[1][2]) * s, y = (m[0][2] - m[2][0]) * s, z = (m[1][0] - m[0][1]) * s;
    double xy = (m[0][1] + m[1][0]) * s, xz = (m[0][2] + m[2][0]) * s, yz = (m[1][2] + m[2][1]) * s;
    switch (largest)
    {
    case 0:
        return (knQuat){(float)r, (float)xy, (float)xz, (float)x};
    case 1:
        return (knQuat){(float)xy, (float)r, (float)yz, (float)y};
    case 2:
        return (knQuat){(float)xz, (float)yz, (float)r, (float)z};
    default:
        return (knQuat){(float)x, (float)y, (float)z, (float)r};
    }
}

void knPrincipalAxes(const knDSym3* inertia, knQuat* axes, knVec3* moments)
{
    double a[3][3] = {{inertia->xx, inertia->xy, inertia->xz},
                      {inertia->xy, inertia->yy, inertia->yz},
                      {inertia->xz, inertia->yz, inertia->zz}};
    double v[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    for (int i = 0; i < JACOBI_SWEEPS; ++i)
    {
        RotateJacobi(a, v, 0, 1);
        RotateJacobi(a, v, 0, 2);
        RotateJacobi(a, v, 1, 2);
    }
    // rotations only, so the axes stay right-handed
    *axes = knNormalizeQuat(QuatOfRotation(v));
    *moments = knMakeVec3((float)a[0][0], (float)a[1][1], (float)a[2][2]);
}

knWorldFamily* knWorld_GetFamily(const knWorld* w, knFamilyId id)
{
    knWorldFamily* family = w ? knPool_Get(&w->families, knWorld_Untagged(w, id)) : NULL;
    if (!family)
    {
        (void)knFail(kn_errorHandle, "no family of this world has the id %u, %u", id.index,
                     id.generation);
    }
    return family;
}

static knTransform BodyFrame(knTransform asset, const knFamily* family, uint32_t fragment)
{
    knVec3 center = knToFloat(knFamily_Fragments(family)->fragments[fragment].mass.center);
    asset.position = knTransformPoint(asset, center);
    return asset;
}

knResult knWorld_CreateFamily(knWorld* w, const knBodyDef* def, const knFamilyDef* familyDef,
                              knFamilyId* outFamily, knBodyId* outBody)
{
    if (!w || !outFamily || !outBody)
    {
        return knFail(kn_errorArgument, "knWorld_CreateFamily: null");
    }
    knResult result = knWorld_CheckBodyDef(def);
    result = result == kn_success ? knWorld_ReserveSlot(&w->families) : result;
    knFamily* family = NULL;
    result = result == kn_success ? knCreateFamily(&family, familyDef, &w->allocator) : result;
    if (result != kn_success)
    {
        return result;
    }
    knId id;
    void* item;
    result = knPool_Acquire(&w->families, &id, &item);
    if (result != kn_success)
    {
        knDestroyFamily(family);
        return result;
    }
    knWorldFamily* made = item;
    const knAsset* asset = knModel_Asset(familyDef->model);
    const knMaterial* material = knWorld_FindMaterial(w, knAsset_Info(asset)->material);
    knAnchors anchors = {0};
    made->family = family;
    made->def = *familyDef;
    made->story.allocator = w->allocator;
    made->material = *(material ? material : knMaterialPreset(0));
    made->isBreakable = def->kind == kn_bodyDynamic ||
                        (knOpenAnchors(&anchors, asset) == kn_success && anchors.count > 0);
    knBodyDef bodyDef = *def;
    bodyDef.transform.rotation = knNormalizeQuat(def->transform.rotation);
    bodyDef.transform = BodyFrame(bodyDef.transform, family, 0);
    knBodyId body;
    result = knWorld_AddPiece(w, &bodyDef, knWorld_Tagged(w, id), 0, NULL, &body);
    if (result != kn_success)
    {
        (void)knPool_Release(&w->families, id);
        knDestroyFamily(family);
        return result;
    }
    *outFamily = knWorld_Tagged(w, id);
    *outBody = body;
    knWorld_RecordFamily(w, def, familyDef);
    return kn_success;
}

knResult knWorld_DestroyFamily(knWorld* w, knFamilyId familyId)
{
    knWorldFamily* family = knWorld_GetFamily(w, familyId);
    if (!family)
    {
        return kn_errorHandle;
    }
    knId id = knPool_Next(&w->bodies, (knId){0});
    while (!knId_IsNull(id))
    {
        knId next = knPool_Next(&w->bodies, id);
        const knBody* body = knPool_Get(&w->bodies, id);
        if (body->piece && knId_Equals(body->piece->family, familyId))
        {
            knWorld_RemoveBody(w, knWorld_Tagged(w, id));
        }
        id = next;
    }
    knWorld_CancelEvents(w, familyId);
    knDestroyFamily(family->family);
    knStream_Free(&family->story);
    knWorld_RecordIds(w, kn_callDestroyFamily, &familyId, 1);
    return knPool_Release(&w->families, knWorld_Untagged(w, familyId));
}

// Splits the family, with more scratch as long as it asks for more.
knResult knWorld_SplitFamily(knWorld* w, knFamily* family, uint32_t fragment, const knSplitDef* def,
                             knSplitResult* result)
{
    for (;;)
    {
        knArena_Reset(&w->splitScratch);
        knResult done = knFamily_Split(family, fragment, def, &w->splitScratch, result);
        size_t wanted = w->splitScratch.wantedBytes;
        if (done != kn_errorMemory || wanted == 0)
        {
            return done;
        }
        wanted = 2 * (w->splitScratch.capacity + wanted);
        knArena_Reset(&w->splitScratch);
        if (knArena_Reserve(&w->splitScratch, wanted) != kn_success)
        {
            return kn_errorMemory;
        }
    }
}

// What the parent was doing, for one of its parts.
knBodyDef knParting_Def(const knParting* parting, knVec3 center)
{
    const knBodyState* state = &parting->state;
    knBodyDef def = parting->def;
    knVec3 arm = knRotate(state->transform.rotation, knSub(center, parting->center));
    def.transform = state->transform;
    def.transform.position = knAdd(state->transform.position, arm);
    def.velocity = knAdd(state->velocity, knCross(state->spin, arm));
    def.spin = state->spin;
    return def;
}

// The event as if the split had been a break without a blow.
static void TakeSplit(knWorld* w, knBreakEvent* event, const knSplitResult* result,
                      knWorldSplit* out)
{
    knWorldBreaks* b = &w->breaks;
    event->area = result->crackArea;
    uint32_t first = b->fractureCount;
    event->isStale = true;
    knResult done = knBreakEvent_Commit(w, event);
    if (done != kn_success)
    {
        knWorld_Notice(w, kn_noticeDeferred, done, event->blow.body);
        return;
    }
    for (uint32_t i = first; i < b->fractureCount; ++i)
    {
        out->bodies = b->children + b->fractures[i].firstChild;
        out->bodyCount = b->fractures[i].childCount;
        out->debrisMass = b->fractures[i].debrisMass;
    }
    knWorld_EndEvent(w, b->liveCount - 1);
}

knResult knWorld_SplitBody(knWorld* w, knBodyId id, const knSplitDef* def, knWorldSplit* out)
{
    knBody* body = knWorld_GetBody(w, id);
    if (!body || !body->piece || !out)
    {
        return body ? knFail(kn_errorArgument, "knWorld_SplitBody: a piece and a result")
                    : kn_errorHandle;
    }
    if (body->breakId != 0)
    {
        return knFail(kn_errorArgument,
                      "knWorld_SplitBody: the body is breaking now; try again after the next step");
    }
    // the object may be about to lose a piece elsewhere
    knResult free = knValidateSplitDef(def);
    free = free == kn_success ? knWorld_BringForth(w, body->piece->family) : free;
    if (free != kn_success)
    {
        return free;
    }
    body = knWorld_GetBody(w, id);
    uint32_t parent = body->piece->fragment;
    knWorldFamily* owner = knWorld_GetFamily(w, body->piece->family);
    knBlow blow = {.body = id};
    knBodyState state;
    knPortBody_State(body->port, &state);
    blow.place = state.transform.position;
    knSplitResult result = {0};
    knBreakEvent* event = NULL;
    // room for the event first: after the split there is no way back
    knResult done = knWorld_BeginEvent(w, &blow, &event);
    if (done != kn_success)
    {
        return done;
    }
    done = knWorld_SplitFamily(w, owner->family, parent, def, &result);
    if (done != kn_success || result.outcome != kn_splitDone)
    {
        // as if it had never been tried
        knWorld_EndEvent(w, w->breaks.liveCount - 1);
        w->breaks.lastId -= 1;
    }
    if (done != kn_success)
    {
        return done;
    }
    *out = (knWorldSplit){.outcome = result.outcome, .crackArea = result.crackArea};
    // also when it came to nothing: something else may have come forth
    knWorld_RecordSplit(w, id, def, parent);
    if (result.outcome == kn_splitDone)
    {
        knWorldFamily_TellSplit(owner, parent, def);
        TakeSplit(w, event, &result, out);
    }
    return kn_success;
}
