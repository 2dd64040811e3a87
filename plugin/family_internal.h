// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/family.h"

// An edge of the whole object that is convex at all.
typedef struct knModelEdge
{
    uint32_t edge;     // of the mesh
    float cosine;      // between the normals of its triangles
    knVec3 normals[2]; // of these, out of the object
} knModelEdge;

typedef struct knModelEdges
{
    knModelEdge* edges;
    uint32_t count;
    uint32_t capacity;
} knModelEdges;

knResult knModelEdges_Find(knModelEdges* list, const knTetMesh* mesh, const knAllocator* allocator);
void knModelEdges_Drop(knModelEdges* list, const knAllocator* allocator);

struct knModel
{
    knAllocator allocator;
    const knAsset* asset;
    knTetLocator locator;
    knDistanceGrid grid;
    knSphereTree tree;
    knCutMesh cutMesh;
    knModelEdges edges;
    float radius; // m
};

// A sharp edge of a piece's surface, for crossings that points miss. Ids are those of its ends.
typedef struct knPieceEdge
{
    knVec3 a, b;
    knVec3 normals[2]; // of the faces that meet there, out of the piece
    uint32_t id;       // hash of the ends' point ids: the same edge has the same in the next step
    uint32_t node;     // of the piece, where the edge is
    uint32_t source;   // where it lies: family_edges.c
} knPieceEdge;

typedef struct knPieceEdges
{
    knPieceEdge* edges; // in the pool
    uint32_t count;
    bool isNew; // while a break is followed
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
    knPieceEdge* edgePool;
    knPieceEdge* spareEdges; // room that splits have made for the next pool
    size_t poolCapacity, spareCapacity;
    size_t pendingEdges; // that splits may have added since the last update
    knArena scratch;     // forest updates
    float* damage;       // per node, in [0, 1): by cracks that stopped
    float edgeCosine;
    bool isBehind; // cut, and not yet followed
    // the object as it was before a cut, or, while the cut is kept back, as it will be
    knCutStore otherCuts;
    knFragmentSet otherFragments;
    bool hasOther;
    bool isKeptBack;
    // fresh trees, family_improve.c
    knSphereRebuild* rebuild; // in progress, or null
    uint32_t* freshTrees;     // by label: generation of the tree when it was rebuilt, or KN_NONE
    size_t treeCapacity;
    bool mayBePoor; // something broke since the trees were last looked at
    knMemoryTracker* tracker;
};

knResult knFamily_MakeRoom(void* family, const knFractureDelta* delta);

// A cut that is kept back, family_draft.c: the object lives on whole while its pieces are made
// ready. Before the cut a copy is made; afterwards the two change places, and once more when all is
// ready.
knResult knFamily_OpenDraft(knFamily* family);
void knFamily_KeepBack(knFamily* family);
void knFamily_BringForth(knFamily* family);
void knFamily_DropDraft(knFamily* family); // what was kept back is lost

#define KN_REBUILD_SLICE 256 // points

knResult knFamily_ReserveTrees(knFamily* family, uint32_t labelCount);
void knFamily_DropTrees(knFamily* family);

// Sharp edges, family_edges.c: of the whole object; room for what a split may add; the update,
// which cannot fail when there is room.
knResult knFamily_ListEdges(knFamily* family);
knResult knFamily_ReserveEdges(knFamily* family, const knFractureDelta* delta, uint32_t labelCount);
void knFamily_UpdateEdges(knFamily* family, const knFractureDelta* delta);
void knFamily_DropEdges(knFamily* family, uint32_t fragment);
void knFamily_ReleaseEdges(knFamily* family);
