// SPDX-License-Identifier: Zlib
#pragma once

// Trees made anew, for measure only: what the 2007 paper compares restructuring with. A triangle to
// a leaf, boxes from the leaves up.

#include "bvh/bvh_hierarchy_internal.h"

typedef enum RebuildKind
{
    rebuildSort,     // median by sorting at every node, as the paper has it
    rebuildMedian,   // median by selection
    rebuildMidpoint, // halves of space along the longest axis
    REBUILD_COUNT
} RebuildKind;

typedef struct RebuildTree
{
    knBalancedNode* nodes;
    knBuildItem* items;
    size_t capacity; // of items; nodes are twice as many
    uint32_t nodeCount, itemCount;
    uint32_t height;
} RebuildTree;

// Over all triangles of one body, 0 for all; false without memory.
bool Rebuild(RebuildTree* tree, const knHierarchy* geometry, uint32_t body, RebuildKind kind);
double RebuildQuality(const RebuildTree* tree, float padding);
void FreeRebuild(RebuildTree* tree);
