// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// Parts of a surface that cannot meet themselves, found without a miss.
//
// Let every normal of a set of triangles have a positive part along one direction. Seen along it,
// each triangle turns counter-clockwise, and so the number of triangles over a point is the winding
// number of the set's boundary, as a sum of directed edges, around that point. If it is at most one
// everywhere, no two triangles overlap in the picture; they can meet only where the boundary
// touches itself, because around every other point the picture is covered once already. A boundary
// whose edges all turn counter-clockwise around one point, once in all, is such a boundary: a star.
// It does not matter how the set hangs together.
//
// Normals are kept as a mask of 26 directions, the boundary as a list of directed edges per node,
// merged from below when the structure changes. Whether the list is a star is seen at each commit.

#define MAX_CONTOUR   96 // edges; longer ones are seldom stars and cost much to look at
#define REST_COMMITS  8
#define NORMAL_FLOOR  0x1p-120f // what underflow may add to a part of a normal
#define ROUNDING      0x1p-53
#define CONTOUR_ERROR 256.0 // roundings of size^2: coordinates have 8, products and sums 16 more

// Directions in the order of FindNormals: two vectors that span the picture, e x f along the
// direction. Integers, and no unit vectors: only signs of areas matter.
static const int8_t pictureAxes[13][2][3] = {
    {{0, 1, 0}, {0, 0, 1}},    {{0, 0, 1}, {1, 0, 0}},     {{1, 0, 0}, {0, 1, 0}},
    {{0, 0, 1}, {1, -1, 0}},   {{0, 0, 1}, {-1, -1, 0}},   {{-1, 0, 1}, {0, -1, 0}},
    {{-1, 0, -1}, {0, -1, 0}}, {{1, 0, 0}, {0, 1, -1}},    {{1, 0, 0}, {0, 1, 1}},
    {{1, -1, 0}, {1, 1, -2}},  {{1, -1, 0}, {-1, -1, -2}}, {{-1, -1, 0}, {1, -1, -2}},
    {{-1, -1, 0}, {-1, 1, -2}}};

knResult knReserveContours(knBvhScene* s, size_t nodeCount)
{
    // the flags first: whoever sees contours may rely on them
    size_t old = s->contourCapacity, oldFlags = s->culledCapacity;
    knResult result =
        knGrow(&s->allocator, (void**)&s->culled, &s->culledCapacity, nodeCount, sizeof *s->culled);
    if (s->culledCapacity > oldFlags)
    {
        memset(s->culled + oldFlags, 0, s->culledCapacity - oldFlags);
    }
    if (result == kn_success)
    {
        result = knGrow(&s->allocator, (void**)&s->contours, &s->contourCapacity, nodeCount,
                        sizeof *s->contours);
    }
    if (s->contourCapacity > old)
    {
        memset(s->contours + old, 0, (s->contourCapacity - old) * sizeof *s->contours);
    }
    return result;
}

static bool IsBefore(knHalfEdge a, knHalfEdge b)
{
    uint32_t aLow = a.from < a.to ? a.from : a.to, bLow = b.from < b.to ? b.from : b.to;
    uint32_t aHigh = a.from + a.to - aLow, bHigh = b.from + b.to - bLow;
    return aLow < bLow || (aLow == bLow && aHigh < bHigh);
}

static bool IsSameEdge(knHalfEdge a, knHalfEdge b)
{
    return (a.from == b.from && a.to == b.to) || (a.from == b.to && a.to == b.from);
}

// A run of half-edges between the same vertices, from `edges`: opposite ones cancel. Returns the
// length of the run; what is left is appended.
static uint32_t CancelRun(const knHalfEdge* edges, uint32_t count, knHalfEdge* out,
                          uint32_t* outCount)
{
    uint32_t length = 0;
    int net = 0;
    while (length < count && IsSameEdge(edges[length], edges[0]))
    {
        net += edges[length].from < edges[length].to ? 1 : -1;
        length += 1;
    }
    uint32_t low = edges[0].from < edges[0].to ? edges[0].from : edges[0].to;
    uint32_t high = edges[0].from + edges[0].to - low;
    for (; net != 0; net += net > 0 ? -1 : 1)
    {
        out[(*outCount)++] = net > 0 ? (knHalfEdge){low, high} : (knHalfEdge){high, low};
    }
    return length;
}

static uint32_t CancelAll(const knHalfEdge* sorted, uint32_t count, knHalfEdge* out)
{
    uint32_t outCount = 0;
    for (uint32_t i = 0; i < count;)
    {
        i += CancelRun(sorted + i, count - i, out, &outCount);
    }
    return outCount;
}

