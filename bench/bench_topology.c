// SPDX-License-Identifier: Zlib
#include "bench/benches.h"
#include "bench/lattice.h"

#include <stdlib.h>
#include <string.h>

// The peer: what one writes with the C library at hand. The same checks, the same output, its
// faces and edges brought together with qsort.
typedef struct Part
{
    uint32_t v[3]; // ascending; edges leave v[2] at 0
    uint32_t id;
} Part;

typedef struct Peer
{
    Part* parts; // 6 per tetrahedron
    knTetNeighbors* neighbors;
    knTetEdges* tetEdges;
    knEdge* edges;
    uint32_t* nodeEdgeStarts;
    uint32_t* nodeEdges;
    uint32_t* boundaryFaces;
    uint32_t edgeCount;
    uint32_t boundaryFaceCount;
} Peer;

typedef struct State
{
    knLattice lattice;
    Peer peer;
} State;

static int CompareNumbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int CompareParts(const void* a, const void* b)
{
    const Part* p = a;
    const Part* q = b;
    for (int i = 0; i < 3; ++i)
    {
        if (p->v[i] != q->v[i])
        {
            return p->v[i] < q->v[i] ? -1 : 1;
        }
    }
    return CompareNumbers(p->id, q->id);
}

static void Order(uint32_t* a, uint32_t* b)
{
    if (*a > *b)
    {
        uint32_t swap = *a;
        *a = *b;
        *b = swap;
    }
}

static bool SameCorners(const Part* a, const Part* b)
{
    return memcmp(a->v, b->v, sizeof a->v) == 0;
}

static bool TetsAreGood(const knLattice* l)
{
    for (uint32_t t = 0; t < l->tetCount; ++t)
    {
        const uint32_t* v = l->tets[t].v;
        for (int i = 0; i < 4; ++i)
        {
            if (v[i] >= l->nodeCount || !knIsFinite(l->nodes[v[i]]))
            {
                return false;
            }
        }
        if (!(knTetVolume6(l->nodes[v[0]], l->nodes[v[1]], l->nodes[v[2]], l->nodes[v[3]]) > 0.0))
        {
            return false;
        }
    }
    return true;
}

static void SortFaces(Peer* p, const knLattice* l)
{
    for (uint32_t face = 0; face < 4 * l->tetCount; ++face)
    {
        const uint32_t* v = l->tets[face / 4].v;
        const uint8_t* corner = knTetFaceCorners[face % 4];
        Part part = {{v[corner[0]], v[corner[1]], v[corner[2]]}, face};
        Order(&part.v[0], &part.v[1]);
        Order(&part.v[1], &part.v[2]);
        Order(&part.v[0], &part.v[1]);
        p->parts[face] = part;
    }
    qsort(p->parts, 4 * (size_t)l->tetCount, sizeof(Part), CompareParts);
}

// The two sides list the shared corners in opposite order.
static bool Opposed(const knLattice* l, uint32_t faceA, uint32_t faceB)
{
    const knTetMesh mesh = {.tets = l->tets};
    knTriangle a = knTetMesh_BoundaryTriangle(&mesh, faceA);
    knTriangle b = knTetMesh_BoundaryTriangle(&mesh, faceB);
    int k = a.v[0] == b.v[0] ? 0 : (a.v[0] == b.v[1] ? 1 : 2);
    return a.v[1] == b.v[(k + 2) % 3] && a.v[2] == b.v[(k + 1) % 3];
}

static bool LinkFaces(Peer* p, const knLattice* l)
{
    uint32_t count = 4 * l->tetCount;
    for (uint32_t i = 0; i < count;)
    {
        uint32_t end = i + 1;
        while (end < count && SameCorners(&p->parts[i], &p->parts[end]))
        {
            ++end;
        }
        uint32_t a = p->parts[i].id;
        p->neighbors[a / 4].t[a % 4] = KN_NONE;
        if (end - i == 2)
        {
            uint32_t b = p->parts[i + 1].id;
            if (!Opposed(l, a, b))
            {
                return false;
            }
            p->neighbors[a / 4].t[a % 4] = b / 4;
            p->neighbors[b / 4].t[b % 4] = a / 4;
        }
        else if (end - i > 2)
        {
            return false;
        }
        p->boundaryFaceCount += end - i == 1;
        i = end;
    }
    return true;
}

