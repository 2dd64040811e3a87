// SPDX-License-Identifier: Zlib
#include "bench/bvh_peer.h"

#if defined(KN_BENCH_EMBREE)

#include <embree3/rtcore.h>
#include <stdlib.h>

// User geometry and rtcCollide, the only collision query that Embree has. It reports pairs of
// boxes, some twice and adjacent ones too; filter, exact test and sorting are ours.

typedef struct Embree
{
    const knPeerMesh* mesh;
    RTCDevice device;
    RTCScene scene;
    RTCGeometry geometry;
    bool isDynamic; // builds fast and can refit; else the best tree
    uint64_t* keys;
    size_t count, capacity;
} Embree;

static void FindBounds(const struct RTCBoundsFunctionArguments* a)
{
    const knPeerMesh* m = a->geometryUserPtr;
    const uint32_t* v = m->triangles[a->primID].v;
    knVec3 p = m->positions[v[0]], q = m->positions[v[1]], r = m->positions[v[2]];
    knVec3 lower = knMin(knMin(p, q), r), upper = knMax(knMax(p, q), r);
    a->bounds_o->lower_x = lower.x;
    a->bounds_o->lower_y = lower.y;
    a->bounds_o->lower_z = lower.z;
    a->bounds_o->upper_x = upper.x;
    a->bounds_o->upper_y = upper.y;
    a->bounds_o->upper_z = upper.z;
}

static void Build(void* peer)
{
    Embree* e = peer;
    if (e->scene)
    {
        rtcReleaseScene(e->scene);
        rtcReleaseGeometry(e->geometry);
    }
    e->scene = rtcNewScene(e->device);
    rtcSetSceneFlags(e->scene, e->isDynamic ? RTC_SCENE_FLAG_DYNAMIC : RTC_SCENE_FLAG_NONE);
    rtcSetSceneBuildQuality(e->scene,
                            e->isDynamic ? RTC_BUILD_QUALITY_LOW : RTC_BUILD_QUALITY_MEDIUM);
    e->geometry = rtcNewGeometry(e->device, RTC_GEOMETRY_TYPE_USER);
    rtcSetGeometryUserPrimitiveCount(e->geometry, e->mesh->triangleCount);
    rtcSetGeometryUserData(e->geometry, (void*)e->mesh);
    rtcSetGeometryBoundsFunction(e->geometry, FindBounds, NULL);
    rtcSetGeometryBuildQuality(e->geometry,
                               e->isDynamic ? RTC_BUILD_QUALITY_REFIT : RTC_BUILD_QUALITY_MEDIUM);
    rtcCommitGeometry(e->geometry);
    rtcAttachGeometry(e->scene, e->geometry);
    rtcCommitScene(e->scene);
}

static void Refit(void* peer)
{
    Embree* e = peer;
    rtcCommitGeometry(e->geometry);
    rtcCommitScene(e->scene);
}

static void TakeCollisions(void* user, struct RTCCollision* collisions, unsigned int count)
{
    Embree* e = user;
    for (unsigned int i = 0; i < count; ++i)
    {
        uint32_t a = collisions[i].primID0, b = collisions[i].primID1;
        if (a >= b || knPeerMesh_AreAdjacent(e->mesh, a, b) ||
            !knPeerMesh_TrianglesMeet(e->mesh, a, b))
        {
            continue;
        }
        if (e->count == e->capacity)
        {
            size_t capacity = 2 * e->capacity + 4096;
            uint64_t* keys = realloc(e->keys, capacity * sizeof *keys);
            if (!keys)
            {
                return; // the count then differs, and the bench says so
            }
            e->keys = keys;
            e->capacity = capacity;
        }
        e->keys[e->count++] = (uint64_t)a << 32 | b;
    }
}

static size_t Query(void* peer, const uint64_t** keys)
{
    Embree* e = peer;
    e->count = 0;
    rtcCollide(e->scene, e->scene, TakeCollisions, e);
    *keys = e->keys;
    e->count = knSortPairKeys(e->keys, e->count);
    *keys = e->keys;
    return e->count;
}

static void Destroy(void* peer)
{
    Embree* e = peer;
    if (e && e->scene)
    {
        rtcReleaseScene(e->scene);
        rtcReleaseGeometry(e->geometry);
    }
    if (e && e->device)
    {
        rtcReleaseDevice(e->device);
    }
    free(e ? e->keys : NULL);
    free(e);
}

static void* Create(const knPeerMesh* mesh, bool isDynamic)
{
    Embree* e = calloc(1, sizeof *e);
    if (e)
    {
        e->mesh = mesh;
        e->isDynamic = isDynamic;
        e->device = rtcNewDevice("threads=1");
    }
    if (e && !e->device)
    {
        Destroy(e);
        return NULL;
    }
    return e;
}

static void* CreateStatic(const knPeerMesh* mesh)
{
    return Create(mesh, false);
}

static void* CreateDynamic(const knPeerMesh* mesh)
{
    return Create(mesh, true);
}

#define NOTE "its pairs of boxes, our exact test; both filter adjacent pairs and sort"

const knBvhPeer knEmbreePeer = {"Embree", NOTE, 9, CreateStatic, Destroy, Build, true, NULL, Query};
const knBvhPeer knEmbreeRefitPeer = {
    "Embree, dynamic", NOTE, 9, CreateDynamic, Destroy, Build, true, Refit, Query};

#endif
