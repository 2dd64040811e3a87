// SPDX-License-Identifier: Zlib
#include "bench/bvh_peer.h"

#include <fcl/geometry/bvh/BVH_model.h>
#include <fcl/narrowphase/collision.h>

#include <memory>
#include <new>
#include <vector>

// A model against itself: each pair comes twice and with itself, and adjacent ones too. Its own
// triangle test, in floating point; it is left as it is, and the row tells how many pairs differ.

namespace
{

struct Fcl
{
    const knPeerMesh* mesh;
    std::unique_ptr<fcl::BVHModel<fcl::AABB<double>>> model;
    std::vector<fcl::Vector3d> points;
    std::vector<fcl::Triangle> triangles;
    std::vector<uint64_t> keys;

    void fetchPoints()
    {
        points.resize(mesh->positionCount);
        for (uint32_t i = 0; i < mesh->positionCount; ++i)
        {
            knVec3 p = mesh->positions[i];
            points[i] = fcl::Vector3d(p.x, p.y, p.z);
        }
    }
};

void* Create(const knPeerMesh* mesh)
{
    Fcl* f = new (std::nothrow) Fcl;
    if (f)
    {
        f->mesh = mesh;
        for (uint32_t i = 0; i < mesh->triangleCount; ++i)
        {
            const uint32_t* v = mesh->triangles[i].v;
            f->triangles.emplace_back(v[0], v[1], v[2]);
        }
    }
    return f;
}

void Destroy(void* peer)
{
    delete static_cast<Fcl*>(peer);
}

void Build(void* peer)
{
    Fcl* f = static_cast<Fcl*>(peer);
    f->fetchPoints();
    // a model that has been built cannot be built again
    f->model.reset(new fcl::BVHModel<fcl::AABB<double>>);
    f->model->beginModel(static_cast<int>(f->triangles.size()), static_cast<int>(f->points.size()));
    f->model->addSubModel(f->points, f->triangles);
    f->model->endModel();
}

void Refit(void* peer)
{
    Fcl* f = static_cast<Fcl*>(peer);
    f->fetchPoints();
    f->model->beginUpdateModel();
    f->model->updateSubModel(f->points);
    f->model->endUpdateModel(true, true);
}

size_t Query(void* peer, const uint64_t** keys)
{
    Fcl* f = static_cast<Fcl*>(peer);
    fcl::CollisionRequest<double> request(size_t(1) << 40, false);
    fcl::CollisionResult<double> result;
    const fcl::Transform3d identity = fcl::Transform3d::Identity();
    fcl::collide(f->model.get(), identity, f->model.get(), identity, request, result);
    f->keys.clear();
    for (size_t i = 0; i < result.numContacts(); ++i)
    {
        const fcl::Contact<double>& c = result.getContact(i);
        uint32_t a = static_cast<uint32_t>(c.b1), b = static_cast<uint32_t>(c.b2);
        if (a < b && !knPeerMesh_AreAdjacent(f->mesh, a, b))
        {
            f->keys.push_back(uint64_t(a) << 32 | b);
        }
    }
    size_t count = knSortPairKeys(f->keys.data(), f->keys.size());
    *keys = f->keys.data();
    return count;
}

} // namespace

const knBvhPeer knFclPeer = {
    "FCL, AABB", "its own test, in floating point", 1, Create, Destroy, Build, true, Refit, Query};