static uint32_t MakeLeafContour(const knBvhBlock* b, uint32_t count, knHalfEdge* out)
{
    knHalfEdge sorted[3 * KN_LANES];
    uint32_t sortedCount = 0;
    for (uint32_t i = 0; i < 3 * count; ++i)
    {
        knHalfEdge e = {b->vertex[i % 3][i / 3], b->vertex[(i + 1) % 3][i / 3]};
        uint32_t at = sortedCount++;
        for (; at > 0 && IsBefore(e, sorted[at - 1]); --at)
        {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = e;
    }
    return CancelAll(sorted, sortedCount, out);
}

static const knHalfEdge* ContourOf(const knBvhScene* s, uint32_t node)
{
    return s->halfEdges + s->contours[node].first;
}

static uint32_t MergeContours(const knBvhScene* s, uint32_t left, knHalfEdge* out)
{
    const knBvhContour *a = &s->contours[left], *b = a + 1;
    if (a->count > MAX_CONTOUR || b->count > MAX_CONTOUR)
    {
        return MAX_CONTOUR + 1;
    }
    const knHalfEdge *p = ContourOf(s, left), *q = ContourOf(s, left + 1);
    knHalfEdge sorted[2 * MAX_CONTOUR];
    uint32_t i = 0, k = 0, count = 0;
    while (i < a->count || k < b->count)
    {
        bool takeRight = i == a->count || (k < b->count && IsBefore(q[k], p[i]));
        sorted[count++] = takeRight ? q[k++] : p[i++];
    }
    return CancelAll(sorted, count, out);
}

// Stores the list in the node's old place when it fits, else at the end.
static knResult StoreContour(knBvhScene* s, uint32_t node, const knHalfEdge* edges, uint32_t count)
{
    knBvhContour* c = &s->contours[node];
    uint32_t stored = count <= MAX_CONTOUR ? count : 0;
    if (stored > c->capacity)
    {
        knResult result = knGrow(&s->allocator, (void**)&s->halfEdges, &s->halfEdgeCapacity,
                                 (size_t)s->halfEdgeCount + stored, sizeof *s->halfEdges);
        if (result != kn_success)
        {
            return result;
        }
        c->first = s->halfEdgeCount;
        c->capacity = stored;
        s->halfEdgeCount += stored;
    }
    if (stored > 0)
    {
        memcpy(s->halfEdges + c->first, edges, stored * sizeof *edges);
    }
    s->halfEdgeUsed += stored;
    c->count = count;
    c->restUntil = 0;
    c->isValid = true;
    return kn_success;
}

static void ForgetContours(knBvhScene* s)
{
    memset(s->contours, 0, s->contourCapacity * sizeof *s->contours);
    s->halfEdgeCount = 0;
}

static knResult UpdateInvalid(knBvhScene* s)
{
    knResult result = kn_success;
    s->halfEdgeUsed = 0;
    for (uint32_t i = 0; i < s->orderCount && result == kn_success; ++i)
    {
        uint32_t node = s->order[i];
        const knBvhNode* n = &s->nodes[node];
        const knBvhContour* c = &s->contours[node];
        if (c->isValid)
        {
            s->halfEdgeUsed += c->count <= MAX_CONTOUR ? c->count : 0;
            continue;
        }
        knHalfEdge edges[2 * MAX_CONTOUR];
        uint32_t count = knIsLeaf(n) ? MakeLeafContour(&s->blocks[n->child], n->count, edges)
                                     : MergeContours(s, n->child, edges);
        result = StoreContour(s, node, edges, count);
    }
    return result;
}

// Where the structure changed; everything when old places waste more than half.
knResult knUpdateContours(knBvhScene* s)
{
    knResult result = UpdateInvalid(s);
    if (result == kn_success && s->halfEdgeCount > 2 * s->halfEdgeUsed + 4096)
    {
        ForgetContours(s);
        result = UpdateInvalid(s);
    }
    return result;
}

typedef struct Picture
{
    double e[3], f[3];
    double origin[3];
} Picture;

static Picture MakePicture(const knBvhScene* s, int direction, uint32_t originVertex)
{
    const int8_t *e = pictureAxes[direction / 2][0], *f = pictureAxes[direction / 2][1];
    // the opposite direction sees the axes exchanged
    bool isOpposite = direction % 2 != 0;
    knVec3 o = s->positions[originVertex];
    Picture p = {.origin = {(double)o.x, (double)o.y, (double)o.z}};
    for (int i = 0; i < 3; ++i)
    {
        p.e[i] = isOpposite ? f[i] : e[i];
        p.f[i] = isOpposite ? e[i] : f[i];
    }
    return p;
}

static void Project(const knBvhScene* s, const Picture* p, uint32_t vertex, double out[2])
{
    knVec3 v = s->positions[vertex];
    double x = (double)v.x - p->origin[0], y = (double)v.y - p->origin[1];
    double z = (double)v.z - p->origin[2];
    out[0] = p->e[0] * x + p->e[1] * y + p->e[2] * z;
    out[1] = p->f[0] * x + p->f[1] * y + p->f[2] * z;
}

// All edges turn around the middle, and once in all.
static bool IsStar(const knBvhScene* s, const knHalfEdge* edges, uint32_t count, int direction)
{
    double points[MAX_CONTOUR][2], middle[2] = {0.0, 0.0}, size = 0.0;
    Picture picture = MakePicture(s, direction, edges[0].from);
    for (uint32_t i = 0; i < count; ++i)
    {
        Project(s, &picture, edges[i].from, points[i]);
        middle[0] += points[i][0] / count;
        middle[1] += points[i][1] / count;
    }
    uint32_t rises = 0;
    bool isStar = true;
    for (uint32_t i = 0; i < count; ++i)
    {
        size = fmax(size, fmax(fabs(points[i][0]), fabs(points[i][1])));
    }
    // the middle is any point and so without error; what is near its height is not decided
    double areaError = CONTOUR_ERROR * ROUNDING * 4.0 * size * size;
    double heightError = CONTOUR_ERROR * ROUNDING * size;
    for (uint32_t i = 0; i < count && isStar; ++i)
    {
        double to[2];
        Project(s, &picture, edges[i].to, to);
        double ax = points[i][0] - middle[0], ay = points[i][1] - middle[1];
        double bx = to[0] - middle[0], by = to[1] - middle[1];
        isStar = ax * by - ay * bx > areaError && fabs(ay) > heightError && fabs(by) > heightError;
        rises += ay < 0.0 && by > 0.0;
    }
    return isStar && rises == 1;
}

// The directions that all normals below go along; stops looking when there is none left.
static uint32_t FindNormals(const knBvhScene* s, uint32_t top)
{
    uint32_t normals = UINT32_MAX, node = top;
    while (normals != 0)
    {
        while (!knIsLeaf(&s->nodes[node]))
        {
            node = s->nodes[node].child;
        }
        normals &= s->kernels->findNormals(&s->blocks[s->nodes[node].child], NORMAL_FLOOR);
        while (node != top && (node & 1) != 0)
        {
            node = s->cold[node].parent;
        }
        if (node == top)
        {
            return normals;
        }
        node += 1;
    }
    return 0;
}

static bool CannotMeetItself(const knBvhScene* s, uint32_t node)
{
    uint32_t normals = FindNormals(s, node);
    if (normals == 0 || (s->sabotage & kn_sabotageContour))
    {
        return normals != 0;
    }
    // of many directions that will do, one in the middle of them
    for (int skip = __builtin_popcount(normals) / 2; skip > 0; --skip)
    {
        normals &= normals - 1;
    }
    return IsStar(s, ContourOf(s, node), s->contours[node].count, __builtin_ctz(normals));
}

// Looking at a node costs about as much as searching a few leaves. Leaves are not looked at, and a
// node that has failed rests for some commits: so culling costs little where it saves nothing.
static bool IsWorthALook(const knBvhScene* s, uint32_t node)
{
    const knBvhContour* c = &s->contours[node];
    return !knIsLeaf(&s->nodes[node]) && c->count > 0 && c->count <= MAX_CONTOUR &&
           s->commitCount >= c->restUntil;
}

void knUpdateCulling(knBvhScene* s)
{
    memset(s->culled, 0, s->nodeSlots);
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        if (IsWorthALook(s, node))
        {
            s->culled[node] = CannotMeetItself(s, node);
            s->contours[node].restUntil =
                s->culled[node] ? 0 : s->commitCount + REST_COMMITS + node / 2 % REST_COMMITS;
        }
        bool isDone = s->culled[node] || knIsLeaf(&s->nodes[node]);
        node = isDone ? knNextAside(s, node) : s->nodes[node].child;
    }
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        if (!knIsLeaf(&s->nodes[s->order[i]]))
        {
            knSetSelfCost(s, s->order[i]);
        }
    }
}
