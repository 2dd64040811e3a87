// SPDX-License-Identifier: Zlib
#include "tet_shapes.h"

#include "knap/random.h"

#include <stdlib.h>
#include <string.h>

static TetShape AllocateShape(uint32_t nodeCount, uint32_t tetCount)
{
    TetShape shape = {.nodeCount = nodeCount, .tetCount = tetCount};
    shape.nodes = calloc(nodeCount, sizeof(knVec3));
    shape.tets = calloc(tetCount, sizeof(knTet));
    if (!shape.nodes || !shape.tets)
    {
        abort();
    }
    return shape;
}

void DestroyShape(TetShape* shape)
{
    free(shape->nodes);
    free(shape->tets);
    *shape = (TetShape){0};
}

TetShape MakeSingleTet(void)
{
    TetShape shape = AllocateShape(4, 1);
    shape.nodes[1].x = 1.0f;
    shape.nodes[2].y = 1.0f;
    shape.nodes[3].z = 1.0f;
    shape.tets[0] = (knTet){{0, 1, 2, 3}};
    shape.surfaceNodeCount = 4;
    return shape;
}

static int IsOutside(const int p[3], const int cells[3])
{
    return p[0] == 0 || p[1] == 0 || p[2] == 0 || p[0] == cells[0] || p[1] == cells[1] ||
           p[2] == cells[2];
}

static size_t GridIndex(const int p[3], const int cells[3])
{
    size_t row = (size_t)(cells[0] + 1);
    return (size_t)p[0] + row * ((size_t)p[1] + (size_t)(cells[1] + 1) * (size_t)p[2]);
}

// Numbers the grid points, those outside first, and places them in [0, 1]^3.
static uint32_t* NumberNodes(TetShape* shape, const int cells[3])
{
    uint32_t* ids = calloc(shape->nodeCount, sizeof(uint32_t));
    if (!ids)
    {
        abort();
    }
    uint32_t count = 0;
    for (int outside = 1; outside >= 0; --outside)
    {
        int p[3];
        for (p[2] = 0; p[2] <= cells[2]; ++p[2])
        {
            for (p[1] = 0; p[1] <= cells[1]; ++p[1])
            {
                for (p[0] = 0; p[0] <= cells[0]; ++p[0])
                {
                    if (IsOutside(p, cells) == outside)
                    {
                        shape->nodes[count] =
                            knMakeVec3((float)p[0] / (float)cells[0], (float)p[1] / (float)cells[1],
                                       (float)p[2] / (float)cells[2]);
                        ids[GridIndex(p, cells)] = count++;
                    }
                }
            }
        }
        shape->surfaceNodeCount = outside ? count : shape->surfaceNodeCount;
    }
    return ids;
}

// From the lowest corner of the cell to the highest, one axis after the other: six ways.
static void FillCell(knTet* tets, const uint32_t* ids, const int cell[3], const int cells[3])
{
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                     {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int i = 0; i < 6; ++i)
    {
        int p[3] = {cell[0], cell[1], cell[2]};
        tets[i].v[0] = ids[GridIndex(p, cells)];
        for (int k = 0; k < 3; ++k)
        {
            p[orders[i][k]] += 1;
            tets[i].v[k + 1] = ids[GridIndex(p, cells)];
        }
        // the last three orders are odd permutations, which turn the tetrahedron
        if (i >= 3)
        {
            uint32_t v = tets[i].v[1];
            tets[i].v[1] = tets[i].v[2];
            tets[i].v[2] = v;
        }
    }
}

TetShape MakeLatticeBox(const int cells[3], knVec3 lower, knVec3 upper)
{
    uint32_t nodeCount = (uint32_t)((cells[0] + 1) * (cells[1] + 1) * (cells[2] + 1));
    TetShape shape = AllocateShape(nodeCount, (uint32_t)(6 * cells[0] * cells[1] * cells[2]));
    uint32_t* ids = NumberNodes(&shape, cells);
    knTet* next = shape.tets;
    int cell[3];
    for (cell[2] = 0; cell[2] < cells[2]; ++cell[2])
    {
        for (cell[1] = 0; cell[1] < cells[1]; ++cell[1])
        {
            for (cell[0] = 0; cell[0] < cells[0]; ++cell[0])
            {
                FillCell(next, ids, cell, cells);
                next += 6;
            }
        }
    }
    free(ids);
    for (uint32_t n = 0; n < nodeCount; ++n)
    {
        knVec3* p = &shape.nodes[n];
        *p = knMakeVec3(lower.x + p->x * (upper.x - lower.x), lower.y + p->y * (upper.y - lower.y),
                        lower.z + p->z * (upper.z - lower.z));
    }
    return shape;
}

