// SPDX-License-Identifier: Zlib
#include "knap/world.h"

#include <stddef.h>

_Static_assert(sizeof(int) == sizeof(uint32_t), "solverIterations is read as a count");

static const knSetting rows[] = {
    {"separationSpeed", offsetof(knWorldDef, separationSpeed), kn_settingFloat, 2, 1e-6, 1e6, "m/s",
     "bodies that overlap are pushed apart no faster"},
    {"slop", offsetof(knWorldDef, slop), kn_settingFloat, 0, 0, 1, "m",
     "resting contacts may stay this deep"},
    {"solverIterations", offsetof(knWorldDef, solverIterations), kn_settingCount, 10, 1, 1000, "",
     "of Bullet's solver in a world of Knap's own"},
};

const knSettingTable* knWorldSettings(void)
{
    static const knSettingTable table = {"world", rows, sizeof rows / sizeof rows[0]};
    return &table;
}
