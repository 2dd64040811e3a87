// SPDX-License-Identifier: Zlib
#include "knap/world_break.h"

#include <stddef.h>

#define ROW(key, type, standard, lowest, highest, unit, meaning)                                   \
    {                                                                                              \
#key, offsetof(knBreakLimits, key), type, standard, lowest, highest, unit, meaning         \
    }
#define MANY (1 << 20)
#define HUGE 9007199254740992.0 // 2^53

static const knSetting rows[] = {
    ROW(isOff, kn_settingSwitch, 0, 0, 1, "", "nothing breaks by itself"),
    ROW(worldPieces, kn_settingCount, 2000, 0, MANY, "", "no break begins when there are as many"),
    ROW(familyPieces, kn_settingCount, 200, 0, MANY, "", "the same for one object"),
    ROW(eventPieces, kn_settingCount, 20, 2, 1024, "", "pieces of one break, about"),
    ROW(breaksPerStep, kn_settingCount, 16, 0, MANY, "", "tried in a step, the hardest hits first"),
    ROW(pendingBreaks, kn_settingCount, 64, 0, 4096, "",
        "hits that wait for their turn when the budget is spent; the hardest stay"),
    ROW(workPerStep, kn_settingWhole, 0, 0, HUGE, "units",
        "of stress, cracks, cuts and bodies in a step, then the next goes on; 0: any"),
    ROW(secondsPerStep, kn_settingDouble, 0, 0, 60, "s",
        "the same by the clock, not the same on every machine; 0: any"),
    ROW(bodiesPerStep, kn_settingCount, 0, 0, MANY, "",
        "bodies of pieces made in a step, about; 0: any"),
    ROW(minVolumeShare, kn_settingDouble, 1e-3, 0, 0.5, "",
        "of the object's volume; smaller pieces get no body"),
    ROW(minSize, kn_settingFloat, 0, 0, 1e6, "m", "longest side; smaller pieces get no body"),
    ROW(minApproach, kn_settingFloat, 0.2, 0, 1e6, "m/s", "slower contacts are steady loads"),
    ROW(steadyLoad, kn_settingFloat, 200, 0, 1e12, "", "times its weight; less breaks nothing"),
    ROW(debrisShare, kn_settingDouble, 0.01, 0, 1, "",
        "of the object's volume; smaller bodies are debris"),
    ROW(debrisLifetime, kn_settingFloat, 0, 0, 1e9, "s", "then debris is taken out; 0: never"),
    ROW(debrisFade, kn_settingFloat, 1, 0, 1e9, "s", "at the end of its life in which it fades"),
    ROW(freezeAfter, kn_settingFloat, 0, 0, 1e9, "s",
        "at rest, then debris becomes static; 0: never"),
    ROW(seed, kn_settingWhole, 1, 0, HUGE, "", "of flaws and crack faces")};

const knSettingTable* knBreakSettings(void)
{
    static const knSettingTable table = {"break", rows, sizeof rows / sizeof rows[0]};
    return &table;
}

knBreakLimits knDefaultBreakLimits(void)
{
    knBreakLimits limits = {.size = sizeof(knBreakLimits)};
    knSettings_Reset(knBreakSettings(), &limits);
    return limits;
}

knResult knValidateBreakLimits(const knBreakLimits* limits)
{
    if (!limits || limits->size != sizeof(knBreakLimits))
    {
        return knFail(kn_errorArgument, "break limits: begin with knDefaultBreakLimits");
    }
    return knValidateSettings(knBreakSettings(), limits);
}
