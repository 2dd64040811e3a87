// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#include <simde/x86/sse2.h>

// The four volumes that make the barycentric weights, signs exact. Stops at the first negative one
// and returns its face, else 4.
static int FaceVolumes(const knTetMesh* mesh, uint32_t tet, knVec3 p, double volumes[4])
{
    const uint32_t* v = mesh->tets[tet].v;
    for (int i = 0; i < 4; ++i)
    {
        const uint8_t* c = knTetFaceCorners[i];
        volumes[i] =
            -knExactVolume6(mesh->nodes[v[c[0]]], mesh->nodes[v[c[1]]], mesh->nodes[v[c[2]]], p);
        if (volumes[i] < 0.0)
        {
            return i;
        }
    }
    return 4;
}

// Six times the four volumes in double; the smallest face in `least`. The sign of a volume is right
// when its size exceeds the returned bound.
static double FastVolumes(const knTetMesh* mesh, uint32_t tet, knVec3 p, double volumes[4],
                          int* least)
{
    const uint32_t* v = mesh->tets[tet].v;
    knDVec3 o = knToDouble(p);
    knDVec3 a = knDSub(knToDouble(mesh->nodes[v[0]]), o);
    knDVec3 b = knDSub(knToDouble(mesh->nodes[v[1]]), o);
    knDVec3 c = knDSub(knToDouble(mesh->nodes[v[2]]), o);
    knDVec3 d = knDSub(knToDouble(mesh->nodes[v[3]]), o);
    knDVec3 ab = knDCross(a, b), cd = knDCross(c, d);
    volumes[0] = knDDot(b, cd);
    volumes[1] = -knDDot(a, cd);
    volumes[2] = knDDot(d, ab);
    volumes[3] = -knDDot(c, ab);
    int i = volumes[1] < volumes[0] ? 1 : 0, k = volumes[3] < volumes[2] ? 3 : 2;
    *least = volumes[k] < volumes[i] ? k : i;
    double x = knHigher(knHigher(fabs(a.x), fabs(b.x)), knHigher(fabs(c.x), fabs(d.x)));
    double y = knHigher(knHigher(fabs(a.y), fabs(b.y)), knHigher(fabs(c.y), fabs(d.y)));
    double z = knHigher(knHigher(fabs(a.z), fabs(b.z)), knHigher(fabs(c.z), fabs(d.z)));
    // Shewchuk's bound, as in knExactVolume6: each of the six products is at most x y z
    return 6.0 * 8.0 * 0x1p-53 * x * y * z;
}

static void SetPoint(knTetPoint* point, uint32_t tet, const double volumes[4])
{
    point->tet = tet;
    double inverse = 1.0 / ((volumes[0] + volumes[1]) + (volumes[2] + volumes[3]));
    for (int i = 0; i < 4; ++i)
    {
        point->weights[i] = (float)(volumes[i] * inverse);
    }
}

typedef simde__m128 F4;

static F4 Mul(F4 a, F4 b)
{
    return simde_mm_mul_ps(a, b);
}

static F4 Abs(F4 a)
{
    return simde_mm_andnot_ps(simde_mm_set1_ps(-0.0f), a);
}

// x, y and z of the four corners, seen from p.
static void LoadCorners(const knTetMesh* mesh, uint32_t tet, knVec3 p, F4 q[3])
{
    const uint32_t* v = mesh->tets[tet].v;
    const knVec3 *a = &mesh->nodes[v[0]], *b = &mesh->nodes[v[1]];
    const knVec3 *c = &mesh->nodes[v[2]], *d = &mesh->nodes[v[3]];
    F4 ab = simde_mm_setzero_ps(), cd = ab;
    ab = simde_mm_loadh_pi(simde_mm_loadl_pi(ab, (const simde__m64*)a), (const simde__m64*)b);
    cd = simde_mm_loadh_pi(simde_mm_loadl_pi(cd, (const simde__m64*)c), (const simde__m64*)d);
    q[0] = simde_mm_shuffle_ps(ab, cd, SIMDE_MM_SHUFFLE(2, 0, 2, 0));
    q[1] = simde_mm_shuffle_ps(ab, cd, SIMDE_MM_SHUFFLE(3, 1, 3, 1));
    q[2] = simde_mm_setr_ps(a->z, b->z, c->z, d->z);
    q[0] = simde_mm_sub_ps(q[0], simde_mm_set1_ps(p.x));
    q[1] = simde_mm_sub_ps(q[1], simde_mm_set1_ps(p.y));
    q[2] = simde_mm_sub_ps(q[2], simde_mm_set1_ps(p.z));
}

