// SPDX-License-Identifier: Zlib
#include "base/region_internal.h"

#include <string.h>

// What clipping needs besides the part itself.
typedef struct Clip
{
    knTetRegion* region;
    const knVec3* corners;
    const uint32_t* nodes;
    const float* phi;
    uint8_t keep;  // corners that stay
    uint8_t state; // of knNextClips; 0 while nothing is cut
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

// A later plane: which vertices and faces are left is in the table.
static void ClipFurther(Clip* clip, uint8_t source)
{
    uint8_t index = knNextClips[clip->state][clip->keep];
    const knClip* c = &knClips[index];
    knTetRegion* region = clip->region;
    knRegionVertex made[4];
    for (int i = 0; i < c->madeCount; ++i)
    {
        made[i] =
            CutVertex(clip, &region->vertices[c->made[i][0]], &region->vertices[c->made[i][1]]);
    }
    for (int i = 0; i < c->keptCount; ++i)
    {
        region->vertices[i] = region->vertices[c->kept[i]]; // never one from further ahead
    }
    memcpy(region->vertices + c->keptCount, made, c->madeCount * sizeof made[0]);
    for (int f = 0; f < c->faceCount; ++f)
    {
        uint8_t from = region->faces[c->faces[f].source].source;
        region->faces[f] = c->faces[f];
        region->faces[f].source = f + 1 < c->faceCount ? from : source;
    }
    region->vertexCount = (uint8_t)(c->keptCount + c->madeCount);
    region->faceCount = c->faceCount;
    region->mask = clip->keep;
    clip->state = (uint8_t)(index + 15);
}

// The first plane: all new vertices lie between corners.
static void ClipWhole(Clip* clip, uint8_t source)
{
    const knVec3* corners = clip->corners;
    const knFirstClip* first = &knFirstClips[clip->keep];
    knTetRegion* region = clip->region;
    region->mask = clip->keep;
    clip->state = clip->keep;
    region->vertexCount = first->vertexCount;
    region->faceCount = first->faceCount;
    memcpy(region->faces, first->faces, sizeof first->faces);
    region->faces[first->faceCount - 1].source = source;
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

// The corners that stay with the mask on its side of plane i; 0 when the plane parts the mask
// itself.
static uint8_t KeptBy(const knTetCut* cut, int i, uint8_t mask)
{
    uint8_t region = cut->region[i];
    uint8_t keep = mask & cut->below[i] ? cut->below[i] : (uint8_t)(region & ~cut->below[i]);
    return (mask & ~keep) != 0 || keep == region || (keep & ~region) != 0 ? 0 : keep;
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
    Clip clip = {.region = region, .corners = corners, .nodes = nodes};
    region->mask = 0xF;
    for (int i = 0; cut && i < cut->planeCount; ++i)
    {
        if (cut->region[i] != region->mask)
        {
            continue;
        }
        clip.keep = KeptBy(cut, i, mask);
        if (clip.keep == 0)
        {
            break;
        }
        clip.phi = cut->phi[i];
        if (clip.state == 0)
        {
            ClipWhole(&clip, (uint8_t)(4 + i));
        }
        else
        {
            ClipFurther(&clip, (uint8_t)(4 + i));
        }
    }
    if (clip.state == 0)
    {
        StartWhole(region, corners);
    }
    else if (clip.state > 14)
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
