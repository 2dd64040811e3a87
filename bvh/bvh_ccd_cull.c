// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// Parts of a surface that cannot meet themselves during a step. All normals of such a part have a
// positive part along one direction for the whole step (each is a quadratic in time, and so between
// its Bernstein vectors), and seen along it the part's contour is a star around a point that moves:
// at each time the number of triangles over a point is then one at most. See docs/ccd.md.

#define UNIT 0x1p-53
#define REST 8 // runs in which a contour that was no star is left alone

static void AddHalfEdge(knCcdCancelling* c, uint32_t from, uint32_t to)
{
    uint32_t low = from < to ? from : to, high = from < to ? to : from;
    uint32_t place = (low * 2654435761u ^ high * 2246822519u) >> 7 & (KN_CCD_TABLE - 1);
    while (c->stamp[place] == c->now && (c->low[place] != low || c->high[place] != high))
    {
        place = (place + 1) & (KN_CCD_TABLE - 1);
    }
    if (c->stamp[place] != c->now)
    {
        if (c->placeCount >= KN_CCD_TABLE / 2)
        {
            c->isFull = true;
            return;
        }
        c->stamp[place] = c->now;
        c->low[place] = low;
        c->high[place] = high;
        c->net[place] = 0;
        c->places[c->placeCount++] = place;
    }
    c->net[place] += from < to ? 1 : -1;
}

// Puts what is left behind the list; false when it is too long.
static bool TakeContour(knCcdStep* s, knCcdCancelling* c, knCcdContour* contour)
{
    uint32_t first = s->halfEdgeCount, count = 0;
    for (uint32_t i = 0; i < c->placeCount && !c->isFull; ++i)
    {
        uint32_t place = c->places[i];
        for (int32_t n = abs(c->net[place]); n > 0 && count <= KN_CCD_CONTOUR; --n)
        {
            bool isUp = c->net[place] > 0;
            s->halfEdges[first + count++] = (knHalfEdge){isUp ? c->low[place] : c->high[place],
                                                         isUp ? c->high[place] : c->low[place]};
        }
    }
    bool isTooLong = c->isFull || count > KN_CCD_CONTOUR;
    contour->first = first;
    contour->count = isTooLong ? KN_NONE : count;
    s->halfEdgeCount += isTooLong ? 0 : count;
    return !isTooLong;
}

// The triangles of a leaf hang together by edges of two.
static bool IsLeafConnected(const knCcdStep* s, const knCcdLeaf* leaf)
{
    uint32_t reached = 1, all = leaf->itemCount >= 32 ? ~0u : (1u << leaf->itemCount) - 1;
    for (uint32_t before = 0; before != reached;)
    {
        before = reached;
        for (uint32_t i = 0; i < leaf->itemCount * leaf->itemCount; ++i)
        {
            uint32_t a = i / leaf->itemCount, b = i % leaf->itemCount;
            if ((reached >> a & 1) && !(reached >> b & 1))
            {
                const uint32_t* e =
                    &s->triangleEdges[3 * (size_t)s->items[leaf->item + a].triangle];
                const uint32_t* f =
                    &s->triangleEdges[3 * (size_t)s->items[leaf->item + b].triangle];
                for (int k = 0; k < 9; ++k)
                {
                    reached |= e[k / 3] == f[k % 3] && e[k / 3] != KN_NONE ? 1u << b : 0u;
                }
            }
        }
    }
    return reached == all;
}

static void FindLeafContour(knCcdStep* s, uint32_t node, knCcdCancelling* c)
{
    const knCcdLeaf* leaf = &s->leaves[s->links[node].child];
    knCcdContour* contour = &s->contours[node];
    bool hasVertex = false;
    for (uint32_t i = leaf->item; i < leaf->item + leaf->itemCount; ++i)
    {
        uint32_t t = s->items[i].triangle;
        hasVertex = hasVertex || t >= s->triangleCount;
        for (int k = 0; k < 3 && !hasVertex; ++k)
        {
            uint32_t from = s->triangles[t].v[k], to = s->triangles[t].v[(k + 1) % 3];
            if (from != to)
            {
                AddHalfEdge(c, from, to);
            }
        }
    }
    // a vertex of no triangle may meet the faces around it
    c->isFull = c->isFull || hasVertex;
    contour->isConnected = TakeContour(s, c, contour) && IsLeafConnected(s, leaf);
}

