// SPDX-License-Identifier: Zlib
#pragma once

// Rivals of the 2006 paper, for measure only. They read triangles and positions from a hierarchy
// and hand pairs whose boxes overlap to the same exact test.

#include "bvh/bvh_hierarchy_internal.h"

// Smith et al. 1995, improved as the paper did: an octree made anew in each frame over the
// triangles in the regions where boxes of bodies overlap, its root the smallest box of these
// regions, its greatest depth tuned to the scene.
typedef struct Octree Octree;

Octree* MakeOctree(void);
void FreeOctree(Octree* tree);

// Pairs of different bodies; false without memory.
bool MeetByOctree(Octree* tree, const knHierarchy* geometry, int maxDepth, knPairSink* sink);

// Sweep and prune: three lists kept in order by insertion sort, and every pair that overlaps on
// three axes in a balanced search tree.
typedef struct Sap Sap;

Sap* MakeSap(void);
void FreeSap(Sap* sap);

// Pairs within bodies; false without memory.
bool MeetBySap(Sap* sap, const knHierarchy* geometry, knPairSink* sink);
size_t SapBytes(const Sap* sap);
