// SPDX-License-Identifier: Zlib
#pragma once

// Keeps the view's meshes in step with the stage's bodies: only what changed is sent again.

#include "demos/stage.h"
#include "demos/view.h"

typedef struct knPainter knPainter;

typedef struct knOverlays
{
    bool contacts;    // where, which way, how deep; and those that were left out
    bool cracks;      // crack faces in red, the rest in grey
    bool spheres;     // one level of the sphere trees
    uint32_t level;   // which
    bool field;       // a slice of the distance field
    float slice;      // its height, share of the piece's box
    bool isWireframe; // edges of the triangles
    bool isXray;
} knOverlays;

// None of them; level and slice as the window has them at first.
knOverlays knDefaultOverlays(void);

knResult knCreatePainter(knPainter** painter, knView* view);
void knDestroyPainter(knPainter* painter);

// Forgets the bodies of a stage that is gone.
void knPainter_Clear(knPainter* painter);

// The picture of the stage as it stands. `isShown`: in the window too.
knResult knPainter_Paint(knPainter* painter, const knStage* stage, const knCamera* camera,
                         const knOverlays* overlays, bool isShown);
