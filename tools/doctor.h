// SPDX-License-Identifier: Zlib
#pragma once

// What is wrong with a mesh, where, and what can be done about it.

#include "soup.h"

typedef enum knDefectKind
{
    kn_defectEmpty,             // no triangles
    kn_defectBadIndex,          // a triangle names a vertex that is not there
    kn_defectNotFinite,         // NaN or infinite coordinates
    kn_defectUnreferenced,      // vertices without triangles
    kn_defectDuplicateVertex,   // several vertices in one place
    kn_defectDegenerate,        // triangles without area
    kn_defectDuplicateTriangle, // the same three vertices again, in either direction
    kn_defectTJunction,         // a vertex in the middle of an open edge
    kn_defectHole,              // loops of open edges
    kn_defectNonManifoldEdge,   // more than two triangles at an edge
    kn_defectNonManifoldVertex, // parts that touch in a vertex only
    kn_defectFlipped,           // neighbours that disagree on what is outside
    kn_defectNotOrientable,     // no consistent outside exists (Moebius strip, Klein bottle)
    kn_defectInsideOut,         // a component turned inside out
    kn_defectZeroVolume,        // a sheet, a needle, or a closed surface around nothing
    kn_defectSelfIntersection,  // triangles that cross or touch where they should not
    kn_defectSeveralComponents, // more than one closed surface; cavities are told apart
    kn_defectScale,             // too large or too small to be metres
    kn_defectCount
} knDefectKind;

typedef enum knDefectAction
{
    kn_actionNone,   // cook can live with it
    kn_actionRepair, // cook repairs it
    kn_actionRefuse  // cook refuses the mesh
} knDefectAction;

#define KN_MAX_PLACES 8

// The diagonal of the bounding box must lie between these, in metres: what falls outside was
// exported in another unit.
#define KN_MIN_DIAGONAL 1e-6
#define KN_MAX_DIAGONAL 1e6

// A component with |volume| <= KN_FLAT_RATIO area^1.5 encloses nothing.
#define KN_FLAT_RATIO 1e-9

// A place to look at: the file's triangle or vertex, and where it lies.
typedef struct knDefectPlace
{
    uint32_t index; // KN_NONE for a triangle that a repair made
    knVec3 position;
} knDefectPlace;

typedef struct knDefect
{
    size_t count; // 0: not found
    knDefectAction action;
    bool isVertex; // places name vertices, else triangles
    int placeCount;
    knDefectPlace places[KN_MAX_PLACES];
    char note[160]; // what cook does about it, or what the user can do
} knDefect;

typedef struct knDoctorOptions
{
    bool repair;            // false: every defect that would be repaired is refused
    bool fillHoles;         // holes are filled, else refused
    bool severalComponents; // several solids are one asset, else refused
    float weldTolerance;    // of the bounding box's diagonal, for the rims of open edges
    int maxHoleEdges;       // longer rims are refused
} knDoctorOptions;

typedef struct knDoctorReport
{
    knDefect defects[kn_defectCount];
    size_t triangleCount, vertexCount; // before
    size_t finalTriangleCount, finalVertexCount;
    uint32_t componentCount;
    uint32_t cavityCount; // components that bound a hollow
    knBox bounds;
    double volume, area; // of the repaired mesh
    bool cookable;
} knDoctorReport;

knDoctorOptions knDefaultDoctorOptions(void);

// "self-intersection" and the like: stable names for JSON and tests.
const char* knDefectName(knDefectKind kind);

// Repairs the soup in place as far as the options allow and reports. kn_success also for a mesh
// that cannot be cooked (`cookable` tells); it fails only for want of memory or bad arguments. On
// success with `cookable`, the soup is closed, 2-manifold, outward (cavities inward), free of
// self-intersections, and every vertex is used.
knResult knTreatSoup(knSoup* soup, const knDoctorOptions* options, knDoctorReport* report);

// The defect that stands in the way, as one sentence that says what and where; empty when cookable.
void knDescribeRefusal(const knDoctorReport* report, char* text, size_t textSize);
