// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// In the order in which a refusal is told: what hides the rest comes first.
static const knDefectKind severity[kn_defectCount] = {
    kn_defectEmpty,           kn_defectBadIndex,          kn_defectNotFinite,
    kn_defectScale,           kn_defectNotOrientable,     kn_defectZeroVolume,
    kn_defectNonManifoldEdge, kn_defectNonManifoldVertex, kn_defectHole,
    kn_defectTJunction,       kn_defectSelfIntersection,  kn_defectSeveralComponents,
    kn_defectDegenerate,      kn_defectDuplicateTriangle, kn_defectFlipped,
    kn_defectInsideOut,       kn_defectDuplicateVertex,   kn_defectUnreferenced,
};

typedef struct DefectWords
{
    const char* name;
    const char* one; // what is counted
    const char* many;
} DefectWords;

static const DefectWords words[kn_defectCount] = {
    [kn_defectEmpty] = {"empty", "mesh has no triangles", "meshes have no triangles"},
    [kn_defectBadIndex] = {"bad-index", "triangle names a vertex that is not there",
                           "triangles name vertices that are not there"},
    [kn_defectNotFinite] = {"not-finite", "vertex is not a finite point",
                            "vertices are not finite points"},
    [kn_defectUnreferenced] = {"unreferenced-vertex", "vertex has no triangle",
                               "vertices have no triangle"},
    [kn_defectDuplicateVertex] = {"duplicate-vertex", "vertex lies where another one does",
                                  "vertices lie where others do"},
    [kn_defectDegenerate] = {"degenerate-triangle", "triangle has no area",
                             "triangles have no area"},
    [kn_defectDuplicateTriangle] = {"duplicate-triangle", "triangle is there more than once",
                                    "triangles are there more than once"},
    [kn_defectTJunction] = {"t-junction", "vertex lies in the middle of an open edge",
                            "vertices lie in the middle of open edges"},
    [kn_defectHole] = {"hole", "rim of open edges", "rims of open edges"},
    [kn_defectNonManifoldEdge] = {"non-manifold-edge", "edge has more than two triangles",
                                  "edges have more than two triangles"},
    [kn_defectNonManifoldVertex] = {"non-manifold-vertex",
                                    "vertex joins parts that share nothing else",
                                    "vertices join parts that share nothing else"},
    [kn_defectFlipped] = {"flipped", "triangle faces the other way than its neighbours",
                          "triangles face the other way than their neighbours"},
    [kn_defectNotOrientable] = {"not-orientable", "edge where inside meets outside",
                                "edges where inside meets outside"},
    [kn_defectInsideOut] = {"inside-out", "component is inside out", "components are inside out"},
    [kn_defectZeroVolume] = {"zero-volume", "component encloses nothing",
                             "components enclose nothing"},
    [kn_defectSelfIntersection] = {"self-intersection", "pair of triangles crosses",
                                   "pairs of triangles cross"},
    [kn_defectSeveralComponents] = {"several-components", "closed surface", "closed surfaces"},
    [kn_defectScale] = {"scale", "mesh is out of scale", "meshes are out of scale"},
};

const char* knDefectName(knDefectKind kind)
{
    return (unsigned)kind < kn_defectCount ? words[kind].name : "unknown";
}

static void AddPlace(knDefect* defect, uint32_t index, knVec3 position)
{
    defect->count += 1;
    if (defect->placeCount < KN_MAX_PLACES)
    {
        defect->places[defect->placeCount++] = (knDefectPlace){index, position};
    }
}

void knDoctor_FoundTriangle(knDoctor* doctor, knDefectKind kind, size_t triangle)
{
    const knSoup* soup = doctor->soup;
    knVec3 center = {0.0f, 0.0f, 0.0f};
    for (int k = 0; k < 3; ++k)
    {
        uint32_t v = soup->triangles[triangle].v[k];
        // a bad index is one of the things to report
        knVec3 p = v < soup->positionCount ? soup->positions[v] : center;
        center = knAddScaled(center, 1.0f / 3.0f, p);
    }
    AddPlace(&doctor->report->defects[kind], soup->sources[triangle], center);
}

void knDoctor_FoundVertex(knDoctor* doctor, knDefectKind kind, size_t vertex)
{
    knDefect* defect = &doctor->report->defects[kind];
    defect->isVertex = true;
    AddPlace(defect, doctor->soup->vertexSources[vertex], doctor->soup->positions[vertex]);
}

void knDoctor_Judge(knDoctor* doctor, knDefectKind kind, knDefectAction action, const char* note,
                    ...)
{
    knDefect* defect = &doctor->report->defects[kind];
    if (defect->count == 0 || action < defect->action)
    {
        return;
    }
    defect->action = action;
    doctor->blocked |= action == kn_actionRefuse;
    va_list arguments;
    va_start(arguments, note);
    vsnprintf(defect->note, sizeof(defect->note), note, arguments);
    va_end(arguments);
}

bool knDoctor_Has(const knDoctor* doctor, knDefectKind kind)
{
    return doctor->report->defects[kind].count > 0;
}

static void DescribePlace(const knDefect* defect, char* text, size_t size)
{
    text[0] = '\0';
    if (defect->placeCount == 0)
    {
        return;
    }
    const knDefectPlace* place = &defect->places[0];
    const char* what = defect->isVertex ? "vertex" : "triangle";
    double x = (double)place->position.x, y = (double)place->position.y,
           z = (double)place->position.z;
    if (place->index == KN_NONE)
    {
        snprintf(text, size, ", first near (%g, %g, %g)", x, y, z);
    }
    else
    {
        snprintf(text, size, ", first at %s %u near (%g, %g, %g)", what, place->index, x, y, z);
    }
}

void knDescribeRefusal(const knDoctorReport* report, char* text, size_t textSize)
{
    if (textSize == 0)
    {
        return;
    }
    text[0] = '\0';
    for (int i = 0; i < kn_defectCount && !report->cookable; ++i)
    {
        knDefectKind kind = severity[i];
        const knDefect* defect = &report->defects[kind];
        if (defect->count > 0 && defect->action == kn_actionRefuse)
        {
            char place[160];
            DescribePlace(defect, place, sizeof(place));
            snprintf(text, textSize, "%s: %zu %s%s; %s", words[kind].name, defect->count,
                     defect->count == 1 ? words[kind].one : words[kind].many, place, defect->note);
            return;
        }
    }
}
