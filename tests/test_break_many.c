// SPDX-License-Identifier: Zlib
#include "break_many.h"

static void BrickKeepsAllPromises(void** state)
{
    (void)state;
    BreakMany("brick");
}

static void BunnyKeepsAllPromises(void** state)
{
    (void)state;
    BreakMany("bunny");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(BrickKeepsAllPromises),
        cmocka_unit_test(BunnyKeepsAllPromises),
    };
    return cmocka_run_group_tests(tests, SetUp, TearDown);
}
