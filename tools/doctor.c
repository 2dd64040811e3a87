// SPDX-License-Identifier: Zlib
#include "doctor.h"
#include "doctor_internal.h"
#include "predicates.h"

#include <stdio.h>
#include <string.h>

void* knTake(const knAllocator* allocator, size_t count, size_t itemSize)
{
    void* memory = knAllocate(allocator, count + 1, itemSize);
    if (memory)
    {
        memset(memory, 0, (count + 1) * itemSize);
    }
    return memory;
}

void knGive(const knAllocator* allocator, void* memory, size_t count, size_t itemSize)
{
    knRelease(allocator, memory, count + 1, itemSize);
}

knDoctorOptions knDefaultDoctorOptions(void)
{
    return (knDoctorOptions){
        .repair = true,
        .fillHoles = true,
        .severalComponents = false,
        .weldTolerance = 1e-5f,
        .maxHoleEdges = 256,
    };
}

knResult knDoctor_Drop(knDoctor* doctor, const bool* dropped)
{
    return knSoup_Compact(doctor->soup, dropped);
}

static void CheckIndices(knDoctor* doctor)
{
    const knSoup* soup = doctor->soup;
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        const uint32_t* v = soup->triangles[t].v;
        const uint32_t* c = soup->corners[t].v;
        bool good = v[0] < soup->positionCount && v[1] < soup->positionCount &&
                    v[2] < soup->positionCount && c[0] < soup->attributeCount &&
                    c[1] < soup->attributeCount && c[2] < soup->attributeCount;
        if (!good)
        {
            knDoctor_FoundTriangle(doctor, kn_defectBadIndex, t);
        }
    }
    knDoctor_Judge(doctor, kn_defectBadIndex, kn_actionRefuse,
                   "the file is damaged: export it again");
}

static void CheckFinite(knDoctor* doctor, bool* seen)
{
    const knSoup* soup = doctor->soup;
    for (size_t c = 0; c < 3 * soup->triangleCount; ++c)
    {
        uint32_t v = soup->triangles[c / 3].v[c % 3];
        bool finite = knIsFinite(soup->positions[v]);
        if (!finite && !seen[v])
        {
            knDoctor_FoundVertex(doctor, kn_defectNotFinite, v);
        }
        if (finite)
        {
            doctor->report->bounds = knBox_AddPoint(doctor->report->bounds, soup->positions[v]);
        }
        seen[v] = true;
    }
    knDoctor_Judge(doctor, kn_defectNotFinite, kn_actionRefuse,
                   "coordinates must be numbers: export the file again");
}

// coordinates keep 24 bits: from here on, edges of a hundredth of the size have a few hundred steps
#define FAR_SIZES 1000.0

static void CheckScale(knDoctor* doctor)
{
    knBox b = doctor->report->bounds;
    knDVec3 extent = knDSub(knToDouble(b.upper), knToDouble(b.lower));
    double diagonal = knDLength(extent);
    if (!(diagonal >= KN_MIN_DIAGONAL && diagonal <= KN_MAX_DIAGONAL))
    {
        knDoctor_FoundTriangle(doctor, kn_defectScale, 0);
        knDoctor_Judge(doctor, kn_defectScale, kn_actionRefuse,
                       "the mesh is %.3g m across, allowed are %g m to %g m: use --scale to "
                       "bring it to metres",
                       diagonal, KN_MIN_DIAGONAL, KN_MAX_DIAGONAL);
        doctor->hopeless = true;
        return;
    }
    knVec3 far = knMax(b.upper, knNeg(b.lower));
    float most = fmaxf(fmaxf(far.x, fabsf(b.lower.x)), fmaxf(far.y, far.z));
    most = fmaxf(fmaxf(most, fabsf(b.upper.x)), fmaxf(fabsf(b.upper.y), fabsf(b.upper.z)));
    if ((double)most > FAR_SIZES * diagonal)
    {
        knDoctor_FoundTriangle(doctor, kn_defectScale, 0);
        knDoctor_Judge(
            doctor, kn_defectScale, kn_actionNone,
            "the mesh lies %.3g of its own sizes from the origin, where single precision "
            "is coarse: move it nearer in your modelling tool",
            (double)most / diagonal);
    }
    int exponent;
    frexp((double)most, &exponent);
    // only a power of two and no shift: every decision is exact for the file's own numbers. A
    // quarter leaves room for rays that end outside.
    doctor->scale = ldexp(1.0, -exponent - 2);
    doctor->tolerance = (float)(diagonal * (double)doctor->options->weldTolerance);
}

