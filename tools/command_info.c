// SPDX-License-Identifier: Zlib
#include "command.h"

#include <getopt.h>
#include <math.h>

static void PrintHelp(void)
{
    printf("usage: knap info FILE.knap [--json]\n\n"
           "Checks the whole file and prints what is in it.\n\n"
           "  --json   as JSON\n"
           "  --help   this text\n\n"
           "exit codes: 0 good, 1 wrong arguments, 2 not a sound asset\n");
}

static void TagText(uint32_t tag, char text[5])
{
    for (int i = 0; i < 4; ++i)
    {
        char c = (char)(tag >> (8 * i) & 0xFF);
        text[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    text[4] = 0;
}

static unsigned long long FileBytes(const knAsset* asset)
{
    unsigned long long bytes = 0;
    for (int i = 0; i < knAsset_SectionCount(asset); ++i)
    {
        bytes += knAsset_Section(asset, i).size;
    }
    return bytes;
}

static void JsonSections(knJson* json, const knAsset* asset)
{
    knJson_BeginArray(json, "sections");
    for (int i = 0; i < knAsset_SectionCount(asset); ++i)
    {
        knAssetSection section = knAsset_Section(asset, i);
        char tag[5];
        TagText(section.tag, tag);
        knJson_BeginObject(json, NULL);
        knJson_String(json, "tag", tag);
        knJson_Count(json, "version", section.version);
        knJson_Count(json, "bytes", section.size);
        knJson_EndObject(json);
    }
    knJson_EndArray(json);
}

// Of a mode in the asset's material, Hz; 0 when its stiffness is not known.
static double Frequency(const knAsset* asset, const knModeSet* set, uint32_t mode)
{
    const knAssetInfo* info = knAsset_Info(asset);
    const knMaterial* material = knFindMaterialPreset(info->material);
    const double twoPi = 6.283185307179586;
    return material
               ? sqrt((double)set->eigenvalues[mode] * material->youngsModulus / info->density) /
                     twoPi
               : 0.0;
}

#define SHOWN_FREQUENCIES 6

static void JsonModes(knJson* json, const knAsset* asset, bool anchored)
{
    knModeSet set;
    double frequencies[SHOWN_FREQUENCIES] = {0};
    if (knOpenModes(&set, asset, anchored) != kn_success || set.modeCount == 0)
    {
        return;
    }
    int shown = 0;
    for (uint32_t m = 0; m < set.modeCount && m < SHOWN_FREQUENCIES; ++m)
    {
        frequencies[shown++] = Frequency(asset, &set, m);
    }
    knJson_BeginObject(json, anchored ? "anchoredModes" : "modes");
    knJson_Count(json, "count", set.modeCount);
    knJson_Number(json, "poisson", (double)set.poisson);
    knJson_Numbers(json, "frequencies", frequencies, shown);
    knJson_EndObject(json);
}

static void PrintModes(FILE* out, const knAsset* asset, bool anchored)
{
    knModeSet set;
    const char* name = anchored ? "held modes" : "modes     ";
    if (knOpenModes(&set, asset, anchored) != kn_success)
    {
        fprintf(out, "  %s not usable: %s\n", name, knLastError());
    }
    else if (set.modeCount > 0)
    {
        fprintf(out, "  %s  %10u  ", name, set.modeCount);
        double first = Frequency(asset, &set, 0);
        for (uint32_t m = 0; first > 0.0 && m < set.modeCount && m < SHOWN_FREQUENCIES; ++m)
        {
            fprintf(out, "%s%.4g", m > 0 ? ", " : "(", Frequency(asset, &set, m));
        }
        fprintf(out, "%s\n", first > 0.0 ? ", ... Hz)" : "");
    }
}

static void PrintElastic(FILE* out, const knAsset* asset)
{
    knAnchors anchors;
    if (knOpenAnchors(&anchors, asset) != kn_success)
    {
        fprintf(out, "  anchors     not usable: %s\n", knLastError());
    }
    else if (anchors.count > 0)
    {
        fprintf(out, "  anchors     %10u  points\n", anchors.count);
    }
    PrintModes(out, asset, false);
    PrintModes(out, asset, true);
}

static void JsonElastic(knJson* json, const knAsset* asset)
{
    knAnchors anchors;
    if (knOpenAnchors(&anchors, asset) == kn_success)
    {
        knJson_Count(json, "anchors", anchors.count);
    }
    JsonModes(json, asset, false);
    JsonModes(json, asset, true);
}

void knJsonAsset(knJson* json, const knAsset* asset)
{
    const knAssetInfo* info = knAsset_Info(asset);
    const knTetMesh* m = knAsset_TetMesh(asset);
    const knDSym3* I = &info->inertia;
    const double center[3] = {info->center.x, info->center.y, info->center.z};
    const double inertia[6] = {I->xx, I->yy, I->zz, I->xy, I->xz, I->yz};
    knDVec3 low = knToDouble(info->bounds.lower), high = knToDouble(info->bounds.upper);
    knJson_Count(json, "version", KN_ASSET_VERSION);
    knJson_String(json, "source", info->source);
    knJson_Count(json, "triangles", knAsset_Surface(asset)->triangleCount);
    knJson_Count(json, "tetrahedra", m->tetCount);
    knJson_Count(json, "points", m->nodeCount);
    knJson_Count(json, "surfacePoints", m->surfaceNodeCount);
    knJson_Count(json, "edges", m->edgeCount);
    knJson_Count(json, "components", info->componentCount);
    knJson_Bool(json, "textureCoordinates", info->hasUv != 0);
    knJson_String(json, "material", info->material);
    knJson_Number(json, "density", info->density);
    knJson_Number(json, "volume", info->volume);
    knJson_Number(json, "area", info->area);
    knJson_Number(json, "mass", info->mass);
    knJson_Numbers(json, "center", center, 3);
    knJson_Numbers(json, "inertia", inertia, 6);
    knJson_BeginObject(json, "bounds");
    knJson_Numbers(json, "lower", (const double[3]){low.x, low.y, low.z}, 3);
    knJson_Numbers(json, "upper", (const double[3]){high.x, high.y, high.z}, 3);
    knJson_EndObject(json);
    JsonElastic(json, asset);
    knJson_Count(json, "bytes", FileBytes(asset));
    JsonSections(json, asset);
}

void knPrintAsset(FILE* out, const knAsset* asset, const char* path)
{
    const knAssetInfo* info = knAsset_Info(asset);
    const knTetMesh* m = knAsset_TetMesh(asset);
    knVec3 size = knBox_Extent(info->bounds);
    fprintf(out, "%s: cooked from %s\n", path, info->source);
    fprintf(out, "  triangles   %10u\n", knAsset_Surface(asset)->triangleCount);
    fprintf(out, "  tetrahedra  %10u\n", m->tetCount);
    fprintf(out, "  points      %10u  (%u on the surface)\n", m->nodeCount, m->surfaceNodeCount);
    fprintf(out, "  edges       %10u\n", m->edgeCount);
    fprintf(out, "  components  %10u\n", info->componentCount);
    fprintf(out, "  size        %.4g x %.4g x %.4g m\n", (double)size.x, (double)size.y,
            (double)size.z);
    fprintf(out, "  volume      %.6g m^3\n", info->volume);
    fprintf(out, "  mass        %.6g kg of %s (%g kg/m^3)\n", info->mass,
            info->material[0] ? info->material : "no named material", info->density);
    fprintf(out, "  centre      (%.6g, %.6g, %.6g) m\n", info->center.x, info->center.y,
            info->center.z);
    PrintElastic(out, asset);
    fprintf(out, "  sections   ");
    for (int i = 0; i < knAsset_SectionCount(asset); ++i)
    {
        knAssetSection section = knAsset_Section(asset, i);
        char tag[5];
        TagText(section.tag, tag);
        fprintf(out, "%s%s %llu", i > 0 ? ", " : " ", tag, (unsigned long long)section.size);
    }
    fprintf(out, " bytes (%llu in all)\n", FileBytes(asset));
}

int knCommandInfo(int argc, char** argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool asJson = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
    {
        if (option == 'h')
        {
            PrintHelp();
            return kn_exitOk;
        }
        if (option != 'j')
        {
            return knUsageError("info", "that option is not known");
        }
        asJson = true;
    }
    if (optind + 1 != argc)
    {
        return knUsageError("info", "one cooked file is needed");
    }
    knAsset* asset = NULL;
    if (knLoadAsset(&asset, argv[optind], NULL) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    if (asJson)
    {
        knJson json = knMakeJson(stdout);
        knJson_BeginObject(&json, NULL);
        knJson_String(&json, "file", argv[optind]);
        knJsonAsset(&json, asset);
        knJson_EndObject(&json);
    }
    else
    {
        knPrintAsset(stdout, asset, argv[optind]);
    }
    knDestroyAsset(asset);
    return kn_exitOk;
}
