// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#include <simde/x86/avx2.h>

// Eight lanes of the box distance and of the dense grid, operation by operation as the scalar code,
// so that every lane has its bits. simde turns it into whatever the compiler's target has.

typedef simde__m256 F8;
typedef simde__m256i I8;

static F8 Set(float x)
{
    return simde_mm256_set1_ps(x);
}

static F8 Add(F8 a, F8 b)
{
    return simde_mm256_add_ps(a, b);
}

static F8 Sub(F8 a, F8 b)
{
    return simde_mm256_sub_ps(a, b);
}

static F8 Mul(F8 a, F8 b)
{
    return simde_mm256_mul_ps(a, b);
}

// a > b ? a : b, as the scalar code has it
static F8 Max(F8 a, F8 b)
{
    return simde_mm256_max_ps(a, b);
}

static F8 Length(F8 x, F8 y, F8 z)
{
    return simde_mm256_sqrt_ps(Add(Add(Mul(x, x), Mul(y, y)), Mul(z, z)));
}

typedef struct Points
{
    F8 x, y, z;
} Points;

static Points Load(const knPoints8* points)
{
    return (Points){simde_mm256_loadu_ps(points->x), simde_mm256_loadu_ps(points->y),
                    simde_mm256_loadu_ps(points->z)};
}

static F8 BoxGap8(const knBox* box, Points p)
{
    F8 zero = simde_mm256_setzero_ps();
    F8 x = Max(Sub(Set(box->lower.x), p.x), Sub(p.x, Set(box->upper.x)));
    F8 y = Max(Sub(Set(box->lower.y), p.y), Sub(p.y, Set(box->upper.y)));
    F8 z = Max(Sub(Set(box->lower.z), p.z), Sub(p.z, Set(box->upper.z)));
    return Length(Max(x, zero), Max(y, zero), Max(z, zero));
}

typedef struct Cells8
{
    float v[8][8]; // corner, lane
    float u[3][8];
    float spacing[8], error[8];
} Cells8;

// Addresses differ per lane: this part stays scalar.
static void Gather(const knDistanceGrid* grid, F8 qx, F8 qy, F8 qz, Cells8* cells)
{
    float q[3][8];
    simde_mm256_storeu_ps(q[0], qx);
    simde_mm256_storeu_ps(q[1], qy);
    simde_mm256_storeu_ps(q[2], qz);
    for (int lane = 0; lane < 8; ++lane)
    {
        const float place[3] = {q[0][lane], q[1][lane], q[2][lane]};
        knGridCell cell;
        knDistanceGrid_LoadCell(grid, place, &cell);
        for (int i = 0; i < 8; ++i)
        {
            cells->v[i][lane] = cell.v[i];
        }
        for (int a = 0; a < 3; ++a)
        {
            cells->u[a][lane] = cell.u[a];
        }
        cells->spacing[lane] = cell.spacing;
        cells->error[lane] = cell.error;
    }
}

typedef struct Samples8
{
    F8 distance, error, gx, gy, gz;
} Samples8;

static Samples8 Interpolate8(const Cells8* c)
{
    F8 v[8];
    for (int i = 0; i < 8; ++i)
    {
        v[i] = simde_mm256_loadu_ps(c->v[i]);
    }
    F8 x = simde_mm256_loadu_ps(c->u[0]), y = simde_mm256_loadu_ps(c->u[1]);
    F8 z = simde_mm256_loadu_ps(c->u[2]), spacing = simde_mm256_loadu_ps(c->spacing);
    F8 dx00 = Sub(v[1], v[0]), dx10 = Sub(v[3], v[2]), dx01 = Sub(v[5], v[4]);
    F8 dx11 = Sub(v[7], v[6]);
    F8 v00 = Add(v[0], Mul(x, dx00)), v10 = Add(v[2], Mul(x, dx10));
    F8 v01 = Add(v[4], Mul(x, dx01)), v11 = Add(v[6], Mul(x, dx11));
    F8 dy0 = Sub(v10, v00), dy1 = Sub(v11, v01);
    F8 v0 = Add(v00, Mul(y, dy0)), v1 = Add(v01, Mul(y, dy1));
    F8 gx0 = Add(dx00, Mul(y, Sub(dx10, dx00))), gx1 = Add(dx01, Mul(y, Sub(dx11, dx01)));
    F8 one = Set(1.0f), inverse = simde_mm256_div_ps(one, spacing);
    Samples8 s;
    s.distance = Add(v0, Mul(z, Sub(v1, v0)));
    s.gx = Mul(Add(gx0, Mul(z, Sub(gx1, gx0))), inverse);
    s.gy = Mul(Add(dy0, Mul(z, Sub(dy1, dy0))), inverse);
    s.gz = Mul(Sub(v1, v0), inverse);
    F8 spread = Add(Add(Mul(x, Sub(one, x)), Mul(y, Sub(one, y))), Mul(z, Sub(one, z)));
    F8 root = simde_mm256_sqrt_ps(Max(spread, simde_mm256_setzero_ps()));
    s.error = Add(Mul(spacing, root), simde_mm256_loadu_ps(c->error));
    return s;
}

