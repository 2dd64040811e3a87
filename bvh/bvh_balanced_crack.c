// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// Where new triangles go (2007, 4.1): a breadth-first search from what is in the tree to what is
// not, so that each is inserted beside a neighbour.

void knLinkFan(knHierarchy* h, uint32_t triangle)
{
    for (uint32_t corner = 0; corner < 3; ++corner)
    {
        uint32_t here = 3 * triangle + corner, vertex = h->triangles[triangle].v[corner];
        uint32_t next = h->fanHeads[vertex];
        h->fans[here] = (knFanLink){next, KN_NONE};
        if (next != KN_NONE)
        {
            h->fans[next].previous = here;
        }
        h->fanHeads[vertex] = here;
    }
}

void knUnlinkFan(knHierarchy* h, uint32_t triangle)
{
    for (uint32_t corner = 0; corner < 3; ++corner)
    {
        uint32_t here = 3 * triangle + corner, vertex = h->triangles[triangle].v[corner];
        knFanLink link = h->fans[here];
        if (link.previous == KN_NONE)
        {
            h->fanHeads[vertex] = link.next;
        }
        else
        {
            h->fans[link.previous].next = link.next;
        }
        if (link.next != KN_NONE)
        {
            h->fans[link.next].previous = link.previous;
        }
    }
}

static int CountShared(const knBvhTriangle* a, const knBvhTriangle* b)
{
    int count = 0;
    for (int i = 0; i < 3; ++i)
    {
        count += a->v[i] == b->v[0] || a->v[i] == b->v[1] || a->v[i] == b->v[2];
    }
    return count;
}

typedef struct Flood
{
    knHierarchy* hierarchy;
    knHierarchyBody* body;
    uint32_t begin, end; // of the queue
    uint32_t waiting;    // pending triangles
    int minShared;       // vertices that make neighbours
} Flood;

static void VisitNeighbours(Flood* f, uint32_t triangle)
{
    knHierarchy* h = f->hierarchy;
    for (int corner = 0; corner < 3; ++corner)
    {
        uint32_t at = h->fanHeads[h->triangles[triangle].v[corner]];
        for (; at != KN_NONE && f->waiting > 0; at = h->fans[at].next)
        {
            uint32_t other = at / 3;
            if (h->isPending[other] == 1 && h->triangles[other].body == f->body->slot &&
                CountShared(&h->triangles[triangle], &h->triangles[other]) >= f->minShared)
            {
                knInsertLeaf(h, f->body, other, h->triangles[triangle].place);
                h->isPending[other] = 0;
                h->queue[f->end++] = other;
                f->waiting -= 1;
            }
        }
    }
}

static void RunFlood(Flood* f, int minShared)
{
    f->minShared = minShared;
    for (f->begin = 0; f->begin < f->end && f->waiting > 0; ++f->begin)
    {
        VisitNeighbours(f, f->hierarchy->queue[f->begin]);
    }
}

// 2: in the queue. Only for the time of the search.
static void AddSeed(Flood* f, uint32_t triangle)
{
    knHierarchy* h = f->hierarchy;
    if (h->isPending[triangle] == 0 && h->triangles[triangle].body == f->body->slot)
    {
        h->isPending[triangle] = 2;
        h->queue[f->end++] = triangle;
    }
}

static void AddSeedsAround(Flood* f, uint32_t triangle)
{
    knHierarchy* h = f->hierarchy;
    for (int corner = 0; corner < 3; ++corner)
    {
        for (uint32_t at = h->fanHeads[h->triangles[triangle].v[corner]]; at != KN_NONE;
             at = h->fans[at].next)
        {
            AddSeed(f, at / 3);
        }
    }
}

static void FitPath(knHierarchy* h, uint32_t leaf)
{
    for (uint32_t node = h->links[leaf].parent; node != KN_NONE; node = h->links[node].parent)
    {
        knBalancedNode* p = &h->nodes[node];
        const knBalancedNode *a = &h->nodes[p->left], *b = &h->nodes[p->right];
        memcpy(p->lower, a->lower, sizeof p->lower);
        memcpy(p->upper, a->upper, sizeof p->upper);
        knGrowBox(p->lower, p->upper, b->lower, b->upper);
    }
}

// A triangle of a soup goes down to the side that its box widens less.
static uint32_t FindBeside(const knHierarchy* h, const knHierarchyBody* body, uint32_t triangle)
{
    float lower[3], upper[3];
    knFindTriangleBox(h->positions, h->triangles[triangle].v, lower, upper);
    uint32_t node = body->root;
    while (node != KN_NONE && !knIsBalancedLeaf(&h->nodes[node]))
    {
        float growth[2];
        for (int side = 0; side < 2; ++side)
        {
            const knBalancedNode* n =
                &h->nodes[side == 0 ? h->nodes[node].left : h->nodes[node].right];
            float low[3], high[3];
            memcpy(low, n->lower, sizeof low);
            memcpy(high, n->upper, sizeof high);
            knGrowBox(low, high, lower, upper);
            growth[side] = knBoxSpan(low, high) - knBoxSpan(n->lower, n->upper);
        }
        node = growth[1] < growth[0] ? h->nodes[node].right : h->nodes[node].left;
    }
    return node;
}

static void InsertGreedily(knHierarchy* h, knHierarchyBody* body, uint32_t triangle)
{
    knInsertLeaf(h, body, triangle, FindBeside(h, body, triangle));
    FitPath(h, h->triangles[triangle].place);
    h->isPending[triangle] = 0;
    h->work.greedyInsertions += 1;
}

// Boxes of leaves that came without one, and of the nodes above, before a search by boxes.
static void FitForSearch(knHierarchy* h, const knHierarchyBody* body)
{
    if (body->root != KN_NONE)
    {
        knRefitBalanced(h, body->root);
    }
}

void knInsertPending(knHierarchy* h, knHierarchyBody* body, const uint32_t* ids, uint32_t count,
                     const uint32_t* seeds, uint32_t seedCount)
{
    Flood f = {.hierarchy = h, .body = body, .waiting = count};
    for (uint32_t i = 0; i < seedCount; ++i)
    {
        AddSeed(&f, seeds[i]);
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        AddSeedsAround(&f, ids[i]);
    }
    uint32_t seedEnd = f.end;
    RunFlood(&f, 2);
    RunFlood(&f, 1);
    for (uint32_t i = 0; i < seedEnd; ++i)
    {
        h->isPending[h->queue[i]] = 0;
    }
    bool isFit = false;
    for (uint32_t i = 0; i < count && f.waiting > 0; ++i)
    {
        if (h->isPending[ids[i]])
        {
            if (!isFit)
            {
                FitForSearch(h, body);
                isFit = true;
            }
            InsertGreedily(h, body, ids[i]);
            f.waiting -= 1;
            // those that hang on it follow it
            f.end = 0;
            h->queue[f.end++] = ids[i];
            RunFlood(&f, 1);
        }
    }
}