typedef enum Side
{
    INSIDE,
    OUTSIDE,
    UNKNOWN
} Side;

// The same in single precision, four at once, for as long as rounding cannot matter. `face` is the
// one that p lies most outside of.
static Side QuickSide(const knTetMesh* mesh, uint32_t tet, knVec3 p, uint32_t* face)
{
    F4 q[3], u[3], v[3], w[3];
    LoadCorners(mesh, tet, p, q);
    for (int a = 0; a < 3; ++a)
    {
        u[a] = simde_mm_shuffle_ps(q[a], q[a], SIMDE_MM_SHUFFLE(2, 3, 0, 1));
        v[a] = simde_mm_shuffle_ps(q[a], q[a], SIMDE_MM_SHUFFLE(0, 0, 2, 2));
        w[a] = simde_mm_shuffle_ps(q[a], q[a], SIMDE_MM_SHUFFLE(1, 1, 3, 3));
    }
    F4 volume = simde_mm_setzero_ps(), size = volume;
    for (int a = 0; a < 3; ++a)
    {
        int b = a < 2 ? a + 1 : 0, c = a > 0 ? a - 1 : 2;
        F4 left = Mul(v[b], w[c]), right = Mul(v[c], w[b]);
        volume = simde_mm_add_ps(volume, Mul(u[a], simde_mm_sub_ps(left, right)));
        size = simde_mm_add_ps(size, Mul(Abs(u[a]), simde_mm_add_ps(Abs(left), Abs(right))));
    }
    volume = simde_mm_xor_ps(volume, simde_mm_setr_ps(0.0f, -0.0f, 0.0f, -0.0f));
    // Shewchuk's bound as in knExactVolume6, for single precision; products must not underflow
    F4 bound =
        simde_mm_max_ps(Mul(size, simde_mm_set1_ps(9.0f * 0x1p-24f)), simde_mm_set1_ps(1e-32f));
    int inside = simde_mm_movemask_ps(simde_mm_cmpgt_ps(volume, bound));
    int outside = simde_mm_movemask_ps(
        simde_mm_cmplt_ps(simde_mm_add_ps(volume, bound), simde_mm_setzero_ps()));
    float volumes[4];
    simde_mm_storeu_ps(volumes, volume);
    uint32_t i = volumes[1] < volumes[0] ? 1 : 0, k = volumes[3] < volumes[2] ? 3 : 2;
    *face = volumes[k] < volumes[i] ? k : i;
    return inside == 15 ? INSIDE : outside != 0 ? OUTSIDE : UNKNOWN;
}

