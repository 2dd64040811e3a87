// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

#define MAX_FLIP_ROUNDS 64

static const char dropNote[] = "triangles without area are flipped away or left out";

static bool RepeatsVertex(knTriangle t)
{
    return t.v[0] == t.v[1] || t.v[1] == t.v[2] || t.v[2] == t.v[0];
}

static knTriangle Sorted(knTriangle t)
{
    uint32_t low = t.v[0] < t.v[1] ? t.v[0] : t.v[1], high = t.v[0] < t.v[1] ? t.v[1] : t.v[0];
    low = t.v[2] < low ? t.v[2] : low;
    high = t.v[2] > high ? t.v[2] : high;
    knTriangle s = {{low, t.v[0] ^ t.v[1] ^ t.v[2] ^ low ^ high, high}};
    return s;
}

static bool SameVertices(knTriangle a, knTriangle b)
{
    knTriangle s = Sorted(a), t = Sorted(b);
    return s.v[0] == t.v[0] && s.v[1] == t.v[1] && s.v[2] == t.v[2];
}

// b turns the same way as a, both with the same three vertices
static bool SameWinding(knTriangle a, knTriangle b)
{
    int k = b.v[0] == a.v[0] ? 0 : b.v[1] == a.v[0] ? 1 : 2;
    return b.v[(k + 1) % 3] == a.v[1];
}

// leaders[t] becomes the first triangle with the same vertices.
static bool MapEqualTriangles(const knSoup* soup, uint32_t* table, size_t tableSize,
                              uint32_t* leaders)
{
    bool found = false;
    memset(table, 0xFF, tableSize * sizeof(uint32_t));
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        knTriangle s = Sorted(soup->triangles[t]);
        uint64_t h = (s.v[0] * 0x9E3779B97F4A7C15u) ^ (s.v[1] * 0xBF58476D1CE4E5B9u) ^
                     (s.v[2] * 0x94D049BB133111EBu);
        size_t slot = (h ^ (h >> 32)) & (tableSize - 1);
        while (table[slot] != KN_NONE &&
               !SameVertices(soup->triangles[table[slot]], soup->triangles[t]))
        {
            slot = (slot + 1) & (tableSize - 1);
        }
        found |= table[slot] != KN_NONE;
        if (table[slot] == KN_NONE)
        {
            table[slot] = (uint32_t)t;
        }
        leaders[t] = table[slot];
    }
    return found;
}

// How many triangles have a leader's vertices, turned like it and the other way.
typedef struct Copies
{
    uint32_t same, opposite;
} Copies;

static void CountCopies(const knSoup* soup, const uint32_t* leaders, Copies* copies)
{
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        uint32_t leader = leaders[t];
        bool same = SameWinding(soup->triangles[leader], soup->triangles[t]);
        copies[leader].same += same;
        copies[leader].opposite += !same;
    }
}

// Exporters write every face twice, front and back: then one side is the mesh.
static bool IsDoubledClosed(const knTopology* topology, const uint32_t* leaders,
                            const Copies* copies)
{
    for (size_t t = 0; t < topology->triangleCount; ++t)
    {
        if (copies[leaders[t]].same != 1 || copies[leaders[t]].opposite != 1)
        {
            return false;
        }
    }
    for (size_t e = 0; e < topology->edgeCount; ++e)
    {
        if (knTopology_EdgeSize(topology, e) != 4)
        {
            return false;
        }
    }
    return true;
}

// Back-to-back copies cancel, unless the surface around them would be left with a hole.
static bool IsNeeded(const knTopology* topology, uint32_t leader, Copies copies)
{
    int odd = 0;
    for (uint32_t k = 0; k < 3; ++k)
    {
        uint32_t size = knTopology_EdgeSize(topology, topology->halfEdges[3 * leader + k]);
        odd += (size - copies.same - copies.opposite) % 2 == 1;
    }
    return odd >= 2;
}

static void MarkDuplicates(knDoctor* doctor, const knTopology* topology, const uint32_t* leaders,
                           Copies* copies, bool* dropped)
{
    CountCopies(doctor->soup, leaders, copies);
    bool doubled = IsDoubledClosed(topology, leaders, copies);
    for (size_t t = 0; t < topology->triangleCount; ++t)
    {
        Copies c = copies[leaders[t]];
        if (leaders[t] != t)
        {
            dropped[t] = true;
            knDoctor_FoundTriangle(doctor, kn_defectDuplicateTriangle, t);
        }
        else if (c.opposite > 0 && !doubled)
        {
            dropped[t] = !IsNeeded(topology, (uint32_t)t, c);
        }
    }
    knDoctor_Judge(doctor, kn_defectDuplicateTriangle, kn_actionRepair,
                   "copies are left out; faces back to back cancel");
}