static F8 Clamp8(F8 x, float upper)
{
    return simde_mm256_min_ps(Max(x, simde_mm256_setzero_ps()), Set(upper));
}

static Samples8 Sample8(const knDistanceGrid* grid, Points p)
{
    F8 inverse = Set(1.0f / grid->spacing);
    F8 tx = Mul(Sub(p.x, Set(grid->origin.x)), inverse);
    F8 ty = Mul(Sub(p.y, Set(grid->origin.y)), inverse);
    F8 tz = Mul(Sub(p.z, Set(grid->origin.z)), inverse);
    F8 qx = Clamp8(tx, (float)(grid->bricks[0] * KN_BRICK_CELLS));
    F8 qy = Clamp8(ty, (float)(grid->bricks[1] * KN_BRICK_CELLS));
    F8 qz = Clamp8(tz, (float)(grid->bricks[2] * KN_BRICK_CELLS));
    Cells8 cells;
    Gather(grid, qx, qy, qz, &cells);
    Samples8 s = Interpolate8(&cells);
    F8 beyond = Mul(Length(Sub(tx, qx), Sub(ty, qy), Sub(tz, qz)), Set(grid->spacing));
    F8 outside = simde_mm256_cmp_ps(beyond, simde_mm256_setzero_ps(), SIMDE_CMP_GT_OQ);
    s.error = Add(Add(s.error, simde_mm256_and_ps(outside, s.distance)), Set(grid->slack));
    s.distance = Add(s.distance, beyond);
    return s;
}

static knVec3 Lane(const knPoints8* points, int lane)
{
    return knMakeVec3(points->x[lane], points->y[lane], points->z[lane]);
}

static uint8_t InBox8(const knFieldQuery* query, const knPoints8* points)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    if (!record)
    {
        return 0;
    }
    Points p = Load(points);
    const knBox* b = &record->box;
    F8 in = simde_mm256_cmp_ps(Set(b->lower.x), p.x, SIMDE_CMP_LE_OQ);
    in = simde_mm256_and_ps(in, simde_mm256_cmp_ps(p.x, Set(b->upper.x), SIMDE_CMP_LE_OQ));
    in = simde_mm256_and_ps(in, simde_mm256_cmp_ps(Set(b->lower.y), p.y, SIMDE_CMP_LE_OQ));
    in = simde_mm256_and_ps(in, simde_mm256_cmp_ps(p.y, Set(b->upper.y), SIMDE_CMP_LE_OQ));
    in = simde_mm256_and_ps(in, simde_mm256_cmp_ps(Set(b->lower.z), p.z, SIMDE_CMP_LE_OQ));
    in = simde_mm256_and_ps(in, simde_mm256_cmp_ps(p.z, Set(b->upper.z), SIMDE_CMP_LE_OQ));
    return (uint8_t)simde_mm256_movemask_ps(in);
}

static uint64_t CountLanes(uint8_t mask)
{
    uint64_t count = 0;
    for (int lane = 0; lane < 8; ++lane)
    {
        count += mask >> lane & 1;
    }
    return count;
}

// `samples` are those of the grid, when any point is in the box.
static uint8_t InsidePoints8(knFieldQuery* query, const knPoints8* points, uint8_t mask,
                             knTetPoint tets[8], Samples8* samples)
{
    uint8_t in = InBox8(query, points) & mask, result = 0;
    if (in != 0)
    {
        *samples = Sample8(&query->field->grid, Load(points));
        F8 out = simde_mm256_cmp_ps(Sub(samples->distance, samples->error),
                                    simde_mm256_setzero_ps(), SIMDE_CMP_GT_OQ);
        uint8_t outside = (uint8_t)simde_mm256_movemask_ps(out) & in;
        query->counters.located[kn_locateOutside] += CountLanes(outside);
        in = (uint8_t)(in & ~outside);
    }
    for (int lane = 0; lane < 8; ++lane)
    {
        query->counters.insideTests += mask >> lane & 1;
        if (in >> lane & 1 && knQueryInside(query, Lane(points, lane), &tets[lane]))
        {
            result |= (uint8_t)(1 << lane);
        }
    }
    return result;
}

static uint8_t InsideScalar8(knFieldQuery* query, const knPoints8* points, uint8_t mask)
{
    uint8_t result = 0;
    for (int lane = 0; lane < 8; ++lane)
    {
        if (mask >> lane & 1 && knFieldQuery_Inside(query, Lane(points, lane)))
        {
            result |= (uint8_t)(1 << lane);
        }
    }
    return result;
}

