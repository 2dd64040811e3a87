// SPDX-License-Identifier: Zlib
#pragma once

// Breaking in a running world: the contacts of a step go to the fracture module, what breaks is
// replaced by its pieces after the step, and events tell what happened.
//
// A hit counts by how fast the bodies met, never by the step: what rests is a steady load. A body
// that breaks takes only the share of the impulse that breaking needed; the rest is given back to
// both sides, so that a ball that smashes a plate flies on, slower.

#include "knap/breaking.h"
#include "knap/setting.h"
#include "knap/world_events.h"

// What each one means, its default and its range stand in one table: knBreakSettings.
typedef struct knBreakLimits
{
    size_t size; // of this struct
    bool isOff;
    uint32_t worldPieces, familyPieces, eventPieces;
    uint32_t breaksPerStep;
    uint32_t pendingBreaks;
    uint64_t workPerStep;
    double secondsPerStep; // s
    uint32_t bodiesPerStep;
    double minVolumeShare;
    float minSize;     // m
    float minApproach; // m/s
    float steadyLoad;
    double debrisShare;
    float debrisLifetime, debrisFade, freezeAfter; // s
    uint64_t seed;
} knBreakLimits;

KN_API const knSettingTable* knBreakSettings(void);
KN_API knBreakLimits knDefaultBreakLimits(void);

// Names the field, the value and the range.
KN_API knResult knValidateBreakLimits(const knBreakLimits* limits);
KN_API knResult knWorld_SetBreakLimits(knWorld* world, const knBreakLimits* limits);

// What the object is made of; at first the preset that its asset names, or ceramic.
KN_API knResult knWorld_SetMaterial(knWorld* world, knFamilyId family, const knMaterial* material);

// At first what moves can break, and what is anchored; another static or kinematic body cannot.
KN_API knResult knWorld_SetBreakable(knWorld* world, knFamilyId family, bool isBreakable);

// How much of a piece of debris is to be seen, from 1 to 0 at the end of its life; 1 for others.
KN_API float knWorld_Fade(const knWorld* world, knBodyId body);

// knWorld_Step calls it; a game that steps an attached world calls it after stepSimulation, however
// many steps that makes (up to 64), with the time that they took together.
KN_API knResult knWorld_Break(knWorld* world, float dt);
