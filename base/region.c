// SPDX-License-Identifier: Zlib
#include "base/region_internal.h"

#include <string.h>

// What clipping needs besides the part itself.
typedef struct Clip
{
    knTetRegion* region;
    const uint32_t* nodes;
    const float* phi;
    uint8_t keep;                             // corners that stay
    uint32_t kept;                            // vertices that stay, as bits
    uint8_t ends[KN_MAX_REGION_VERTICES][2];  // of the edge that a new vertex lies on
    uint8_t next[2 * KN_MAX_REGION_VERTICES]; // around the new face
    knRegionVertex made[KN_MAX_REGION_VERTICES];
    int madeCount;
} Clip;

static uint8_t FeatureOf(uint8_t support)
{
    // by bit mask of corners: corner, edge in the order of knTetEdgeCorners, opposite face
    static const uint8_t features[16] = {0, 0, 1, 0, 2, 1, 3, 3, 3, 2, 4, 2, 5, 1, 0, 0};
    return features[support];
}

static int CountBits(uint8_t mask)
{
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1);
}

// The corners by ascending node id.
static void SortCorners(const uint32_t* nodes, uint8_t order[4])
{
    for (uint8_t i = 0; i < 4; ++i)
    {
        uint8_t place = 0;
        for (uint8_t k = 0; k < 4; ++k)
        {
            place = (uint8_t)(place + (nodes[k] < nodes[i] || (nodes[k] == nodes[i] && k < i)));
        }
        order[place] = i;
    }
}

// In ascending order of node ids: a corner without weight adds an exact zero, so the sum over an
// edge or a face is the same in every tetrahedron that shares it. Edges have their points already.
static void PlaceVertices(knTetRegion* region, const knVec3* corners, const uint32_t* nodes)
{
    uint8_t order[4];
    SortCorners(nodes, order);
    for (int i = 0; i < region->vertexCount; ++i)
    {
        knRegionVertex* v = &region->vertices[i];
        if (v->kind == kn_regionNode || v->kind == kn_regionEdge)
        {
            continue;
        }
        knDVec3 sum = {0.0, 0.0, 0.0};
        for (int k = 0; k < 4; ++k)
        {
            sum = knDAdd(sum, knDScale(v->weights[order[k]], knToDouble(corners[order[k]])));
        }
        v->position = knToFloat(sum);
    }
}

knVec3 knCutPosition(knVec3 low, knVec3 high, double share)
{
    knDVec3 sum = {0.0, 0.0, 0.0};
    sum = knDAdd(sum, knDScale(1.0 - share, knToDouble(low)));
    return knToFloat(knDAdd(sum, knDScale(share, knToDouble(high))));
}

static void StartWhole(knTetRegion* region, const knVec3* corners)
{
    region->mask = 0xF;
    region->vertexCount = 4;
    region->faceCount = 4;
    for (uint8_t i = 0; i < 4; ++i)
    {
        knRegionVertex* v = &region->vertices[i];
        *v = (knRegionVertex){.position = corners[i],
                              .kind = kn_regionNode,
                              .feature = i,
                              .owner = i,
                              .support = (uint8_t)(1 << i)};
        v->weights[i] = 1.0;
        const uint8_t* c = knTetFaceCorners[i];
        region->faces[i] = (knRegionFace){.source = i, .count = 3, .loop = {c[0], c[1], c[2]}};
    }
}

// A plane is zero at the corners outside its part, so only the owner's weight counts.
static double ValueAt(const Clip* clip, const knRegionVertex* v)
{
    return v->weights[v->owner] * (double)clip->phi[v->owner];
}

