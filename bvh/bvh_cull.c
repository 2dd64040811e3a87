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
// Normals are found as a mask of 26 directions, the boundary by bvh_contour.c. Whether it is a star
// is seen at each commit.

#define REST_COMMITS  8
#define MAX_WAIT      127       // of eight bits, half
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
    double points[KN_MAX_CONTOUR][2], middle[2] = {0.0, 0.0}, size = 0.0;
    Picture picture = MakePicture(s, direction, edges[0].from);
    for (uint32_t i = 0; i < count; ++i)
    {
        Project(s, &picture, edges[i].from, points[i]);
        double x = fabs(points[i][0]), y = fabs(points[i][1]);
        middle[0] += points[i][0];
        middle[1] += points[i][1];
        size = x > size ? x : size;
        size = y > size ? y : size;
    }
    middle[0] /= count;
    middle[1] /= count;
    uint32_t rises = 0;
    bool isStar = true;
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

static bool CannotMeetItself(knBvhScene* s, uint32_t node)
{
    uint32_t normals = FindNormals(s, node);
    if (normals == 0 || (s->sabotage & kn_sabotageContour))
    {
        return normals != 0;
    }
    knHalfEdge contour[KN_MAX_CONTOUR];
    uint32_t count = knGatherContour(s, node, contour);
    if (count == 0 || count > KN_MAX_CONTOUR)
    {
        s->cullNodes[node].isHopeless = 1;
        return false;
    }
    // of many directions that will do, one in the middle of them
    for (int skip = __builtin_popcount(normals) / 2; skip > 0; --skip)
    {
        normals &= normals - 1;
    }
    return IsStar(s, contour, count, __builtin_ctz(normals));
}

// Looking at a node costs about as much as searching a few leaves. Leaves are not looked at, and a
// node that has failed rests for some commits: so culling costs little where it saves nothing.
static bool IsWorthALook(const knBvhScene* s, uint32_t node)
{
    const knBvhCullNode* c = &s->cullNodes[node];
    uint8_t wait = (uint8_t)(c->restUntil - (uint8_t)s->commitCount); // wraps behind the commit
    return !knIsLeaf(&s->nodes[node]) && knHasContour(s, node) && !c->isHopeless &&
           (wait == 0 || wait > MAX_WAIT);
}

void knUpdateCulling(knBvhScene* s)
{
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        knBvhCullNode* c = &s->cullNodes[node];
        c->isCulled = 0;
        if (IsWorthALook(s, node))
        {
            c->isCulled = CannotMeetItself(s, node);
            // not all of a surface in the same commit
            uint32_t rest = (REST_COMMITS + node / 2 % REST_COMMITS) << c->failures;
            c->restUntil = (uint8_t)(s->commitCount + (c->isCulled ? 0 : rest));
            c->failures = (uint8_t)(c->isCulled ? 0 : (c->failures < 3 ? c->failures + 1 : 3)) & 3u;
        }
        bool isDone = c->isCulled || knIsLeaf(&s->nodes[node]);
        node = isDone ? knNextAside(s, node) : s->nodes[node].child;
    }
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        knSetSelfCost(s, s->order[i]);
    }
}
