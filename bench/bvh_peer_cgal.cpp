// SPDX-License-Identifier: Zlib
#include "bench/bvh_peer.h"

#include <CGAL/AABB_traits.h>
#include <CGAL/AABB_tree.h>
#include <CGAL/AABB_triangle_primitive.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Polygon_mesh_processing/self_intersections.h>
#include <CGAL/Simple_cartesian.h>
#include <CGAL/Surface_mesh.h>

#include <iterator>
#include <new>
#include <utility>
#include <vector>

// self_intersections: boxes swept anew in each call, exact predicates; there is no hierarchy to
// build or keep. Needs a mesh that is a manifold.

namespace
{

typedef CGAL::Exact_predicates_inexact_constructions_kernel Kernel;
typedef CGAL::Surface_mesh<Kernel::Point_3> Mesh;

struct Cgal
{
    const knPeerMesh* source;
    Mesh mesh;
    std::vector<uint64_t> keys;
};

void* Create(const knPeerMesh* source)
{
    Cgal* c = new (std::nothrow) Cgal;
    if (!c)
    {
        return nullptr;
    }
    c->source = source;
    for (uint32_t i = 0; i < source->positionCount; ++i)
    {
        knVec3 p = source->positions[i];
        c->mesh.add_vertex(Kernel::Point_3(double(p.x), double(p.y), double(p.z)));
    }
    for (uint32_t i = 0; i < source->triangleCount; ++i)
    {
        const uint32_t* v = source->triangles[i].v;
        c->mesh.add_face(Mesh::Vertex_index(v[0]), Mesh::Vertex_index(v[1]),
                         Mesh::Vertex_index(v[2]));
    }
    return c;
}

void Destroy(void* peer)
{
    delete static_cast<Cgal*>(peer);
}

// The positions only: the rest is done within a query.
void Build(void* peer)
{
    Cgal* c = static_cast<Cgal*>(peer);
    for (uint32_t i = 0; i < c->source->positionCount; ++i)
    {
        knVec3 p = c->source->positions[i];
        c->mesh.point(Mesh::Vertex_index(i)) =
            Kernel::Point_3(double(p.x), double(p.y), double(p.z));
    }
}

size_t Query(void* peer, const uint64_t** keys)
{
    typedef std::pair<Mesh::Face_index, Mesh::Face_index> Pair;
    Cgal* c = static_cast<Cgal*>(peer);
    std::vector<Pair> pairs;
    CGAL::Polygon_mesh_processing::self_intersections(c->mesh, std::back_inserter(pairs));
    c->keys.clear();
    for (const Pair& p : pairs)
    {
        uint32_t a = p.first, b = p.second;
        if (!knPeerMesh_AreAdjacent(c->source, a, b))
        {
            c->keys.push_back(a < b ? uint64_t(a) << 32 | b : uint64_t(b) << 32 | a);
        }
    }
    size_t count = knSortPairKeys(c->keys.data(), c->keys.size());
    *keys = c->keys.data();
    return count;
}

// The tree of CGAL, to compare how fast it is built: it has no query for pairs within it.
typedef CGAL::Simple_cartesian<double> TreeKernel;
typedef std::vector<TreeKernel::Triangle_3> Triangles;
typedef CGAL::AABB_triangle_primitive<TreeKernel, Triangles::const_iterator> Primitive;
typedef CGAL::AABB_tree<CGAL::AABB_traits<TreeKernel, Primitive>> Tree;

struct CgalTree
{
    const knPeerMesh* source;
    Triangles triangles;
    Tree tree;
};

void* CreateTree(const knPeerMesh* source)
{
    CgalTree* t = new (std::nothrow) CgalTree;
    if (t)
    {
        t->source = source;
    }
    return t;
}

void DestroyTree(void* peer)
{
    delete static_cast<CgalTree*>(peer);
}

TreeKernel::Point_3 PointOf(const knPeerMesh* m, uint32_t vertex)
{
    knVec3 p = m->positions[vertex];
    return TreeKernel::Point_3(double(p.x), double(p.y), double(p.z));
}

void BuildTree(void* peer)
{
    CgalTree* t = static_cast<CgalTree*>(peer);
    const knPeerMesh* m = t->source;
    t->triangles.clear();
    for (uint32_t i = 0; i < m->triangleCount; ++i)
    {
        const uint32_t* v = m->triangles[i].v;
        t->triangles.emplace_back(PointOf(m, v[0]), PointOf(m, v[1]), PointOf(m, v[2]));
    }
    t->tree.clear();
    t->tree.insert(t->triangles.begin(), t->triangles.end());
    t->tree.build();
}

} // namespace

const knBvhPeer knCgalTreePeer = {"CGAL, AABB_tree", "",   9,       CreateTree, DestroyTree,
                                  BuildTree,         true, nullptr, nullptr};

const knBvhPeer knCgalPeer = {"CGAL, self_intersections",
                              "exact; sweeps boxes in the query",
                              5,
                              Create,
                              Destroy,
                              Build,
                              false,
                              nullptr,
                              Query};
