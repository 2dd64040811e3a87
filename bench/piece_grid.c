// SPDX-License-Identifier: Zlib
#include "bench/piece_grid.h"

#include <math.h>
#include <string.h>

#define MARGIN_CELLS 2
#define BLOCK        8 // rows that go along x together
#define FAR          1e18f
#define BAND         1.75f // cells; the corners of a cell that the surface crosses are nearer

// the same function for wider registers, chosen when the program starts
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define KN_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define KN_WIDE
#endif

// runs of different rows never overlap, which the compiler cannot see
#if defined(__clang__)
#define KN_APART _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define KN_APART _Pragma("GCC ivdep")
#else
#define KN_APART
#endif

// Per sample the way to the closest point so far and its squared length, in cells.
typedef struct Ways
{
    float* x;
    float* y;
    float* z;
    float* square;
} Ways;

typedef struct Build
{
    knPieceGrid* grid;
    Ways ways;
    uint8_t* crossings;
    const knPieceSurface* surface;
    size_t row, slice, total; // samples
} Build;

void knDestroyPieceGrid(knPieceGrid* grid)
{
    knRelease(NULL, grid->distances, grid->capacity, sizeof(float));
    *grid = (knPieceGrid){0};
}

void knDestroyPieceGridWork(knPieceGridWork* work)
{
    knRelease(NULL, work->floats, work->floatCapacity, sizeof(float));
    knRelease(NULL, work->crossings, work->crossingCapacity, 1);
    *work = (knPieceGridWork){0};
}

static knResult Reserve(knPieceGrid* grid, knPieceGridWork* work, size_t total)
{
    void* floats = work->floats;
    void* crossings = work->crossings;
    void* distances = grid->distances;
    knResult result = knGrow(NULL, &floats, &work->floatCapacity, 4 * total, sizeof(float));
    work->floats = floats;
    result =
        result == kn_success ? knGrow(NULL, &crossings, &work->crossingCapacity, total, 1) : result;
    work->crossings = crossings;
    result = result == kn_success ? knGrow(NULL, &distances, &grid->capacity, total, sizeof(float))
                                  : result;
    grid->distances = distances;
    return result;
}

static size_t Place(knPieceGrid* grid, const knPieceSurface* surface, float spacing)
{
    knBox box = knEmptyBox();
    for (uint32_t i = 0; i < surface->vertexCount; ++i)
    {
        box = knBox_AddPoint(box, surface->positions[i]);
    }
    knVec3 e = knBox_Extent(box);
    const float extent[3] = {e.x, e.y, e.z};
    for (int k = 0; k < 3; ++k)
    {
        grid->size[k] = (uint32_t)ceilf(extent[k] / spacing) + 2 * MARGIN_CELLS + 1;
    }
    grid->spacing = spacing;
    float margin = MARGIN_CELLS * spacing;
    grid->origin = knSub(box.lower, knMakeVec3(margin, margin, margin));
    return (size_t)grid->size[0] * grid->size[1] * grid->size[2];
}

// Ericson, Real-Time Collision Detection, 5.1.5, for the point 0.
static knVec3 ClosestToOrigin(knVec3 a, knVec3 ab, knVec3 ac)
{
    float d1 = -knDot(ab, a), d2 = -knDot(ac, a);
    if (d1 <= 0.0f && d2 <= 0.0f)
    {
        return a;
    }
    float bb = knDot(ab, ab), bc = knDot(ab, ac), cc = knDot(ac, ac);
    float d3 = d1 - bb, d4 = d2 - bc;
    if (d3 >= 0.0f && d4 <= d3)
    {
        return knAdd(a, ab);
    }
    float vc = d1 * d4 - d3 * d2;
    if (vc <= 0.0f && d1 >= 0.0f && d3 <= 0.0f && d1 > d3)
    {
        return knAddScaled(a, d1 / (d1 - d3), ab);
    }
    float d5 = d1 - bc, d6 = d2 - cc;
    if (d6 >= 0.0f && d5 <= d6)
    {
        return knAdd(a, ac);
    }
    float vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0f && d2 >= 0.0f && d6 <= 0.0f && d2 > d6)
    {
        return knAddScaled(a, d2 / (d2 - d6), ac);
    }
    float va = d3 * d6 - d5 * d4, along = (d4 - d3) + (d5 - d6);
    if (va <= 0.0f && d4 >= d3 && d5 >= d6 && along > 0.0f)
    {
        return knAddScaled(knAdd(a, ab), (d4 - d3) / along, knSub(ac, ab));
    }
    float sum = va + vb + vc;
    return sum > 0.0f ? knAddScaled(knAddScaled(a, vb / sum, ab), vc / sum, ac) : a;
}