uint32_t knTetBallFaces(const knTetMesh* mesh, uint32_t tet, knVec3 p, float radius)
{
    F4 q[3], u[3], v[3], w[3];
    LoadCorners(mesh, tet, p, q);
    for (int a = 0; a < 3; ++a)
    {
        u[a] = simde_mm_shuffle_ps(q[a], q[a], SIMDE_MM_SHUFFLE(2, 3, 0, 1));
        v[a] = simde_mm_shuffle_ps(q[a], q[a], SIMDE_MM_SHUFFLE(0, 0, 2, 2));
        w[a] = simde_mm_shuffle_ps(q[a], q[a], SIMDE_MM_SHUFFLE(1, 1, 3, 3));
        v[a] = simde_mm_sub_ps(v[a], u[a]);
        w[a] = simde_mm_sub_ps(w[a], u[a]);
    }
    F4 zero = simde_mm_setzero_ps(), height = zero, size = zero, normal2 = zero, terms2 = zero;
    for (int a = 0; a < 3; ++a)
    {
        int b = a < 2 ? a + 1 : 0, c = a > 0 ? a - 1 : 2;
        F4 left = Mul(v[b], w[c]), right = Mul(v[c], w[b]);
        F4 normal = simde_mm_sub_ps(left, right), terms = simde_mm_add_ps(Abs(left), Abs(right));
        height = simde_mm_add_ps(height, Mul(u[a], normal));
        size = simde_mm_add_ps(size, Mul(Abs(u[a]), terms));
        normal2 = simde_mm_add_ps(normal2, Mul(normal, normal));
        terms2 = simde_mm_add_ps(terms2, Mul(terms, terms));
    }
    height = simde_mm_xor_ps(height, simde_mm_setr_ps(0.0f, -0.0f, 0.0f, -0.0f));
    // heights times the length of the normals; twice what rounding can add to either
    F4 ulp = simde_mm_set1_ps(32.0f * 0x1p-24f);
    F4 length = simde_mm_add_ps(simde_mm_sqrt_ps(normal2), Mul(ulp, simde_mm_sqrt_ps(terms2)));
    F4 limit = simde_mm_add_ps(Mul(simde_mm_set1_ps(radius), length), Mul(ulp, size));
    limit = simde_mm_max_ps(limit, simde_mm_set1_ps(1e-32f));
    int within = simde_mm_movemask_ps(simde_mm_cmpgt_ps(height, limit));
    int beyond = simde_mm_movemask_ps(simde_mm_cmplt_ps(simde_mm_add_ps(height, limit), zero));
    return beyond != 0 ? KN_BALL_BEYOND : (uint32_t)(within ^ 15);
}

// As far as double precision can tell. INSIDE sets the point.
static Side SideOf(const knTetMesh* mesh, uint32_t tet, knVec3 p, knTetPoint* point, uint32_t* face)
{
    Side side = QuickSide(mesh, tet, p, face);
    if (side == OUTSIDE)
    {
        return side;
    }
    double volumes[4];
    int least;
    double bound = FastVolumes(mesh, tet, p, volumes, &least);
    *face = (uint32_t)least;
    if (volumes[least] > bound)
    {
        SetPoint(point, tet, volumes);
        return INSIDE;
    }
    return volumes[least] < -bound ? OUTSIDE : UNKNOWN;
}

// Walks through the face that p lies most outside of. True when it ends strictly inside a
// tetrahedron, which is then the only one; on a face, or outside, the tree has to say.
static bool Walk(const knTetLocator* locator, knVec3 p, uint32_t start, knTetPoint* point,
                 int* stepCount)
{
    const knTetMesh* mesh = locator->mesh;
    uint32_t tet = start;
    for (int step = 0; step < KN_MAX_WALK_STEPS && tet < mesh->tetCount; ++step)
    {
        uint32_t face;
        Side side = SideOf(mesh, tet, p, point, &face);
        if (side != OUTSIDE)
        {
            *stepCount = step;
            return side == INSIDE;
        }
        tet = mesh->neighbors[tet].t[face];
    }
    return false;
}

// The cell of the lattice around a point in the box; KN_NONE too near to its side.
static uint32_t FindCell(const knTetLocator* l, knVec3 p)
{
    float x = (p.x - l->box.lower.x) * l->scale.x, y = (p.y - l->box.lower.y) * l->scale.y;
    float z = (p.z - l->box.lower.z) * l->scale.z;
    // p is in the box, so these are not negative
    uint32_t i = (uint32_t)x, j = (uint32_t)y, k = (uint32_t)z;
    float u = x - (float)i, v = y - (float)j, w = z - (float)k;
    float low = u < v ? u : v, high = u > v ? u : v;
    low = w < low ? w : low;
    high = w > high ? w : high;
    bool inside = low > l->border && high < 1.0f - l->border && i < l->dims[0] && j < l->dims[1] &&
                  k < l->dims[2];
    return inside ? (k * l->dims[1] + j) * l->dims[0] + i : KN_NONE;
}

