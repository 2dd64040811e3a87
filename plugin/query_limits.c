// SPDX-License-Identifier: Zlib
#include "knap/query.h"

#include <stddef.h>

#define ROW(key, type, standard, lowest, highest, unit, meaning)                                   \
    {                                                                                              \
#key, offsetof(knContactLimits, key), type, standard, lowest, highest, unit, meaning       \
    }
#define MANY 65536

static const knSetting rows[] = {
    ROW(contacts, kn_settingCount, 8, 1, MANY, "",
        "of a pair at first: the paper's m. Of more the solver gets so many, spread widely, and "
        "what is deeper than epsilon"),
    ROW(maxContacts, kn_settingCount, 64, 1, MANY, "", "of a pair; m grows no further"),
    ROW(growth, kn_settingCount, 1, 0, MANY, "", "of m, per query that reaches it"),
    ROW(decay, kn_settingCount, 30, 0, MANY, "queries",
        "that need fewer contacts before m falls by one"),
    ROW(epsilon, kn_settingFloat, 0.002, 0, 1, "radius",
        "penetration that the selection may leave, a share of the smaller piece's radius"),
    ROW(margin, kn_settingFloat, 0.002, 0, 1, "radius",
        "contacts are found this far before they touch, the same share"),
    ROW(edgeContacts, kn_settingCount, 4, 0, MANY, "",
        "sharp edges meet shapes when points gave fewer contacts, edges of pieces always; 0: "
        "never"),
    ROW(coherence, kn_settingFloat, 1.0, 0, 1, "epsilon",
        "that motion may use up before a pair is asked again; 0: in every step"),
    ROW(full, kn_settingSwitch, 0, 0, 1, "", "no selection: every point in contact"),
};

const knSettingTable* knContactSettings(void)
{
    static const knSettingTable table = {"contacts", rows, sizeof rows / sizeof rows[0]};
    return &table;
}

knContactLimits knDefaultContactLimits(void)
{
    knContactLimits limits = {.size = sizeof(knContactLimits)};
    knSettings_Reset(knContactSettings(), &limits);
    return limits;
}

knResult knValidateContactLimits(const knContactLimits* limits)
{
    if (!limits || limits->size != sizeof(knContactLimits))
    {
        return knFail(kn_errorArgument, "contact limits: begin with knDefaultContactLimits");
    }
    knResult result = knValidateSettings(knContactSettings(), limits);
    if (result == kn_success && limits->contacts > limits->maxContacts)
    {
        return knFail(kn_errorArgument, "contacts is %u and maxContacts %u: not more than that",
                      limits->contacts, limits->maxContacts);
    }
    return result;
}
