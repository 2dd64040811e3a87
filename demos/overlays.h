// SPDX-License-Identifier: Zlib
#pragma once

// What Knap works with, made visible: contacts, spheres of the trees, the distance field.

#include "demos/stage.h"
#include "demos/view.h"

// Lines and coloured triangles that an overlay adds to; what does not fit is left out.
typedef struct knSketch
{
    knViewLine* lines;
    knViewTriangle* triangles;
    uint32_t lineCount, lineCapacity;
    uint32_t triangleCount, triangleCapacity;
} knSketch;

void knSketch_Line(knSketch* sketch, knVec3 a, knVec3 b, uint32_t color);
void knSketch_Cross(knSketch* sketch, knVec3 center, float size, uint32_t color);

// A cross where a contact was kept and a stroke along its normal: red when deep, green when
// touching, blue when it is still apart. Colliding points that the selection left out are small
// orange crosses.
void knSketchContacts(knSketch* sketch, const knStage* stage);

// The spheres of one level of the piece's trees.
void knSketchSpheres(knSketch* sketch, const knBodyPiece* piece, knTransform transform,
                     uint32_t level);

// A level slice through the piece at a share of its height: depth from the surface, light to dark.
void knSketchField(knSketch* sketch, const knBodyPiece* piece, knTransform transform, float share);
