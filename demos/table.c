// SPDX-License-Identifier: Zlib
#include "demos/table.h"

#include <string.h>

// Glondu and others, Efficient Collision Detection for Brittle Fracture, 2012: Tables 2 and 3.
// A pair is average and largest; colliding points were not measured in the scenes that were played.
typedef struct Paper
{
    const char* scene;
    unsigned original, fractured, fragments;
    double points[2], colliding[2];
    double step, total[2], collision[2], physics[2];
    double update, fracture; // largest
} Paper;

static const Paper papers[] = {
    {"piggy",
     9734,
     17622,
     14,
     {93, 463},
     {290, 4173},
     15,
     {1.94, 15.2},
     {1.74, 9.46},
     {0.14, 0.59},
     1.2,
     12.5},
    {"drop-bunnies",
     137403,
     435068,
     166,
     {1235, 3245},
     {4993, 18592},
     5,
     {24.5, 81.5},
     {23, 70},
     {1.3, 3.66},
     4.4,
     22},
    {"bricks",
     15036,
     40750,
     156,
     {671, 1379},
     {1334, 2700},
     30,
     {11.7, 29.5},
     {10.7, 27.3},
     {1, 2.46},
     1.05,
     2},
    {"plates",
     26268,
     45762,
     44,
     {309, 524},
     {0, 0},
     30,
     {7.83, 17.4},
     {6.78, 12.2},
     {0.36, 0.7},
     0.7,
     8},
    {"bunnies", 39724, 51752, 22, {326, 470}, {0, 0}, 15, {2, 10.6}, {1.64, 4}, {0.26, 0.41}, 1, 9},
};

static const Paper* FindPaper(const char* scene)
{
    for (size_t i = 0; i < sizeof papers / sizeof papers[0]; ++i)
    {
        if (strcmp(papers[i].scene, scene) == 0)
        {
            return &papers[i];
        }
    }
    return NULL;
}

static void PrintPair(FILE* out, double average, double most, int decimals)
{
    if (most > 0.0)
    {
        fprintf(out, " %9.*f %8.*f", decimals, average, decimals, most);
    }
    else
    {
        fprintf(out, " %9s %8s", "-", "-");
    }
}

static void PrintCounts(FILE* out, const knScene* scene, const knStats* s)
{
    double n = s->stepCount > 0 ? (double)s->stepCount : 1.0;
    fprintf(out, "%-13s %-5s %9u %9u %9u", scene->name, "ours", s->trianglesBefore, s->trianglesNow,
            s->fragments);
    PrintPair(out, (double)s->sum.contacts / n, (double)s->worst.contacts, 0);
    PrintPair(out, (double)s->sum.colliding / n, (double)s->worst.colliding, 0);
    const Paper* p = FindPaper(scene->name);
    if (p)
    {
        fprintf(out, "\n%-13s %-5s %9u %9u %9u", "", "paper", p->original, p->fractured,
                p->fragments);
        PrintPair(out, p->points[0], p->points[1], 0);
        PrintPair(out, p->colliding[0], p->colliding[1], 0);
    }
    fprintf(out, "\n");
}

static void PrintTimes(FILE* out, const knScene* scene, const knStats* s)
{
    double n = s->stepCount > 0 ? (double)s->stepCount : 1.0;
    fprintf(out, "%-13s %-5s %5.0f", scene->name, "ours", 1e3 * (double)scene->dt);
    PrintPair(out, s->sum.total / n, s->worst.total, 2);
    PrintPair(out, s->sum.collision / n, s->worst.collision, 2);
    PrintPair(out, s->sum.physics / n, s->worst.physics, 2);
    fprintf(out, " %8.2f %8.2f", s->worst.update, s->worst.fracture);
    const Paper* p = FindPaper(scene->name);
    if (p)
    {
        fprintf(out, "\n%-13s %-5s %5.0f", "", "paper", p->step);
        PrintPair(out, p->total[0], p->total[1], 2);
        PrintPair(out, p->collision[0], p->collision[1], 2);
        PrintPair(out, p->physics[0], p->physics[1], 2);
        fprintf(out, " %8.2f %8.2f", p->update, p->fracture);
    }
    fprintf(out, "\n");
}

void knPrintTables(FILE* out, const knScene* const* scenes, const knStats* stats, uint32_t count)
{
    fprintf(out, "Table 2: counts\n%-13s %-5s %9s %9s %9s %18s %18s\n", "", "", "triangles", "", "",
            "output points", "colliding points");
    fprintf(out, "%-13s %-5s %9s %9s %9s %9s %8s %9s %8s\n", "scene", "", "original", "fractured",
            "fragments", "average", "max", "average", "max");
    for (uint32_t i = 0; i < count; ++i)
    {
        PrintCounts(out, scenes[i], &stats[i]);
    }
    fprintf(out, "\nTable 3: milliseconds\n%-13s %-5s %5s %18s %18s %18s %8s %8s\n", "", "", "time",
            "total", "collision", "physics", "update", "fracture");
    fprintf(out, "%-13s %-5s %5s %9s %8s %9s %8s %9s %8s %8s %8s\n", "scene", "", "step", "average",
            "max", "average", "max", "average", "max", "max", "max");
    for (uint32_t i = 0; i < count; ++i)
    {
        PrintTimes(out, scenes[i], &stats[i]);
    }
}