static uint32_t LowCell(float x)
{
    float low = floorf(x) - 1.0f;
    return low > 0.0f ? (uint32_t)low : 0;
}

static uint32_t HighCell(float x, uint32_t size)
{
    uint32_t high = (uint32_t)fmaxf(ceilf(x) + 1.0f, 0.0f);
    return high < size ? high : size - 1;
}

static void Corners(const Build* b, uint32_t triangle, knVec3 c[3])
{
    float inverse = 1.0f / b->grid->spacing;
    for (int k = 0; k < 3; ++k)
    {
        knVec3 p = b->surface->positions[b->surface->triangles[triangle].v[k]];
        c[k] = knScale(inverse, knSub(p, b->grid->origin));
    }
}

static void Offer1(Ways ways, size_t i, knVec3 way)
{
    float square = knLengthSquared(way);
    if (square < ways.square[i])
    {
        ways.x[i] = way.x;
        ways.y[i] = way.y;
        ways.z[i] = way.z;
        ways.square[i] = square;
    }
}

// A side of the slab around a triangle: normal . p <= offset.
typedef struct Side
{
    knVec3 normal;
    float offset;
} Side;

// The samples of a row that the side leaves; false when there are none.
static bool ClipRow(const Side* side, float y, float z, float x[2])
{
    float rest = side->offset - side->normal.y * y - side->normal.z * z;
    if (fabsf(side->normal.x) < 1e-4f)
    {
        return rest > -0.1f;
    }
    float at = rest / side->normal.x;
    if (side->normal.x > 0.0f)
    {
        x[1] = fminf(x[1], at);
    }
    else
    {
        x[0] = fmaxf(x[0], at);
    }
    return x[0] <= x[1];
}

// Above, below and beyond the three edges, each a band away.
static void MakeSides(const knVec3 c[3], knVec3 n, Side sides[5])
{
    sides[0] = (Side){n, knDot(n, c[0]) + BAND};
    sides[1] = (Side){knNeg(n), BAND - knDot(n, c[0])};
    for (int k = 0; k < 3; ++k)
    {
        knVec3 out = knNormalize(knCross(knSub(c[(k + 1) % 3], c[k]), n));
        sides[2 + k] = (Side){out, knDot(out, c[k]) + BAND};
    }
}

static void MarkRow(const Build* b, const knVec3 c[3], const Side* plane, const uint32_t at[4])
{
    knVec3 ab = knSub(c[1], c[0]), ac = knSub(c[2], c[0]);
    float y = (float)at[2], z = (float)at[3];
    float base = plane->normal.y * y + plane->normal.z * z + BAND - plane->offset;
    size_t start = at[3] * b->slice + at[2] * b->row;
    for (uint32_t x = at[0]; x <= at[1]; ++x)
    {
        float height = plane->normal.x * (float)x + base;
        // no nearer than its plane
        if (height * height < b->ways.square[start + x])
        {
            knVec3 a = {c[0].x - (float)x, c[0].y - y, c[0].z - z};
            Offer1(b->ways, start + x, ClosestToOrigin(a, ab, ac));
        }
    }
}