knResult knDoctor_CheckNumbers(knDoctor* doctor)
{
    knSoup* soup = doctor->soup;
    if (soup->triangleCount == 0)
    {
        doctor->report->defects[kn_defectEmpty].count = 1;
        knDoctor_Judge(doctor, kn_defectEmpty, kn_actionRefuse,
                       "there is nothing to cook: does the file hold a mesh?");
    }
    CheckIndices(doctor);
    if (doctor->blocked)
    {
        doctor->hopeless = true;
        return kn_success;
    }
    size_t count = soup->positionCount;
    bool* seen = knTake(&soup->allocator, count, sizeof(bool));
    if (!seen)
    {
        return kn_errorMemory;
    }
    CheckFinite(doctor, seen);
    knGive(&soup->allocator, seen, count, sizeof(bool));
    doctor->hopeless = doctor->blocked;
    if (!doctor->hopeless)
    {
        CheckScale(doctor);
    }
    return kn_success;
}

knResult knSoup_IsManifold(const knSoup* soup, bool* is)
{
    const knAllocator* a = &soup->allocator;
    knTopology t;
    knResult result = knBuildTopology(&t, soup);
    if (result != kn_success)
    {
        return result;
    }
    uint32_t* fans = knTake(a, 3 * t.triangleCount, sizeof(uint32_t));
    bool* flags = knTake(a, t.vertexCount, sizeof(bool));
    result = fans && flags ? kn_success : kn_errorMemory;
    bool good = result == kn_success;
    for (uint32_t h = 0; h < 3 * t.triangleCount && good; ++h)
    {
        uint32_t mate = knTopology_Mate(&t, h);
        good = mate != KN_NO_HALF && knTopology_Origin(&t, mate) == knTopology_Target(&t, h);
    }
    if (good)
    {
        knJoinFans(&t, NULL, fans);
        good = knCountSplitVertices(&t, fans, flags) == 0;
    }
    *is = good;
    knGive(a, fans, 3 * t.triangleCount, sizeof(uint32_t));
    knGive(a, flags, t.vertexCount, sizeof(bool));
    knDestroyTopology(&t);
    return result;
}

static bool AnyAction(const knDoctorReport* report, knDefectAction action)
{
    for (int i = 0; i < kn_defectCount; ++i)
    {
        if (report->defects[i].count > 0 && report->defects[i].action == action)
        {
            return true;
        }
    }
    return false;
}

// The promise is looked at once more from outside: what a repair got wrong must not be cooked.
knResult knDoctor_Verify(knDoctor* doctor)
{
    bool manifold = false;
    knResult result = knSoup_Compact(doctor->soup, NULL);
    result = result == kn_success ? knSoup_IsManifold(doctor->soup, &manifold) : result;
    if (result == kn_success && !manifold && !AnyAction(doctor->report, kn_actionRefuse))
    {
        knDoctor_FoundTriangle(doctor, kn_defectNonManifoldEdge, 0);
        knDoctor_Judge(
            doctor, kn_defectNonManifoldEdge, kn_actionRefuse,
            "the repairs did not come out clean: repair the mesh in your modelling tool");
    }
    return result;
}

static knDoctorStep* const steps[] = {
    knDoctor_CheckNumbers,     knDoctor_Weld,           knDoctor_CleanTriangles,
    knDoctor_WeldRims,         knDoctor_CleanTriangles, knDoctor_FlipNeedles,
    knDoctor_SplitTJunctions,  knDoctor_CleanTriangles, knDoctor_Orient,
    knDoctor_SplitNonManifold, knDoctor_CloseHoles,     knDoctor_SplitVertices,
    knDoctor_CheckVolume,      knDoctor_Uncross,        knDoctor_Nest,
    knDoctor_Verify,
};

