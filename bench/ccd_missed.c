// SPDX-License-Identifier: Zlib
#include "bench/ccd_peer.h"

#if defined(KN_BENCH_FCL)

#include <stdlib.h>

// Contacts of features that a peer, which reports pairs of triangles, has in none of these.

// Lists of the triangles around vertices, or of those around edges.
typedef struct Around
{
    uint32_t* heads;
    uint32_t* next; // three of each triangle
} Around;

#define END 0xFFFFFFFFu

static bool MakeAround(Around* a, size_t featureCount, size_t triangleCount)
{
    a->heads = malloc((featureCount + 1) * sizeof *a->heads);
    a->next = malloc((3 * triangleCount + 1) * sizeof *a->next);
    for (size_t i = 0; a->heads && i < featureCount; ++i)
    {
        a->heads[i] = END;
    }
    return a->heads && a->next;
}

static void FreeAround(Around* a)
{
    free(a->heads);
    free(a->next);
}

static void AddTriangle(Around* a, size_t feature, uint32_t corner)
{
    a->next[corner] = a->heads[feature];
    a->heads[feature] = corner;
}

// Edges are sorted by the higher vertex, then the lower.
static size_t FindEdge(const knEdge* edges, size_t count, uint32_t v, uint32_t w)
{
    uint64_t key = v > w ? (uint64_t)v << 32 | w : (uint64_t)w << 32 | v;
    size_t low = 0, high = count;
    while (low < high)
    {
        size_t middle = low + (high - low) / 2;
        uint64_t here = (uint64_t)edges[middle].v[1] << 32 | edges[middle].v[0];
        low = here < key ? middle + 1 : low;
        high = here < key ? high : middle;
    }
    return low;
}

static bool HasPair(const knCcdPeer* peer, const Around* around, const knCcdContact* c)
{
    bool isEdges = c->kind == kn_ccdEdgeEdge;
    for (uint32_t i = around->heads[c->a]; i != END; i = around->next[i])
    {
        if (!isEdges && knCcdPeer_Has(peer, i / 3, c->b))
        {
            return true;
        }
        for (uint32_t k = isEdges ? around->heads[c->b] : END; k != END; k = around->next[k])
        {
            if (knCcdPeer_Has(peer, i / 3, k / 3))
            {
                return true;
            }
        }
    }
    return false;
}

knResult knCountPeerMissed(const knCcdPeer* peer, const knPeerMesh* mesh, const knCcdStep* step,
                           size_t* missed)
{
    size_t edgeCount, count;
    const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
    const knCcdContact* contacts = knCcdStep_Contacts(step, &count);
    Around vertices, sides = {0};
    *missed = 0;
    bool isGood = MakeAround(&vertices, mesh->positionCount, mesh->triangleCount) &&
                  MakeAround(&sides, edgeCount, mesh->triangleCount);
    for (uint32_t i = 0; i < 3 * mesh->triangleCount && isGood; ++i)
    {
        const uint32_t* v = mesh->triangles[i / 3].v;
        AddTriangle(&vertices, v[i % 3], i);
        AddTriangle(&sides, FindEdge(edges, edgeCount, v[i % 3], v[(i % 3 + 1) % 3]), i);
    }
    for (size_t i = 0; i < count && isGood; ++i)
    {
        bool isEdges = contacts[i].kind == kn_ccdEdgeEdge;
        *missed += !HasPair(peer, isEdges ? &sides : &vertices, &contacts[i]);
    }
    FreeAround(&vertices);
    FreeAround(&sides);
    return isGood ? kn_success : knFail(kn_errorMemory, "no memory to judge the peer");
}

#endif
