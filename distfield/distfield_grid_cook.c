// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#define MAX_TRIES      40
#define MAX_THICK_WALK 100000

typedef struct Cook
{
    knAllocator allocator;
    const knTaskHooks* tasks;
    const knTetLocator* locator;
    knTriTree tree;
    knBox box;
    knVec3 origin;
    float spacing, thickness, step;
    uint32_t bricks[3];
    float* coarse;
    uint32_t* directory;
    int16_t* samples;
    size_t cornerCount, brickCount, denseCount;
    bool insideDense; // bricks far from the surface too, when they are inside
} Cook;

knGridDef knDefaultGridDef(void)
{
    return (knGridDef){.size = sizeof(knGridDef), .byteBudget = (size_t)4 << 20};
}

// Straight inward from the middle of a face, from tetrahedron to tetrahedron, until the surface is
// reached again.
static float WallThickness(const knTetMesh* mesh, uint32_t boundaryFace)
{
    knTriangle face = knTetMesh_BoundaryTriangle(mesh, boundaryFace);
    knDVec3 a = knToDouble(mesh->nodes[face.v[0]]);
    knDVec3 b = knToDouble(mesh->nodes[face.v[1]]), c = knToDouble(mesh->nodes[face.v[2]]);
    knDVec3 n = knDCross(knDSub(b, a), knDSub(c, a));
    knDVec3 start = knDScale(1.0 / 3.0, knDAdd(a, knDAdd(b, c)));
    knDVec3 direction = knDScale(-1.0 / fmax(knDLength(n), DBL_MIN), n);
    uint32_t tet = boundaryFace / 4, from = boundaryFace % 4;
    double t = 0.0;
    for (int step = 0; step < MAX_THICK_WALK && tet != KN_NONE; ++step)
    {
        uint32_t exit = 4;
        double leave = DBL_MAX;
        for (uint32_t i = 0; i < 4; ++i)
        {
            knTriangle f = knTetMesh_BoundaryTriangle(mesh, 4 * tet + i);
            knDVec3 o = knToDouble(mesh->nodes[f.v[0]]);
            knDVec3 m = knDCross(knDSub(knToDouble(mesh->nodes[f.v[1]]), o),
                                 knDSub(knToDouble(mesh->nodes[f.v[2]]), o));
            double speed = knDDot(m, direction);
            double at = speed > 0.0 ? knDDot(m, knDSub(o, start)) / speed : DBL_MAX;
            if (i != from && at < leave)
            {
                leave = at;
                exit = i;
            }
        }
        if (exit == 4)
        {
            break;
        }
        t = fmax(t, leave);
        uint32_t next = mesh->neighbors[tet].t[exit];
        from = 4;
        for (uint32_t i = 0; next != KN_NONE && i < 4; ++i)
        {
            from = mesh->neighbors[next].t[i] == tet ? i : from;
        }
        tet = next;
    }
    return (float)t;
}

typedef struct Wall
{
    float thickness, area;
} Wall;

static void SiftDown(Wall* walls, size_t root, size_t count)
{
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1)
    {
        child += child + 1 < count && walls[child].thickness < walls[child + 1].thickness;
        if (!(walls[root].thickness < walls[child].thickness))
        {
            return;
        }
        Wall swap = walls[root];
        walls[root] = walls[child];
        walls[child] = swap;
        root = child;
    }
}

static void SortWalls(Wall* walls, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
    {
        SiftDown(walls, i, count);
    }
    for (size_t end = count; end-- > 1;)
    {
        Wall swap = walls[0];
        walls[0] = walls[end];
        walls[end] = swap;
        SiftDown(walls, 0, end);
    }
}

// A tenth of the area has walls thinner than this: sharp edges do not count, ears and plates do.
static knResult EstimateThickness(Cook* cook)
{
    const knTetMesh* mesh = cook->locator->mesh;
    size_t count = mesh->boundaryFaceCount;
    Wall* walls = knAllocate(&cook->allocator, count, sizeof(Wall));
    if (!walls)
    {
        return kn_errorMemory;
    }
    double area = 0.0, sum = 0.0;
    for (size_t i = 0; i < count; ++i)
    {
        knTriangle t = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[i]);
        walls[i].area = (float)knSurfaceArea(mesh->nodes, &t, 1);
        walls[i].thickness = WallThickness(mesh, mesh->boundaryFaces[i]);
        area += (double)walls[i].area;
    }
    SortWalls(walls, count);
    cook->thickness = walls[count - 1].thickness;
    for (size_t i = 0; i < count; ++i)
    {
        sum += (double)walls[i].area;
        if (sum >= 0.1 * area)
        {
            cook->thickness = walls[i].thickness;
            break;
        }
    }
    knRelease(&cook->allocator, walls, count, sizeof(Wall));
    return kn_success;
}

