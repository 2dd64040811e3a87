// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

static void LoadDense(const knDistanceGrid* grid, uint32_t dense, const uint32_t local[3],
                      knGridCell* c)
{
    const int16_t* s =
        grid->samples + (size_t)dense * KN_BRICK_STRIDE + (local[2] * 81 + local[1] * 9 + local[0]);
    static const uint32_t offsets[8] = {0, 1, 9, 10, 81, 82, 90, 91};
    for (int i = 0; i < 8; ++i)
    {
        c->v[i] = grid->step * (float)s[offsets[i]];
    }
    c->spacing = grid->spacing;
    c->error = 0.5f * grid->step;
}

static void LoadCoarse(const knDistanceGrid* grid, const uint32_t brick[3], const float q[3],
                       knGridCell* c)
{
    size_t row = (size_t)grid->bricks[0] + 1;
    size_t layer = row * ((size_t)grid->bricks[1] + 1);
    const float* s = grid->coarse + brick[2] * layer + brick[1] * row + brick[0];
    for (uint32_t i = 0; i < 8; ++i)
    {
        c->v[i] = s[(i & 1) + (i >> 1 & 1) * row + (i >> 2) * layer];
    }
    for (int a = 0; a < 3; ++a)
    {
        c->u[a] = (q[a] - (float)(brick[a] * KN_BRICK_CELLS)) * (1.0f / KN_BRICK_CELLS);
    }
    c->spacing = grid->spacing * (float)KN_BRICK_CELLS;
    c->error = 0.0f;
}

void knDistanceGrid_LoadCell(const knDistanceGrid* grid, const float q[3], knGridCell* c)
{
    uint32_t brick[3], local[3];
    for (int a = 0; a < 3; ++a)
    {
        uint32_t cells = grid->bricks[a] * KN_BRICK_CELLS;
        uint32_t i = (uint32_t)q[a];
        i = i < cells ? i : cells - 1;
        brick[a] = i / KN_BRICK_CELLS;
        local[a] = i % KN_BRICK_CELLS;
        c->u[a] = q[a] - (float)i;
    }
    size_t index =
        ((size_t)brick[2] * grid->bricks[1] + brick[1]) * grid->bricks[0] + (size_t)brick[0];
    uint32_t dense = grid->directory[index];
    if (dense != KN_NONE)
    {
        LoadDense(grid, dense, local, c);
    }
    else
    {
        LoadCoarse(grid, brick, q, c);
    }
}

// The distance is 1-Lipschitz, so by Jensen the interpolation at u is off by at most the root of
// sum u (1 - u), times the spacing: half a diagonal in the middle, nothing at a corner.
static knGridSample Interpolate(const knGridCell* c)
{
    float x = c->u[0], y = c->u[1], z = c->u[2];
    const float* v = c->v;
    float dx00 = v[1] - v[0], dx10 = v[3] - v[2], dx01 = v[5] - v[4], dx11 = v[7] - v[6];
    float v00 = v[0] + x * dx00, v10 = v[2] + x * dx10;
    float v01 = v[4] + x * dx01, v11 = v[6] + x * dx11;
    float dy0 = v10 - v00, dy1 = v11 - v01;
    float v0 = v00 + y * dy0, v1 = v01 + y * dy1;
    float gx0 = dx00 + y * (dx10 - dx00), gx1 = dx01 + y * (dx11 - dx01);
    float inverse = 1.0f / c->spacing;
    knGridSample s;
    s.distance = v0 + z * (v1 - v0);
    s.gradient.x = (gx0 + z * (gx1 - gx0)) * inverse;
    s.gradient.y = (dy0 + z * (dy1 - dy0)) * inverse;
    s.gradient.z = (v1 - v0) * inverse;
    float spread = (x * (1.0f - x) + y * (1.0f - y)) + z * (1.0f - z);
    s.error = c->spacing * sqrtf(spread > 0.0f ? spread : 0.0f) + c->error;
    return s;
}

static float Clamp(float x, float upper)
{
    // what is not a number becomes 0
    return x > 0.0f ? (x < upper ? x : upper) : 0.0f;
}