static knResult DropRepeated(knDoctor* doctor, bool* dropped)
{
    const knSoup* soup = doctor->soup;
    bool any = false;
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        dropped[t] = RepeatsVertex(soup->triangles[t]);
        if (dropped[t])
        {
            any = true;
            knDoctor_FoundTriangle(doctor, kn_defectDegenerate, t);
        }
    }
    knDoctor_Judge(doctor, kn_defectDegenerate, kn_actionRepair, dropNote);
    return any ? knDoctor_Drop(doctor, dropped) : kn_success;
}

static knResult DropDuplicates(knDoctor* doctor, uint32_t* leaders, Copies* copies, bool* dropped)
{
    knTopology topology;
    knResult result = knBuildTopology(&topology, doctor->soup);
    if (result == kn_success)
    {
        memset(dropped, 0, doctor->soup->triangleCount * sizeof(bool));
        MarkDuplicates(doctor, &topology, leaders, copies, dropped);
        knDestroyTopology(&topology);
        result = knDoctor_Drop(doctor, dropped);
    }
    return result;
}

knResult knDoctor_CleanTriangles(knDoctor* doctor)
{
    knSoup* soup = doctor->soup;
    const knAllocator* a = &soup->allocator;
    size_t count = soup->triangleCount, tableSize = 16;
    if (doctor->cleaned)
    {
        return kn_success;
    }
    doctor->cleaned = true;
    while (tableSize < 2 * count)
    {
        tableSize *= 2;
    }
    uint32_t* table = knTake(a, tableSize, sizeof(uint32_t));
    uint32_t* leaders = knTake(a, count, sizeof(uint32_t));
    Copies* copies = knTake(a, count, sizeof(Copies));
    bool* dropped = knTake(a, count, sizeof(bool));
    bool ok = table && leaders && copies && dropped;
    knResult result = ok ? DropRepeated(doctor, dropped) : kn_errorMemory;
    if (result == kn_success && MapEqualTriangles(soup, table, tableSize, leaders))
    {
        result = DropDuplicates(doctor, leaders, copies, dropped);
    }
    knGive(a, table, tableSize, sizeof(uint32_t));
    knGive(a, leaders, count, sizeof(uint32_t));
    knGive(a, copies, count, sizeof(Copies));
    knGive(a, dropped, count, sizeof(bool));
    return result;
}

knResult knSoup_MixAttribute(knSoup* soup, uint32_t a, uint32_t b, float t, uint32_t* index)
{
    knCornerAttribute p = soup->attributes[a], q = soup->attributes[b];
    bool both = knLengthSquared(p.normal) > 0.0f && knLengthSquared(q.normal) > 0.0f;
    knVec3 none = {0.0f, 0.0f, 0.0f};
    knCornerAttribute mixed = {
        .normal = both ? knNormalize(knLerp(p.normal, q.normal, t)) : none,
        .u = (1.0f - t) * p.u + t * q.u,
        .v = (1.0f - t) * p.v + t * q.v,
    };
    return knSoup_AddAttribute(soup, mixed, index);
}

static double LengthOf(const knSoup* soup, uint32_t a, uint32_t b)
{
    return knDLength(knDSub(knToDouble(soup->positions[a]), knToDouble(soup->positions[b])));
}

// The half-edge of a flat triangle on which its third vertex lies.
static uint32_t LongHalf(const knSoup* soup, size_t triangle)
{
    const uint32_t* v = soup->triangles[triangle].v;
    double a = LengthOf(soup, v[0], v[1]), b = LengthOf(soup, v[1], v[2]),
           c = LengthOf(soup, v[2], v[0]);
    uint32_t longest = a >= b && a >= c ? 0 : b >= c ? 1 : 2;
    return (uint32_t)(3 * triangle) + longest;
}

