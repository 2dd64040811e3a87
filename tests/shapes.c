// SPDX-License-Identifier: Zlib
#include "shapes.h"

#include <math.h>

#define TAU 6.283185307f

knResult AddFace(knSoup* soup, uint32_t a, uint32_t b, uint32_t c)
{
    knTriangle triangle = {{a, b, c}}, corners = {{0, 0, 0}};
    knResult result = kn_success;
    for (int k = 0; k < 3 && result == kn_success; ++k)
    {
        knCornerAttribute attribute = {.u = (float)(k == 1), .v = (float)(k == 2)};
        result = knSoup_AddAttribute(soup, attribute, &corners.v[k]);
    }
    return result == kn_success
               ? knSoup_AddTriangle(soup, triangle, corners, (uint32_t)soup->triangleCount)
               : result;
}

static knResult AddPoint(knSoup* soup, float x, float y, float z)
{
    return knSoup_AddPosition(soup, knMakeVec3(x, y, z), NULL);
}

static knResult AddQuad(knSoup* soup, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    knResult result = AddFace(soup, a, b, c);
    return result == kn_success ? AddFace(soup, a, c, d) : result;
}

knResult AddBox(knSoup* soup, knVec3 lower, knVec3 upper)
{
    static const uint32_t sides[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    uint32_t first = (uint32_t)soup->positionCount;
    knResult result = kn_success;
    for (unsigned i = 0; i < 8 && result == kn_success; ++i)
    {
        result = AddPoint(soup, i & 1 ? upper.x : lower.x, i & 2 ? upper.y : lower.y,
                          i & 4 ? upper.z : lower.z);
    }
    for (int i = 0; i < 6 && result == kn_success; ++i)
    {
        const uint32_t* s = sides[i];
        result = AddQuad(soup, first + s[0], first + s[1], first + s[2], first + s[3]);
    }
    return result;
}

// The part of a side of an octant-like triangle: a, b, c cut into n^2 triangles on the sphere.
static knResult AddSpherePatch(knSoup* soup, const knVec3 corner[3], knVec3 center, float radius,
                               int n)
{
    uint32_t first = (uint32_t)soup->positionCount;
    knResult result = kn_success;
    for (int i = 0; i <= n && result == kn_success; ++i)
    {
        for (int j = 0; j <= n - i && result == kn_success; ++j)
        {
            knVec3 p = knScale((float)(n - i - j), corner[0]);
            p = knAddScaled(p, (float)i, corner[1]);
            p = knNormalize(knAddScaled(p, (float)j, corner[2]));
            result = knSoup_AddPosition(soup, knAddScaled(center, radius, p), NULL);
        }
    }
    for (int i = 0; i < n; ++i)
    {
        uint32_t row = first + (uint32_t)(i * (n + 1) - i * (i - 1) / 2);
        uint32_t above = row + (uint32_t)(n - i + 1);
        for (uint32_t j = 0; j < (uint32_t)(n - i) && result == kn_success; ++j)
        {
            result = AddFace(soup, row + j, above + j, row + j + 1);
            if (result == kn_success && j + 1 < (uint32_t)(n - i))
            {
                result = AddFace(soup, row + j + 1, above + j, above + j + 1);
            }
        }
    }
    return result;
}

// Vertices in the same place become one, by comparing all with all.
static void WeldFrom(knSoup* soup, size_t firstVertex, size_t firstTriangle)
{
    for (size_t t = firstTriangle; t < soup->triangleCount; ++t)
    {
        for (int k = 0; k < 3; ++k)
        {
            uint32_t* v = &soup->triangles[t].v[k];
            for (uint32_t other = (uint32_t)firstVertex; other < *v; ++other)
            {
                if (knDistance(soup->positions[other], soup->positions[*v]) < 1e-5f)
                {
                    *v = other;
                }
            }
        }
    }
}

knResult AddSphere(knSoup* soup, knVec3 center, float radius, int level)
{
    static const int faces[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                     {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                     {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                     {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
    const float g = 1.618033989f;
    const knVec3 points[12] = {{-1, g, 0}, {1, g, 0}, {-1, -g, 0}, {1, -g, 0},
                               {0, -1, g}, {0, 1, g}, {0, -1, -g}, {0, 1, -g},
                               {g, 0, -1}, {g, 0, 1}, {-g, 0, -1}, {-g, 0, 1}};
    size_t firstVertex = soup->positionCount, firstTriangle = soup->triangleCount;
    knResult result = kn_success;
    for (int i = 0; i < 20 && result == kn_success; ++i)
    {
        const knVec3 corner[3] = {points[faces[i][0]], points[faces[i][1]], points[faces[i][2]]};
        result = AddSpherePatch(soup, corner, center, radius, 1 << level);
    }
    if (result == kn_success)
    {
        WeldFrom(soup, firstVertex, firstTriangle);
        result = knSoup_Compact(soup, NULL);
    }
    return result;
}

knResult AddTorus(knSoup* soup, float radius, float thickness, int around, int across)
{
    uint32_t first = (uint32_t)soup->positionCount, m = (uint32_t)around, n = (uint32_t)across;
    knResult result = kn_success;
    for (uint32_t i = 0; i < m * n && result == kn_success; ++i)
    {
        float a = TAU * (float)(i / n) / (float)m, b = TAU * (float)(i % n) / (float)n;
        float r = radius + thickness * cosf(b);
        result = AddPoint(soup, r * cosf(a), r * sinf(a), thickness * sinf(b));
    }
    for (uint32_t i = 0; i < m * n && result == kn_success; ++i)
    {
        uint32_t j = (i / n + 1) % m * n, k = (i % n + 1) % n;
        result = AddQuad(soup, first + i, first + j + i % n, first + j + k, first + i / n * n + k);
    }
    return result;
}

knResult AddSheet(knSoup* soup, int cells, float bend)
{
    uint32_t first = (uint32_t)soup->positionCount, n = (uint32_t)cells + 1;
    knResult result = kn_success;
    for (uint32_t i = 0; i < n * n && result == kn_success; ++i)
    {
        float x = (float)(i % n) / (float)cells, y = (float)(i / n) / (float)cells;
        result = AddPoint(soup, x, y, bend * x * (1.0f - x) * y * (1.0f - y));
    }
    for (uint32_t i = 0; i < n * n && result == kn_success; ++i)
    {
        if (i % n + 1 < n && i / n + 1 < n)
        {
            result = AddQuad(soup, first + i, first + i + 1, first + i + n + 1, first + i + n);
        }
    }
    return result;
}

knResult AddMoebius(knSoup* soup, int segments)
{
    uint32_t first = (uint32_t)soup->positionCount, n = (uint32_t)segments;
    knResult result = kn_success;
    for (uint32_t i = 0; i < 2 * n && result == kn_success; ++i)
    {
        float a = TAU * (float)(i / 2) / (float)n, w = i % 2 ? 0.3f : -0.3f;
        float r = 1.0f + w * cosf(0.5f * a);
        result = AddPoint(soup, r * cosf(a), r * sinf(a), w * sinf(0.5f * a));
    }
    for (uint32_t i = 0; i < n && result == kn_success; ++i)
    {
        uint32_t j = (i + 1) % n, twist = i + 1 == n;
        result = AddQuad(soup, first + 2 * i, first + 2 * i + 1, first + 2 * j + 1 - twist,
                         first + 2 * j + twist);
    }
    return result;
}

knResult AddKlein(knSoup* soup, int around, int across)
{
    uint32_t first = (uint32_t)soup->positionCount, m = (uint32_t)around, n = (uint32_t)across;
    knResult result = kn_success;
    for (uint32_t i = 0; i < m * n && result == kn_success; ++i)
    {
        // the figure-8 immersion
        float u = TAU * (float)(i / n) / (float)m, v = TAU * (float)(i % n) / (float)n;
        float w = cosf(0.5f * u) * sinf(v) - sinf(0.5f * u) * sinf(2.0f * v);
        result = AddPoint(soup, (2.0f + w) * cosf(u), (2.0f + w) * sinf(u),
                          sinf(0.5f * u) * sinf(v) + cosf(0.5f * u) * sinf(2.0f * v));
    }
    for (uint32_t i = 0; i < m * n && result == kn_success; ++i)
    {
        uint32_t j = i / n + 1, a = i % n, b = (a + 1) % n;
        bool last = j == m;
        uint32_t c = last ? (n - b) % n : b, d = last ? (n - a) % n : a;
        result = AddQuad(soup, first + i, first + i / n * n + b, first + j % m * n + c,
                         first + j % m * n + d);
    }
    return result;
}

knResult AddHub(knSoup* soup, int sides)
{
    uint32_t first = (uint32_t)soup->positionCount, n = (uint32_t)sides;
    knResult result = AddPoint(soup, 0.0f, 0.0f, 1.0f);
    result = result == kn_success ? AddPoint(soup, 0.0f, 0.0f, -1.0f) : result;
    for (uint32_t i = 0; i < n && result == kn_success; ++i)
    {
        float a = TAU * (float)i / (float)n;
        result = AddPoint(soup, cosf(a), sinf(a), 0.0f);
    }
    for (uint32_t i = 0; i < n && result == kn_success; ++i)
    {
        uint32_t p = first + 2 + i, q = first + 2 + (i + 1) % n;
        result = AddFace(soup, first, p, q);
        result = result == kn_success ? AddFace(soup, first + 1, q, p) : result;
    }
    return result;
}

knResult Unweld(knSoup* soup)
{
    knResult result = kn_success;
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        for (int k = 0; k < 3 && result == kn_success; ++k)
        {
            uint32_t copy = 0;
            result = knSoup_AddPosition(soup, soup->positions[soup->triangles[t].v[k]], &copy);
            soup->triangles[t].v[k] = result == kn_success ? copy : soup->triangles[t].v[k];
        }
    }
    return result == kn_success ? knSoup_Compact(soup, NULL) : result;
}

void TurnFaces(knSoup* soup, size_t first, size_t end)
{
    for (size_t t = first; t < end; ++t)
    {
        uint32_t* v = soup->triangles[t].v;
        uint32_t swapped = v[1];
        v[1] = v[2];
        v[2] = swapped;
    }
}

void MoveSoup(knSoup* soup, float scale, knVec3 offset)
{
    for (size_t i = 0; i < soup->positionCount; ++i)
    {
        soup->positions[i] = knAddScaled(offset, scale, soup->positions[i]);
    }
}