static knRegionVertex CutVertex(const Clip* clip, const knRegionVertex* in,
                                const knRegionVertex* out)
{
    bool ordered = clip->nodes[in->owner] < clip->nodes[out->owner];
    const knRegionVertex* low = ordered ? in : out;
    const knRegionVertex* high = ordered ? out : in;
    double share = knCutShare(ValueAt(clip, low), ValueAt(clip, high));
    knRegionVertex v = {.owner = in->owner, .support = (uint8_t)(in->support | out->support)};
    for (int i = 0; i < 4; ++i)
    {
        v.weights[i] = (1.0 - share) * low->weights[i] + share * high->weights[i];
    }
    v.kind = (uint8_t)(CountBits(v.support) - 1);
    v.feature = FeatureOf(v.support);
    if (v.kind == kn_regionEdge)
    {
        // between two corners
        v.position = knCutPosition(low->position, high->position, share);
    }
    return v;
}

static bool IsKept(const Clip* clip, uint8_t vertex)
{
    return clip->kept >> vertex & 1;
}

// The new vertex on the edge of two old ones, as an index behind all old ones.
static uint8_t FindCut(Clip* clip, uint8_t in, uint8_t out)
{
    for (uint8_t i = 0; i < clip->madeCount; ++i)
    {
        if (clip->ends[i][0] == in && clip->ends[i][1] == out)
        {
            return (uint8_t)(KN_MAX_REGION_VERTICES + i);
        }
    }
    uint8_t made = (uint8_t)clip->madeCount++;
    clip->ends[made][0] = in;
    clip->ends[made][1] = out;
    clip->made[made] = CutVertex(clip, &clip->region->vertices[in], &clip->region->vertices[out]);
    return (uint8_t)(KN_MAX_REGION_VERTICES + made);
}

// Keeps the part of a face on the kept side and notes its new edge for the face of the plane.
static knRegionFace ClipFace(Clip* clip, const knRegionFace* face)
{
    knRegionFace result = {.source = face->source};
    uint8_t leaving = 0;
    uint8_t entering = 0;
    bool crossed = false;
    uint8_t a = face->loop[face->count - 1];
    for (int i = 0; i < face->count; ++i)
    {
        uint8_t b = face->loop[i];
        if (IsKept(clip, a) && !IsKept(clip, b))
        {
            leaving = FindCut(clip, a, b);
            result.loop[result.count++] = leaving;
            crossed = true;
        }
        else if (!IsKept(clip, a) && IsKept(clip, b))
        {
            entering = FindCut(clip, b, a);
            result.loop[result.count++] = entering;
        }
        if (IsKept(clip, b))
        {
            result.loop[result.count++] = b;
        }
        a = b;
    }
    if (crossed)
    {
        // the face of the plane runs along the same edge the other way
        clip->next[entering] = leaving;
    }
    return result;
}

static void CloseFace(Clip* clip, uint8_t source)
{
    knRegionFace face = {.source = source};
    uint8_t vertex = KN_MAX_REGION_VERTICES;
    for (int i = 0; i < clip->madeCount; ++i)
    {
        face.loop[face.count++] = vertex;
        vertex = clip->next[vertex];
    }
    clip->region->faces[clip->region->faceCount++] = face;
}

// Drops the vertices that are cut away and puts the new ones behind the rest.
static void Compact(Clip* clip)
{
    knTetRegion* region = clip->region;
    uint8_t map[2 * KN_MAX_REGION_VERTICES] = {0};
    uint8_t count = 0;
    for (uint8_t i = 0; i < region->vertexCount; ++i)
    {
        if (IsKept(clip, i))
        {
            map[i] = count;
            region->vertices[count++] = region->vertices[i];
        }
    }
    for (int i = 0; i < clip->madeCount; ++i)
    {
        map[KN_MAX_REGION_VERTICES + i] = count;
        region->vertices[count++] = clip->made[i];
    }
    region->vertexCount = count;
    for (int f = 0; f < region->faceCount; ++f)
    {
        knRegionFace* face = &region->faces[f];
        for (int i = 0; i < face->count; ++i)
        {
            face->loop[i] = map[face->loop[i]];
        }
    }
}

