// SPDX-License-Identifier: Zlib
#pragma once

// The contacts of a piece with what is not a piece: analytic shapes, hulls, and triangles.
//
// Both ways, as between pieces: the points of the piece, coarse to fine, against the shape's signed
// distance; the corners, edges, rims and centres of the shape against the piece's field, so that a
// small ball or a sharp corner between the points of a coarse mesh is found.

#include "knap/piece_mesh.h"
#include "knap/query.h"

typedef enum knShapeKind
{
    kn_shapeSphere,
    kn_shapeBox,
    kn_shapeCapsule,  // along y
    kn_shapeCylinder, // along y
    kn_shapeCone,     // along y, its tip above
    kn_shapeHull,
    kn_shapeMultiSphere, // the convex hull of spheres
    kn_shapePlane,       // everything below it is solid
    kn_shapeTriangle,    // no thickness but the margin's; both sides
    kn_shapeKindCount
} knShapeKind;

typedef struct knHullPlane
{
    knVec3 normal; // unit, outwards
    float offset;
} knHullPlane;

// The convex hull of points, or of spheres; owned by the caller, shared by shapes.
typedef struct knHull
{
    knAllocator allocator;
    knVec3* points; // corners first, in the order they were given
    float* radii;   // null when all are 0
    knTriangle* triangles;
    knHullPlane* planes; // per triangle; with radii, planes that touch three spheres
    knEdge* edges; // between faces that are not in one plane; with radii, of spheres that share one
    uint32_t pointCount; // points that do not lie on the hull are dropped
    uint32_t triangleCount;
    uint32_t planeCount;
    uint32_t edgeCount;
    knBox box;
    size_t pointCapacity, faceCapacity; // what was allocated
} knHull;

// `radii` may be null. Points that lie in one plane, on one line or in one place give a flat hull,
// which is a shape like any other. kn_errorArgument when a number is not finite, a radius is
// negative or there are no points.
KN_API knResult knCreateHull(knHull* hull, const knVec3* points, const float* radii, uint32_t count,
                             const knAllocator* allocator);
KN_API void knDestroyHull(knHull* hull);

// In its own frame, centred at the origin; lengths in metres. The margin rounds and thickens: the
// shape is everything nearer to the core than that.
typedef struct knShape
{
    knShapeKind kind;
    float margin;
    float radius;     // sphere, capsule, cylinder, cone
    float halfHeight; // capsule: of the segment; cylinder, cone
    knVec3 half;      // box: half extents; plane: unit normal
    float offset;     // plane: normal . p = offset on it
    knVec3 v[3];      // triangle
    const knHull* hull;
} knShape;

KN_API knShape knMakeSphereShape(float radius);
KN_API knShape knMakeBoxShape(knVec3 halfExtents);
KN_API knShape knMakeCapsuleShape(float radius, float halfHeight);
KN_API knShape knMakeCylinderShape(float radius, float halfHeight);
KN_API knShape knMakeConeShape(float radius, float halfHeight);
KN_API knShape knMakeHullShape(const knHull* hull);
KN_API knShape knMakePlaneShape(knVec3 normal, float offset);
KN_API knShape knMakeTriangleShape(knVec3 a, knVec3 b, knVec3 c);

// Every length finite and not negative, a hull where one is needed, a unit normal.
KN_API knResult knValidateShape(const knShape* shape);

// Exact; negative inside. The gradient is a unit vector, also where the distance has no one
// direction. May be null.
KN_API float knShape_Distance(const knShape* shape, knVec3 p, knVec3* gradient);

// The furthest point along a direction, which need not be a unit vector. For a plane, a point at
// its foot: it has no furthest one.
KN_API knVec3 knShape_Support(const knShape* shape, knVec3 direction);

// Bounds in the world. A plane's are as large as floats allow along the axes it does not bound.
KN_API knBox knShape_Box(const knShape* shape, knTransform transform);

// What can poke into a face: a ball whose centre moves from a to b while its radius goes from
// radiusA to radiusB. A corner has a = b. The rims of cylinders and cones are closed circles.
typedef struct knShapeFeature
{
    knVec3 a, b;
    float radiusA, radiusB;
    knVec3 rimCenter; // of a rim: it begins and ends at a, about the y axis
    float rimRadius;  // 0 when it is not a rim
    bool isEdge;      // sharp or rim: looked at when points and corners give few contacts
} knShapeFeature;

KN_API uint32_t knShape_FeatureCount(const knShape* shape);
KN_API knShapeFeature knShape_Feature(const knShape* shape, uint32_t index);

// Scratch that a query of the piece takes from an arena at most.
KN_API size_t knQueryShapeBytes(const knQueryPiece* piece);

// The contacts of a piece with a shape. Limits, state, selection, memory and results as in
// knQueryPair: side 0 is a point or edge of the piece, its normal from the shape towards the piece;
// side 1 a feature of the shape, its normal from the piece towards the shape. The length that
// shares refer to is the piece's radius, or the shape's where that is smaller. kn_errorArgument for
// a shape or transform that is not finite.
KN_API knResult knQueryShape(const knQueryPiece* piece, const knShape* shape, knTransform transform,
                             const knContactLimits* limits, knPairState* state, knArena* scratch,
                             knPairContact* contacts, uint32_t capacity, knPairResult* result);

// The same with the mesh of the piece at hand (null for none): distances outside are then found on
// its triangles, much faster for round shapes near the pieces of a broken object.
KN_API knResult knQueryShapeOnMesh(const knQueryPiece* piece, const knPieceMesh* mesh,
                                   const knShape* shape, knTransform transform,
                                   const knContactLimits* limits, knPairState* state,
                                   knArena* scratch, knPairContact* contacts, uint32_t capacity,
                                   knPairResult* result);

// A triangle of a mesh, counter-clockwise from outside. The id must be the same in the next step.
typedef struct knMeshTriangle
{
    knVec3 v[3];
    uint32_t id;
} knMeshTriangle;

// Triangles that surround one piece, in the frame of their mesh.
typedef struct knTriangleBatch
{
    const knMeshTriangle* triangles;
    uint32_t count;
    bool isOneSided;       // closed or a height field: what lies behind a triangle is solid
    knTransform transform; // from the mesh to the world
    float margin;          // m; thickens the mesh
} knTriangleBatch;

// The world's box in which a caller must look for triangles: a point of the piece as deep as the
// piece is large must still find the triangle it came through.
KN_API knBox knQueryTriangles_Box(const knQueryPiece* piece, const knContactLimits* limits);

KN_API size_t knQueryTrianglesBytes(const knQueryPiece* piece, uint32_t triangleCount);

// The contacts of a piece with a mesh, the batch being all triangles in the box above. Points take
// the sign and the direction of the nearest face: edges between flat faces catch nothing. A
// two-sided mesh is passed by a point when it stands between the point and the piece's centre of
// mass. Corners and edges of the mesh count where they are convex or where the mesh ends. Sides as
// in knQueryShape.
KN_API knResult knQueryTriangles(const knQueryPiece* piece, const knTriangleBatch* batch,
                                 const knContactLimits* limits, knPairState* state,
                                 knArena* scratch, knPairContact* contacts, uint32_t capacity,
                                 knPairResult* result);
