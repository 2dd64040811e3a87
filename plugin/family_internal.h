// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/family.h"

struct knModel
{
    knAllocator allocator;
    const knAsset* asset;
    knTetLocator locator;
    knDistanceGrid grid;
    knSphereTree tree;
    knCutMesh cutMesh;
    float radius; // m
};

// A sharp edge of a piece's surface, for crossings that points miss. Ids are those of its ends.
typedef struct knPieceEdge
{
    knVec3 a, b;
    uint32_t id; // hash of the ends' point ids: the same edge has the same in the next step
} knPieceEdge;

typedef struct knPieceEdges
{
    knPieceEdge* edges;
    uint32_t count;
} knPieceEdges;

struct knFamily
{
    knAllocator allocator;
    const knModel* model;
    knCutStore cuts;
    knFragmentSet fragments;
    knFragmentField* field;
    knSphereForest forest;
    knPieceEdges* edges; // by label
    size_t edgeCapacity; // labels
    knArena scratch;     // surfaces and forest updates
    float edgeCosine;
    bool isSpent;
    knMemoryTracker* tracker;
};

knResult knFamily_MakeRoom(void* family, const knFractureDelta* delta);

// Lists the edges of one piece; replaces an older list.
knResult knFamily_FindEdges(knFamily* family, uint32_t fragment);
void knFamily_DropEdges(knFamily* family, uint32_t fragment);