static void ClipRegion(Clip* clip, uint8_t source)
{
    knTetRegion* region = clip->region;
    uint8_t faceCount = region->faceCount;
    region->faceCount = 0;
    clip->madeCount = 0;
    clip->kept = 0;
    for (int i = 0; i < region->vertexCount; ++i)
    {
        clip->kept |= (uint32_t)(clip->keep >> region->vertices[i].owner & 1) << i;
    }
    for (int f = 0; f < faceCount; ++f)
    {
        knRegionFace face = ClipFace(clip, &region->faces[f]);
        if (face.count > 0)
        {
            region->faces[region->faceCount++] = face;
        }
    }
    CloseFace(clip, source);
    Compact(clip);
    region->mask = clip->keep;
}

// The first plane, from the table. The same bits that clipping gives: where a weight is one, its
// products are exact.
static void ClipWhole(Clip* clip, const knVec3* corners)
{
    const knFirstClip* first = &knFirstClips[clip->keep];
    knTetRegion* region = clip->region;
    region->mask = clip->keep;
    region->vertexCount = first->vertexCount;
    region->faceCount = first->faceCount;
    memcpy(region->faces, first->faces, sizeof first->faces);
    for (int i = 0; i < first->vertexCount; ++i)
    {
        uint8_t in = first->ends[i][0], out = first->ends[i][1];
        uint8_t support = (uint8_t)(1 << in | 1 << out);
        knRegionVertex* v = &region->vertices[i];
        *v = (knRegionVertex){.owner = in, .feature = FeatureOf(support), .support = support};
        if (in == out)
        {
            v->kind = kn_regionNode;
            v->position = corners[in];
            v->weights[in] = 1.0;
            continue;
        }
        bool ordered = clip->nodes[in] < clip->nodes[out];
        uint8_t low = ordered ? in : out, high = ordered ? out : in;
        double share = knCutShare((double)clip->phi[low], (double)clip->phi[high]);
        v->kind = kn_regionEdge;
        v->weights[low] = 1.0 - share;
        v->weights[high] = share;
        v->position = knCutPosition(corners[low], corners[high], share);
    }
}

// The corners that stay with the mask when plane i parts the region; 0 when it does not, or when it
// parts the mask itself.
static uint8_t KeptBy(const knTetCut* cut, int i, uint8_t region, uint8_t mask)
{
    if (cut->region[i] != region)
    {
        return 0;
    }
    uint8_t above = (uint8_t)(region & ~cut->below[i]);
    uint8_t keep = mask & cut->below[i] ? cut->below[i] : above;
    return (mask & ~keep) != 0 || keep == region ? 0 : keep;
}

void knMakeTetRegion(knTetRegion* region, const knVec3 corners[4], const uint32_t nodes[4],
                     const knTetCut* cut, uint8_t mask)
{
    mask &= 0xF;
    if (mask == 0)
    {
        region->mask = region->vertexCount = region->faceCount = 0;
        return;
    }
    Clip clip; // not cleared: only what a plane has made is read
    clip.region = region;
    clip.nodes = nodes;
    clip.keep = cut && cut->planeCount > 0 ? KeptBy(cut, 0, 0xF, mask) : 0;
    if (clip.keep == 0)
    {
        StartWhole(region, corners);
        return;
    }
    clip.phi = cut->phi[0];
    ClipWhole(&clip, corners);
    bool clipped = false;
    for (int i = 1; i < cut->planeCount; ++i)
    {
        clip.keep = KeptBy(cut, i, region->mask, mask);
        if (clip.keep != 0)
        {
            clip.phi = cut->phi[i];
            ClipRegion(&clip, (uint8_t)(4 + i));
            clipped = true;
        }
    }
    if (clipped)
    {
        PlaceVertices(region, corners, nodes);
    }
}