static bool ListBoundary(Peer* p, uint32_t tetCount)
{
    p->boundaryFaces = malloc(p->boundaryFaceCount * sizeof(uint32_t));
    uint32_t count = 0;
    for (uint32_t face = 0; p->boundaryFaces && face < 4 * tetCount; ++face)
    {
        if (p->neighbors[face / 4].t[face % 4] == KN_NONE)
        {
            p->boundaryFaces[count++] = face;
        }
    }
    return p->boundaryFaces != NULL;
}

static void SortEdges(Peer* p, const knLattice* l)
{
    for (uint32_t edge = 0; edge < 6 * l->tetCount; ++edge)
    {
        const uint32_t* v = l->tets[edge / 6].v;
        const uint8_t* corner = knTetEdgeCorners[edge % 6];
        Part part = {{v[corner[0]], v[corner[1]], 0}, edge};
        Order(&part.v[0], &part.v[1]);
        p->parts[edge] = part;
    }
    qsort(p->parts, 6 * (size_t)l->tetCount, sizeof(Part), CompareParts);
    for (uint32_t i = 0; i < 6 * l->tetCount; ++i)
    {
        const Part* part = &p->parts[i];
        p->edgeCount += i == 0 || !SameCorners(part - 1, part);
        p->tetEdges[part->id / 6].e[part->id % 6] = p->edgeCount - 1;
    }
}

static bool ListEdges(Peer* p, const knLattice* l)
{
    p->edges = malloc(p->edgeCount * sizeof(knEdge));
    p->nodeEdges = malloc(2 * (size_t)p->edgeCount * sizeof(uint32_t));
    p->nodeEdgeStarts = calloc((size_t)l->nodeCount + 2, sizeof(uint32_t));
    if (!p->edges || !p->nodeEdges || !p->nodeEdgeStarts)
    {
        return false;
    }
    uint32_t* cursor = p->nodeEdgeStarts + 1; // one ahead, so that filling leaves the starts behind
    for (uint32_t i = 0, e = 0; i < 6 * l->tetCount; ++i)
    {
        const Part* part = &p->parts[i];
        if (i == 0 || !SameCorners(part - 1, part))
        {
            p->edges[e++] = (knEdge){{part->v[0], part->v[1]}};
            cursor[part->v[0] + 1] += 1;
            cursor[part->v[1] + 1] += 1;
        }
    }
    for (uint32_t n = 0; n < l->nodeCount; ++n)
    {
        cursor[n + 1] += cursor[n];
    }
    for (uint32_t e = 0; e < p->edgeCount; ++e)
    {
        p->nodeEdges[cursor[p->edges[e].v[0]]++] = e;
        p->nodeEdges[cursor[p->edges[e].v[1]]++] = e;
    }
    return true;
}

static bool BuildPeer(Peer* p, const knLattice* l)
{
    *p = (Peer){.parts = malloc(6 * (size_t)l->tetCount * sizeof(Part)),
                .neighbors = malloc(l->tetCount * sizeof(knTetNeighbors)),
                .tetEdges = malloc(l->tetCount * sizeof(knTetEdges))};
    if (!p->parts || !p->neighbors || !p->tetEdges || !TetsAreGood(l))
    {
        return false;
    }
    SortFaces(p, l);
    if (!LinkFaces(p, l) || !ListBoundary(p, l->tetCount))
    {
        return false;
    }
    SortEdges(p, l);
    return ListEdges(p, l);
}