// The samples around one triangle whose cells it can cross.
static void MarkNear(const Build* b, const knVec3 c[3])
{
    knVec3 low = knMin(c[0], knMin(c[1], c[2])), high = knMax(c[0], knMax(c[1], c[2]));
    Side sides[5];
    MakeSides(c, knNormalize(knCross(knSub(c[1], c[0]), knSub(c[2], c[0]))), sides);
    uint32_t x0 = LowCell(low.x), x1 = HighCell(high.x, b->grid->size[0]);
    uint32_t y0 = LowCell(low.y), y1 = HighCell(high.y, b->grid->size[1]);
    uint32_t z0 = LowCell(low.z), z1 = HighCell(high.z, b->grid->size[2]);
    for (uint32_t z = z0; z <= z1; ++z)
    {
        for (uint32_t y = y0; y <= y1; ++y)
        {
            float range[2] = {(float)x0, (float)x1};
            bool any = true;
            for (int k = 0; any && k < 5; ++k)
            {
                any = ClipRow(&sides[k], (float)y, (float)z, range);
            }
            if (any)
            {
                const uint32_t at[4] = {(uint32_t)ceilf(range[0]), (uint32_t)range[1], y, z};
                MarkRow(b, c, &sides[0], at);
            }
        }
    }
}

// Twice the area of (0, a, b) as a sign that is never 0 for different points: ties are broken the
// same way for both triangles of an edge.
static int Turn(double ax, double ay, double bx, double by)
{
    double area = ay * bx - ax * by;
    if (area != 0.0)
    {
        return area > 0.0 ? 1 : -1;
    }
    if (by != ay)
    {
        return by > ay ? 1 : -1;
    }
    return ax > bx ? 1 : (ax < bx ? -1 : 0);
}

static double Weight(double ax, double ay, double bx, double by)
{
    return ay * bx - ax * by;
}

// Where the row (y, z) crosses the triangle; false when it does not.
static bool CrossRow(const knVec3 c[3], double y, double z, double* x)
{
    double py[3], pz[3];
    for (int k = 0; k < 3; ++k)
    {
        py[k] = (double)c[k].y - y;
        pz[k] = (double)c[k].z - z;
    }
    int s0 = Turn(py[1], pz[1], py[2], pz[2]);
    if (s0 == 0 || Turn(py[2], pz[2], py[0], pz[0]) != s0 || Turn(py[0], pz[0], py[1], pz[1]) != s0)
    {
        return false;
    }
    double w0 = Weight(py[1], pz[1], py[2], pz[2]), w1 = Weight(py[2], pz[2], py[0], pz[0]);
    double w2 = Weight(py[0], pz[0], py[1], pz[1]), sum = w0 + w1 + w2;
    if (sum == 0.0)
    {
        return false;
    }
    *x = (w0 * (double)c[0].x + w1 * (double)c[1].x + w2 * (double)c[2].x) / sum;
    return true;
}

static void MarkCrossings(const Build* b, const knVec3 c[3])
{
    float lowY = fminf(c[0].y, fminf(c[1].y, c[2].y)), highY = fmaxf(c[0].y, fmaxf(c[1].y, c[2].y));
    float lowZ = fminf(c[0].z, fminf(c[1].z, c[2].z)), highZ = fmaxf(c[0].z, fmaxf(c[1].z, c[2].z));
    // the margin keeps all of it inside the grid
    for (uint32_t z = (uint32_t)ceilf(lowZ); (float)z <= highZ; ++z)
    {
        for (uint32_t y = (uint32_t)ceilf(lowY); (float)y <= highY; ++y)
        {
            double x;
            if (CrossRow(c, (double)y, (double)z, &x))
            {
                b->crossings[z * b->slice + y * b->row + (size_t)ceil(x)] ^= 1;
            }
        }
    }
}

// Offers every sample of a run the point of a neighbour that is `step` away along one axis.
static inline void Offer(Ways to, Ways from, size_t count, float dx, float dy, float dz)
{
    KN_APART
    for (size_t i = 0; i < count; ++i)
    {
        float x = from.x[i] + dx, y = from.y[i] + dy, z = from.z[i] + dz;
        float square = x * x + y * y + z * z;
        bool nearer = square < to.square[i];
        to.x[i] = nearer ? x : to.x[i];
        to.y[i] = nearer ? y : to.y[i];
        to.z[i] = nearer ? z : to.z[i];
        to.square[i] = nearer ? square : to.square[i];
    }
}

static inline Ways At(Ways ways, size_t i)
{
    return (Ways){ways.x + i, ways.y + i, ways.z + i, ways.square + i};
}

