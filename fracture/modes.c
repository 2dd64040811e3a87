// SPDX-License-Identifier: Zlib
#include "knap/modes.h"

#include <float.h>
#include <math.h>
#include <string.h>

// The section: a header of 64 bytes, then the arrays, each aligned to KN_CACHE_LINE with zeros
// between. The length follows from the two counts.
typedef struct Header
{
    uint32_t modeCount;
    uint32_t nodeCount;
    float poisson;
    uint32_t isAnchored; // 0 or 1
    uint32_t zero[12];
} Header;

_Static_assert(sizeof(Header) == 64, "the header is one cache line");

#define ARRAY_COUNT 5

// Where the arrays start and end: eigenvalues, scales and shapes, scales and stresses.
typedef struct Layout
{
    uint64_t start[ARRAY_COUNT];
    uint64_t end[ARRAY_COUNT];
    uint64_t size;
} Layout;

static Layout MakeLayout(uint32_t modeCount, uint32_t nodeCount)
{
    const uint64_t m = modeCount, values = m * nodeCount;
    const uint64_t bytes[ARRAY_COUNT] = {4 * m, 4 * m, 2 * 3 * values, 4 * m, 2 * 6 * values};
    Layout layout = {.size = sizeof(Header)};
    for (int i = 0; i < ARRAY_COUNT; ++i)
    {
        layout.start[i] = layout.size;
        layout.end[i] = layout.size + bytes[i];
        layout.size = (layout.end[i] + KN_CACHE_LINE - 1) & ~(uint64_t)(KN_CACHE_LINE - 1);
    }
    return layout;
}

static bool IsPoisson(float poisson)
{
    return poisson >= 0.0f && poisson < 0.5f;
}

// Stored as integers up to 32767; false when the mode holds something that is no number.
static bool Quantize(const double* values, size_t count, float* scale, int16_t* out)
{
    double most = 0.0;
    for (size_t i = 0; i < count; ++i)
    {
        if (!isfinite(values[i]))
        {
            return false;
        }
        most = fmax(most, fabs(values[i]));
    }
    *scale = (float)(most / 32767.0);
    if (!(*scale >= FLT_MIN) || !(*scale < FLT_MAX / 32768.0f))
    {
        return false;
    }
    for (size_t i = 0; i < count; ++i)
    {
        // the scale was rounded to a float, perhaps down
        double rounded = floor(values[i] / (double)*scale + 0.5);
        out[i] = (int16_t)fmin(fmax(rounded, -32767.0), 32767.0);
    }
    return true;
}

static bool Fill(const knModeSetDef* def, const Layout* layout, unsigned char* bytes)
{
    const Header header = {.modeCount = def->modeCount,
                           .nodeCount = def->nodeCount,
                           .poisson = def->poisson,
                           .isAnchored = def->isAnchored};
    memcpy(bytes, &header, sizeof header);
    float* eigenvalues = (float*)(bytes + layout->start[0]);
    float* shapeScales = (float*)(bytes + layout->start[1]);
    int16_t* shapes = (int16_t*)(bytes + layout->start[2]);
    float* stressScales = (float*)(bytes + layout->start[3]);
    int16_t* stresses = (int16_t*)(bytes + layout->start[4]);
    size_t perShape = 3 * (size_t)def->nodeCount, perStress = 6 * (size_t)def->nodeCount;
    bool good = true;
    for (size_t m = 0; good && m < def->modeCount; ++m)
    {
        eigenvalues[m] = (float)def->eigenvalues[m];
        good = eigenvalues[m] >= FLT_MIN && eigenvalues[m] <= FLT_MAX &&
               (m == 0 || eigenvalues[m] >= eigenvalues[m - 1]) &&
               Quantize(def->shapes + m * perShape, perShape, &shapeScales[m],
                        shapes + m * perShape) &&
               Quantize(def->stresses + m * perStress, perStress, &stressScales[m],
                        stresses + m * perStress);
    }
    return good;
}

