// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

#define FILLED_FLAT_RATIO 1e-6 // a filled sheet is flat but for the rounding of its vertices
#define MAX_RAYS          16   // directions tried before a ray that grazes an edge is believed

typedef struct Component
{
    double volume, area;
    uint32_t firstTriangle;
    uint32_t depth; // how many others it lies in
} Component;

typedef struct Nest
{
    knDoctor* doctor;
    uint32_t* numbers; // component per triangle
    Component* components;
    size_t count;
} Nest;

static void MeasureComponents(Nest* n)
{
    const knSoup* soup = n->doctor->soup;
    for (size_t t = soup->triangleCount; t-- > 0;)
    {
        n->components[n->numbers[t]].firstTriangle = (uint32_t)t;
    }
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        Component* c = &n->components[n->numbers[t]];
        // about a vertex of its own, so that a small part far away loses no digits
        knDVec3 o = knToDouble(soup->positions[soup->triangles[c->firstTriangle].v[0]]);
        knDVec3 p[3];
        for (int k = 0; k < 3; ++k)
        {
            p[k] = knDSub(knToDouble(soup->positions[soup->triangles[t].v[k]]), o);
        }
        knDVec3 cross = knDCross(knDSub(p[1], p[0]), knDSub(p[2], p[0]));
        c->area += 0.5 * knDLength(cross);
        c->volume += knDDot(knDCross(p[0], p[1]), p[2]) / 6.0;
    }
}

static void DestroyNest(Nest* n)
{
    const knAllocator* a = &n->doctor->soup->allocator;
    size_t triangles = n->doctor->soup->triangleCount;
    knGive(a, n->components, n->count, sizeof(Component));
    knGive(a, n->numbers, triangles, sizeof(uint32_t));
}

static knResult CreateNest(Nest* nest, knDoctor* doctor)
{
    const knAllocator* a = &doctor->soup->allocator;
    knTopology topology;
    knResult result = knBuildTopology(&topology, doctor->soup);
    if (result != kn_success)
    {
        return result;
    }
    Nest n = {.doctor = doctor,
              .numbers = knTake(a, doctor->soup->triangleCount, sizeof(uint32_t))};
    if (n.numbers)
    {
        n.count = knNumberComponents(&topology, n.numbers);
        n.components = knTake(a, n.count, sizeof(Component));
    }
    knDestroyTopology(&topology);
    if (!n.components)
    {
        DestroyNest(&n);
        return kn_errorMemory;
    }
    MeasureComponents(&n);
    *nest = n;
    return kn_success;
}

static bool IsHollow(const Nest* n, const Component* c)
{
    double ratio = n->doctor->filled ? FILLED_FLAT_RATIO : KN_FLAT_RATIO;
    return !(fabs(c->volume) > ratio * c->area * sqrt(c->area));
}

knResult knDoctor_CheckVolume(knDoctor* doctor)
{
    Nest n;
    knResult result = CreateNest(&n, doctor);
    if (result != kn_success)
    {
        return result;
    }
    for (size_t i = 0; i < n.count; ++i)
    {
        if (IsHollow(&n, &n.components[i]))
        {
            knDoctor_FoundTriangle(doctor, kn_defectZeroVolume, n.components[i].firstTriangle);
        }
    }
    knDoctor_Judge(doctor, kn_defectZeroVolume, kn_actionRefuse, KN_SHEET_NOTE);
    DestroyNest(&n);
    return kn_success;
}

typedef struct Ray
{
    const Nest* nest;
    knPoint ends[2];
    uint32_t own; // component, not asked
    bool* inside; // per component, the parity so far
    bool grazes;
} Ray;

static bool CrossTriangle(uint32_t item, void* context)
{
    Ray* ray = context;
    const knSoup* soup = ray->nest->doctor->soup;
    uint32_t component = ray->nest->numbers[item];
    if (component == ray->own)
    {
        return true;
    }
    knPoint corners[3];
    for (int k = 0; k < 3; ++k)
    {
        corners[k] =
            knScalePoint(soup->positions[soup->triangles[item].v[k]], ray->nest->doctor->scale);
    }
    int crossing = knSegmentCrosses(ray->ends, corners);
    ray->grazes |= crossing < 0;
    ray->inside[component] ^= crossing > 0;
    return !ray->grazes;
}