static void FindNodeContour(knCcdStep* s, uint32_t node, knCcdCancelling* c)
{
    knCcdContour* contour = &s->contours[node];
    const knCcdContour* children = &s->contours[s->links[node].child];
    uint32_t sum = 0;
    for (int i = 0; i < 2; ++i)
    {
        c->isFull = c->isFull || children[i].count == KN_NONE;
        for (uint32_t k = 0; k < children[i].count && !c->isFull; ++k)
        {
            knHalfEdge e = s->halfEdges[children[i].first + k];
            AddHalfEdge(c, e.from, e.to);
            sum += 1;
        }
    }
    bool isKept = TakeContour(s, c, contour);
    contour->isConnected =
        isKept && children[0].isConnected && children[1].isConnected && contour->count < sum;
}

static knResult ReserveContours(knCcdStep* s)
{
    size_t nodes = s->nodeCount;
    knResult result = knGrow(&s->allocator, (void**)&s->contours, &s->contourCapacity, nodes,
                             sizeof *s->contours);
    result = result == kn_success
                 ? knGrow(&s->allocator, (void**)&s->halfEdges, &s->halfEdgeCapacity,
                          (nodes + 1) * (KN_CCD_CONTOUR + 2), sizeof *s->halfEdges)
                 : result;
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->culled, &s->culledCapacity,
                                           nodes, sizeof *s->culled)
                                  : result;
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->normals, &s->normalCapacity,
                                           nodes, sizeof *s->normals)
                                  : result;
    if (result == kn_success && !s->cancelling)
    {
        s->cancelling = knAllocate(&s->allocator, 1, sizeof *s->cancelling);
        result = s->cancelling ? kn_success : kn_errorMemory;
    }
    return result;
}

// Contours that are to be found anew: all, or those of nodes above a changed leaf. Until then their
// nodes are not culled.
static void MarkStale(knCcdStep* s)
{
    if (s->hasContours && !s->haveLeavesChanged)
    {
        return;
    }
    for (uint32_t node = s->nodeCount; node-- > 0;)
    {
        const knCcdLink* link = &s->links[node];
        knCcdContour* c = &s->contours[node];
        bool isBelow = link->count == 0 && node != 1 &&
                       (s->contours[link->child].isStale || s->contours[link->child + 1].isStale);
        bool isChanged = link->count != 0 && s->leafChanges[link->child];
        if (!s->hasContours || isBelow || isChanged)
        {
            *c = (knCcdContour){.count = KN_NONE, .isStale = node != 1 && s->leafCount > 0};
        }
    }
    memset(s->leafChanges, 0, s->leafCount);
    s->halfEdgeCount = s->hasContours ? s->halfEdgeCount : 0;
    s->hasContours = true;
    s->haveLeavesChanged = false;
    s->staleUntil = s->nodeCount;
}

static void FindContour(knCcdStep* s, uint32_t node, knCcdCancelling* c)
{
    s->contours[node] = (knCcdContour){.count = KN_NONE};
    c->placeCount = 0;
    c->now += 1;
    c->isFull = false;
    s->links[node].count != 0 ? FindLeafContour(s, node, c) : FindNodeContour(s, node, c);
}

// Some of those that are stale, from the leaves upwards, so that no step pays for all. The papers'
// culling finds all of them at once, as the papers do.
static void FindContours(knCcdStep* s)
{
    knCcdCancelling* c = s->cancelling;
    memset(c, 0, sizeof *c);
    uint32_t left = s->def.culling == kn_ccdCullExact ? s->nodeCount / 16 + 512 : KN_NONE;
    while (s->staleUntil > 0 && left > 0)
    {
        // what is found anew is put behind the rest: when there is no room, all is found anew
        if (s->halfEdgeCount + KN_CCD_CONTOUR + 2 > s->halfEdgeCapacity)
        {
            s->hasContours = false;
            MarkStale(s);
        }
        uint32_t node = --s->staleUntil;
        if (s->contours[node].isStale)
        {
            FindContour(s, node, c);
            left -= 1;
        }
    }
}

