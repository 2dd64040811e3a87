// SPDX-License-Identifier: Zlib
#include "break_many.h"

static void PlateKeepsAllPromises(void** state)
{
    (void)state;
    BreakMany("plate");
}

static void PiggyKeepsAllPromises(void** state)
{
    (void)state;
    BreakMany("piggy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PlateKeepsAllPromises),
        cmocka_unit_test(PiggyKeepsAllPromises),
    };
    return cmocka_run_group_tests(tests, SetUp, TearDown);
}
