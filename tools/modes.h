// SPDX-License-Identifier: Zlib
#pragma once

// Cooking of elastic modes and of the nodes that hold an object.

#include "contain.h"
#include "knap/modes.h"

#define KN_DEFAULT_MODE_COUNT 48
#define KN_DEFAULT_POISSON    0.22
#define KN_MAX_ANCHOR_RULES   16

typedef enum knAnchorKind
{
    kn_anchorBelow, // y <= values[0]
    kn_anchorAbove, // y >= values[0]
    kn_anchorBox    // lower corner, upper corner
} knAnchorKind;

// Holds the nodes in a part of space; metres, in the frame of the cooked object.
typedef struct knAnchorRule
{
    knAnchorKind kind;
    double values[6];
} knAnchorRule;

typedef struct knModeOptions
{
    uint32_t count; // of modes, 0 for none
    double poisson;
    knAnchorRule rules[KN_MAX_ANCHOR_RULES];
    uint32_t ruleCount; // no rule, no anchors
} knModeOptions;

knModeOptions knDefaultModeOptions(void);

// "below=H", "above=H" or "box=x,y,z,x,y,z".
knResult knParseAnchorRule(const char* text, knAnchorRule* rule);

// Numbers of the held nodes, ascending, as bytes of the section; no bytes without rules. A rule
// that holds nothing is an error of the caller.
knResult knCookAnchors(const knTetMesh* mesh, const knModeOptions* options,
                       const knAllocator* allocator, knAssetSection* section);

typedef struct knModeJob
{
    const knTetMesh* mesh;
    const knModeOptions* options;
    const knAssetSection* anchors; // null for the free modes
    knContainLimits limits;
} knModeJob;

// Solves in a child process: the matrices can outgrow memory and patience. kn_success with an empty
// section when the modes cannot be had; `note` then says why. Out of memory here is a failure.
knResult knCookModes(const knModeJob* job, const knAllocator* allocator, knAssetSection* section,
                     char note[KN_MAX_MESSAGE]);
