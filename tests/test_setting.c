// SPDX-License-Identifier: Zlib
// Tables of settings: every type goes in and comes out, and what is out of range changes nothing.
#include "kit.h"
#include "knap/setting.h"

typedef struct Thing
{
    bool isOn;
    uint32_t count;
    uint64_t whole;
    float single;
    double fine;
} Thing;

static const knSetting rows[] = {
    {"isOn", offsetof(Thing, isOn), kn_settingSwitch, 1, 0, 1, "", "a switch"},
    {"count", offsetof(Thing, count), kn_settingCount, 7, 2, 4294967295.0, "", "a count"},
    {"whole", offsetof(Thing, whole), kn_settingWhole, 9, 0, 9007199254740992.0, "", "a number"},
    {"single", offsetof(Thing, single), kn_settingFloat, 0.5, -1, 1, "m", "a length"},
    {"fine", offsetof(Thing, fine), kn_settingDouble, 0.1, 0, 1e9, "s", "a time"}};
static const knSettingTable table = {"thing", rows, COUNT_OF(rows)};

static void DefaultsComeFromTheTable(void** state)
{
    (void)state;
    Thing thing;
    memset(&thing, 0, sizeof thing);
    knSettings_Reset(&table, &thing);
    assert_true(thing.isOn && thing.count == 7 && thing.whole == 9);
    assert_true(thing.single == 0.5f && thing.fine == 0.1);
    assert_int_equal(knValidateSettings(&table, &thing), kn_success);
}

static void EveryTypeIsWrittenAndRead(void** state)
{
    (void)state;
    const double values[] = {0, 4294967295.0, 9007199254740992.0, -0.25, 1e9};
    Thing thing;
    memset(&thing, 0, sizeof thing);
    knSettings_Reset(&table, &thing);
    for (size_t i = 0; i < COUNT_OF(rows); ++i)
    {
        assert_int_equal(knSetting_Set(&table, &thing, rows[i].key, values[i]), kn_success);
        assert_true(knSetting_Value(knFindSetting(&table, rows[i].key), &thing) == values[i]);
    }
    assert_true(!thing.isOn && thing.count == 4294967295u && thing.whole == 1ull << 53);
}

static void WhatIsOutOfRangeChangesNothing(void** state)
{
    (void)state;
    Thing thing, before;
    memset(&thing, 0, sizeof thing);
    knSettings_Reset(&table, &thing);
    before = thing;
    const struct
    {
        const char* key;
        double value;
    } wrong[] = {{"isOn", 2},   {"isOn", 0.5},     {"count", 1}, {"count", 2.5}, {"whole", -1},
                 {"single", 2}, {"single", -1e30}, {"fine", -1}, {"nothing", 1}, {"count", 1e10}};
    for (size_t i = 0; i < COUNT_OF(wrong); ++i)
    {
        assert_int_equal(knSetting_Set(&table, &thing, wrong[i].key, wrong[i].value),
                         kn_errorArgument);
        assert_non_null(strstr(knLastError(), wrong[i].key));
    }
    double nan = strtod("nan", NULL);
    assert_int_equal(knSetting_Set(&table, &thing, "fine", nan), kn_errorArgument);
    assert_int_equal(knSetting_Set(&table, NULL, "fine", 1), kn_errorArgument);
    assert_int_equal(knSetting_Set(&table, &thing, NULL, 1), kn_errorArgument);
    assert_memory_equal(&thing, &before, sizeof thing);
    thing.single = 3.0f;
    assert_int_equal(knValidateSettings(&table, &thing), kn_errorArgument);
    assert_non_null(strstr(knLastError(), "single is 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DefaultsComeFromTheTable),
        cmocka_unit_test(EveryTypeIsWrittenAndRead),
        cmocka_unit_test(WhatIsOutOfRangeChangesNothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
