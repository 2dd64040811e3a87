// SPDX-License-Identifier: Zlib
// Curves land where their numbers say, and what cannot be drawn is refused.
#include "kit.h"
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>

static void WriteCsv(const char* text)
{
    FILE* file = fopen("plot.csv", "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// The row in which a column of pixels is most unlike grey: the curve's, as nothing else is coloured
// between the labels and the axis.
static int CurveRow(const knPicture* picture, int x, int from, int to)
{
    int best = -1, most = 40;
    for (int y = from; y < to; ++y)
    {
        const uint8_t* p = picture->pixels + 3 * (y * picture->width + x);
        int colour = abs(p[0] - p[2]);
        if (colour > most)
        {
            most = colour;
            best = y;
        }
    }
    return best;
}

// A ramp from 0 to 10 over x from 0 to 8: straight, rising, from one end of the frame to the other.
static void ARampIsAStraightLine(void** state)
{
    (void)state;
    WriteCsv("x,y\n0,0\n2,2.5\n8,10\n");
    knColumns columns;
    assert_int_equal(knReadColumns(&columns, "plot.csv"), kn_success);
    assert_true(columns.columnCount == 2 && columns.rowCount == 3);
    knPlotDef def = {
        .columns = &columns, .x = 0, .curves = {1}, .curveCount = 1, .width = 600, .height = 400};
    knPicture picture;
    assert_int_equal(knDrawPlot(&def, &picture), kn_success);
    int rows[3];
    for (int i = 0; i < 3; ++i)
    {
        rows[i] = CurveRow(&picture, 200 + 100 * i, 65, 345);
        assert_true(rows[i] > 0);
    }
    assert_true(rows[0] > rows[1] && rows[1] > rows[2]);
    assert_true(abs((rows[0] - rows[1]) - (rows[1] - rows[2])) <= 2);
    knDestroyPicture(&picture);
    knDestroyColumns(&columns);
}

static void HolesAndConstantsAreDrawn(void** state)
{
    (void)state;
    WriteCsv("a,b\n1,\n1,x\n1,5\n");
    knColumns columns;
    assert_int_equal(knReadColumns(&columns, "plot.csv"), kn_success);
    assert_int_equal(knColumns_Find(&columns, "b"), 1);
    assert_int_equal(knColumns_Find(&columns, "c"), KN_NONE);
    knPlotDef def = {.columns = &columns,
                     .curves = {1},
                     .curveCount = 1,
                     .width = 200,
                     .height = 200,
                     .hasDots = true};
    knPicture picture;
    assert_int_equal(knDrawPlot(&def, &picture), kn_success);
    knDestroyPicture(&picture);
    knDestroyColumns(&columns);
}

static void FilesWithoutRowsAreRefused(void** state)
{
    (void)state;
    knColumns columns;
    WriteCsv("a,b\n");
    assert_int_equal(knReadColumns(&columns, "plot.csv"), kn_errorFile);
    WriteCsv("a_name_that_is_far_too_long_for_a_column,b\n1,2\n");
    assert_int_equal(knReadColumns(&columns, "plot.csv"), kn_errorFile);
    assert_int_equal(knReadColumns(&columns, "none.csv"), kn_errorFile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ARampIsAStraightLine),
        cmocka_unit_test(HolesAndConstantsAreDrawn),
        cmocka_unit_test(FilesWithoutRowsAreRefused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
