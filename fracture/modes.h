// SPDX-License-Identifier: Zlib
#pragma once

// The elastic modes of a cooked asset and the nodes that hold it.
//
// A mode is a shape u with K u = lambda M u for unit Young's modulus and unit density, in the
// mesh's metres, normalised to u^T M u = 1: so the same modes serve every material. With modulus E
// and density rho the mode vibrates at omega^2 = lambda E / rho, forces f_k at nodes k drive its
// coordinate q by
//
//     rho q'' + E lambda q = sum over k of u(k) . f_k
//
// the displacement is the sum of q u and the stress is E times the sum of q s over the modes.
// Slowly loaded, q = (sum of u(k) . f_k) / (E lambda).

#include "knap/asset.h"

#define KN_FREE_MODES_TAG     KN_TAG('M', 'O', 'D', 'F')
#define KN_ANCHORED_MODES_TAG KN_TAG('M', 'O', 'D', 'A')
#define KN_MODES_VERSION      1
#define KN_ANCHORS_TAG        KN_TAG('A', 'N', 'C', 'H')
#define KN_ANCHORS_VERSION    1
#define KN_MAX_MODES          1024

// A view: the bytes stay the asset's. A stored integer times the scale of its mode is the value.
typedef struct knModeSet
{
    uint32_t modeCount;
    uint32_t nodeCount;
    float poisson;
    bool isAnchored;           // the anchored nodes do not move; otherwise the body is free
    const float* eigenvalues;  // lambda, 1/m^2, ascending, above zero
    const float* shapeScales;  // m^-1.5
    const int16_t* shapes;     // [mode][3][node]
    const float* stressScales; // m^-2.5
    const int16_t* stresses;   // [mode][6][node]: xx yy zz xy yz zx, tension positive
} knModeSet;

// Checks sizes and numbers. An asset without such modes is no failure: the set is then all zero.
KN_API knResult knOpenModes(knModeSet* set, const knAsset* asset, bool anchored);

// What a set is made of; arrays as in knModeSet.
typedef struct knModeSetDef
{
    uint32_t modeCount;
    uint32_t nodeCount;
    float poisson;
    bool isAnchored;
    const double* eigenvalues;
    const double* shapes;
    const double* stresses;
} knModeSetDef;

// Makes the bytes of a section; the same numbers give the same bytes. Release with
// knRelease(allocator, *bytes, *size, 1).
KN_API knResult knEncodeModes(const knModeSetDef* def, const knAllocator* allocator, void** bytes,
                              size_t* size);

// The nodes that hold the object, ascending; the section is just these numbers.
typedef struct knAnchors
{
    const uint32_t* nodes;
    uint32_t count; // 0 when the object is free
} knAnchors;

KN_API knResult knOpenAnchors(knAnchors* anchors, const knAsset* asset);