KN_WIDE static void SweepZ(const Build* b)
{
    size_t depth = b->total / b->slice;
    for (size_t z = 1; z < depth; ++z)
    {
        Offer(At(b->ways, z * b->slice), At(b->ways, (z - 1) * b->slice), b->slice, 0.0f, 0.0f,
              -1.0f);
    }
    for (size_t z = depth - 1; z-- > 0;)
    {
        Offer(At(b->ways, z * b->slice), At(b->ways, (z + 1) * b->slice), b->slice, 0.0f, 0.0f,
              1.0f);
    }
}

KN_WIDE static void SweepY(const Build* b)
{
    size_t height = b->slice / b->row;
    for (size_t start = 0; start < b->total; start += b->slice)
    {
        Ways slice = At(b->ways, start);
        for (size_t y = 1; y < height; ++y)
        {
            Offer(At(slice, y * b->row), At(slice, (y - 1) * b->row), b->row, 0.0f, -1.0f, 0.0f);
        }
        for (size_t y = height - 1; y-- > 0;)
        {
            Offer(At(slice, y * b->row), At(slice, (y + 1) * b->row), b->row, 0.0f, 1.0f, 0.0f);
        }
    }
}

static inline void Transpose(float* block, float* rows, size_t row, size_t count, bool back)
{
    for (size_t r = 0; r < count; ++r)
    {
        for (size_t x = 0; x < row; ++x)
        {
            if (back)
            {
                rows[r * row + x] = block[x * BLOCK + r];
            }
            else
            {
                block[x * BLOCK + r] = rows[r * row + x];
            }
        }
    }
}

// Eight rows side by side, so that the steps along x are as wide as the others.
KN_WIDE static void SweepX(const Build* b, float* memory)
{
    size_t size = b->row * BLOCK;
    Ways block = {memory, memory + size, memory + 2 * size, memory + 3 * size};
    size_t rows = b->total / b->row;
    for (size_t first = 0; first < rows; first += BLOCK)
    {
        size_t count = rows - first < BLOCK ? rows - first : BLOCK;
        Ways part = At(b->ways, first * b->row);
        Transpose(block.x, part.x, b->row, count, false);
        Transpose(block.y, part.y, b->row, count, false);
        Transpose(block.z, part.z, b->row, count, false);
        Transpose(block.square, part.square, b->row, count, false);
        for (size_t x = 1; x < b->row; ++x)
        {
            Offer(At(block, x * BLOCK), At(block, (x - 1) * BLOCK), BLOCK, -1.0f, 0.0f, 0.0f);
        }
        for (size_t x = b->row - 1; x-- > 0;)
        {
            Offer(At(block, x * BLOCK), At(block, (x + 1) * BLOCK), BLOCK, 1.0f, 0.0f, 0.0f);
        }
        Transpose(block.x, part.x, b->row, count, true);
        Transpose(block.y, part.y, b->row, count, true);
        Transpose(block.z, part.z, b->row, count, true);
        Transpose(block.square, part.square, b->row, count, true);
    }
}

KN_WIDE static void Finish(const Build* b)
{
    for (size_t start = 0; start < b->total; start += b->row)
    {
        uint8_t inside = 0;
        for (size_t x = start; x < start + b->row; ++x)
        {
            inside ^= b->crossings[x];
            b->crossings[x] = inside;
        }
    }
    for (size_t i = 0; i < b->total; ++i)
    {
        float d = b->grid->spacing * sqrtf(b->ways.square[i]);
        b->grid->distances[i] = b->crossings[i] ? -d : d;
    }
}

