// SPDX-License-Identifier: Zlib
#include "knap/world_break.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

knBreakLimits knDefaultBreakLimits(void)
{
    return (knBreakLimits){.size = sizeof(knBreakLimits),
                           .worldPieces = 2000,
                           .familyPieces = 200,
                           .eventPieces = 20,
                           .breaksPerStep = 16,
                           .minVolumeShare = 1e-3,
                           .minApproach = 0.2f,
                           .steadyLoad = 200.0f,
                           .debrisShare = 0.01,
                           .debrisFade = 1.0f,
                           .seed = 1};
}

typedef enum FieldType
{
    fieldCount, // uint32_t
    fieldFloat,
    fieldDouble
} FieldType;

typedef struct Field
{
    const char* name;
    size_t offset;
    FieldType type;
    double lowest, highest;
} Field;

#define FIELD(name, type, lowest, highest)                                                         \
    {                                                                                              \
#name, offsetof(knBreakLimits, name), type, lowest, highest                                \
    }

// workPerStep and seed may be anything
static const Field fields[] = {
    FIELD(worldPieces, fieldCount, 0, 1 << 20), FIELD(familyPieces, fieldCount, 0, 1 << 20),
    FIELD(eventPieces, fieldCount, 2, 1024),    FIELD(breaksPerStep, fieldCount, 0, 1 << 20),
    FIELD(secondsPerStep, fieldDouble, 0, 60),  FIELD(bodiesPerStep, fieldCount, 0, 1 << 20),
    FIELD(minVolumeShare, fieldDouble, 0, 0.5), FIELD(minSize, fieldFloat, 0, 1e6),
    FIELD(minApproach, fieldFloat, 0, 1e6),     FIELD(steadyLoad, fieldFloat, 0, 1e12),
    FIELD(debrisShare, fieldDouble, 0, 1),      FIELD(debrisLifetime, fieldFloat, 0, 1e9),
    FIELD(debrisFade, fieldFloat, 0, 1e9),      FIELD(freezeAfter, fieldFloat, 0, 1e9)};

static double ValueOf(const knBreakLimits* limits, const Field* field)
{
    const char* at = (const char*)limits + field->offset;
    uint32_t count = 0;
    float single = 0.0f;
    double value = 0.0;
    switch (field->type)
    {
    case fieldCount:
        memcpy(&count, at, sizeof count);
        return (double)count;
    case fieldFloat:
        memcpy(&single, at, sizeof single);
        return (double)single;
    default:
        memcpy(&value, at, sizeof value);
        return value;
    }
}

knResult knValidateBreakLimits(const knBreakLimits* l)
{
    if (!l || l->size != sizeof(knBreakLimits))
    {
        return knFail(kn_errorArgument, "break limits: begin with knDefaultBreakLimits");
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
    {
        double value = ValueOf(l, &fields[i]);
        if (!(value >= fields[i].lowest && value <= fields[i].highest))
        {
            return knFail(kn_errorArgument, "%s is %g, from %g to %g makes sense", fields[i].name,
                          value, fields[i].lowest, fields[i].highest);
        }
    }
    return kn_success;
}