// Remembers the last sample of a row of neighbours: bounds the search and often knows the sign.
typedef struct Probe
{
    knVec3 p;
    double distance; // negative inside
    uint32_t hint;
} Probe;

static double Measure(const Cook* cook, Probe* probe, knVec3 p)
{
    double moved = knDLength(knDSub(knToDouble(p), knToDouble(probe->p)));
    double d = knTriTree_Distance(&cook->tree, p, fabs(probe->distance) + moved);
    bool inside = probe->distance < 0.0;
    // a sign can only change on the way over the surface
    if (!(fabs(probe->distance) > 1.0001 * moved))
    {
        knTetPoint point;
        knTetLocator_Find(cook->locator, p, probe->hint, &point);
        inside = point.tet != KN_NONE;
        probe->hint = inside ? point.tet : probe->hint;
    }
    probe->p = p;
    probe->distance = inside ? -d : d;
    return probe->distance;
}

static Probe StartProbe(const Cook* cook)
{
    Probe probe = {.p = cook->box.lower, .hint = KN_NONE};
    knDVec3 e = knToDouble(knBox_Extent(cook->box));
    // some triangle is nearer to the corner of the box than its diagonal; claims no sign
    probe.distance = knDLength(e);
    probe.distance = knTriTree_Distance(&cook->tree, probe.p, probe.distance);
    knTetPoint point;
    knTetLocator_Find(cook->locator, probe.p, KN_NONE, &point);
    probe.distance = point.tet != KN_NONE ? -probe.distance : probe.distance;
    return probe;
}

static knVec3 CellCorner(const Cook* cook, uint32_t x, uint32_t y, uint32_t z)
{
    return knMakeVec3(cook->origin.x + (float)x * cook->spacing,
                      cook->origin.y + (float)y * cook->spacing,
                      cook->origin.z + (float)z * cook->spacing);
}

static void CoarseTask(int begin, int end, int worker, void* context)
{
    (void)worker;
    Cook* cook = context;
    size_t row = (size_t)cook->bricks[0] + 1, layer = row * ((size_t)cook->bricks[1] + 1);
    Probe probe = StartProbe(cook);
    for (size_t i = (size_t)begin; i < (size_t)end; ++i)
    {
        knVec3 p = CellCorner(cook, (uint32_t)(i % row) * KN_BRICK_CELLS,
                              (uint32_t)(i % layer / row) * KN_BRICK_CELLS,
                              (uint32_t)(i / layer) * KN_BRICK_CELLS);
        cook->coarse[i] = (float)Measure(cook, &probe, p);
    }
}

static void BrickPlace(const Cook* cook, size_t brick, uint32_t first[3])
{
    first[0] = (uint32_t)(brick % cook->bricks[0]) * KN_BRICK_CELLS;
    first[1] = (uint32_t)(brick / cook->bricks[0] % cook->bricks[1]) * KN_BRICK_CELLS;
    first[2] = (uint32_t)(brick / cook->bricks[0] / cook->bricks[1]) * KN_BRICK_CELLS;
}

static double HalfBrick(const Cook* cook)
{
    return 0.5 * sqrt(3.0) * (double)KN_BRICK_CELLS * (double)cook->spacing;
}

// Notes for each brick the distance in its middle, as the bits of a float.
static void ClassifyTask(int begin, int end, int worker, void* context)
{
    (void)worker;
    Cook* cook = context;
    Probe probe = StartProbe(cook);
    for (size_t i = (size_t)begin; i < (size_t)end; ++i)
    {
        uint32_t c[3];
        BrickPlace(cook, i, c);
        knVec3 middle = CellCorner(cook, c[0] + KN_BRICK_CELLS / 2, c[1] + KN_BRICK_CELLS / 2,
                                   c[2] + KN_BRICK_CELLS / 2);
        cook->directory[i] = knFloatToBits((float)Measure(cook, &probe, middle));
    }
}