knGridSample knDistanceGrid_Sample(const knDistanceGrid* grid, knVec3 p)
{
    float inverse = 1.0f / grid->spacing;
    float t[3] = {(p.x - grid->origin.x) * inverse, (p.y - grid->origin.y) * inverse,
                  (p.z - grid->origin.z) * inverse};
    float q[3];
    for (int a = 0; a < 3; ++a)
    {
        q[a] = Clamp(t[a], (float)(grid->bricks[a] * KN_BRICK_CELLS));
    }
    knGridCell cell;
    knDistanceGrid_LoadCell(grid, q, &cell);
    knGridSample s = Interpolate(&cell);
    float ox = t[0] - q[0], oy = t[1] - q[1], oz = t[2] - q[2];
    float beyond = sqrtf((ox * ox + oy * oy) + oz * oz) * grid->spacing;
    // past the box of the grid: at least the way to the box, at most that and the value there
    s.error = s.error + (beyond > 0.0f ? s.distance : 0.0f) + grid->slack;
    s.distance = s.distance + beyond;
    return s;
}

float knDistanceGrid_LowerBound(const knDistanceGrid* grid, knVec3 p)
{
    float inverse = 1.0f / grid->spacing;
    float t[3] = {(p.x - grid->origin.x) * inverse, (p.y - grid->origin.y) * inverse,
                  (p.z - grid->origin.z) * inverse};
    uint32_t at[3], brick[3];
    float away = 0.0f;
    for (int a = 0; a < 3; ++a)
    {
        at[a] = (uint32_t)(Clamp(t[a], (float)(grid->bricks[a] * KN_BRICK_CELLS)) + 0.5f);
        brick[a] = at[a] / KN_BRICK_CELLS;
        brick[a] = brick[a] < grid->bricks[a] ? brick[a] : grid->bricks[a] - 1;
        away += (t[a] - (float)at[a]) * (t[a] - (float)at[a]);
    }
    size_t index = ((size_t)brick[2] * grid->bricks[1] + brick[1]) * grid->bricks[0] + brick[0];
    uint32_t dense = grid->directory[index];
    if (dense == KN_NONE)
    {
        knGridSample sample = knDistanceGrid_Sample(grid, p);
        return sample.distance - sample.error;
    }
    uint32_t x = at[0] - brick[0] * KN_BRICK_CELLS, y = at[1] - brick[1] * KN_BRICK_CELLS;
    uint32_t z = at[2] - brick[2] * KN_BRICK_CELLS;
    const int16_t* samples = grid->samples + (size_t)dense * KN_BRICK_STRIDE;
    float value = grid->step * ((float)samples[z * 81 + y * 9 + x] - 0.5f);
    return value - sqrtf(away) * grid->spacing - grid->slack;
}

static knResult Bad(const char* what)
{
    return knFail(kn_errorFormat, "the section DGRD is not sound: %s", what);
}

static knResult CheckHeader(const knGridHeader* h, size_t size)
{
    if (h->version != KN_GRID_VERSION)
    {
        return knFail(kn_errorVersion, "the section DGRD has version %u, not %u", h->version,
                      (unsigned)KN_GRID_VERSION);
    }
    if (h->zero[0] || h->zero[1] || h->zero[2] || h->zero[3] || h->zero[4])
    {
        return Bad("unused bytes are not zero");
    }
    uint64_t bricks = 1, corners = 1;
    for (int a = 0; a < 3; ++a)
    {
        if (h->bricks[a] == 0 || h->bricks[a] > KN_MAX_BRICKS)
        {
            return Bad("number of bricks");
        }
        bricks *= h->bricks[a];
        corners *= (uint64_t)h->bricks[a] + 1;
        if (bricks > KN_MAX_BRICKS)
        {
            return Bad("number of bricks");
        }
    }
    uint64_t wanted = sizeof *h + knRoundLine((size_t)corners * sizeof(float)) +
                      knRoundLine((size_t)bricks * sizeof(uint32_t)) +
                      (uint64_t)h->denseCount * KN_BRICK_STRIDE * sizeof(int16_t);
    return h->denseCount <= bricks && wanted == size ? kn_success : Bad("sizes");
}