// A sum of two or three axes, as the kernels number them.
static void DirectionOf(int bit, double d[3])
{
    static const int8_t table[13][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1},  {1, 1, 0},  {1, -1, 0},
                                        {1, 0, 1},  {1, 0, -1}, {0, 1, 1},  {0, 1, -1}, {1, 1, 1},
                                        {1, 1, -1}, {1, -1, 1}, {1, -1, -1}};
    for (int k = 0; k < 3; ++k)
    {
        d[k] = (double)table[bit / 2][k] * (bit % 2 ? -1.0 : 1.0);
    }
}

typedef struct Star
{
    double center[2][3]; // at the start, at the end
    double d[3], up[3];  // the direction, and one across it
} Star;

static void Place(const knCcdStep* s, uint32_t v, int end, const double center[3], double out[3])
{
    knDVec3 p = knCcdVertex(&s->def, v, end);
    out[0] = p.x - center[0];
    out[1] = p.y - center[1];
    out[2] = p.z - center[2];
}

static void MakeStar(const knCcdStep* s, const knCcdContour* contour, Star* star)
{
    memset(star->center, 0, sizeof star->center);
    for (uint32_t i = 0; i < contour->count; ++i)
    {
        for (int end = 0; end < 2; ++end)
        {
            double p[3], zero[3] = {0.0};
            Place(s, s->halfEdges[contour->first + i].from, end, zero, p);
            for (int k = 0; k < 3; ++k)
            {
                star->center[end][k] += p[k] / (double)contour->count;
            }
        }
    }
}

// (a x b) . d, and what errors are measured against.
static double Turn(const double a[3], const double b[3], const double d[3])
{
    return (a[1] * b[2] - a[2] * b[1]) * d[0] + (a[2] * b[0] - a[0] * b[2]) * d[1] +
           (a[0] * b[1] - a[1] * b[0]) * d[2];
}

static double Size(const double a[3])
{
    return fabs(a[0]) + fabs(a[1]) + fabs(a[2]);
}

// Every edge turns the same way around the center for the whole step, and once in all.
static bool IsStar(const knCcdStep* s, const knCcdContour* contour, const Star* star)
{
    uint32_t turns = 0;
    for (uint32_t i = 0; i < contour->count; ++i)
    {
        knHalfEdge e = s->halfEdges[contour->first + i];
        double p[2][3], q[2][3];
        for (int end = 0; end < 2; ++end)
        {
            Place(s, e.from, end, star->center[end], p[end]);
            Place(s, e.to, end, star->center[end], q[end]);
        }
        double error =
            64.0 * UNIT * (Size(p[0]) + Size(p[1])) * (Size(q[0]) + Size(q[1])) * Size(star->d) +
            0x1p-1000;
        bool isTurning = Turn(p[0], q[0], star->d) > error && Turn(p[1], q[1], star->d) > error &&
                         Turn(p[0], q[1], star->d) + Turn(p[1], q[0], star->d) > error;
        if (!isTurning)
        {
            return false;
        }
        double from = p[0][0] * star->up[0] + p[0][1] * star->up[1] + p[0][2] * star->up[2];
        double to = q[0][0] * star->up[0] + q[0][1] * star->up[1] + q[0][2] * star->up[2];
        turns += from < 0.0 && to >= 0.0;
    }
    return turns == 1;
}