static void FreePeer(Peer* p)
{
    free(p->parts);
    free(p->neighbors);
    free(p->tetEdges);
    free(p->edges);
    free(p->nodeEdgeStarts);
    free(p->nodeEdges);
    free(p->boundaryFaces);
}

static knResult RunPeer(void* context)
{
    State* s = context;
    bool good = BuildPeer(&s->peer, &s->lattice);
    knKeep(&s->peer);
    FreePeer(&s->peer);
    return good ? kn_success : knFail(kn_errorMesh, "the peer could not build the mesh");
}

static knResult BuildOurs(knTetMeshStore* store, const knLattice* l)
{
    return knBuildTetMesh(store, l->nodes, l->nodeCount, l->tets, l->tetCount, NULL);
}

static knResult RunOurs(void* context)
{
    State* s = context;
    knTetMeshStore store;
    knResult result = BuildOurs(&store, &s->lattice);
    if (result == kn_success)
    {
        knKeep(&store);
        knDestroyTetMeshStore(&store);
    }
    return result;
}

static bool SameOutput(const knTetMesh* m, const Peer* p)
{
    return m->edgeCount == p->edgeCount && m->boundaryFaceCount == p->boundaryFaceCount &&
           memcmp(m->neighbors, p->neighbors, m->tetCount * sizeof(knTetNeighbors)) == 0 &&
           memcmp(m->tetEdges, p->tetEdges, m->tetCount * sizeof(knTetEdges)) == 0 &&
           memcmp(m->edges, p->edges, m->edgeCount * sizeof(knEdge)) == 0 &&
           memcmp(m->nodeEdgeStarts, p->nodeEdgeStarts,
                  ((size_t)m->nodeCount + 1) * sizeof(uint32_t)) == 0 &&
           memcmp(m->nodeEdges, p->nodeEdges, 2 * (size_t)m->edgeCount * sizeof(uint32_t)) == 0 &&
           memcmp(m->boundaryFaces, p->boundaryFaces, m->boundaryFaceCount * sizeof(uint32_t)) == 0;
}

static knResult CheckAgreement(State* s)
{
    knTetMeshStore store;
    knResult result = BuildOurs(&store, &s->lattice);
    if (result == kn_success)
    {
        bool same = BuildPeer(&s->peer, &s->lattice) && SameOutput(&store.mesh, &s->peer);
        FreePeer(&s->peer);
        knDestroyTetMeshStore(&store);
        result = same ? kn_success : knFail(kn_errorMesh, "ours and the peer disagree");
    }
    return result;
}

static knResult MeasureLattice(knBenchRun* run, uint32_t cells, bool shuffled)
{
    State s = {0};
    knResult result = knCreateLattice(&s.lattice, cells);
    if (result == kn_success && shuffled)
    {
        result = knLattice_Shuffle(&s.lattice, cells);
    }
    result = result == kn_success ? CheckAgreement(&s) : result;
    if (result == kn_success)
    {
        char caseName[64];
        snprintf(caseName, sizeof caseName, "%u tetrahedra%s", s.lattice.tetCount,
                 shuffled ? ", shuffled" : "");
        knMeasureDef def = knDefaultMeasureDef(run);
        def.caseName = caseName;
        def.ours = RunOurs;
        def.peer = RunPeer;
        def.context = &s;
        def.peerName = "the same with qsort";
        def.note = "the same checks and output; output compared";
        def.repetitions = run->options.quick ? 3 : 11;
        result = knBenchRun_Measure(run, &def);
    }
    knDestroyLattice(&s.lattice);
    return result;
}

static knResult Run(knBenchRun* run)
{
    const uint32_t cells[2] = {run->options.quick ? 7u : 15u, run->options.quick ? 15u : 32u};
    knResult result = MeasureLattice(run, cells[0], false);
    result = result == kn_success ? MeasureLattice(run, cells[1], false) : result;
    return result == kn_success ? MeasureLattice(run, cells[1], true) : result;
}

const knBench knBenchTopology = {"topology", "knBuildTetMesh beside a builder that uses qsort",
                                 Run};
