// SPDX-License-Identifier: Zlib
#pragma once

// What the files of the elastic solve share.

#include "elastic.h"

// An object with its supports, factorised, and the rigid motions they leave.
typedef struct knElasticSystem
{
    const knElastic* elastic;
    knElasticSolver* solver;
    knElasticBasis rigid;
    double shift; // of the factorisation, 1/unit^2
} knElasticSystem;

knResult knCreateElasticSystem(knElasticSystem* system, const knElastic* elastic,
                               const uint8_t* fixed);
void knDestroyElasticSystem(knElasticSystem* system);

uint32_t knElasticSolver_FreeCount(const knElasticSolver* solver);

// The lowest modes that are not rigid, into a basis with room for them.
knResult knFindModes(knElasticModes* modes, const knElasticSystem* system, uint32_t count);