uint32_t knTetLocator_Entry(const knTetLocator* l, knVec3 p, float radius)
{
    uint32_t cell[3];
    for (int a = 0; a < 3; ++a)
    {
        float at = ((&p.x)[a] - (&l->box.lower.x)[a]) * (&l->scale.x)[a];
        float reach = radius * (&l->scale.x)[a] + l->border;
        float low = at - reach, high = at + reach;
        cell[a] = low > 0.0f && high < (float)l->dims[a] ? (uint32_t)low : KN_NONE;
        if (cell[a] == KN_NONE || cell[a] != (uint32_t)high)
        {
            return 0;
        }
    }
    return l->entries[(cell[2] * l->dims[1] + cell[1]) * l->dims[0] + cell[0]];
}

static knKdNode FindLeaf(const knTetLocator* locator, knVec3 p, uint32_t cell)
{
    const knKdNode* nodes = locator->nodes;
    uint32_t index = cell != KN_NONE ? locator->entries[cell] : 0;
    while (!knKdNode_IsLeaf(nodes[index]))
    {
        // cells are closed and their lists too, so on the plane either side will do
        bool right = knAxis(p, nodes[index].link & 3u) > knBitsToFloat(nodes[index].value);
        index = right ? nodes[index].link >> 2 : index + 1;
    }
    return nodes[index];
}

// Whether p is within the box of the tetrahedron: far cheaper than its faces.
static bool IsInBox(const knTetMesh* mesh, uint32_t tet, knVec3 p)
{
    const uint32_t* v = mesh->tets[tet].v;
    const knVec3 *a = &mesh->nodes[v[0]], *b = &mesh->nodes[v[1]];
    const knVec3 *c = &mesh->nodes[v[2]], *d = &mesh->nodes[v[3]];
    if ((a->x < p.x && b->x < p.x && c->x < p.x && d->x < p.x) ||
        (a->x > p.x && b->x > p.x && c->x > p.x && d->x > p.x))
    {
        return false;
    }
    if ((a->y < p.y && b->y < p.y && c->y < p.y && d->y < p.y) ||
        (a->y > p.y && b->y > p.y && c->y > p.y && d->y > p.y))
    {
        return false;
    }
    return !((a->z < p.z && b->z < p.z && c->z < p.z && d->z < p.z) ||
             (a->z > p.z && b->z > p.z && c->z > p.z && d->z > p.z));
}

static bool FindInLeaf(const knTetLocator* locator, knKdNode leaf, knVec3 p, knTetPoint* point)
{
    const uint32_t* references = locator->references + leaf.value;
    for (uint32_t i = 0; i < leaf.link >> 2; ++i)
    {
        uint32_t tet = references[i] & ~KN_AT_SURFACE;
        uint32_t face;
        Side side =
            IsInBox(locator->mesh, tet, p) ? SideOf(locator->mesh, tet, p, point, &face) : OUTSIDE;
        double volumes[4];
        int least;
        if (side == UNKNOWN && FaceVolumes(locator->mesh, tet, p, volumes) == 4)
        {
            FastVolumes(locator->mesh, tet, p, volumes, &least);
            SetPoint(point, tet, volumes);
            side = INSIDE;
        }
        if (side == INSIDE)
        {
            return true;
        }
    }
    return false;
}

void knPlaceLattice(knTetLocator* locator, const uint32_t shifts[3])
{
    knVec3 extent = knBox_Extent(locator->box);
    knVec3 reach = knMax(knMax(knNeg(locator->box.lower), locator->box.lower),
                         knMax(knNeg(locator->box.upper), locator->box.upper));
    const float* side = &extent.x;
    float* scale = &locator->scale.x;
    float finest = INFINITY, diagonal2 = 0.0f;
    for (int a = 0; a < 3; ++a)
    {
        locator->dims[a] = 1u << shifts[a];
        scale[a] = (float)locator->dims[a] / fmaxf(side[a], FLT_MIN);
        (&locator->cell.x)[a] = 1.0f / scale[a];
        finest = fminf(finest, 1.0f / scale[a]);
        diagonal2 += 1.0f / (scale[a] * scale[a]);
    }
    locator->cellSize = sqrtf(diagonal2);
    locator->border = 1e-4f + 1e-6f * (knLength(extent) + knLength(reach)) / finest;
}

