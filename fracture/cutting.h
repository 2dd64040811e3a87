// SPDX-License-Identifier: Zlib
#pragma once

// Cutting an object into pieces: fragments are sets of nodes, a split parts one of them by the sign
// of nodal functions, and each piece has a closed surface and an exact mass.
//
// A split is planned in the caller's arena, written to the cut store, judged (small pieces, crack
// area) and either kept or taken back as if nothing had been. Its cost grows with the fragment,
// never with the mesh.

#include "knap/region.h"

#define KN_MAX_SPLIT_GROUPS 4096

// What cutting needs besides the tables of the mesh: immutable, one for all instances of an asset.
typedef struct knCutMesh
{
    knAllocator allocator;
    const knTetMesh* mesh;
    const knSurfaceMesh* surface; // null: corners get flat normals
    uint32_t* nodeTetStarts;      // nodeCount + 1
    uint32_t* nodeTets;           // ascending per node
    uint32_t* tetTriangleStarts;  // tetCount + 1
    uint32_t* tetTriangles;       // triangles of the surface, by tetrahedron and face
    uint32_t* nodeFaceStarts;     // nodeCount + 1
    uint32_t* nodeFaces;          // the same triangles by their tetrahedron's first corner
    uint32_t* nodeEdgeRuns;       // nodeCount + 1: edges whose lower end a node is, a run
    knMoments* tetMoments;        // of each whole tetrahedron, about `origin`
    knMoments* nodeMoments;       // of the tetrahedra whose first corner a node is
    knMassProperties whole;       // at density 1
    knDVec3 origin;
} knCutMesh;

// The mesh and the surface must outlive it. kn_errorMesh when the surface does not fit the mesh.
KN_API knResult knCreateCutMesh(knCutMesh* cutMesh, const knTetMesh* mesh,
                                const knSurfaceMesh* surface, const knAllocator* allocator);
KN_API void knDestroyCutMesh(knCutMesh* cutMesh);

typedef enum knFragmentState
{
    kn_fragmentWhole,  // a piece
    kn_fragmentDebris, // a piece below the limits, for particles rather than a body
    kn_fragmentEnded   // split; its nodes belong to its children
} knFragmentState;

typedef struct knFragment
{
    knFragmentState state;
    uint32_t firstNode; // its nodes are knFragmentSet.nodes[firstNode ..], ascending
    uint32_t nodeCount;
    uint32_t parent; // KN_NONE for the whole object
    uint32_t firstChild;
    uint32_t childCount; // children have consecutive ids, the heaviest first
    knMassProperties mass;
} knFragment;

// Whoever follows a set (field, tree) makes room here: called when a split is decided and before
// anything of it is kept. The delta has all counts, the nodes, the crossed tetrahedra and the
// points, but no fragments yet; labels are still the parent's. Unless it succeeds the split is
// taken back and fails with the same code.
typedef knResult knSplitRoomFcn(void* context, const knFractureDelta* delta);

// The fragments of one instance, beside its cut store. Ids are never used again.
typedef struct knFragmentSet
{
    knAllocator allocator;
    const knCutMesh* cutMesh;
    knCutStore* store;
    uint32_t* nodes;     // all nodes, one run per fragment
    uint32_t* slots;     // where a node stands in `nodes`
    uint32_t* cutCounts; // by node: tetrahedra around it that the store has cut
    knFragment* fragments;
    uint32_t nodeCount;
    uint32_t fragmentCount;
    size_t fragmentCapacity;
    double density;           // kg/m^3
    knSplitRoomFcn* makeRoom; // null for none
    void* roomContext;
} knFragmentSet;

// Fragment 0 is the whole object. The store must be fresh and made for the same mesh; both must
// outlive the set.
KN_API knResult knCreateFragmentSet(knFragmentSet* set, const knCutMesh* cutMesh, knCutStore* store,
                                    double density, const knAllocator* allocator);
KN_API void knDestroyFragmentSet(knFragmentSet* set);

// Another of the same, with memory of its own from the same allocator; `store` is a copy of the
// set's.
KN_API knResult knCopyFragmentSet(knFragmentSet* copy, const knFragmentSet* set, knCutStore* store);

// Room for so many more fragments, and in the store for cutting everything that is left: after it,
// splits make no heap call until there are that many more.
KN_API knResult knFragmentSet_Reserve(knFragmentSet* set, uint32_t fragmentCount);

typedef enum knSplitKind
{
    kn_splitPlane,  // phi = normal . p - offset
    kn_splitNodal,  // phi given per node
    kn_splitLabels, // a group given per node
    kn_splitSites,  // Voronoi cells
    kn_splitRadial, // sectors around an axis and rings around it
    kn_splitKindCount
} knSplitKind;

typedef enum knSmallPieces
{
    kn_smallKeep,  // pieces like any other
    kn_smallMerge, // joined to the neighbour with the largest shared crack before anything is kept
    kn_smallDebris // pieces, marked as debris and listed
} knSmallPieces;