void knCutStore_Region(const knCutStore* store, const knTetMesh* mesh, uint32_t tet, uint8_t mask,
                       knTetRegion* region)
{
    const uint32_t* v = mesh->tets[tet].v;
    const knVec3 corners[4] = {mesh->nodes[v[0]], mesh->nodes[v[1]], mesh->nodes[v[2]],
                               mesh->nodes[v[3]]};
    uint32_t cut = store->tetCuts[tet];
    knMakeTetRegion(region, corners, v, cut == KN_NONE ? NULL : &store->cuts[cut], mask);
}

// The face of a tetrahedron's first plane: its corners are cut points.
static void FirstCrackFace(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                           uint8_t mask, knCrackFace* crack)
{
    const knFirstClip* first = &knFirstClips[mask];
    const knRegionFace* face = &first->faces[first->faceCount - 1];
    const uint32_t* edges = mesh->tetEdges[tet].e;
    crack->plane = 0;
    crack->count = face->count;
    for (int i = 0; i < face->count; ++i)
    {
        const uint8_t* ends = first->ends[face->loop[i]];
        uint32_t edge = edges[FeatureOf((uint8_t)(1 << ends[0] | 1 << ends[1]))];
        crack->points[i] = store->points[store->edgeCuts[edge]].position;
    }
}

static void FirstCrackRim(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                          uint8_t mask, knCrackRim* rim)
{
    const knFirstClip* first = &knFirstClips[mask];
    const knRegionFace* face = &first->faces[first->faceCount - 1];
    for (int i = 0; i < face->count; ++i)
    {
        const uint8_t* ends = first->ends[face->loop[i]];
        const uint8_t* next = first->ends[face->loop[i + 1 < face->count ? i + 1 : 0]];
        uint8_t support = (uint8_t)(1 << ends[0] | 1 << ends[1]);
        uint32_t edge = mesh->tetEdges[tet].e[FeatureOf(support)];
        bool high = mesh->edges[edge].v[1] == mesh->tets[tet].v[ends[0]];
        rim->ids[i] = knCutStore_PointId(store, store->edgeCuts[edge], high);
        // two edges of the tetrahedron that share a corner lie in one face
        rim->across[i] = FeatureOf((uint8_t)(support | 1 << next[0] | 1 << next[1]));
    }
}

// The face of the region on the other side of an edge of this one.
static uint8_t FaceAcross(const knTetRegion* region, uint8_t from, uint8_t to)
{
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        uint8_t last = face->loop[face->count - 1];
        for (int i = 0; i < face->count; ++i)
        {
            if (last == to && face->loop[i] == from)
            {
                return face->source;
            }
            last = face->loop[i];
        }
    }
    return 0;
}

static void RegionCracks(const knTetRegion* region, knCrackFaces* cracks)
{
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        if (face->source >= 4)
        {
            knCrackFace* crack = &cracks->faces[cracks->count++];
            crack->plane = (uint8_t)(face->source - 4);
            crack->count = face->count;
            for (int i = 0; i < face->count; ++i)
            {
                crack->points[i] = region->vertices[face->loop[i]].position;
            }
        }
    }
}

// Whether the part of the mask is all that the first plane left of the tetrahedron.
static bool HasOnePlane(const knTetCut* cut, uint8_t mask)
{
    return cut->region[0] == 0xF && (mask == cut->below[0] || mask == (0xF & ~cut->below[0]));
}

void knCutStore_CrackFaces(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                           uint8_t mask, knCrackFaces* cracks)
{
    uint32_t record = store->tetCuts[tet];
    cracks->count = 0;
    if (record == KN_NONE || (mask & 0xF) == 0)
    {
        return;
    }
    if (HasOnePlane(&store->cuts[record], mask))
    {
        FirstCrackFace(store, mesh, tet, mask, &cracks->faces[0]);
        cracks->count = 1;
        return;
    }
    knTetRegion region;
    knCutStore_Region(store, mesh, tet, mask, &region);
    RegionCracks(&region, cracks);
}