// The needle's long edge x y moves to its middle vertex m: the neighbour x y d becomes x m d and
// m y d. `mate` is the neighbour's half-edge.
static knResult FlipNeedle(knSoup* soup, uint32_t needle, uint32_t m, uint32_t mate)
{
    uint32_t n = mate / 3, i = mate % 3, j = (i + 1) % 3, k = (i + 2) % 3;
    knTriangle t = soup->triangles[n], c = soup->corners[n];
    double whole = LengthOf(soup, t.v[i], t.v[j]);
    float part = whole > 0.0 ? (float)(LengthOf(soup, t.v[i], m) / whole) : 0.5f;
    uint32_t middle;
    knResult result = knSoup_MixAttribute(soup, c.v[i], c.v[j], part, &middle);
    if (result == kn_success)
    {
        soup->triangles[n] = (knTriangle){{t.v[i], m, t.v[k]}};
        soup->corners[n] = (knTriangle){{c.v[i], middle, c.v[k]}};
        soup->triangles[needle] = (knTriangle){{m, t.v[j], t.v[k]}};
        soup->corners[needle] = (knTriangle){{middle, c.v[j], c.v[k]}};
        soup->sources[needle] = soup->sources[n];
    }
    return result;
}

typedef struct NeedleState
{
    bool* touched; // this round: the topology no longer holds there
    bool* dropped;
    bool reported;
    bool last; // round: what cannot be flipped is dropped
} NeedleState;

static knResult TreatNeedle(knDoctor* doctor, const knTopology* topology, NeedleState* s,
                            uint32_t needle)
{
    knSoup* soup = doctor->soup;
    uint32_t half = LongHalf(soup, needle);
    uint32_t m = soup->triangles[needle].v[(half + 2) % 3];
    uint32_t mate = knTopology_Mate(topology, half);
    if (mate == KN_NO_HALF || s->last)
    {
        s->dropped[needle] = true;
        return kn_success;
    }
    uint32_t n = mate / 3, apex = topology->triangles[n].v[(mate + 2) % 3];
    if (s->touched[n] || s->touched[needle])
    {
        return kn_success;
    }
    s->touched[n] = s->touched[needle] = true;
    if (apex == m)
    {
        s->dropped[n] = s->dropped[needle] = true;
        return kn_success;
    }
    if (knTopology_HasEdge(topology, m, apex))
    {
        s->dropped[needle] = true;
        return kn_success;
    }
    return FlipNeedle(soup, needle, m, mate);
}

static knResult NeedleRound(knDoctor* doctor, NeedleState* s, bool* any)
{
    knSoup* soup = doctor->soup;
    knTopology topology;
    *any = false;
    for (size_t t = 0; t < soup->triangleCount && !*any; ++t)
    {
        *any = knSoup_IsFlat(soup, doctor->scale, soup->triangles[t]);
    }
    knResult result = *any ? knBuildTopology(&topology, soup) : kn_success;
    if (!*any || result != kn_success)
    {
        return result;
    }
    memset(s->touched, 0, soup->triangleCount * sizeof(bool));
    memset(s->dropped, 0, soup->triangleCount * sizeof(bool));
    for (size_t t = 0; t < soup->triangleCount && result == kn_success; ++t)
    {
        if (!s->touched[t] && knSoup_IsFlat(soup, doctor->scale, soup->triangles[t]))
        {
            if (!s->reported)
            {
                knDoctor_FoundTriangle(doctor, kn_defectDegenerate, t);
            }
            result = TreatNeedle(doctor, &topology, s, (uint32_t)t);
        }
    }
    s->reported = true;
    doctor->cleaned = doctor->rimless = false;
    knDestroyTopology(&topology);
    return result == kn_success ? knDoctor_Drop(doctor, s->dropped) : result;
}

knResult knDoctor_FlipNeedles(knDoctor* doctor)
{
    const knAllocator* a = &doctor->soup->allocator;
    size_t count = doctor->soup->triangleCount;
    bool any = true;
    NeedleState s = {.touched = knTake(a, count, sizeof(bool)),
                     .dropped = knTake(a, count, sizeof(bool))};
    knResult result = s.touched && s.dropped ? kn_success : kn_errorMemory;
    for (int round = 0; any && round < MAX_FLIP_ROUNDS && result == kn_success; ++round)
    {
        s.last = round == MAX_FLIP_ROUNDS - 1;
        result = NeedleRound(doctor, &s, &any);
    }
    knDoctor_Judge(doctor, kn_defectDegenerate, kn_actionRepair, dropNote);
    knGive(a, s.touched, count, sizeof(bool));
    knGive(a, s.dropped, count, sizeof(bool));
    return result;
}
