// SPDX-License-Identifier: Zlib
#include "piece_mesh_internal.h"

#include "family_internal.h"

#include <string.h>

#define FIRST_SCRATCH ((size_t)1 << 20) // bytes

// Units of a budget, of about 30 ns, as measured: for a node in either pass of the surface and a
// triangle whose corners are joined; and how many triangles of a range that is parted, or of what
// remains, come to one.
#define SURFACE_UNITS 3
#define JOIN_UNITS    1
#define TREE_SHARE    10
#define WHOLE_SHARE   8
#define ALL_UNITS     ((uint64_t)1 << 40) // no mesh takes so many, and sums of them do not overflow

static bool IsSame(const knMeshVertex* a, const knMeshVertex* b)
{
    return a->point == b->point && a->normal.x == b->normal.x && a->normal.y == b->normal.y &&
           a->normal.z == b->normal.z && a->u == b->u && a->v == b->v;
}

static uint32_t Hash(const knMeshVertex* v)
{
    uint32_t words[6];
    memcpy(words, &v->normal, sizeof v->normal);
    memcpy(words + 3, &v->u, 2 * sizeof(float));
    words[5] = v->point;
    uint64_t h = 0;
    for (int i = 0; i < 6; ++i)
    {
        h = (h ^ words[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return (uint32_t)(h >> 32);
}

typedef enum Stage
{
    stageSurface, // node by node
    stageJoin,    // triangle by triangle
    stageKeep,
    stageTree, // range by range
    stageBoxes,
    stageGroups,
    stageCorners,
    stageDone
} Stage;

// What is known while a mesh is made; all arrays in the scratch.
typedef struct Build
{
    knPieceMesh mesh; // as far as it is made
    const knFragmentSet* set;
    knSurfaceWork* work;
    knPieceSurface surface;
    knMeshVertex* vertices;
    knTriangle* triangles;
    uint32_t* table;
    knBox* boxes;
    knTreeWork tree;
    uint32_t vertexCount;
    uint32_t tableMask;
    uint32_t fragment;
    uint32_t nextTriangle;
    Stage stage;
} Build;

static bool Allocate(Build* b, knArena* scratch)
{
    size_t corners = 3 * (size_t)b->surface.triangleCount, size = 16;
    while (size < 2 * corners)
    {
        size *= 2;
    }
    b->tableMask = (uint32_t)(size - 1);
    b->vertices = knArena_Allocate(scratch, corners, sizeof(knMeshVertex));
    b->triangles = knArena_Allocate(scratch, b->surface.triangleCount, sizeof(knTriangle));
    b->boxes = knArena_Allocate(scratch, b->surface.triangleCount, sizeof(knBox));
    b->table = knArena_Allocate(scratch, size, sizeof(uint32_t));
    return b->vertices && b->triangles && b->boxes && b->table;
}

static uint32_t FindVertex(Build* b, const knMeshVertex* v)
{
    uint32_t place = Hash(v) & b->tableMask;
    while (b->table[place] != KN_NONE)
    {
        if (IsSame(&b->vertices[b->table[place]], v))
        {
            return b->table[place];
        }
        place = (place + 1) & b->tableMask;
    }
    b->vertices[b->vertexCount] = *v;
    b->table[place] = b->vertexCount;
    return b->vertexCount++;
}

// Joins corners that are drawn alike.
static void JoinTriangle(Build* b, uint32_t triangle)
{
    const knPieceSurface* s = &b->surface;
    knBox box = knEmptyBox();
    for (uint32_t k = 0; k < 3; ++k)
    {
        uint32_t at = s->triangles[triangle].v[k];
        const knCornerAttribute* corner = &s->corners[3 * (size_t)triangle + k];
        knMeshVertex v = {knSub(s->positions[at], b->mesh.center), corner->normal, corner->u,
                          corner->v, s->pointIds[at]};
        b->triangles[triangle].v[k] = FindVertex(b, &v);
        box = knBox_AddPoint(box, v.position);
    }
    b->boxes[triangle] = box;
}

static knResult AllocateMesh(knPieceMesh* m)
{
    m->vertices = knAllocate(&m->allocator, m->vertexCount, sizeof(knMeshVertex));
    m->triangles = knAllocate(&m->allocator, m->triangleCount, sizeof(knTriangle));
    m->sources = knAllocate(&m->allocator, m->triangleCount, sizeof(knMeshSource));
    m->order = knAllocate(&m->allocator, m->triangleCount, sizeof(uint32_t));
    m->nodes = knAllocate(&m->allocator, 2 * (size_t)m->triangleCount, sizeof(knMeshNode));
    bool ok = m->vertices && m->triangles && m->sources && m->order && m->nodes;
    return ok || m->triangleCount == 0 ? kn_success : kn_errorMemory;
}

static knResult Keep(Build* b)
{
    knPieceMesh* m = &b->mesh;
    const knPieceSurface* s = &b->surface;
    m->vertexCapacity = b->vertexCount;
    m->vertexCount = b->vertexCount;
    m->triangleCount = s->triangleCount;
    knResult result = AllocateMesh(m);
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t i = 0; i < m->triangleCount; ++i)
    {
        const knPieceTriangle* source = &s->sources[i];
        m->triangles[i] = b->triangles[i];
        m->sources[i] = (knMeshSource){source->triangle, source->tet, source->isCrack};
    }
    for (uint32_t i = 0; i < m->vertexCount; ++i)
    {
        m->vertices[i] = b->vertices[i];
        m->radius = fmaxf(m->radius, knLength(m->vertices[i].position));
    }
    b->tree = knBeginMeshTree(b->boxes, m->triangleCount, m->nodes, m->order);
    return kn_success;
}

// ---- the stages; each tells what it took in units

static knResult StepSurface(Build* b, uint64_t units, uint64_t* spent)
{
    uint64_t most = units / SURFACE_UNITS + 1, left = b->set->fragments[b->fragment].nodeCount;
    uint32_t count = (uint32_t)(most < left ? most : left);
    bool isDone = false;
    knResult result = knSurfaceWork_Step(b->work, count > 0 ? count : 1, &isDone);
    *spent = SURFACE_UNITS * (uint64_t)count;
    if (result == kn_success && isDone)
    {
        b->surface = knSurfaceWork_Surface(b->work);
        b->stage = stageJoin;
    }
    return result;
}

static knResult BeginJoin(Build* b, knArena* scratch)
{
    if (!Allocate(b, scratch))
    {
        return knFail(kn_errorMemory, "the arena is too small for a mesh of %u triangles",
                      b->surface.triangleCount);
    }
    memset(b->table, 0xFF, ((size_t)b->tableMask + 1) * sizeof(uint32_t));
    return kn_success;
}

static knResult StepJoin(Build* b, knArena* scratch, uint64_t units, uint64_t* spent)
{
    knResult result = b->vertices ? kn_success : BeginJoin(b, scratch);
    if (result != kn_success)
    {
        return result;
    }
    uint64_t most = units / JOIN_UNITS + 1, left = b->surface.triangleCount - b->nextTriangle;
    uint32_t count = (uint32_t)(most < left ? most : left);
    for (uint32_t i = 0; i < count; ++i)
    {
        JoinTriangle(b, b->nextTriangle++);
    }
    *spent = JOIN_UNITS * (uint64_t)count;
    b->stage = b->nextTriangle == b->surface.triangleCount ? stageKeep : stageJoin;
    return kn_success;
}

static void StepTree(Build* b, uint64_t units, uint64_t* spent)
{
    bool isDone = knMeshTree_Step(&b->tree, units * TREE_SHARE, spent);
    *spent = *spent / TREE_SHARE + 1;
    b->stage = isDone ? stageBoxes : stageTree;
}

// Work that is not shared out any further.
static knResult StepWhole(Build* b, uint32_t firstCorner, uint64_t* spent)
{
    knPieceMesh* m = &b->mesh;
    knResult result = kn_success;
    *spent = b->surface.triangleCount / WHOLE_SHARE + 1;
    switch (b->stage)
    {
    case stageKeep:
        result = Keep(b);
        break;
    case stageBoxes:
        m->nodeCount = knMeshTree_End(&b->tree);
        break;
    case stageGroups:
        // the table has done its work
        result = knPieceMesh_Group(m, b->table, b->tableMask);
        break;
    default:
        result = knPieceMesh_GroupCorners(m, firstCorner, b->table, b->tableMask);
        break;
    }
    b->stage += result == kn_success;
    return result;
}

static knResult Step(Build* b, knArena* scratch, uint64_t units, uint64_t* spent)
{
    const knCutStore* cuts = b->set->store;
    switch (b->stage)
    {
    case stageSurface:
        return StepSurface(b, units, spent);
    case stageJoin:
        return StepJoin(b, scratch, units, spent);
    case stageTree:
        StepTree(b, units, spent);
        return kn_success;
    default:
        return StepWhole(b, cuts->nodeCount + 2 * cuts->edgeCount, spent);
    }
}

static knResult Begin(Build* b, const knFragmentSet* set, uint32_t fragment,
                      const knPieceOptions* options, knArena* scratch)
{
    const knAllocator allocator = b->mesh.allocator;
    knPieceOptions usual = knDefaultPieceOptions();
    *b = (Build){.mesh.allocator = allocator, .set = set, .fragment = fragment};
    b->mesh.center = knToFloat(set->fragments[fragment].mass.center);
    return knBeginSurface(&b->work, set, fragment, options ? options : &usual, scratch);
}

static knResult Make(knPieceMesh* mesh, const knFamily* family, uint32_t fragment,
                     const knPieceOptions* options, knArena* scratch)
{
    Build b = {.mesh = *mesh};
    uint64_t spent;
    knResult result = Begin(&b, &family->fragments, fragment, options, scratch);
    while (result == kn_success && b.stage != stageDone)
    {
        result = Step(&b, scratch, ALL_UNITS, &spent);
    }
    *mesh = b.mesh;
    return result;
}

// With a scratch of its own that grows until the surface fits.
static knResult MakeAlone(knPieceMesh* mesh, const knFamily* family, uint32_t fragment,
                          const knPieceOptions* options, const knAllocator* allocator)
{
    for (size_t bytes = FIRST_SCRATCH;;)
    {
        knArena scratch;
        knResult result = knCreateArena(&scratch, bytes, allocator);
        if (result != kn_success)
        {
            return result;
        }
        result = Make(mesh, family, fragment, options, &scratch);
        size_t wanted = scratch.usedBytes + scratch.wantedBytes;
        bool isTooSmall = result == kn_errorMemory && scratch.wantedBytes > 0;
        knDestroyArena(&scratch);
        if (!isTooSmall)
        {
            return result;
        }
        bytes = 2 * wanted;
    }
}

knResult knCreatePieceMesh(knPieceMesh* mesh, const knFamily* family, uint32_t fragment,
                           const knPieceOptions* options, knArena* scratch,
                           const knAllocator* allocator)
{
    if (!mesh || !family || fragment >= family->fragments.fragmentCount ||
        family->fragments.fragments[fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorArgument, "knCreatePieceMesh: null, or fragment %u is not alive",
                      fragment);
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knPieceMesh made = {.allocator = allocator ? *allocator : knDefaultAllocator()};
    if (scratch)
    {
        size_t mark = knArena_Mark(scratch);
        result = Make(&made, family, fragment, options, scratch);
        knArena_Rewind(scratch, mark);
    }
    else
    {
        result = MakeAlone(&made, family, fragment, options, allocator);
    }
    if (result != kn_success)
    {
        knDestroyPieceMesh(&made);
        return result;
    }
    *mesh = made;
    return kn_success;
}

void knDestroyPieceMesh(knPieceMesh* m)
{
    if (m && m->allocator.allocate)
    {
        knRelease(&m->allocator, m->vertices, m->vertexCapacity, sizeof(knMeshVertex));
        knRelease(&m->allocator, m->triangles, m->triangleCount, sizeof(knTriangle));
        knRelease(&m->allocator, m->sources, m->triangleCount, sizeof(knMeshSource));
        knRelease(&m->allocator, m->order, m->triangleCount, sizeof(uint32_t));
        knRelease(&m->allocator, m->nodes, 2 * (size_t)m->triangleCount, sizeof(knMeshNode));
        knRelease(&m->allocator, m->groups, m->groupCapacity, sizeof(knPointGroup));
        knRelease(&m->allocator, m->corners, m->cornerGroupCount, sizeof(knCornerGroup));
        *m = (knPieceMesh){0};
    }
}

size_t knPieceMesh_Bytes(const knPieceMesh* mesh)
{
    size_t triangle =
        sizeof(knTriangle) + sizeof(knMeshSource) + sizeof(uint32_t) + 2 * sizeof(knMeshNode);
    return mesh->vertexCount * sizeof(knMeshVertex) + mesh->triangleCount * triangle +
           mesh->groupCapacity * sizeof(knPointGroup) +
           mesh->cornerGroupCount * sizeof(knCornerGroup);
}

// ---- in slices

struct knPieceMeshWork
{
    Build build;
    knArena scratch;
    knAllocator allocator;
    knPieceOptions options;
};

knResult knCreatePieceMeshWork(knPieceMeshWork** out, const knAllocator* allocator)
{
    knResult result =
        out ? knCheckAllocator(allocator) : knFail(kn_errorArgument, "knCreatePieceMeshWork: null");
    if (result != kn_success)
    {
        return result;
    }
    knAllocator a = allocator ? *allocator : knDefaultAllocator();
    knPieceMeshWork* work = knAllocate(&a, 1, sizeof *work);
    if (!work)
    {
        return kn_errorMemory;
    }
    *work = (knPieceMeshWork){.allocator = a, .build.stage = stageDone};
    // an empty arena takes no memory, so this cannot fail
    (void)knCreateArena(&work->scratch, 0, &a);
    *out = work;
    return kn_success;
}

void knDestroyPieceMeshWork(knPieceMeshWork* work)
{
    if (work)
    {
        knDestroyPieceMesh(&work->build.mesh);
        knDestroyArena(&work->scratch);
        knAllocator a = work->allocator;
        knRelease(&a, work, 1, sizeof *work);
    }
}

knResult knPieceMeshWork_Begin(knPieceMeshWork* work, const knFragmentSet* set, uint32_t fragment)
{
    if (!work || !set || fragment >= set->fragmentCount ||
        set->fragments[fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorArgument, "knPieceMeshWork_Begin: null, or fragment %u is not alive",
                      fragment);
    }
    knDestroyPieceMesh(&work->build.mesh);
    work->build.mesh.allocator = work->allocator;
    knArena_Reset(&work->scratch);
    knResult result = work->scratch.capacity >= FIRST_SCRATCH
                          ? kn_success
                          : knArena_Reserve(&work->scratch, FIRST_SCRATCH);
    result =
        result == kn_success ? Begin(&work->build, set, fragment, NULL, &work->scratch) : result;
    // by then it is at its beginning, or has none
    work->build.stage = result == kn_success ? stageSurface : stageDone;
    return result;
}

// From the beginning, with as much scratch as it asked for.
static knResult BeginAgain(knPieceMeshWork* work)
{
    size_t wanted = work->scratch.wantedBytes;
    size_t bytes = 2 * (work->scratch.usedBytes + wanted);
    const knFragmentSet* set = work->build.set;
    knArena_Reset(&work->scratch);
    knResult result = wanted > 0 ? knArena_Reserve(&work->scratch, bytes) : kn_errorMemory;
    knResult begun = knPieceMeshWork_Begin(work, set, work->build.fragment);
    return result == kn_success ? begun : result;
}

knResult knPieceMeshWork_Step(knPieceMeshWork* work, uint64_t units, knPieceMesh* mesh,
                              uint64_t* spent)
{
    if (!work || !mesh || !spent || work->build.stage == stageDone)
    {
        return knFail(kn_errorArgument, "knPieceMeshWork_Step: null, or nothing has begun");
    }
    uint64_t some = 0;
    units = units < ALL_UNITS ? units : ALL_UNITS;
    knResult result = Step(&work->build, &work->scratch, units, &some);
    *spent = some;
    if (result != kn_success)
    {
        return result == kn_errorMemory ? BeginAgain(work) : result;
    }
    if (work->build.stage == stageDone)
    {
        *mesh = work->build.mesh;
        work->build.mesh = (knPieceMesh){0};
    }
    return result;
}

bool knPieceMeshWork_IsDone(const knPieceMeshWork* work)
{
    return work->build.stage == stageDone;
}