static knDistanceGrid LayOut(const knGridHeader* h)
{
    size_t bricks = (size_t)h->bricks[0] * h->bricks[1] * h->bricks[2];
    size_t corners =
        ((size_t)h->bricks[0] + 1) * ((size_t)h->bricks[1] + 1) * ((size_t)h->bricks[2] + 1);
    const unsigned char* data = (const unsigned char*)(h + 1);
    knDistanceGrid g = {.origin = {h->origin[0], h->origin[1], h->origin[2]},
                        .spacing = h->spacing,
                        .step = h->step,
                        .thickness = h->thickness,
                        .denseCount = h->denseCount,
                        .bricks = {h->bricks[0], h->bricks[1], h->bricks[2]}};
    g.coarse = (const float*)data;
    data += knRoundLine(corners * sizeof(float));
    g.directory = (const uint32_t*)data;
    data += knRoundLine(bricks * sizeof(uint32_t));
    g.samples = (const int16_t*)data;
    return g;
}

// The grid covers the mesh, and no product of a query overflows.
static knResult CheckPlace(knDistanceGrid* g, const knTetMesh* mesh)
{
    float cells[3];
    for (int a = 0; a < 3; ++a)
    {
        cells[a] = (float)(g->bricks[a] * KN_BRICK_CELLS);
    }
    knVec3 extent = {cells[0] * g->spacing, cells[1] * g->spacing, cells[2] * g->spacing};
    knVec3 upper = knAdd(g->origin, extent);
    if (!knIsFinite(g->origin) || !knIsFinite(upper) || !(g->spacing > FLT_MIN) ||
        !isfinite(1.0f / g->spacing) || !(g->step > 0.0f) || !(g->step < g->spacing) ||
        !(g->thickness >= 0.0f) || !isfinite(g->thickness) || !isfinite(knLengthSquared(extent)))
    {
        return Bad("place or spacing");
    }
    knBox box = knBoundingBox(mesh->nodes, mesh->nodeCount);
    knBox mine = {g->origin, upper};
    if (!knBox_Contains(mine, box.lower) || !knBox_Contains(mine, box.upper))
    {
        return Bad("the mesh does not fit into the grid");
    }
    knVec3 reach = knMax(knMax(knNeg(g->origin), g->origin), knMax(knNeg(upper), upper));
    g->slack = 1e-6f * (knLength(extent) + knLength(reach));
    return kn_success;
}

static knResult CheckArrays(const knDistanceGrid* g)
{
    size_t bricks = (size_t)g->bricks[0] * g->bricks[1] * g->bricks[2];
    uint32_t next = 0;
    for (size_t i = 0; i < bricks; ++i)
    {
        // dense bricks are stored in the order of the directory
        if (g->directory[i] != KN_NONE && g->directory[i] != next++)
        {
            return Bad("the directory");
        }
    }
    if (next != g->denseCount)
    {
        return Bad("bricks without entry in the directory");
    }
    float limit = 4.0f * (float)(g->bricks[0] + g->bricks[1] + g->bricks[2]) *
                  (float)KN_BRICK_CELLS * g->spacing;
    size_t corners =
        ((size_t)g->bricks[0] + 1) * ((size_t)g->bricks[1] + 1) * ((size_t)g->bricks[2] + 1);
    for (size_t i = 0; i < corners; ++i)
    {
        if (!(fabsf(g->coarse[i]) < limit))
        {
            return Bad("a distance is larger than the grid");
        }
    }
    return kn_success;
}

knResult knOpenDistanceGrid(knDistanceGrid* grid, const knTetMesh* mesh, const void* bytes,
                            size_t size)
{
    if (!grid || !mesh || !bytes || mesh->nodeCount == 0 || ((uintptr_t)bytes & 3u) != 0)
    {
        return knFail(kn_errorArgument, "knOpenDistanceGrid: null, empty or unaligned argument");
    }
    const knGridHeader* header = bytes;
    knResult result = size < sizeof *header ? Bad("too short") : CheckHeader(header, size);
    if (result != kn_success)
    {
        return result;
    }
    knDistanceGrid g = LayOut(header);
    result = CheckPlace(&g, mesh);
    result = result == kn_success ? CheckArrays(&g) : result;
    if (result == kn_success)
    {
        *grid = g;
    }
    return result;
}
