// SPDX-License-Identifier: Zlib
// The one file that knows TetGen. What links it is under TetGen's licence (AGPL-3.0-or-later).
#include "tetgen_shim.h"
#include "predicates.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define TETLIBRARY
#include <tetgen.h>

static void FillFacets(const knTetgenInput* input, tetgenio* in)
{
    in->numberoffacets = input->triangleCount;
    in->facetlist = new tetgenio::facet[static_cast<size_t>(input->triangleCount)];
    in->facetmarkerlist = new int[static_cast<size_t>(input->triangleCount)];
    for (int i = 0; i < input->triangleCount; ++i)
    {
        tetgenio::facet* facet = &in->facetlist[i];
        tetgenio::init(facet);
        facet->numberofpolygons = 1;
        facet->polygonlist = new tetgenio::polygon[1];
        tetgenio::polygon* polygon = &facet->polygonlist[0];
        tetgenio::init(polygon);
        polygon->numberofvertices = 3;
        polygon->vertexlist = new int[3];
        std::memcpy(polygon->vertexlist, input->triangles + 3 * i, 3 * sizeof(int));
        in->facetmarkerlist[i] = 1;
    }
}

static void FillPoints(const double* points, int count, int* outCount, REAL** out)
{
    *outCount = count;
    if (count > 0)
    {
        *out = new REAL[3 * static_cast<size_t>(count)];
        std::memcpy(*out, points, 3 * static_cast<size_t>(count) * sizeof(REAL));
    }
}

static const char* ReasonOf(int code)
{
    switch (code)
    {
    case 1:
        return "it ran out of memory";
    case 3:
        return "it found facets that intersect";
    case 4:
        return "it found a feature too small for its tolerance";
    case 5:
        return "it found two facets that nearly coincide";
    case 10:
        return "it did not accept the input";
    default:
        return "internal error";
    }
}

static void TakeOutput(tetgenio* out, knTetgenOutput* output)
{
    output->points = out->pointlist;
    output->pointCount = out->numberofpoints;
    output->tets = out->tetrahedronlist;
    output->tetCount = out->numberoftetrahedra;
    output->regions = nullptr;
    if (out->numberoftetrahedronattributes == 1)
    {
        output->regions = new int[static_cast<size_t>(out->numberoftetrahedra)];
        for (int i = 0; i < out->numberoftetrahedra; ++i)
        {
            output->regions[i] = static_cast<int>(out->tetrahedronattributelist[i]);
        }
    }
}

knResult knRunTetgen(const knTetgenInput* input, knTetgenOutput* output)
{
    try
    {
        // never deleted: after an error their destructors free twice
        tetgenio* in = new tetgenio;
        tetgenio* out = new tetgenio;
        in->firstnumber = 0;
        FillPoints(input->points, input->pointCount, &in->numberofpoints, &in->pointlist);
        FillPoints(input->holes, input->holeCount, &in->numberofholes, &in->holelist);
        FillFacets(input, in);
        char switches[64];
        std::snprintf(switches, sizeof switches, "%s", input->switches);
        // it picks its random start points with rand
        std::srand(1);
        tetrahedralize(switches, in, out);
        TakeOutput(out, output);
        return kn_success;
    }
    catch (int code)
    {
        return knFail(kn_errorMesh, "gave up: %s", ReasonOf(code));
    }
    catch (const std::bad_alloc&)
    {
        return knFail(kn_errorMemory, "gave up: it ran out of memory");
    }
    catch (...)
    {
        return knFail(kn_errorMesh, "gave up");
    }
}

void knInitPredicates(void)
{
    // adaptive, without the static filter, which would need the bounds of the coordinates
    exactinit(0, 0, 1, 1.0, 1.0, 1.0);
}

double knOrient3d(const double a[3], const double b[3], const double c[3], const double d[3])
{
    // TetGen's sign is that of d below the plane of a, b, c
    return -orient3d(const_cast<double*>(a), const_cast<double*>(b), const_cast<double*>(c),
                     const_cast<double*>(d));
}
