// SPDX-License-Identifier: Zlib
#include "command.h"
#include "cook_mesh.h"

#include <getopt.h>

static void PrintHelp(void)
{
    printf("usage: knap doctor MESH [OPTION...]\n\n"
           "Says what is wrong with a mesh, where, and what 'knap cook' would do about it.\n"
           "Writes no file.\n\n"
           "  --json               as JSON\n" KN_MESH_HELP "  --help               this text\n\n"
           "exit codes: 0 healthy, 1 wrong arguments, 2 unreadable, 3 cook would refuse it,\n"
           "6 out of memory, 7 has defects that cook repairs\n");
}

typedef struct Patient
{
    const char* path;
    knImportOptions import;
    knDoctorOptions doctor;
    bool asJson;
} Patient;

static bool HasRepairs(const knDoctorReport* report)
{
    for (int kind = 0; kind < kn_defectCount; ++kind)
    {
        if (report->defects[kind].count > 0 && report->defects[kind].action == kn_actionRepair)
        {
            return true;
        }
    }
    return false;
}

static void PrintVerdict(const Patient* patient, const knDoctorReport* report)
{
    char reason[KN_MAX_MESSAGE];
    printf("%s: %zu triangles, %zu vertices\n", patient->path, report->triangleCount,
           report->vertexCount);
    knPrintReport(stdout, report, kn_actionNone);
    if (report->cookable)
    {
        printf("  cook takes it%s: %zu triangles, %u component%s%s, %.6g m^3\n",
               HasRepairs(report) ? " after these repairs" : " as it is",
               report->finalTriangleCount, report->componentCount,
               report->componentCount == 1 ? "" : "s",
               report->cavityCount > 0 ? " (cavities among them)" : "", report->volume);
        return;
    }
    knDescribeRefusal(report, reason, sizeof reason);
    printf("  cook refuses it: %s\n", reason);
}

static void JsonVerdict(const Patient* patient, const knDoctorReport* report)
{
    char reason[KN_MAX_MESSAGE];
    knDescribeRefusal(report, reason, sizeof reason);
    knJson json = knMakeJson(stdout);
    knJson_BeginObject(&json, NULL);
    knJson_String(&json, "file", patient->path);
    knJson_Count(&json, "triangles", report->triangleCount);
    knJson_Count(&json, "vertices", report->vertexCount);
    knJson_Bool(&json, "cookable", report->cookable);
    knJson_String(&json, "reason", report->cookable ? "" : reason);
    knJson_Count(&json, "finalTriangles", report->finalTriangleCount);
    knJson_Count(&json, "components", report->componentCount);
    knJson_Count(&json, "cavities", report->cavityCount);
    knJson_Number(&json, "volume", report->volume);
    knJson_Number(&json, "area", report->area);
    knJsonReport(&json, report);
    knJson_EndObject(&json);
}

static knResult Import(const Patient* patient, knSoup* soup)
{
    if (!knIsTetFile(patient->path))
    {
        return knImportSurface(patient->path, &patient->import, soup);
    }
    knTetSoup tets;
    knResult result = knImportTets(patient->path, patient->import.scale, NULL, &tets);
    if (result == kn_success)
    {
        result = knSurfaceOfTets(&tets, soup);
        knDestroyTetSoup(&tets);
    }
    return result;
}

static int Examine(const Patient* patient)
{
    knSoup soup = knMakeSoup(NULL);
    knDoctorReport report;
    int code = kn_exitOk;
    knResult imported = Import(patient, &soup);
    if (imported != kn_success)
    {
        code = knReportFailure(imported == kn_errorMesh ? kn_exitUnfit : kn_exitUnreadable);
    }
    else if (knTreatSoup(&soup, &patient->doctor, &report) != kn_success)
    {
        code = knReportFailure(kn_exitInternal);
    }
    else
    {
        (patient->asJson ? JsonVerdict : PrintVerdict)(patient, &report);
        code = !report.cookable ? kn_exitUnfit : (HasRepairs(&report) ? kn_exitRepairable : code);
    }
    knDestroySoup(&soup);
    return code;
}

int knCommandDoctor(int argc, char** argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            KN_MESH_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    knCookOptions defaults = knDefaultCookOptions();
    Patient patient = {.import = defaults.import, .doctor = defaults.doctor};
    knMeshOptions shared = {&patient.import, &patient.doctor};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
    {
        bool good = true;
        if (option == 'h')
        {
            PrintHelp();
            return kn_exitOk;
        }
        if (option == 'j')
        {
            patient.asJson = true;
        }
        else if (!knTakeMeshOption("doctor", option, optarg, &shared, &good))
        {
            return knUsageError("doctor", "that option is not known");
        }
        if (!good)
        {
            return kn_exitUsage;
        }
    }
    if (optind + 1 != argc)
    {
        return knUsageError("doctor", "one mesh file is needed");
    }
    patient.path = argv[optind];
    return Examine(&patient);
}