// Cells along an axis that [low, high] touches, in units of cells.
static void CellsAlong(float low, float high, float slack, uint32_t dim, int32_t range[2])
{
    float last = (float)(dim - 1);
    low -= slack;
    high += slack;
    range[0] = low > 0.0f ? (int32_t)(low < last ? low : last) : 0;
    range[1] = high > 0.0f ? (int32_t)(high < last ? high : last) : 0;
}

knCellRange knCellsOfBox(const knTetLocator* l, knBox box, float slack)
{
    knCellRange range;
    for (int a = 0; a < 3; ++a)
    {
        float origin = (&l->box.lower.x)[a], scale = (&l->scale.x)[a];
        float low = ((&box.lower.x)[a] - origin) * scale;
        float high = ((&box.upper.x)[a] - origin) * scale;
        int32_t ends[2];
        CellsAlong(low, high, slack, l->dims[a], ends);
        range.low[a] = ends[0];
        range.high[a] = ends[1];
    }
    return range;
}

knLocatePath knTetLocator_Find(const knTetLocator* locator, knVec3 p, uint32_t hint,
                               knTetPoint* point)
{
    // also turns away what is not a number
    if (!knBox_Contains(locator->box, p))
    {
        *point = (knTetPoint){.tet = KN_NONE};
        return kn_locateOutside;
    }
    int steps = 0;
    uint32_t face;
    if (hint < locator->mesh->tetCount && SideOf(locator->mesh, hint, p, point, &face) == INSIDE)
    {
        return kn_locateHint;
    }
    uint32_t cell = FindCell(locator, p);
    uint32_t seed = cell != KN_NONE ? locator->seeds[cell] : hint;
    if (seed != KN_NONE && Walk(locator, p, seed, point, &steps))
    {
        return kn_locateWalk;
    }
    knKdNode leaf = FindLeaf(locator, p, cell);
    if (FindInLeaf(locator, leaf, p, point))
    {
        return kn_locateTree;
    }
    *point = (knTetPoint){.tet = KN_NONE};
    return kn_locateOutside;
}

static knResult Bad(const char* what)
{
    return knFail(kn_errorFormat, "the section KDTR is not sound: %s", what);
}

typedef struct Range
{
    uint32_t begin, end;
} Range;

// The subtree of a node is the range behind it: every node is in exactly one place, so a descent
// ends, and within KN_KD_STACK levels.
static knResult CheckTree(const knTetLocator* l)
{
    Range stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = (Range){0, l->nodeCount};
    uint32_t nextReference = 0;
    while (depth > 0)
    {
        Range range = stack[--depth];
        knKdNode node = l->nodes[range.begin];
        uint32_t payload = node.link >> 2;
        if (knKdNode_IsLeaf(node))
        {
            if (range.end != range.begin + 1 || node.value != nextReference ||
                payload > l->referenceCount - nextReference)
            {
                return Bad("a leaf");
            }
            nextReference += payload;
            continue;
        }
        if (payload <= range.begin + 1 || payload >= range.end ||
            !isfinite(knBitsToFloat(node.value)) || depth + 2 > KN_KD_STACK)
        {
            return Bad("an inner node");
        }
        stack[depth++] = (Range){payload, range.end};
        stack[depth++] = (Range){range.begin + 1, payload};
    }
    return nextReference == l->referenceCount ? kn_success : Bad("leaves and references differ");
}

// `seen` has a byte per tetrahedron.
static knResult CheckReferences(const knTetLocator* l, uint8_t* seen)
{
    for (uint32_t n = 0; n < l->nodeCount; ++n)
    {
        uint32_t first = l->nodes[n].value, count = l->nodes[n].link >> 2;
        for (uint32_t i = first; knKdNode_IsLeaf(l->nodes[n]) && i < first + count; ++i)
        {
            uint32_t tet = l->references[i] & ~KN_AT_SURFACE;
            if (tet >= l->mesh->tetCount ||
                (i > first && tet <= (l->references[i - 1] & ~KN_AT_SURFACE)))
            {
                return Bad("a reference is out of range or out of order");
            }
            const uint32_t* t = l->mesh->neighbors[tet].t;
            bool surface = t[0] == KN_NONE || t[1] == KN_NONE || t[2] == KN_NONE || t[3] == KN_NONE;
            if (surface != ((l->references[i] & KN_AT_SURFACE) != 0))
            {
                return Bad("a reference has the wrong mark");
            }
            seen[tet] = 1;
        }
    }
    return memchr(seen, 0, l->mesh->tetCount) ? Bad("a tetrahedron is in no leaf") : kn_success;
}