knResult knPieceGrid_Build(knPieceGrid* grid, knPieceGridWork* work, const knPieceSurface* surface,
                           float spacing)
{
    size_t total = Place(grid, surface, spacing);
    size_t blockSize = (size_t)grid->size[0] * BLOCK;
    knResult result = Reserve(grid, work, total + blockSize);
    if (result != kn_success)
    {
        return result;
    }
    float* floats = work->floats;
    Build b = {.grid = grid,
               .ways = {floats, floats + total, floats + 2 * total, floats + 3 * total},
               .crossings = work->crossings,
               .surface = surface,
               .row = grid->size[0],
               .slice = (size_t)grid->size[0] * grid->size[1],
               .total = total};
    for (size_t i = 0; i < total; ++i)
    {
        b.ways.x[i] = b.ways.y[i] = b.ways.z[i] = 1e9f;
        b.ways.square[i] = FAR;
    }
    memset(b.crossings, 0, total);
    for (uint32_t i = 0; i < surface->triangleCount; ++i)
    {
        knVec3 c[3];
        Corners(&b, i, c);
        MarkNear(&b, c);
        MarkCrossings(&b, c);
    }
    for (int round = 0; round < 2; ++round)
    {
        SweepX(&b, floats + 4 * total);
        SweepY(&b);
        SweepZ(&b);
    }
    Finish(&b);
    return kn_success;
}

typedef struct Cell
{
    float t[3];       // within the cell
    const float* low; // its first sample
    float beyond;     // m, outside the grid
} Cell;

static Cell FindCell(const knPieceGrid* g, knVec3 p)
{
    float inverse = 1.0f / g->spacing;
    const float q[3] = {(p.x - g->origin.x) * inverse, (p.y - g->origin.y) * inverse,
                        (p.z - g->origin.z) * inverse};
    Cell cell;
    float away = 0.0f;
    uint32_t i[3];
    for (int k = 0; k < 3; ++k)
    {
        float upper = (float)(g->size[k] - 1);
        float inGrid = q[k] > 0.0f ? (q[k] < upper ? q[k] : upper) : 0.0f;
        away += (q[k] - inGrid) * (q[k] - inGrid);
        i[k] = (uint32_t)inGrid < g->size[k] - 2 ? (uint32_t)inGrid : g->size[k] - 2;
        cell.t[k] = inGrid - (float)i[k];
    }
    cell.low = g->distances + ((size_t)i[2] * g->size[1] + i[1]) * g->size[0] + i[0];
    cell.beyond = away > 0.0f ? g->spacing * sqrtf(away) : 0.0f;
    return cell;
}

static float Mix(float a, float b, float t)
{
    return a + t * (b - a);
}

knPieceSample knPieceGrid_Sample(const knPieceGrid* grid, knVec3 p)
{
    Cell cell = FindCell(grid, p);
    float x = cell.t[0], y = cell.t[1], z = cell.t[2];
    size_t row = grid->size[0], slice = row * grid->size[1];
    const float *d00 = cell.low, *d10 = d00 + row, *d01 = d00 + slice, *d11 = d01 + row;
    float a00 = Mix(d00[0], d00[1], x), a10 = Mix(d10[0], d10[1], x);
    float a01 = Mix(d01[0], d01[1], x), a11 = Mix(d11[0], d11[1], x);
    float b0 = Mix(a00, a10, y), b1 = Mix(a01, a11, y);
    knPieceSample s;
    s.gradient.x =
        Mix(Mix(d00[1] - d00[0], d10[1] - d10[0], y), Mix(d01[1] - d01[0], d11[1] - d11[0], y), z);
    s.gradient.y = Mix(a10 - a00, a11 - a01, z);
    s.gradient.z = b1 - b0;
    float spread = x * (1.0f - x) + y * (1.0f - y) + z * (1.0f - z);
    s.distance = Mix(b0, b1, z) + cell.beyond;
    // past the grid at least the way to it
    s.error = grid->spacing * sqrtf(fmaxf(spread, 0.0f)) +
              (cell.beyond > 0.0f ? s.distance - cell.beyond : 0.0f);
    return s;
}

double knSurfaceDistance(const knPieceSurface* surface, knVec3 p)
{
    float best = FAR;
    for (uint32_t i = 0; i < surface->triangleCount; ++i)
    {
        const uint32_t* v = surface->triangles[i].v;
        knVec3 a = knSub(surface->positions[v[0]], p);
        knVec3 ab = knSub(surface->positions[v[1]], surface->positions[v[0]]);
        knVec3 ac = knSub(surface->positions[v[2]], surface->positions[v[0]]);
        best = fminf(best, knLengthSquared(ClosestToOrigin(a, ab, ac)));
    }
    return sqrt((double)best);
}
