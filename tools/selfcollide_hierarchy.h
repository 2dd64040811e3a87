// SPDX-License-Identifier: Zlib
#pragma once

// The papers' hierarchies behind 'knap selfcollide --method balanced|lazy|swiper'.

#include "frame.h"
#include "json.h"
#include "knap/bvh_hierarchy.h"

// Brings the hierarchy to the frame: moves the vertices of the one there is, or makes a new one.
knResult knUpdateFrameHierarchy(knHierarchy** hierarchy, const knHierarchyDef* def,
                                const knFrame* frame, bool isMove);

// The counters of the frame, as one object.
void knJsonHierarchyWork(knJson* json, const knHierarchyWork* work);
