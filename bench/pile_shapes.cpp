// SPDX-License-Identifier: Zlib
#include "bench/pile_shapes.h"

#include <BulletCollision/CollisionShapes/btShapeHull.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <LinearMath/btConvexHullComputer.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef KN_BENCH_HACD
// its headers are not ours to warn about
#include <HACD/hacdHACD.h>
#endif

#include <vector>

// Bullet's default of 4 cm is a third of a bunny
static const btScalar margin = 0.0005f;

static void CopyPoints(const knPieceMesh* mesh, std::vector<btVector3>& points)
{
    points.clear();
    for (uint32_t i = 0; i < mesh->vertexCount; ++i)
    {
        knVec3 p = mesh->vertices[i].position;
        points.push_back(btVector3(p.x, p.y, p.z));
    }
}

static btCollisionShape* MakeHull(const std::vector<btVector3>& points)
{
    btConvexHullComputer hull;
    hull.compute(&points[0].x(), sizeof(btVector3), (int)points.size(), 0, 0);
    btConvexHullShape* shape = new btConvexHullShape;
    for (int i = 0; i < hull.vertices.size(); ++i)
    {
        shape->addPoint(hull.vertices[i], false);
    }
    shape->recalcLocalAabb();
    shape->setMargin(margin);
    return shape;
}

static btCollisionShape* MakeSmallHull(const std::vector<btVector3>& points)
{
    btConvexHullShape all(&points[0].x(), (int)points.size());
    all.setMargin(0);
    btShapeHull hull(&all);
    hull.buildHull(0);
    btConvexHullShape* shape =
        new btConvexHullShape(&hull.getVertexPointer()->x(), hull.numVertices());
    shape->setMargin(margin);
    return shape;
}

static btCollisionShape* MakeGimpact(knPileShape* owner, const knPieceMesh* mesh)
{
    btTriangleMesh* triangles = new btTriangleMesh;
    for (uint32_t t = 0; t < mesh->triangleCount; ++t)
    {
        knVec3 v[3];
        knPieceMesh_Corners(mesh, t, v);
        triangles->addTriangle(btVector3(v[0].x, v[0].y, v[0].z), btVector3(v[1].x, v[1].y, v[1].z),
                               btVector3(v[2].x, v[2].y, v[2].z));
    }
    btGImpactMeshShape* shape = new btGImpactMeshShape(triangles);
    shape->setMargin(margin);
    shape->updateBound();
    owner->triangles = triangles;
    return shape;
}

#ifdef KN_BENCH_HACD
// The hulls' points, each run after its length.
static void WriteHulls(const knPieceMesh* mesh, int file)
{
    std::vector<HACD::Vec3<HACD::Real>> points;
    std::vector<HACD::Vec3<long>> triangles;
    // one vertex per place: seams of normals are no edges to it
    std::vector<uint32_t> firsts(mesh->vertexCount);
    for (uint32_t i = 0; i < mesh->vertexCount; ++i)
    {
        knVec3 p = mesh->vertices[i].position;
        firsts[i] = (uint32_t)points.size();
        for (uint32_t k = 0; k < i; ++k)
        {
            if (mesh->vertices[k].point == mesh->vertices[i].point)
            {
                firsts[i] = firsts[k];
                break;
            }
        }
        if (firsts[i] == points.size())
        {
            points.push_back(HACD::Vec3<HACD::Real>(p.x, p.y, p.z));
        }
    }
    for (uint32_t t = 0; t < mesh->triangleCount; ++t)
    {
        const uint32_t* v = mesh->triangles[t].v;
        triangles.push_back(HACD::Vec3<long>(firsts[v[0]], firsts[v[1]], firsts[v[2]]));
    }
    HACD::HACD hacd;
    hacd.SetPoints(&points[0]);
    hacd.SetNPoints(points.size());
    hacd.SetTriangles(&triangles[0]);
    hacd.SetNTriangles(triangles.size());
    hacd.SetCompacityWeight(0.1);
    hacd.SetVolumeWeight(0.0);
    hacd.SetNClusters(2);
    hacd.SetNVerticesPerCH(64);
    hacd.SetConcavity(100.0);
    hacd.Compute();
    for (size_t c = 0; c < hacd.GetNClusters(); ++c)
    {
        std::vector<HACD::Vec3<HACD::Real>> corners(hacd.GetNPointsCH(c));
        std::vector<HACD::Vec3<long>> faces(hacd.GetNTrianglesCH(c));
        hacd.GetCH(c, corners.data(), faces.data());
        std::vector<float> out(1, (float)corners.size());
        for (const HACD::Vec3<HACD::Real>& p : corners)
        {
            out.push_back((float)p.X());
            out.push_back((float)p.Y());
            out.push_back((float)p.Z());
        }
        if (write(file, out.data(), out.size() * sizeof(float)) < 0)
        {
            _exit(1);
        }
    }
}