static void FillBrick(const Cook* cook, Probe* probe, size_t brick)
{
    uint32_t c[3];
    BrickPlace(cook, brick, c);
    int16_t* out = cook->samples + (size_t)cook->directory[brick] * KN_BRICK_STRIDE;
    for (uint32_t i = 0; i < KN_BRICK_SAMPLES; ++i)
    {
        // every other row backwards, so that neighbours follow each other
        uint32_t z = i / 81, row = i % 81 / 9, x = i % 9;
        uint32_t y = z % 2 ? 8 - row : row;
        x = (z * 9 + row) % 2 ? 8 - x : x;
        double d = Measure(cook, probe, CellCorner(cook, c[0] + x, c[1] + y, c[2] + z));
        double units = rint(d / (double)cook->step);
        out[z * 81 + y * 9 + x] = (int16_t)fmax(-32767.0, fmin(32767.0, units));
    }
}

static void FillTask(int begin, int end, int worker, void* context)
{
    (void)worker;
    Cook* cook = context;
    Probe probe = StartProbe(cook);
    for (size_t i = (size_t)begin; i < (size_t)end; ++i)
    {
        if (cook->directory[i] != KN_NONE)
        {
            FillBrick(cook, &probe, i);
        }
    }
}

// Places the grid for a spacing; false when there would be too many bricks.
static bool PlaceGrid(Cook* cook, float spacing)
{
    cook->spacing = spacing;
    knVec3 e = knBox_Extent(cook->box);
    const float* extent = &e.x;
    double total = 1.0;
    double corners = 1.0;
    for (int a = 0; a < 3; ++a)
    {
        double cells = ceil((double)extent[a] / (double)spacing) + 4.0;
        double bricks = ceil(cells / KN_BRICK_CELLS);
        total *= bricks;
        corners *= bricks + 1.0;
        if (!(total <= KN_MAX_BRICKS))
        {
            return false;
        }
        cook->bricks[a] = (uint32_t)bricks;
    }
    knVec3 size = {(float)cook->bricks[0], (float)cook->bricks[1], (float)cook->bricks[2]};
    cook->origin = knAddScaled(knBox_Center(cook->box), -0.5f * spacing * KN_BRICK_CELLS, size);
    cook->brickCount = (size_t)total;
    cook->cornerCount = (size_t)corners;
    return true;
}

static size_t GridBytes(const Cook* cook)
{
    return sizeof(knGridHeader) + knRoundLine(cook->cornerCount * sizeof(float)) +
           knRoundLine(cook->brickCount * sizeof(uint32_t)) +
           cook->denseCount * KN_BRICK_STRIDE * sizeof(int16_t);
}

static void ReleaseArrays(Cook* cook)
{
    knRelease(&cook->allocator, cook->coarse, cook->cornerCount, sizeof(float));
    knRelease(&cook->allocator, cook->directory, cook->brickCount, sizeof(uint32_t));
    cook->coarse = NULL;
    cook->directory = NULL;
}

// Finds out which bricks are dense: those that may come nearer to the surface than the band.
static knResult Classify(Cook* cook)
{
    cook->directory = knAllocate(&cook->allocator, cook->brickCount, sizeof(uint32_t));
    if (!cook->directory)
    {
        return kn_errorMemory;
    }
    knParallelFor(cook->tasks, (int)cook->brickCount, 64, ClassifyTask, cook);
    double half = HalfBrick(cook), farthest = 0.0;
    double limit = half + (double)(KN_BAND_CELLS * cook->spacing);
    uint32_t next = 0;
    for (size_t i = 0; i < cook->brickCount; ++i)
    {
        double d = (double)knBitsToFloat(cook->directory[i]);
        bool dense = fabs(d) <= limit || (cook->insideDense && d < 0.0);
        farthest = dense && fabs(d) > farthest ? fabs(d) : farthest;
        cook->directory[i] = dense ? next++ : KN_NONE;
    }
    cook->denseCount = next;
    cook->step = (float)(1.001 * (farthest + half) / 32767.0);
    return kn_success;
}

// Places, classifies and weighs one grid; `over` tells how many times the budget it takes.
static knResult TryGrid(Cook* cook, float spacing, size_t budget, double* over)
{
    *over = 4.0;
    if (!PlaceGrid(cook, spacing))
    {
        return kn_success;
    }
    cook->denseCount = 0;
    *over = (double)GridBytes(cook) / (double)budget;
    if (*over > 1.0)
    {
        return kn_success;
    }
    knResult result = Classify(cook);
    *over = (double)GridBytes(cook) / (double)budget;
    if (result != kn_success || *over > 1.0)
    {
        ReleaseArrays(cook);
    }
    return result;
}