knResult knEncodeModes(const knModeSetDef* def, const knAllocator* allocator, void** bytes,
                       size_t* size)
{
    if (!def || !bytes || !size || !def->eigenvalues || !def->shapes || !def->stresses ||
        def->modeCount == 0 || def->modeCount > KN_MAX_MODES || def->nodeCount == 0 ||
        def->nodeCount > KN_MAX_MESH_SIZE || !IsPoisson(def->poisson))
    {
        return knFail(kn_errorArgument,
                      "knEncodeModes: null array, or modes, nodes or Poisson's ratio out of range");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    Layout layout = MakeLayout(def->modeCount, def->nodeCount);
    unsigned char* section = knAllocate(allocator, (size_t)layout.size, 1);
    if (!section)
    {
        return kn_errorMemory;
    }
    memset(section, 0, (size_t)layout.size);
    if (!Fill(def, &layout, section))
    {
        knRelease(allocator, section, (size_t)layout.size, 1);
        return knFail(kn_errorArgument, "knEncodeModes: eigenvalues not positive and ascending, or "
                                        "a mode that is zero or not finite");
    }
    *bytes = section;
    *size = (size_t)layout.size;
    return kn_success;
}

static knResult Bad(const char* what)
{
    return knFail(kn_errorFormat, "the cooked modes are not sound: %s; cook the mesh again", what);
}

static bool GapsAreZero(const unsigned char* bytes, const Layout* layout)
{
    for (int i = 0; i < ARRAY_COUNT; ++i)
    {
        uint64_t next = i + 1 < ARRAY_COUNT ? layout->start[i + 1] : layout->size;
        for (uint64_t k = layout->end[i]; k < next; ++k)
        {
            if (bytes[k] != 0)
            {
                return false;
            }
        }
    }
    return true;
}

// Any 16 bits are a value; what multiplies them must be sane. Comparisons refuse what is no number.
static knResult CheckNumbers(const knModeSet* set)
{
    if (!IsPoisson(set->poisson))
    {
        return Bad("Poisson's ratio is out of range");
    }
    for (uint32_t m = 0; m < set->modeCount; ++m)
    {
        float least = m > 0 ? set->eigenvalues[m - 1] : FLT_MIN;
        if (!(set->eigenvalues[m] >= least && set->eigenvalues[m] <= FLT_MAX))
        {
            return Bad("an eigenvalue is not positive and ascending");
        }
        float scales[2] = {set->shapeScales[m], set->stressScales[m]};
        for (int i = 0; i < 2; ++i)
        {
            if (!(scales[i] >= FLT_MIN && scales[i] < FLT_MAX / 32768.0f))
            {
                return Bad("a scale is not positive and finite");
            }
        }
    }
    return kn_success;
}

static knResult OpenSection(knModeSet* set, const knAssetSection* s, uint32_t nodeCount,
                            bool anchored)
{
    static const uint32_t zero[12] = {0};
    const unsigned char* bytes = s->data;
    Header header;
    if (s->version != KN_MODES_VERSION)
    {
        return knFail(kn_errorVersion, "modes of version %u, this reads %d: cook the mesh again",
                      s->version, KN_MODES_VERSION);
    }
    if (s->size < sizeof header)
    {
        return Bad("too short");
    }
    memcpy(&header, bytes, sizeof header);
    if (header.modeCount == 0 || header.modeCount > KN_MAX_MODES || header.nodeCount != nodeCount ||
        header.isAnchored != anchored || memcmp(header.zero, zero, sizeof zero) != 0)
    {
        return Bad("not of this mesh");
    }
    Layout layout = MakeLayout(header.modeCount, nodeCount);
    if (s->size != layout.size || !GapsAreZero(bytes, &layout))
    {
        return Bad("of the wrong size");
    }
    *set = (knModeSet){.modeCount = header.modeCount,
                       .nodeCount = nodeCount,
                       .poisson = header.poisson,
                       .isAnchored = anchored,
                       .eigenvalues = (const float*)(bytes + layout.start[0]),
                       .shapeScales = (const float*)(bytes + layout.start[1]),
                       .shapes = (const int16_t*)(bytes + layout.start[2]),
                       .stressScales = (const float*)(bytes + layout.start[3]),
                       .stresses = (const int16_t*)(bytes + layout.start[4])};
    return CheckNumbers(set);
}

knResult knOpenModes(knModeSet* set, const knAsset* asset, bool anchored)
{
    if (!set || !asset)
    {
        return knFail(kn_errorArgument, "knOpenModes: set or asset is null");
    }
    knAssetSection s =
        knAsset_FindSection(asset, anchored ? KN_ANCHORED_MODES_TAG : KN_FREE_MODES_TAG);
    knModeSet opened = {0};
    if (s.data)
    {
        knResult result = OpenSection(&opened, &s, knAsset_TetMesh(asset)->nodeCount, anchored);
        if (result != kn_success)
        {
            return result;
        }
    }
    *set = opened;
    return kn_success;
}

knResult knOpenAnchors(knAnchors* anchors, const knAsset* asset)
{
    if (!anchors || !asset)
    {
        return knFail(kn_errorArgument, "knOpenAnchors: anchors or asset is null");
    }
    knAssetSection s = knAsset_FindSection(asset, KN_ANCHORS_TAG);
    uint32_t nodeCount = knAsset_TetMesh(asset)->nodeCount;
    if (s.data && s.version != KN_ANCHORS_VERSION)
    {
        return knFail(kn_errorVersion, "anchors of version %u, this reads %d: cook the mesh again",
                      s.version, KN_ANCHORS_VERSION);
    }
    const uint32_t* nodes = s.data;
    bool good = s.size % sizeof(uint32_t) == 0 && s.size / sizeof(uint32_t) <= nodeCount;
    uint32_t count = good ? (uint32_t)(s.size / sizeof(uint32_t)) : 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        good = good && nodes[i] < nodeCount && (i == 0 || nodes[i] > nodes[i - 1]);
    }
    if (!good)
    {
        return knFail(kn_errorFormat, "the anchored nodes are not sound: cook the mesh again");
    }
    *anchors = (knAnchors){count > 0 ? nodes : NULL, count};
    return kn_success;
}