// In a child with a time limit: it may take minutes, and cannot be asked to stop.
static bool RunChild(const knPieceMesh* mesh, double seconds, std::vector<float>& numbers)
{
    int ends[2];
    if (pipe(ends) != 0)
    {
        return false;
    }
    pid_t child = fork();
    if (child == 0)
    {
        alarm((unsigned)seconds);
        close(ends[0]);
        WriteHulls(mesh, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    float part[1024];
    ssize_t got;
    std::vector<char> bytes;
    while (child > 0 && (got = read(ends[0], part, sizeof part)) > 0)
    {
        bytes.insert(bytes.end(), (char*)part, (char*)part + got);
    }
    close(ends[0]);
    int status = 1;
    bool good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    numbers.resize(bytes.size() / sizeof(float));
    memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
    return good && !numbers.empty();
}

static btCollisionShape* MakeDecomposition(const knPieceMesh* mesh, double seconds)
{
    std::vector<float> numbers;
    if (!RunChild(mesh, seconds, numbers))
    {
        return nullptr;
    }
    btCompoundShape* compound = new btCompoundShape;
    for (size_t at = 0; at < numbers.size();)
    {
        size_t count = (size_t)numbers[at++];
        btConvexHullShape* hull = new btConvexHullShape;
        for (size_t i = 0; i < count; ++i, at += 3)
        {
            hull->addPoint(btVector3(numbers[at], numbers[at + 1], numbers[at + 2]), false);
        }
        hull->recalcLocalAabb();
        hull->setMargin(margin);
        compound->addChildShape(btTransform::getIdentity(), hull);
    }
    return compound;
}
#else
static btCollisionShape* MakeDecomposition(const knPieceMesh*, double)
{
    return nullptr;
}
#endif

knResult knMakePileShape(knPileShape* shape, knPileMethod method, const knPieceMesh* mesh,
                         double seconds)
{
    double start = Seconds();
    std::vector<btVector3> points;
    CopyPoints(mesh, points);
    *shape = knPileShape();
    switch (method)
    {
    case kn_pileGimpact:
        shape->shape = MakeGimpact(shape, mesh);
        break;
    case kn_pileHull:
        shape->shape = MakeHull(points);
        break;
    case kn_pileHull42:
        shape->shape = MakeSmallHull(points);
        break;
    default:
        shape->shape = MakeDecomposition(mesh, seconds);
        break;
    }
    shape->seconds = Seconds() - start;
    return shape->shape ? kn_success
                        : knFail(kn_errorProcess,
                                 "no shape of %u triangles within %g s, or no library for it "
                                 "(libbullet-extras-dev)",
                                 mesh->triangleCount, seconds);
}

void knDestroyPileShape(knPileShape* shape)
{
    if (shape->shape && shape->shape->isCompound())
    {
        btCompoundShape* compound = static_cast<btCompoundShape*>(shape->shape);
        for (int i = 0; i < compound->getNumChildShapes(); ++i)
        {
            delete compound->getChildShape(i);
        }
    }
    delete shape->shape;
    delete shape->triangles;
    *shape = knPileShape();
}