// Arrays per node are in the order of the fragment's nodes. Lengths are in metres.
typedef struct knSplitDef
{
    knSplitKind kind;
    knVec3 normal; // plane
    float offset;
    const float* phi;       // nodal: the sign gives the side
    const uint32_t* labels; // labels: below groupCount
    uint32_t groupCount;
    const knVec3* sites;
    uint32_t siteCount;
    knVec3 center; // radial
    knVec3 axis;
    uint32_t sectorCount;
    const float* radii; // of the rings, ascending
    uint32_t ringCount;
    float angle;  // of the first sector
    float jitter; // of angles and radii, share of their step, below 0.5

    float minCutShare;   // no edge is cut nearer to its ends than this share of it, in (0, 0.5)
    float roughness;     // amplitude of the noise on phi; 0 for smooth cracks
    float roughnessSize; // wavelength of the noise
    uint64_t seed;       // of roughness and jitter

    knSmallPieces small;
    double minVolume; // m^3; smaller pieces are small
    float minSize;    // longest side of the box; smaller pieces are small
    double maxArea;   // m^2 of new crack; more is refused. 0 for no limit
} knSplitDef;

KN_API knSplitDef knDefaultSplitDef(void);

// Names the field, the value and the range.
KN_API knResult knValidateSplitDef(const knSplitDef* def);

typedef enum knSplitOutcome
{
    kn_splitDone,
    kn_splitNothing,  // one side would be empty, or everything was too small and merged again
    kn_splitTooLarge, // more area than allowed; `crackArea` tells how much
    kn_splitTooFine   // points would fall together: the mesh is too fine for its coordinates
} knSplitOutcome;

// A piece that is too small for a body: what is needed to make particles of it.
typedef struct knDebris
{
    uint32_t fragment;
    double mass;
    knDVec3 center;
    knVec3 direction; // away from its cracks, unit or zero: where it flies first
} knDebris;

// Arrays live in the arena.
typedef struct knSplitResult
{
    knSplitOutcome outcome;
    knFractureDelta delta; // no fragments unless kn_splitDone
    const knDebris* debris;
    uint32_t debrisCount;
    uint32_t mergedCount; // small pieces joined to others
    double crackArea;     // m^2, one side of the new cracks
} knSplitResult;

// Splits one fragment. More than two groups are peeled off one at a time; each connected component
// becomes a fragment. On failure, and whenever the outcome is not kn_splitDone, set and store are
// as before. kn_errorMemory when the arena is too small: arena->wantedBytes grew, nothing else
// changed.
KN_API knResult knFragmentSet_Split(knFragmentSet* set, uint32_t fragment, const knSplitDef* def,
                                    knArena* arena, knSplitResult* result);

// No split of this fragment needs more of an arena than this.
KN_API size_t knFragmentSet_SplitBytes(const knFragmentSet* set, uint32_t fragment,
                                       const knSplitDef* def);

// A moment in the life of a set.
typedef struct knFragmentMark
{
    uint32_t fragmentCount;
    uint32_t pointCount;
} knFragmentMark;

static inline knFragmentMark knFragmentSet_Mark(const knFragmentSet* set)
{
    knFragmentMark mark = {set->fragmentCount, set->store->pointCount};
    return mark;
}

// All splits of one piece and of what came from it since the mark, as if they had been one: its
// fragments are the pieces that live now. So field and tree are updated once after a whole event.
// Arrays live in the arena. kn_errorArgument when other pieces were split in between;
// kn_errorHandle when `parent` was not. Grows with the piece and the new cracks.
KN_API knResult knFragmentSet_DeltaSince(const knFragmentSet* set, uint32_t parent,
                                         knFragmentMark mark, knArena* arena,
                                         knFractureDelta* delta);

typedef struct knPieceTriangle
{
    uint32_t tet;
    uint32_t triangle; // of the surface; KN_NONE on a crack
    uint8_t plane;     // of the tetrahedron's cut, on a crack
    bool isCrack;      // shows the material's inside
} knPieceTriangle;

// A closed, oriented 2-manifold. Vertices have ids that last as long as the object.
typedef struct knPieceSurface
{
    const knVec3* positions;
    const uint32_t* pointIds;         // knCutStore_RegionPointId
    const knTriangle* triangles;      // counter-clockwise from outside
    const knPieceTriangle* sources;   // per triangle
    const knCornerAttribute* corners; // three per triangle
    uint32_t vertexCount;
    uint32_t triangleCount;
    uint32_t crackTriangleCount;
} knPieceSurface;

typedef struct knPieceOptions
{
    bool smoothCracks;  // normals averaged over neighbouring crack faces, else flat
    float textureScale; // texture coordinates of cracks per metre, along the two flattest axes
} knPieceOptions;

KN_API knPieceOptions knDefaultPieceOptions(void);

// Fills arrays in the arena; kn_errorMemory when it is too small. O(size of the piece).
KN_API knResult knFragmentSet_Surface(const knFragmentSet* set, uint32_t fragment,
                                      const knPieceOptions* options, knArena* arena,
                                      knPieceSurface* surface);

// The same in slices: nothing may be cut, and nothing else come from the arena, until it is done.
// All of it is in the arena; when that proves too small the work is lost, and wantedBytes grew.
typedef struct knSurfaceWork knSurfaceWork;

KN_API knResult knBeginSurface(knSurfaceWork** work, const knFragmentSet* set, uint32_t fragment,
                               const knPieceOptions* options, knArena* arena);

// Goes through the nodes twice, so many in a call.
KN_API knResult knSurfaceWork_Step(knSurfaceWork* work, uint32_t nodeCount, bool* isDone);
KN_API knPieceSurface knSurfaceWork_Surface(const knSurfaceWork* work);

// The nodes of a piece, ascending.
static inline const uint32_t* knFragmentSet_Nodes(const knFragmentSet* set, uint32_t fragment)
{
    return set->nodes + set->fragments[fragment].firstNode;
}