// Takes the wanted spacing, coarser when it does not fit the budget.
static knResult ChooseSpacing(Cook* cook, const knGridDef* def)
{
    knVec3 e = knBox_Extent(cook->box);
    float spacing = def->spacing;
    if (spacing == 0.0f)
    {
        spacing = fminf(0.25f * cook->thickness, knLength(e) / 80.0f);
        spacing = fmaxf(spacing, knLength(e) / 4000.0f);
    }
    for (int i = 0; i < MAX_TRIES; ++i)
    {
        double over = 0.0;
        cook->insideDense = true;
        knResult result = TryGrid(cook, spacing, def->byteBudget, &over);
        if (result == kn_success && over > 1.0)
        {
            cook->insideDense = false;
            result = TryGrid(cook, spacing, def->byteBudget, &over);
        }
        if (result != kn_success || over <= 1.0)
        {
            return result;
        }
        spacing *= (float)fmin(2.0, fmax(1.05, sqrt(over)));
    }
    return knFail(kn_errorLimit, "no distance grid fits into %zu bytes", def->byteBudget);
}

static knResult FillGrid(Cook* cook, void** bytes, size_t* size)
{
    size_t total = GridBytes(cook);
    unsigned char* data = knAllocate(&cook->allocator, total, 1);
    if (!data)
    {
        return kn_errorMemory;
    }
    memset(data, 0, total);
    knGridHeader header = {.version = KN_GRID_VERSION,
                           .bricks = {cook->bricks[0], cook->bricks[1], cook->bricks[2]},
                           .origin = {cook->origin.x, cook->origin.y, cook->origin.z},
                           .spacing = cook->spacing,
                           .step = cook->step,
                           .thickness = cook->thickness,
                           .denseCount = (uint32_t)cook->denseCount};
    memcpy(data, &header, sizeof header);
    unsigned char* at = data + sizeof header;
    cook->coarse = (float*)at;
    at += knRoundLine(cook->cornerCount * sizeof(float));
    memcpy(at, cook->directory, cook->brickCount * sizeof(uint32_t));
    cook->samples = (int16_t*)(at + knRoundLine(cook->brickCount * sizeof(uint32_t)));
    knParallelFor(cook->tasks, (int)cook->cornerCount, 64, CoarseTask, cook);
    knParallelFor(cook->tasks, (int)cook->brickCount, 4, FillTask, cook);
    cook->coarse = NULL; // part of the bytes
    *bytes = data;
    *size = total;
    return kn_success;
}

static knResult CheckArguments(const knGridDef* def, const knTetLocator* locator, void** bytes,
                               const size_t* size)
{
    if (!def || !locator || !locator->mesh || !bytes || !size)
    {
        return knFail(kn_errorArgument, "knCookDistanceGrid: null argument");
    }
    if (def->size != sizeof(knGridDef))
    {
        return knFail(kn_errorVersion, "knGridDef: size is %zu, not %zu", def->size,
                      sizeof(knGridDef));
    }
    if (!(def->spacing >= 0.0f) || !isfinite(def->spacing))
    {
        return knFail(kn_errorArgument, "knGridDef: spacing is %g, not 0 or positive",
                      (double)def->spacing);
    }
    if (def->byteBudget < 4096)
    {
        return knFail(kn_errorArgument, "knGridDef: byteBudget is %zu, less than 4096",
                      def->byteBudget);
    }
    return kn_success;
}

knResult knCookDistanceGrid(const knGridDef* def, const knTetLocator* locator,
                            const knAllocator* allocator, void** bytes, size_t* size)
{
    knResult result = CheckArguments(def, locator, bytes, size);
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    result = result == kn_success ? knCheckTaskHooks(def->tasks) : result;
    if (result != kn_success)
    {
        return result;
    }
    Cook cook = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                 .tasks = def->tasks,
                 .locator = locator,
                 .box = locator->box};
    result = knCreateTriTree(&cook.tree, locator->mesh, &cook.allocator);
    result = result == kn_success ? EstimateThickness(&cook) : result;
    result = result == kn_success ? ChooseSpacing(&cook, def) : result;
    result = result == kn_success ? FillGrid(&cook, bytes, size) : result;
    ReleaseArrays(&cook);
    knDestroyTriTree(&cook.tree);
    return result;
}
