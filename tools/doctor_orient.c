// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

knResult knSoup_TurnTriangle(knSoup* soup, size_t triangle)
{
    uint32_t* v = soup->triangles[triangle].v;
    uint32_t* c = soup->corners[triangle].v;
    uint32_t vertex = v[1], corner = c[1];
    v[1] = v[2], v[2] = vertex;
    c[1] = c[2], c[2] = corner;
    knDVec3 o = knToDouble(soup->positions[v[0]]);
    knDVec3 area = knDCross(knDSub(knToDouble(soup->positions[v[1]]), o),
                            knDSub(knToDouble(soup->positions[v[2]]), o));
    knResult result = kn_success;
    for (int k = 0; k < 3 && result == kn_success; ++k)
    {
        // other triangles may use the attribute and be right with it
        knCornerAttribute attribute = soup->attributes[c[k]];
        if (knDDot(area, knToDouble(attribute.normal)) < 0.0)
        {
            attribute.normal = knNeg(attribute.normal);
            result = knSoup_AddAttribute(soup, attribute, &c[k]);
        }
    }
    return result;
}

// Flood over edges with two triangles; a sheet is what one flood reaches.
typedef struct Flood
{
    knDoctor* doctor;
    const knTopology* topology;
    uint32_t* queue;
    bool* seen;
    bool* turned; // against the first triangle of the sheet
} Flood;

static size_t FloodSheet(Flood* f, uint32_t seed)
{
    const knTopology* t = f->topology;
    size_t head = 0, count = 0;
    f->queue[count++] = seed;
    f->seen[seed] = true;
    while (head < count)
    {
        uint32_t triangle = f->queue[head++];
        for (uint32_t k = 0; k < 3; ++k)
        {
            uint32_t half = 3 * triangle + k, mate = knTopology_Mate(t, half);
            if (mate == KN_NO_HALF || f->seen[mate / 3])
            {
                continue;
            }
            // good neighbours run along their edge in opposite directions
            bool agree = knTopology_Origin(t, half) != knTopology_Origin(t, mate);
            f->seen[mate / 3] = true;
            f->turned[mate / 3] = f->turned[triangle] != !agree;
            f->queue[count++] = mate / 3;
        }
    }
    return count;
}

// The minority is what is wrong.
static void ChooseMinority(Flood* f, size_t count)
{
    size_t turned = 0;
    for (size_t i = 0; i < count; ++i)
    {
        turned += f->turned[f->queue[i]];
    }
    for (size_t i = 0; 2 * turned > count && i < count; ++i)
    {
        f->turned[f->queue[i]] = !f->turned[f->queue[i]];
    }
}

static void FindContradictions(Flood* f)
{
    const knTopology* t = f->topology;
    for (uint32_t half = 0; half < 3 * t->triangleCount; ++half)
    {
        uint32_t mate = knTopology_Mate(t, half);
        if (mate == KN_NO_HALF || mate < half)
        {
            continue;
        }
        bool agree = knTopology_Origin(t, half) != knTopology_Origin(t, mate);
        if ((f->turned[half / 3] != f->turned[mate / 3]) == agree)
        {
            knDoctor_FoundTriangle(f->doctor, kn_defectNotOrientable, half / 3);
        }
    }
    knDoctor_Judge(f->doctor, kn_defectNotOrientable, kn_actionRefuse,
                   "a one-sided surface has no inside: rebuild it as a solid in your modelling "
                   "tool");
}

static knResult TurnFlagged(knDoctor* doctor, const bool* turned)
{
    knResult result = kn_success;
    for (size_t t = 0; t < doctor->soup->triangleCount && result == kn_success; ++t)
    {
        if (turned[t])
        {
            knDoctor_FoundTriangle(doctor, kn_defectFlipped, t);
            result = knSoup_TurnTriangle(doctor->soup, t);
        }
    }
    knDoctor_Judge(doctor, kn_defectFlipped, kn_actionRepair,
                   "they are turned to agree with the majority around them");
    return result;
}

static knResult OrientSheets(Flood* f)
{
    for (uint32_t t = 0; t < f->topology->triangleCount; ++t)
    {
        if (!f->seen[t])
        {
            ChooseMinority(f, FloodSheet(f, t));
        }
    }
    FindContradictions(f);
    bool stuck = knDoctor_Has(f->doctor, kn_defectNotOrientable);
    return stuck ? kn_success : TurnFlagged(f->doctor, f->turned);
}

knResult knDoctor_Orient(knDoctor* doctor)
{
    const knAllocator* a = &doctor->soup->allocator;
    size_t count = doctor->soup->triangleCount;
    knTopology topology;
    knResult result = knBuildTopology(&topology, doctor->soup);
    if (result != kn_success)
    {
        return result;
    }
    Flood f = {.doctor = doctor,
               .topology = &topology,
               .queue = knTake(a, count, sizeof(uint32_t)),
               .seen = knTake(a, count, sizeof(bool)),
               .turned = knTake(a, count, sizeof(bool))};
    result = f.queue && f.seen && f.turned ? OrientSheets(&f) : kn_errorMemory;
    knGive(a, f.queue, count, sizeof(uint32_t));
    knGive(a, f.seen, count, sizeof(bool));
    knGive(a, f.turned, count, sizeof(bool));
    knDestroyTopology(&topology);
    return result;
}

double knDoctor_Volume(const knDoctor* doctor)
{
    const knSoup* soup = doctor->soup;
    knDVec3 o = knToDouble(knBox_Center(doctor->report->bounds));
    double sum = 0.0;
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        knDVec3 p[3];
        for (int k = 0; k < 3; ++k)
        {
            p[k] = knDSub(knToDouble(soup->positions[soup->triangles[t].v[k]]), o);
        }
        sum += knDDot(knDCross(p[0], p[1]), p[2]);
    }
    return sum / 6.0;
}

double knSoup_TriangleArea(const knSoup* soup, size_t triangle)
{
    const uint32_t* v = soup->triangles[triangle].v;
    knDVec3 o = knToDouble(soup->positions[v[0]]);
    knDVec3 cross = knDCross(knDSub(knToDouble(soup->positions[v[1]]), o),
                             knDSub(knToDouble(soup->positions[v[2]]), o));
    return 0.5 * knDLength(cross);
}