static knResult RunSteps(knDoctor* doctor)
{
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i)
    {
        if (result != kn_success || doctor->hopeless)
        {
            break;
        }
        result = steps[i](doctor);
        if (result == kn_success && !doctor->hopeless && doctor->soup->triangleCount == 0)
        {
            // sheets that lay back to back have cancelled
            doctor->report->defects[kn_defectZeroVolume].count = 1;
            knDoctor_Judge(doctor, kn_defectZeroVolume, kn_actionRefuse, KN_SHEET_NOTE);
            doctor->hopeless = true;
        }
    }
    return result;
}

// With repairs switched off, what would have been repaired stands in the way.
static void RefuseRepairs(knDoctorReport* report)
{
    for (int i = 0; i < kn_defectCount; ++i)
    {
        knDefect* defect = &report->defects[i];
        if (defect->count > 0 && defect->action == kn_actionRepair)
        {
            char note[sizeof(defect->note)];
            memcpy(note, defect->note, sizeof(note));
            snprintf(defect->note, sizeof(defect->note), "allow repairs: %.120s", note);
            defect->action = kn_actionRefuse;
        }
    }
}

static void FillReport(const knSoup* soup, knDoctorReport* report)
{
    report->finalTriangleCount = soup->triangleCount;
    report->finalVertexCount = soup->positionCount;
    report->cookable = !AnyAction(report, kn_actionRefuse);
    if (!report->cookable)
    {
        return;
    }
    report->bounds = knEmptyBox();
    for (size_t v = 0; v < soup->positionCount; ++v)
    {
        report->bounds = knBox_AddPoint(report->bounds, soup->positions[v]);
    }
}

static void Measure(knDoctor* doctor)
{
    const knSoup* soup = doctor->soup;
    doctor->report->volume = knDoctor_Volume(doctor);
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        doctor->report->area += knSoup_TriangleArea(soup, t);
    }
}

static knResult Treat(knSoup* soup, const knDoctorOptions* options, knDoctorReport* report)
{
    knDoctor doctor = {.soup = soup, .options = options, .report = report, .scale = 1.0};
    report->triangleCount = soup->triangleCount;
    report->vertexCount = soup->positionCount;
    report->bounds = knEmptyBox();
    knResult result = RunSteps(&doctor);
    if (result == kn_success && !doctor.hopeless)
    {
        Measure(&doctor);
    }
    return result;
}

static knResult CheckArguments(const knSoup* soup, const knDoctorOptions* options,
                               const knDoctorReport* report)
{
    if (!soup || !options || !report)
    {
        return knFail(kn_errorArgument, "knTreatSoup: soup, options and report must not be null");
    }
    if (!(options->weldTolerance >= 0.0f && options->weldTolerance <= 0.1f))
    {
        return knFail(kn_errorArgument, "weldTolerance is %g; it must lie in [0, 0.1]",
                      (double)options->weldTolerance);
    }
    if (options->maxHoleEdges < 0)
    {
        return knFail(kn_errorArgument, "maxHoleEdges is %d; it must not be negative",
                      options->maxHoleEdges);
    }
    if (soup->triangleCount > KN_MAX_MESH_SIZE || soup->positionCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "a mesh has at most %u triangles and vertices",
                      KN_MAX_MESH_SIZE);
    }
    return kn_success;
}

knResult knTreatSoup(knSoup* soup, const knDoctorOptions* options, knDoctorReport* report)
{
    knResult result = CheckArguments(soup, options, report);
    knSoup untouched = {0};
    if (result == kn_success && !options->repair)
    {
        result = knCloneSoup(&untouched, soup);
    }
    if (result != kn_success)
    {
        return result;
    }
    knInitPredicates();
    // the report is the caller's only when the treatment succeeds
    knDoctorReport written = {0};
    result = Treat(soup, options, &written);
    if (!options->repair)
    {
        RefuseRepairs(&written);
    }
    bool refused = result != kn_success || AnyAction(&written, kn_actionRefuse);
    if (!options->repair && refused)
    {
        knSoup treated = *soup;
        *soup = untouched;
        untouched = treated;
    }
    knDestroySoup(&untouched);
    if (result == kn_success)
    {
        FillReport(soup, &written);
        *report = written;
    }
    return result;
}