uint8_t knFieldQuery_Inside8(knFieldQuery* query, const knPoints8* points, uint8_t mask)
{
    knTetPoint tets[8];
    Samples8 samples;
    return query->field->def.scalar ? InsideScalar8(query, points, mask)
                                    : InsidePoints8(query, points, mask, tets, &samples);
}

static void StoreContact(knContacts8* contacts, int lane, const knFieldContact* c)
{
    contacts->distance[lane] = c->distance;
    contacts->nx[lane] = c->normal.x;
    contacts->ny[lane] = c->normal.y;
    contacts->nz[lane] = c->normal.z;
    contacts->source[lane] = (uint8_t)c->source;
}

static uint8_t PenetrationScalar8(knFieldQuery* query, const knPoints8* points, uint8_t mask,
                                  knContacts8* contacts)
{
    uint8_t result = 0;
    for (int lane = 0; lane < 8; ++lane)
    {
        knFieldContact c;
        if (mask >> lane & 1 && knFieldQuery_Penetration(query, Lane(points, lane), &c))
        {
            StoreContact(contacts, lane, &c);
            result |= (uint8_t)(1 << lane);
        }
    }
    return result;
}

uint8_t knFieldQuery_Penetration8(knFieldQuery* query, const knPoints8* points, uint8_t mask,
                                  knContacts8* contacts)
{
    if (query->field->def.scalar)
    {
        return PenetrationScalar8(query, points, mask, contacts);
    }
    knTetPoint tets[8];
    Samples8 s;
    uint8_t inside = InsidePoints8(query, points, mask, tets, &s);
    if (inside == 0)
    {
        return 0;
    }
    float distance[8], gx[8], gy[8], gz[8];
    simde_mm256_storeu_ps(distance, s.distance);
    simde_mm256_storeu_ps(gx, s.gx);
    simde_mm256_storeu_ps(gy, s.gy);
    simde_mm256_storeu_ps(gz, s.gz);
    for (int lane = 0; lane < 8; ++lane)
    {
        if (inside >> lane & 1)
        {
            knGridSample sample = {distance[lane], 0.0f, {gx[lane], gy[lane], gz[lane]}};
            knFieldContact c;
            knQueryPenetration(query, Lane(points, lane), &tets[lane], &sample, &c);
            StoreContact(contacts, lane, &c);
        }
    }
    return inside;
}

static uint8_t SphereScalar8(knFieldQuery* query, const knPoints8* points, const float radius[8],
                             uint8_t mask)
{
    uint8_t result = 0;
    for (int lane = 0; lane < 8; ++lane)
    {
        if (mask >> lane & 1 && knFieldQuery_SphereTest(query, Lane(points, lane), radius[lane]))
        {
            result |= (uint8_t)(1 << lane);
        }
    }
    return result;
}

// The lanes that neither box nor grid can cull.
static uint8_t SphereBounds8(knFieldQuery* query, const knFragmentRecord* record,
                             const knPoints8* points, const float radius[8], uint8_t mask)
{
    const knDistanceGrid* grid = &query->field->grid;
    Points p = Load(points);
    F8 r = simde_mm256_loadu_ps(radius);
    F8 reach = Add(Mul(r, Set(1.00001f)), Set(grid->slack));
    F8 far = simde_mm256_cmp_ps(BoxGap8(&record->box, p), reach, SIMDE_CMP_GT_OQ);
    uint8_t culled = (uint8_t)simde_mm256_movemask_ps(far) & mask;
    query->counters.culledByBox += CountLanes(culled);
    mask = (uint8_t)(mask & ~culled);
    if (mask == 0)
    {
        return 0;
    }
    Samples8 s = Sample8(grid, p);
    far = simde_mm256_cmp_ps(Sub(s.distance, s.error), r, SIMDE_CMP_GT_OQ);
    culled = (uint8_t)simde_mm256_movemask_ps(far) & mask;
    query->counters.culledByGrid += CountLanes(culled);
    return (uint8_t)(mask & ~culled);
}

uint8_t knFieldQuery_SphereTest8(knFieldQuery* query, const knPoints8* points,
                                 const float radius[8], uint8_t mask)
{
    if (query->field->def.scalar)
    {
        return SphereScalar8(query, points, radius, mask);
    }
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    query->counters.sphereTests += CountLanes(mask);
    if (!record)
    {
        query->counters.culledByBox += CountLanes(mask);
        return 0;
    }
    uint8_t left = SphereBounds8(query, record, points, radius, mask), result = 0;
    for (int lane = 0; lane < 8; ++lane)
    {
        if (left >> lane & 1 && knQuerySphereRest(query, record, Lane(points, lane), radius[lane]))
        {
            result |= (uint8_t)(1 << lane);
        }
    }
    return result;
}