// A descent from an entry ends like one from the root; from a wrong one it finds less.
static knResult CheckEntries(const knTetLocator* l)
{
    size_t count = (size_t)l->dims[0] * l->dims[1] * l->dims[2];
    for (size_t i = 0; i < count; ++i)
    {
        if (l->entries[i] >= l->nodeCount ||
            (l->seeds[i] != KN_NONE && l->seeds[i] >= l->mesh->tetCount))
        {
            return Bad("an entry of the lattice");
        }
    }
    return kn_success;
}

// Every tetrahedron covers something, each word once.
static knResult CheckCovers(const knTetLocator* l, const knLocatorHeader* h)
{
    uint32_t words = 1u << knLatticeWords(h->shifts), tetCount = l->mesh->tetCount;
    if (l->coverStarts[0] != 0 || l->coverStarts[tetCount] != h->coverCount)
    {
        return Bad("bounds of the covered cells");
    }
    for (uint32_t t = 0; t < tetCount; ++t)
    {
        uint32_t begin = l->coverStarts[t], end = l->coverStarts[t + 1];
        if (begin >= end || end > h->coverCount)
        {
            return Bad("bounds of the cells that a tetrahedron covers");
        }
        for (uint32_t i = begin; i < end; ++i)
        {
            if (l->coverWords[i] >= words || l->coverMasks[i] == 0 ||
                (i > begin && l->coverWords[i] <= l->coverWords[i - 1]))
            {
                return Bad("the cells that a tetrahedron covers");
            }
        }
    }
    return kn_success;
}

// As many entries as corners, strictly ascending, each a tetrahedron of its node: so complete.
static knResult CheckNodeTets(const knTetLocator* l)
{
    const knTetMesh* m = l->mesh;
    if (l->nodeTetStarts[0] != 0 || l->nodeTetStarts[m->nodeCount] != 4 * m->tetCount)
    {
        return Bad("bounds of the lists of nodes");
    }
    for (uint32_t n = 0; n < m->nodeCount; ++n)
    {
        uint32_t begin = l->nodeTetStarts[n], end = l->nodeTetStarts[n + 1];
        if (begin > end || end > 4 * m->tetCount)
        {
            return Bad("bounds of the list of a node");
        }
        for (uint32_t i = begin; i < end; ++i)
        {
            uint32_t t = l->nodeTets[i];
            if (t >= m->tetCount || (i > begin && t <= l->nodeTets[i - 1]))
            {
                return Bad("a list of a node is out of range or out of order");
            }
            const uint32_t* v = m->tets[t].v;
            if (v[0] != n && v[1] != n && v[2] != n && v[3] != n)
            {
                return Bad("a tetrahedron is in the list of a foreign node");
            }
        }
    }
    return kn_success;
}

