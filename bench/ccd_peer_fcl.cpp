// SPDX-License-Identifier: Zlib
#include "bench/ccd_peer.h"

#include <fcl/geometry/bvh/BVH_model.h>
#include <fcl/narrowphase/collision.h>
#include <fcl/narrowphase/detail/traversal/collision/intersect.h>
#include <fcl/narrowphase/detail/traversal/collision/mesh_continuous_collision_traversal_node.h>
#include <fcl/narrowphase/detail/traversal/traversal_recurse.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

// A model that moves, met with itself: each pair of triangles once, all fifteen tests of a pair,
// adjacent ones included. Its hierarchy is kept and fitted, as ours is.

using Box = fcl::AABB<double>;

struct knCcdPeer
{
    const knPeerMesh* mesh;
    std::unique_ptr<fcl::BVHModel<Box>> model;
    std::vector<fcl::Vector3d> points[2];
    std::vector<uint64_t> keys;

    void moveTo(int pose)
    {
        model->beginUpdateModel();
        model->updateSubModel(points[pose]);
        model->endUpdateModel(true, true);
    }
};

knCcdPeer* knCreateCcdPeer(const knPeerMesh* mesh)
{
    knCcdPeer* p = new (std::nothrow) knCcdPeer;
    if (!p)
    {
        return nullptr;
    }
    p->mesh = mesh;
    for (int pose = 0; pose < 2; ++pose)
    {
        for (uint32_t i = 0; i < mesh->positionCount; ++i)
        {
            knVec3 v = mesh->poses[pose][i];
            p->points[pose].emplace_back(v.x, v.y, v.z);
        }
    }
    std::vector<fcl::Triangle> triangles;
    for (uint32_t i = 0; i < mesh->triangleCount; ++i)
    {
        const uint32_t* v = mesh->triangles[i].v;
        triangles.emplace_back(v[0], v[1], v[2]);
    }
    p->model.reset(new fcl::BVHModel<Box>);
    p->model->beginModel(static_cast<int>(triangles.size()), static_cast<int>(p->points[0].size()));
    p->model->addSubModel(p->points[0], triangles);
    p->model->endModel();
    return p;
}

void knDestroyCcdPeer(knCcdPeer* peer)
{
    delete peer;
}

void knCcdPeer_Rest(knCcdPeer* peer)
{
    peer->moveTo(0);
    peer->moveTo(0);
}

size_t knCcdPeer_Run(knCcdPeer* peer)
{
    peer->moveTo(1);
    fcl::detail::MeshContinuousCollisionTraversalNode<Box> node;
    fcl::CollisionRequest<double> request(size_t(1) << 40, false);
    const fcl::Transform3d identity = fcl::Transform3d::Identity();
    fcl::detail::initialize(node, *peer->model, identity, *peer->model, identity, request);
    fcl::detail::selfCollisionRecurse<double>(&node, 0, nullptr);
    peer->keys.clear();
    for (const auto& pair : node.pairs)
    {
        uint64_t a = static_cast<uint32_t>(std::min(pair.id1, pair.id2));
        uint64_t b = static_cast<uint32_t>(std::max(pair.id1, pair.id2));
        peer->keys.push_back(a << 32 | b);
    }
    std::sort(peer->keys.begin(), peer->keys.end());
    return peer->keys.size();
}

bool knCcdPeer_Has(const knCcdPeer* peer, uint32_t a, uint32_t b)
{
    uint64_t key = uint64_t(std::min(a, b)) << 32 | std::max(a, b);
    return std::binary_search(peer->keys.begin(), peer->keys.end(), key);
}

bool knRunPeerTest(const knCcdTest* test)
{
    fcl::Vector3d p[2][4];
    for (int i = 0; i < 4; ++i)
    {
        p[0][i] = fcl::Vector3d(test->start[i].x, test->start[i].y, test->start[i].z);
        p[1][i] = fcl::Vector3d(test->end[i].x, test->end[i].y, test->end[i].z);
    }
    double time;
    fcl::Vector3d place;
    using Tests = fcl::detail::Intersect<double>;
    return test->kind == kn_ccdVertexFace
               ? Tests::intersect_VF(p[0][1], p[0][2], p[0][3], p[0][0], p[1][1], p[1][2], p[1][3],
                                     p[1][0], &time, &place)
               : Tests::intersect_EE(p[0][0], p[0][1], p[0][2], p[0][3], p[1][0], p[1][1], p[1][2],
                                     p[1][3], &time, &place);
}
