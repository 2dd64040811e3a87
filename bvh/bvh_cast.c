// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// Rays and boxes: a walk over the tree without a stack, so that queries need no scratch.

typedef struct Ray
{
    knDVec3 origin, direction;
    double fraction; // of the nearest hit so far
    uint32_t triangle;
} Ray;

static bool RayMeetsBox(const Ray* ray, const knBvhNode* n)
{
    const double origin[3] = {ray->origin.x, ray->origin.y, ray->origin.z};
    const double direction[3] = {ray->direction.x, ray->direction.y, ray->direction.z};
    double enter = 0.0, leave = ray->fraction;
    for (int axis = 0; axis < 3; ++axis)
    {
        double low = (double)n->lower[axis] - origin[axis];
        double high = (double)n->upper[axis] - origin[axis];
        if (direction[axis] == 0.0)
        {
            leave = low <= 0.0 && high >= 0.0 ? leave : -1.0;
            continue;
        }
        double first = (direction[axis] > 0.0 ? low : high) / direction[axis];
        double last = (direction[axis] > 0.0 ? high : low) / direction[axis];
        enter = first > enter ? first : enter;
        leave = last < leave ? last : leave;
    }
    // what rounding may have moved; a box that is met in vain costs little
    return enter <= leave * (1.0 + 0x1p-40) + 0x1p-1000;
}

static knDVec3 Corner(const knBvhBlock* b, int corner, uint32_t lane)
{
    return knMakeDVec3((double)b->v[corner][0][lane], (double)b->v[corner][1][lane],
                       (double)b->v[corner][2][lane]);
}

// Signed volumes that edges make with the ray: all of one sign, and the ray passes. Two triangles
// that share an edge see the same number with the opposite sign, so no ray slips between them.
static void CastAtTriangle(Ray* ray, const knBvhBlock* b, uint32_t lane)
{
    knDVec3 p[3];
    for (int i = 0; i < 3; ++i)
    {
        p[i] = knDSub(Corner(b, i, lane), ray->origin);
    }
    double u = knDDot(ray->direction, knDCross(p[1], p[2]));
    double v = knDDot(ray->direction, knDCross(p[2], p[0]));
    double w = knDDot(ray->direction, knDCross(p[0], p[1]));
    bool oneSided = (u >= 0.0 && v >= 0.0 && w >= 0.0) || (u <= 0.0 && v <= 0.0 && w <= 0.0);
    double sum = u + v + w;
    if (!oneSided || sum == 0.0)
    {
        return; // missed, or seen edge-on
    }
    knDVec3 hit =
        knDAdd(knDAdd(knDScale(u / sum, p[0]), knDScale(v / sum, p[1])), knDScale(w / sum, p[2]));
    double fraction = knDDot(hit, ray->direction) / knDDot(ray->direction, ray->direction);
    uint32_t id = b->triangle[lane];
    bool isNearer = fraction < ray->fraction || (fraction == ray->fraction && id < ray->triangle);
    if (fraction >= 0.0 && isNearer)
    {
        ray->fraction = fraction;
        ray->triangle = id;
    }
}

static knResult CheckRead(const knBvhScene* s)
{
    return s->isCommitted
               ? kn_success
               : knFail(kn_errorArgument, "the scene has changed: call knBvhScene_Commit first");
}

static void CastThroughTree(const knBvhScene* s, Ray* cast)
{
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        const knBvhNode* n = &s->nodes[node];
        bool meets = RayMeetsBox(cast, n);
        for (uint32_t lane = 0; meets && lane < n->count; ++lane)
        {
            CastAtTriangle(cast, &s->blocks[n->child], lane);
        }
        node = meets && !knIsLeaf(n) ? n->child : knNextAside(s, node);
    }
}

knResult knBvhScene_CastRay(const knBvhScene* s, const knBvhRay* ray, knBvhRayHit* hit)
{
    if (!s || !ray || !hit || !knIsFinite(ray->origin) || !knIsFinite(ray->direction) ||
        !(ray->maxFraction >= 0.0f))
    {
        return knFail(kn_errorArgument,
                      "a ray needs a scene, finite vectors, a fraction and room for the hit");
    }
    knDVec3 direction = knToDouble(ray->direction);
    if (knDDot(direction, direction) == 0.0)
    {
        return knFail(kn_errorArgument, "the ray has no direction");
    }
    knResult result = CheckRead(s);
    if (result != kn_success)
    {
        return result;
    }
    Ray cast = {knToDouble(ray->origin), direction, (double)ray->maxFraction, KN_NONE};
    uint32_t mode = knBeginExact();
    CastThroughTree(s, &cast);
    knEndExact(mode);
    hit->triangle = cast.triangle;
    hit->fraction = (float)cast.fraction;
    return kn_success;
}

static bool LaneMeetsBox(const knBvhBlock* b, uint32_t lane, const knBox* box)
{
    const float lower[3] = {box->lower.x, box->lower.y, box->lower.z};
    const float upper[3] = {box->upper.x, box->upper.y, box->upper.z};
    for (int axis = 0; axis < 3; ++axis)
    {
        float x = b->v[0][axis][lane], y = b->v[1][axis][lane], z = b->v[2][axis][lane];
        float low = fminf(fminf(x, y), z), high = fmaxf(fmaxf(x, y), z);
        if (!(low <= upper[axis] && lower[axis] <= high))
        {
            return false;
        }
    }
    return true;
}

static int CompareIds(const void* a, const void* b)
{
    uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
    return (x > y) - (x < y);
}

knResult knBvhScene_FindInBox(const knBvhScene* s, knBox box, uint32_t* ids, uint32_t capacity,
                              uint32_t* count)
{
    if (!s || !count || (!ids && capacity > 0))
    {
        return knFail(kn_errorArgument, "a box query needs a scene and room for the answer");
    }
    knResult result = CheckRead(s);
    if (result != kn_success)
    {
        return result;
    }
    uint32_t found = 0, mode = knBeginExact();
    knBvhNode wanted = {
        {box.lower.x, box.lower.y, box.lower.z}, 0, {box.upper.x, box.upper.y, box.upper.z}, 0};
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        const knBvhNode* n = &s->nodes[node];
        bool meets = knNodesOverlap(n, &wanted);
        for (uint32_t lane = 0; meets && lane < n->count; ++lane)
        {
            const knBvhBlock* b = &s->blocks[n->child];
            if (LaneMeetsBox(b, lane, &box))
            {
                if (found < capacity)
                {
                    ids[found] = b->triangle[lane];
                }
                found += 1;
            }
        }
        node = meets && !knIsLeaf(n) ? n->child : knNextAside(s, node);
    }
    knEndExact(mode);
    if (found > 1 && ids)
    {
        qsort(ids, found < capacity ? found : capacity, sizeof *ids, CompareIds);
    }
    *count = found;
    return kn_success;
}