TetShape MakeBall(int cells, float radius, knVec3 center)
{
    const int three[3] = {cells, cells, cells};
    TetShape shape =
        MakeLatticeBox(three, knMakeVec3(-1.0f, -1.0f, -1.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
    for (uint32_t n = 0; n < shape.nodeCount; ++n)
    {
        // equiangular first: the cells near the cube's edges would come out flat otherwise
        const float quarter = 0.78539816f;
        knVec3 p = shape.nodes[n];
        float reach = fmaxf(fabsf(p.x), fmaxf(fabsf(p.y), fabsf(p.z)));
        if (reach > 0.0f)
        {
            p = knMakeVec3(tanf(quarter * p.x / reach), tanf(quarter * p.y / reach),
                           tanf(quarter * p.z / reach));
            p = knScale(radius * reach / knLength(p), p);
        }
        shape.nodes[n] = knAdd(center, p);
    }
    return shape;
}

static void Jitter(TetShape* shape, uint32_t first, float amount, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    knVec3 half = {amount, amount, amount};
    for (uint32_t n = first; n < shape->nodeCount; ++n)
    {
        knBox box = {knSub(shape->nodes[n], half), knAdd(shape->nodes[n], half)};
        shape->nodes[n] = knRandom_InBox(&random, box);
    }
}

void JitterInside(TetShape* shape, float amount, uint64_t seed)
{
    Jitter(shape, shape->surfaceNodeCount, amount, seed);
}

void JitterAll(TetShape* shape, float amount, uint64_t seed)
{
    Jitter(shape, 0, amount, seed);
}

static void ShuffleNodes(TetShape* shape, knRandom* random)
{
    uint32_t* places = calloc(shape->nodeCount, sizeof(uint32_t));
    knVec3* nodes = calloc(shape->nodeCount, sizeof(knVec3));
    if (!places || !nodes)
    {
        abort();
    }
    for (uint32_t n = 0; n < shape->nodeCount; ++n)
    {
        uint32_t other = knRandom_Below(random, n + 1);
        places[n] = places[other];
        places[other] = n;
    }
    for (uint32_t n = 0; n < shape->nodeCount; ++n)
    {
        nodes[places[n]] = shape->nodes[n];
    }
    for (uint32_t i = 0; i < 4 * shape->tetCount; ++i)
    {
        uint32_t* v = &shape->tets[i / 4].v[i % 4];
        *v = places[*v];
    }
    memcpy(shape->nodes, nodes, shape->nodeCount * sizeof(knVec3));
    free(places);
    free(nodes);
}

void ShuffleShape(TetShape* shape, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    ShuffleNodes(shape, &random);
    for (uint32_t t = 0; t < shape->tetCount; ++t)
    {
        uint32_t other = knRandom_Below(&random, t + 1);
        knTet tet = shape->tets[t];
        shape->tets[t] = shape->tets[other];
        shape->tets[other] = tet;
    }
    for (uint32_t t = 0; t < shape->tetCount; ++t)
    {
        uint32_t* v = shape->tets[t].v;
        for (uint32_t turns = knRandom_Below(&random, 12); turns > 0; --turns)
        {
            // a cycle of three corners keeps the orientation; two different ones reach all twelve
            uint32_t* w = turns % 2 ? v : v + 1;
            uint32_t first = w[0];
            w[0] = w[1];
            w[1] = w[2];
            w[2] = first;
        }
    }
}

void DropTets(TetShape* shape, float share, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    uint32_t kept = 0;
    for (uint32_t t = 0; t < shape->tetCount; ++t)
    {
        if (kept == 0 || knRandom_Float(&random) >= share)
        {
            shape->tets[kept++] = shape->tets[t];
        }
    }
    shape->tetCount = kept;
}