// Counts the components around one vertex of a component, by the parity of crossings of a ray.
static void FindDepth(Nest* n, uint32_t component, const knBoxTree* tree, bool* inside)
{
    const knSoup* soup = n->doctor->soup;
    knBox bounds = n->doctor->report->bounds;
    uint32_t first = n->components[component].firstTriangle;
    knVec3 from = soup->positions[soup->triangles[first].v[0]];
    float size = knLength(knBox_Extent(bounds));
    for (int attempt = 0; attempt < MAX_RAYS; ++attempt)
    {
        // along x but for a little, another little each time
        float tilt = 0.003f * size * (float)(1 + attempt);
        knVec3 to = {bounds.upper.x + 0.1f * size, from.y + tilt,
                     from.z + (attempt % 2 ? -0.73f : 0.59f) * tilt};
        const knVec3 ends[2] = {from, to};
        Ray ray = {
            .nest = n,
            .ends = {knScalePoint(from, n->doctor->scale), knScalePoint(to, n->doctor->scale)},
            .own = component,
            .inside = inside};
        memset(inside, 0, n->count * sizeof(bool));
        knBoxTree_QuerySegment(tree, ends, 1e-5f * size, CrossTriangle, &ray);
        if (!ray.grazes)
        {
            break;
        }
    }
    for (size_t i = 0; i < n->count; ++i)
    {
        n->components[component].depth += inside[i];
    }
}

static knResult FindDepths(Nest* n)
{
    const knSoup* soup = n->doctor->soup;
    const knAllocator* a = &soup->allocator;
    knBoxTree tree;
    knBox* boxes = knTake(a, soup->triangleCount, sizeof(knBox));
    bool* inside = knTake(a, n->count, sizeof(bool));
    knResult result = boxes && inside ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        for (size_t t = 0; t < soup->triangleCount; ++t)
        {
            boxes[t] = knSoup_TriangleBox(soup, t);
        }
        result = knBuildBoxTree(&tree, boxes, soup->triangleCount, a);
    }
    if (result == kn_success)
    {
        for (uint32_t i = 0; i < n->count; ++i)
        {
            FindDepth(n, i, &tree, inside);
        }
        knDestroyBoxTree(&tree);
    }
    knGive(a, boxes, soup->triangleCount, sizeof(knBox));
    knGive(a, inside, n->count, sizeof(bool));
    return result;
}

static bool IsInsideOut(const Component* c)
{
    return c->depth % 2 == 0 ? c->volume < 0.0 : c->volume > 0.0;
}

static knResult TurnComponents(Nest* n)
{
    knDoctor* doctor = n->doctor;
    knResult result = kn_success;
    for (size_t i = 0; i < n->count; ++i)
    {
        if (IsInsideOut(&n->components[i]))
        {
            knDoctor_FoundTriangle(doctor, kn_defectInsideOut, n->components[i].firstTriangle);
        }
    }
    knDoctor_Judge(doctor, kn_defectInsideOut, kn_actionRepair,
                   "solids are turned to face outwards, cavities inwards");
    for (size_t t = 0; t < doctor->soup->triangleCount && result == kn_success; ++t)
    {
        if (IsInsideOut(&n->components[n->numbers[t]]))
        {
            result = knSoup_TurnTriangle(doctor->soup, t);
        }
    }
    return result;
}

static void ReportComponents(Nest* n)
{
    knDoctor* doctor = n->doctor;
    uint32_t cavities = 0;
    for (size_t i = 0; i < n->count; ++i)
    {
        cavities += n->components[i].depth % 2;
        if (n->count > 1)
        {
            knDoctor_FoundTriangle(doctor, kn_defectSeveralComponents,
                                   n->components[i].firstTriangle);
        }
    }
    doctor->report->componentCount = (uint32_t)n->count;
    doctor->report->cavityCount = cavities;
    uint32_t solids = (uint32_t)n->count - cavities;
    if (solids > 1 && !doctor->options->severalComponents)
    {
        knDoctor_Judge(doctor, kn_defectSeveralComponents, kn_actionRefuse,
                       "%u solids and %u cavities: unite the solids, cook them one by one, or "
                       "allow several components",
                       solids, cavities);
    }
    else
    {
        knDoctor_Judge(doctor, kn_defectSeveralComponents, kn_actionNone,
                       "%u solids and %u cavities; they are cooked as one asset", solids, cavities);
    }
}

knResult knDoctor_Nest(knDoctor* doctor)
{
    Nest n;
    knResult result = CreateNest(&n, doctor);
    if (result != kn_success)
    {
        return result;
    }
    // an open or one-sided surface has no inside to lie in
    bool closed = !doctor->blocked || knDoctor_Has(doctor, kn_defectSelfIntersection);
    // and one that crosses another lies neither in it nor outside
    if (!doctor->blocked && n.count > 1)
    {
        result = FindDepths(&n);
    }
    if (result == kn_success && closed)
    {
        result = TurnComponents(&n);
    }
    if (result == kn_success)
    {
        ReportComponents(&n);
    }
    DestroyNest(&n);
    return result;
}