static knResult CheckHeader(const knLocatorHeader* h, const knTetMesh* mesh, size_t size)
{
    if (h->version != KN_LOCATOR_VERSION)
    {
        return knFail(kn_errorVersion, "the section KDTR has version %u, not %u", h->version,
                      (unsigned)KN_LOCATOR_VERSION);
    }
    for (size_t i = 0; i < sizeof h->zero / sizeof h->zero[0]; ++i)
    {
        if (h->zero[i] != 0)
        {
            return Bad("unused bytes are not zero");
        }
    }
    for (int a = 0; a < 3; ++a)
    {
        if (h->shifts[a] > KN_LATTICE_BITS)
        {
            return Bad("cells of the lattice");
        }
    }
    uint32_t bits = h->shifts[0] + h->shifts[1] + h->shifts[2];
    if (bits > KN_LATTICE_BITS || knLatticeWords(h->shifts) > KN_LATTICE_WORDS)
    {
        return Bad("cells of the lattice");
    }
    uint64_t entrySize = knRoundLine((size_t)4 << bits);
    // each array is whole lines, so the sum cannot overflow 64 bits
    uint64_t wanted = (uint64_t)sizeof *h + knRoundLine((size_t)h->nodeCount * sizeof(knKdNode)) +
                      knRoundLine((size_t)h->referenceCount * 4) +
                      knRoundLine(((size_t)h->meshNodeCount + 1) * 4) +
                      knRoundLine((size_t)h->meshTetCount * 16) + 2 * entrySize +
                      knRoundLine(((size_t)h->meshTetCount + 1) * 4) +
                      knRoundLine((size_t)h->coverCount * 8) +
                      knRoundLine((size_t)h->coverCount * 2);
    bool fits = h->meshNodeCount == mesh->nodeCount && h->meshTetCount == mesh->tetCount &&
                h->nodeCount > 0 && h->nodeCount < (1u << 30) && h->referenceCount < (1u << 30) &&
                h->coverCount < (1u << 30) && wanted == size;
    return fits ? kn_success : Bad("sizes");
}

static void LayOut(knTetLocator* l, const knLocatorHeader* h, const knTetMesh* mesh)
{
    const unsigned char* data = (const unsigned char*)(h + 1);
    *l = (knTetLocator){.mesh = mesh, .box = knBoundingBox(mesh->nodes, mesh->nodeCount)};
    l->nodeCount = h->nodeCount;
    l->referenceCount = h->referenceCount;
    l->nodes = (const knKdNode*)data;
    data += knRoundLine((size_t)h->nodeCount * sizeof(knKdNode));
    l->references = (const uint32_t*)data;
    data += knRoundLine((size_t)h->referenceCount * 4);
    l->nodeTetStarts = (const uint32_t*)data;
    data += knRoundLine(((size_t)h->meshNodeCount + 1) * 4);
    l->nodeTets = (const uint32_t*)data;
    data += knRoundLine((size_t)h->meshTetCount * 16);
    size_t entrySize = knRoundLine((size_t)4 << (h->shifts[0] + h->shifts[1] + h->shifts[2]));
    l->entries = (const uint32_t*)data;
    l->seeds = (const uint32_t*)(data + entrySize);
    data += 2 * entrySize;
    l->coverStarts = (const uint32_t*)data;
    data += knRoundLine(((size_t)h->meshTetCount + 1) * 4);
    l->coverMasks = (const uint64_t*)data;
    l->coverWords = (const uint16_t*)(data + knRoundLine((size_t)h->coverCount * 8));
    knPlaceLattice(l, h->shifts);
}

knResult knOpenTetLocator(knTetLocator* locator, const knTetMesh* mesh, const void* bytes,
                          size_t size, const knAllocator* allocator)
{
    if (!locator || !mesh || !bytes || mesh->tetCount == 0 || ((uintptr_t)bytes & 7u) != 0)
    {
        return knFail(kn_errorArgument, "knOpenTetLocator: null, empty or unaligned argument");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    const knLocatorHeader* header = bytes;
    result = size < sizeof *header ? Bad("too short") : CheckHeader(header, mesh, size);
    if (result != kn_success)
    {
        return result;
    }
    knTetLocator l;
    LayOut(&l, header, mesh);
    uint8_t* seen = knAllocate(allocator, mesh->tetCount, 1);
    if (!seen)
    {
        return kn_errorMemory;
    }
    memset(seen, 0, mesh->tetCount);
    result = CheckTree(&l);
    result = result == kn_success ? CheckReferences(&l, seen) : result;
    result = result == kn_success ? CheckNodeTets(&l) : result;
    result = result == kn_success ? CheckEntries(&l) : result;
    result = result == kn_success ? CheckCovers(&l, header) : result;
    knRelease(allocator, seen, mesh->tetCount, 1);
    if (result == kn_success)
    {
        *locator = l;
    }
    return result;
}
