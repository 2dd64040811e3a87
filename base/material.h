// SPDX-License-Identifier: Zlib
#pragma once

// Materials by name: how heavy, how stiff, how strong, how tough.

#include "knap/setting.h"

#define KN_MAX_NAME 32 // bytes, the terminating zero included

// docs/materials.md tells what each number means and where the presets come from.
typedef struct knMaterial
{
    char name[KN_MAX_NAME];
    double density;         // kg/m^3
    double youngsModulus;   // Pa
    double poissonRatio;    // modes are cooked for one of their own
    double tensileStrength; // Pa
    double fractureEnergy;  // J/m^2 of crack, both of its faces together
    double contactTime;     // s that a hit lasts, where the impact does not say
    double friction;
    double restitution;
} knMaterial;

// What each number means, its range, and the values of ceramic.
KN_API const knSettingTable* knMaterialSettings(void);

KN_API int knMaterialPresetCount(void);

// Null when out of range.
KN_API const knMaterial* knMaterialPreset(int index);

// Null when there is none of that name.
KN_API const knMaterial* knFindMaterialPreset(const char* name);

// Names the field, the value and the range.
KN_API knResult knValidateMaterial(const knMaterial* material);

// How long two bodies touch in a hit, after Hertz: `mass` is the reduced mass (kg), `radius` that
// of the rounder one (m), `speed` the approach (m/s). Never of the simulation's step. 0 when an
// argument is not above zero.
KN_API double knHertzContactTime(const knMaterial* a, const knMaterial* b, double mass,
                                 double radius, double speed);