void knCutStore_CrackRims(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                          uint8_t mask, knCrackFaces* cracks, knCrackRim* rims)
{
    uint32_t record = store->tetCuts[tet];
    cracks->count = 0;
    if (record == KN_NONE || (mask & 0xF) == 0)
    {
        return;
    }
    if (HasOnePlane(&store->cuts[record], mask))
    {
        FirstCrackFace(store, mesh, tet, mask, &cracks->faces[0]);
        FirstCrackRim(store, mesh, tet, mask, &rims[0]);
        cracks->count = 1;
        return;
    }
    knTetRegion region;
    knCutStore_Region(store, mesh, tet, mask, &region);
    RegionCracks(&region, cracks);
    for (int f = 0; f < region.faceCount; ++f)
    {
        const knRegionFace* face = &region.faces[f];
        for (int i = 0; face->source >= 4 && i < face->count; ++i)
        {
            uint8_t from = face->loop[i], to = face->loop[i + 1 < face->count ? i + 1 : 0];
            rims->ids[i] = knCutStore_RegionPointId(store, mesh, tet, &region.vertices[from]);
            rims->across[i] = FaceAcross(&region, from, to);
        }
        rims += face->source >= 4;
    }
}

static double Determinant(const double* a, const double* b, const double* c, const double* d)
{
    // the weights sum to one, so three of the four rows are enough
    double u[3], v[3], w[3];
    for (int i = 0; i < 3; ++i)
    {
        u[i] = b[i + 1] - a[i + 1];
        v[i] = c[i + 1] - a[i + 1];
        w[i] = d[i + 1] - a[i + 1];
    }
    return u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) +
           u[2] * (v[0] * w[1] - v[1] * w[0]);
}

double knTetRegion_Volume(const knTetRegion* region, const knVec3 corners[4])
{
    double share = 0.0;
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        const double* apex = region->vertices[0].weights;
        const double* first = region->vertices[face->loop[0]].weights;
        for (int i = 1; i + 1 < face->count; ++i)
        {
            share += Determinant(apex, first, region->vertices[face->loop[i]].weights,
                                 region->vertices[face->loop[i + 1]].weights);
        }
    }
    return share * knTetVolume6(corners[0], corners[1], corners[2], corners[3]) / 6.0;
}

// Two tetrahedra share a face; the lower one names it.
static uint32_t FaceId(const knTetMesh* mesh, uint32_t tet, uint8_t face)
{
    uint32_t other = mesh->neighbors[tet].t[face];
    if (other == KN_NONE || tet < other)
    {
        return 4 * tet + face;
    }
    for (uint32_t i = 0; i < 4; ++i)
    {
        if (mesh->neighbors[other].t[i] == tet)
        {
            return 4 * other + i;
        }
    }
    return 4 * tet + face;
}

static uint32_t RankInFace(const knTetMesh* mesh, uint32_t tet, uint8_t face, uint8_t owner)
{
    const uint32_t* v = mesh->tets[tet].v;
    uint32_t rank = 0;
    for (uint8_t i = 0; i < 4; ++i)
    {
        rank += i != face && v[i] < v[owner];
    }
    return rank;
}

uint32_t knCutStore_RegionPointId(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                                  const knRegionVertex* vertex)
{
    uint32_t node = mesh->tets[tet].v[vertex->owner];
    uint32_t faces = store->nodeCount + 2 * store->edgeCount;
    switch (vertex->kind)
    {
    case kn_regionNode:
        return node;
    case kn_regionEdge:
    {
        uint32_t edge = mesh->tetEdges[tet].e[vertex->feature];
        return knCutStore_PointId(store, store->edgeCuts[edge], mesh->edges[edge].v[1] == node);
    }
    case kn_regionFace:
        return faces + 3 * FaceId(mesh, tet, vertex->feature) +
               RankInFace(mesh, tet, vertex->feature, vertex->owner);
    default:
        return faces + 12 * store->tetCount + 4 * tet + vertex->owner;
    }
}
