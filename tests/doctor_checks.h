// SPDX-License-Identifier: Zlib
#pragma once

// What the tests of the mesh doctor share: its promise checked by counting, and short ways to treat
// a mesh and to say what must have been found.

#include "doctor.h"
#include "kit.h"
#include "shapes.h"

#include <math.h>

static const knVec3 zero = {0.0f, 0.0f, 0.0f};
static const knVec3 one = {1.0f, 1.0f, 1.0f};

static inline void Must(knResult result)
{
    assert_int_equal(result, kn_success);
}

static inline knSoup Box(void)
{
    knSoup soup = knMakeSoup(NULL);
    Must(AddBox(&soup, zero, one));
    return soup;
}

static inline void DropFaces(knSoup* soup, size_t first, size_t end)
{
    bool dropped[4096] = {false};
    for (size_t t = first; t < end; ++t)
    {
        dropped[t] = true;
    }
    Must(knSoup_Compact(soup, dropped));
}

// The oracle of the promise: every directed edge once and its reverse once, every vertex used and
// its triangles in one ring, by counting in plain tables.
static inline void AssertClosed(const knSoup* soup)
{
    size_t n = soup->positionCount;
    assert_true(n > 0 && n <= 4096);
    uint8_t* directed = calloc(n * n, 1);
    uint32_t* next = malloc(n * n * sizeof(uint32_t));
    uint32_t* valence = calloc(n, sizeof(uint32_t));
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        const uint32_t* v = soup->triangles[t].v;
        for (int k = 0; k < 3; ++k)
        {
            size_t edge = v[k] * n + v[(k + 1) % 3];
            directed[edge] += 1;
            next[edge] = v[(k + 2) % 3]; // around v[k], from the one neighbour to the other
            valence[v[k]] += 1;
        }
    }
    for (size_t a = 0; a < n; ++a)
    {
        uint32_t start = KN_NONE, steps = 0;
        for (size_t b = 0; b < n; ++b)
        {
            assert_true(directed[a * n + b] <= 1 && directed[a * n + b] == directed[b * n + a]);
            start = directed[a * n + b] ? (uint32_t)b : start;
        }
        assert_int_not_equal(start, KN_NONE);
        uint32_t at = start;
        do
        {
            at = next[a * n + at];
            steps += 1;
        } while (at != start && steps <= valence[a]);
        assert_int_equal(steps, valence[a]);
    }
    free(directed);
    free(next);
    free(valence);
}

static inline double VolumeOf(const knSoup* soup)
{
    double sum = 0.0;
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        const uint32_t* v = soup->triangles[t].v;
        sum +=
            knTetVolume6(zero, soup->positions[v[0]], soup->positions[v[1]], soup->positions[v[2]]);
    }
    return sum / 6.0;
}

static inline knDoctorReport Treat(knSoup* soup)
{
    knDoctorOptions options = knDefaultDoctorOptions();
    knDoctorReport report;
    Must(knTreatSoup(soup, &options, &report));
    assert_int_equal(report.finalTriangleCount, soup->triangleCount);
    assert_int_equal(report.finalVertexCount, soup->positionCount);
    char text[512];
    knDescribeRefusal(&report, text, sizeof(text));
    assert_int_equal(text[0] == '\0', report.cookable);
    if (report.cookable)
    {
        AssertClosed(soup);
        ASSERT_NEAR(report.volume, VolumeOf(soup), 1e-6 * fabs(report.volume));
        assert_true(report.volume > 0.0);
    }
    return report;
}

// Only the given kinds may be found; the list ends with kn_defectCount.
static inline void AssertOnly(const knDoctorReport* report, const knDefectKind* kinds)
{
    for (int i = 0; i < kn_defectCount; ++i)
    {
        bool expected = false;
        for (const knDefectKind* k = kinds; *k != kn_defectCount; ++k)
        {
            expected = expected || (int)*k == i;
        }
        if (expected != (report->defects[i].count > 0))
        {
            fail_msg("%s: %zu", knDefectName((knDefectKind)i), report->defects[i].count);
        }
    }
}

#define ASSERT_ONLY(report, ...)                                                                   \
    AssertOnly(&(report), (const knDefectKind[]){__VA_ARGS__, kn_defectCount})

// Treats and frees; the mesh must be refused for the given reason, and the sentence must name it.
static inline knDoctorReport AssertRefused(knSoup* soup, knDefectKind kind)
{
    knDoctorReport report = Treat(soup);
    char text[512];
    knDescribeRefusal(&report, text, sizeof(text));
    assert_false(report.cookable);
    assert_int_equal(report.defects[kind].action, kn_actionRefuse);
    assert_true(report.defects[kind].count > 0);
    if (strstr(text, knDefectName(kind)) != text)
    {
        fail_msg("expected %s, was told: %s", knDefectName(kind), text);
    }
    assert_true(strlen(report.defects[kind].note) > 10);
    knDestroySoup(soup);
    return report;
}
