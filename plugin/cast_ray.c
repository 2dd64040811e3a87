// SPDX-License-Identifier: Zlib
#include "cast_internal.h"

static double Axis(knDVec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

bool knMakeRay(knRay* ray, knVec3 from, knVec3 to)
{
    ray->from = knToDouble(from);
    ray->way = knDSub(knToDouble(to), ray->from);
    knDVec3 w = ray->way;
    if (!knIsFinite(from) || !knIsFinite(to) || (w.x == 0.0 && w.y == 0.0 && w.z == 0.0))
    {
        return false;
    }
    double ax = fabs(w.x), ay = fabs(w.y), az = fabs(w.z);
    ray->z = ax >= ay && ax >= az ? 0 : ay >= az ? 1 : 2;
    ray->x = (ray->z + 1) % 3;
    ray->y = (ray->z + 2) % 3;
    double along = Axis(w, ray->z);
    ray->shear[0] = Axis(w, ray->x) / along;
    ray->shear[1] = Axis(w, ray->y) / along;
    ray->scale = 1.0 / along;
    for (int i = 0; i < 3; ++i)
    {
        ray->inverse[i] = 1.0 / Axis(w, i);
    }
    return true;
}

// The share of the way at which the ray meets the triangle; edges and corners count.
bool knRay_HitTriangle(const knRay* ray, const knVec3 v[3], double* fraction)
{
    double x[3], y[3], z[3];
    for (int i = 0; i < 3; ++i)
    {
        knDVec3 p = knDSub(knToDouble(v[i]), ray->from);
        double along = Axis(p, ray->z);
        x[i] = Axis(p, ray->x) - ray->shear[0] * along;
        y[i] = Axis(p, ray->y) - ray->shear[1] * along;
        z[i] = along * ray->scale;
    }
    double a = x[2] * y[1] - y[2] * x[1];
    double b = x[0] * y[2] - y[0] * x[2];
    double c = x[1] * y[0] - y[1] * x[0];
    if ((a < 0.0 || b < 0.0 || c < 0.0) && (a > 0.0 || b > 0.0 || c > 0.0))
    {
        return false;
    }
    double sum = a + b + c;
    if (sum == 0.0)
    {
        return false;
    }
    *fraction = (a * z[0] + b * z[1] + c * z[2]) / sum;
    return *fraction >= 0.0 && *fraction <= 1.0;
}

// Where the ray enters the box, at most `limit`; false when it misses. Boxes grow a little, so that
// rounding loses nothing.
bool knRay_HitBox(const knRay* ray, const knBox* box, double limit, double* entry)
{
    const double from[3] = {ray->from.x, ray->from.y, ray->from.z};
    const double way[3] = {ray->way.x, ray->way.y, ray->way.z};
    const float lower[3] = {box->lower.x, box->lower.y, box->lower.z};
    const float upper[3] = {box->upper.x, box->upper.y, box->upper.z};
    double near = 0.0, far = limit;
    for (int i = 0; i < 3; ++i)
    {
        double low = (double)lower[i] - from[i], high = (double)upper[i] - from[i];
        if (way[i] == 0.0)
        {
            if (low > 0.0 || high < 0.0)
            {
                return false;
            }
            continue;
        }
        double t0 = low * ray->inverse[i], t1 = high * ray->inverse[i];
        near = fmax(near, fmin(t0, t1) * (1.0 - 1e-12) - 1e-12);
        far = fmin(far, fmax(t0, t1) * (1.0 + 1e-12) + 1e-12);
    }
    *entry = near;
    return near <= far;
}

knVec3 knTriangleNormal(const knVec3 v[3])
{
    knDVec3 o = knToDouble(v[0]);
    knDVec3 n = knDCross(knDSub(knToDouble(v[1]), o), knDSub(knToDouble(v[2]), o));
    double length = knDLength(n);
    return length > 0.0 ? knToFloat(knDScale(1.0 / length, n)) : knMakeVec3(0.0f, 1.0f, 0.0f);
}

// The nearest triangle of a leaf; of two as near, the one with the lower index.
static void HitLeaf(const knPieceMesh* mesh, const knMeshNode* node, const knRay* ray, double* best,
                    uint32_t* triangle)
{
    for (uint32_t i = 0; i < node->count; ++i)
    {
        uint32_t t = mesh->order[node->first + i];
        knVec3 v[3];
        double fraction;
        knPieceMesh_Corners(mesh, t, v);
        if (knRay_HitTriangle(ray, v, &fraction) &&
            (fraction < *best || (fraction == *best && t < *triangle)))
        {
            *best = fraction;
            *triangle = t;
        }
    }
}

typedef struct Visit
{
    uint32_t node;
    double entry;
} Visit;

static void PushNearFirst(const knPieceMesh* mesh, const knRay* ray, uint32_t index, double best,
                          Visit* stack, int* depth)
{
    Visit child[2] = {{index + 1, 0.0}, {mesh->nodes[index].first, 0.0}};
    bool hit[2];
    for (int i = 0; i < 2; ++i)
    {
        hit[i] = knRay_HitBox(ray, &mesh->nodes[child[i].node].box, best, &child[i].entry);
    }
    int near = hit[0] && hit[1] && child[1].entry < child[0].entry ? 1 : 0;
    for (int i = 0; i < 2; ++i)
    {
        int k = i == 0 ? 1 - near : near;
        if (hit[k])
        {
            stack[(*depth)++] = child[k];
        }
    }
}

bool knCastRay(const knPieceMesh* mesh, knVec3 from, knVec3 to, knCastHit* hit)
{
    knRay ray;
    if (!mesh || !hit || mesh->nodeCount == 0 || !knMakeRay(&ray, from, to))
    {
        return false;
    }
    Visit stack[KN_TREE_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0, 0.0};
    double best = 1.0;
    uint32_t triangle = KN_NONE;
    while (depth > 0)
    {
        Visit visit = stack[--depth];
        const knMeshNode* node = &mesh->nodes[visit.node];
        if (visit.entry > best)
        {
            continue;
        }
        if (node->count > 0)
        {
            HitLeaf(mesh, node, &ray, &best, &triangle);
            continue;
        }
        PushNearFirst(mesh, &ray, visit.node, best, stack, &depth);
    }
    if (triangle == KN_NONE)
    {
        return false;
    }
    knVec3 v[3];
    knPieceMesh_Corners(mesh, triangle, v);
    *hit = (knCastHit){(float)best, knToFloat(knDAdd(ray.from, knDScale(best, ray.way))),
                       knTriangleNormal(v), triangle, mesh->sources[triangle].isInterior};
    return true;
}

// Crossings of one ray; `isVague` when it grazes an edge or a corner.
static uint32_t CountCrossings(const knPieceMesh* mesh, const knRay* ray, bool* isVague)
{
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    uint32_t count = 0;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &mesh->nodes[index];
        double entry, fraction;
        if (!knRay_HitBox(ray, &node->box, 1.0, &entry))
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            knVec3 v[3];
            knPieceMesh_Corners(mesh, mesh->order[node->first + i], v);
            if (knRay_HitTriangle(ray, v, &fraction))
            {
                float weights[3];
                knVec3 p = knToFloat(knDAdd(ray->from, knDScale(fraction, ray->way)));
                knNearestOnTriangle(p, v, weights);
                float least = fminf(weights[0], fminf(weights[1], weights[2]));
                *isVague = *isVague || least < 1e-4f;
                count += 1;
            }
        }
        if (node->count == 0)
        {
            stack[depth++] = node->first;
            stack[depth++] = index + 1;
        }
    }
    return count;
}

bool knPieceMesh_Contains(const knPieceMesh* mesh, knVec3 p)
{
    // fixed directions with nothing in common with any mesh; the first that grazes nothing decides
    static const knVec3 directions[6] = {
        {0.7401f, 0.3329f, 0.5844f},   {-0.4127f, 0.8213f, 0.3939f}, {0.1931f, -0.6217f, 0.7591f},
        {-0.8839f, -0.2113f, 0.4172f}, {0.3571f, 0.4409f, -0.8234f}, {-0.2719f, 0.1543f, -0.9498f}};
    if (!mesh || mesh->nodeCount == 0 || !knBox_Contains(mesh->nodes[0].box, p))
    {
        return false;
    }
    bool answer = false;
    for (int i = 0; i < 6; ++i)
    {
        knRay ray;
        bool isVague = false;
        if (!knMakeRay(&ray, p, knAddScaled(p, 4.0f * mesh->radius, directions[i])))
        {
            return false;
        }
        answer = CountCrossings(mesh, &ray, &isVague) % 2 == 1;
        if (!isVague)
        {
            return answer;
        }
    }
    return answer;
}