static bool IsFlat(knCcdStep* s, uint32_t node)
{
    knCcdContour* contour = &s->contours[node];
    uint32_t directions = s->normals[node];
    if (directions == 0 || contour->count == KN_NONE || s->runCount < contour->restUntil)
    {
        return false;
    }
    if (s->sabotage & kn_sabotageCcdContour)
    {
        return true;
    }
    s->funnel.contourTests += 1;
    Star star;
    MakeStar(s, contour, &star);
    for (int bit = 0; bit < 26; ++bit)
    {
        if (directions >> bit & 1)
        {
            DirectionOf(bit, star.d);
            int k = star.d[0] != 0.0 && star.d[1] != 0.0 ? 2 : (star.d[0] != 0.0 ? 1 : 0);
            double axis[3] = {k == 0, k == 1, k == 2};
            star.up[0] = star.d[1] * axis[2] - star.d[2] * axis[1];
            star.up[1] = star.d[2] * axis[0] - star.d[0] * axis[2];
            star.up[2] = star.d[0] * axis[1] - star.d[1] * axis[0];
            if (IsStar(s, contour, &star))
            {
                return true;
            }
            break; // others along which all normals go see much the same
        }
    }
    contour->restUntil = s->runCount + REST;
    return false;
}

// What the kernels do of blocks, of one triangle in double.
static uint32_t FindExactNormals(const knCcdStep* s, uint32_t t)
{
    const uint32_t* v = s->triangles[t].v;
    double zero[3] = {0.0}, u[2][3], w[2][3], d[3];
    for (int end = 0; end < 2; ++end)
    {
        double p[3];
        Place(s, v[0], end, zero, p);
        Place(s, v[1], end, p, u[end]);
        Place(s, v[2], end, p, w[end]);
    }
    double error = 64.0 * UNIT * (Size(u[0]) + Size(u[1])) * (Size(w[0]) + Size(w[1])) + 0x1p-1000;
    uint32_t directions = 0;
    for (int bit = 0; bit < 26; ++bit)
    {
        DirectionOf(bit, d);
        bool isAlong = Turn(u[0], w[0], d) > 3.0 * error && Turn(u[1], w[1], d) > 3.0 * error &&
                       Turn(u[0], w[1], d) + Turn(u[1], w[0], d) > 3.0 * error;
        directions |= (uint32_t)isAlong << bit;
    }
    return directions;
}

static uint32_t FindLeafNormals(const knCcdStep* s, const knCcdLeaf* leaf)
{
    uint32_t directions = ~0u;
    for (uint32_t i = 0; i < leaf->faceBlocks && directions && !s->def.exactStart; ++i)
    {
        directions &= s->kernels->findNormals(&s->faceBlocks[leaf->faces + i]);
    }
    for (uint32_t i = leaf->item; i < leaf->item + leaf->itemCount && s->def.exactStart; ++i)
    {
        uint32_t t = s->items[i].triangle;
        directions &= t < s->triangleCount && directions ? FindExactNormals(s, t) : 0;
    }
    return directions;
}

static void FindNormals(knCcdStep* s)
{
    for (uint32_t node = s->nodeCount; node-- > 0;)
    {
        const knCcdLink* link = &s->links[node];
        if (node == 1 || link->count == 0)
        {
            s->normals[node] =
                node == 1 ? 0 : s->normals[link->child] & s->normals[link->child + 1];
            continue;
        }
        s->normals[node] = FindLeafNormals(s, &s->leaves[link->child]);
    }
}

// From the top: below a part that is culled nothing is looked at.
static void CullFrom(knCcdStep* s, uint32_t node)
{
    bool isCulled = s->def.culling == kn_ccdCullExact ? IsFlat(s, node) : knIsWithinCones(s, node);
    s->culled[node] = isCulled;
    s->funnel.culledNodes += isCulled;
    if (!isCulled && s->links[node].count == 0)
    {
        CullFrom(s, s->links[node].child);
        CullFrom(s, s->links[node].child + 1);
    }
}

knResult knCullCcd(knCcdStep* s)
{
    if (s->def.culling == kn_ccdCullNone || s->def.separation > 0.0 || s->leafCount == 0)
    {
        s->isCulling = false;
        return kn_success;
    }
    knResult result = s->hasContours ? kn_success : ReserveContours(s);
    if (result == kn_success)
    {
        MarkStale(s);
        FindContours(s);
    }
    if (result == kn_success && s->def.culling != kn_ccdCullExact)
    {
        result = knFindCcdCones(s);
    }
    if (result != kn_success)
    {
        return result;
    }
    if (s->def.culling == kn_ccdCullExact)
    {
        FindNormals(s);
    }
    s->isCulling = true;
    CullFrom(s, 0);
    return kn_success;
}
