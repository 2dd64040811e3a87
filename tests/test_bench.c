// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // open_memstream

#include "bench/bench.h"
#include "bench/lattice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void MedianIsTheMiddle(void** state)
{
    (void)state;
    double odd[] = {9.0, 1.0, 5.0};
    double even[] = {4.0, 1.0, 100.0, 2.0};
    assert_true(knMedian(odd, 3) == 5.0);
    assert_true(knWorst(even, 4) == 100.0);
    assert_true(knMedian(even, 4) == 3.0);
    assert_true(isnan(knMedian(even, 0)) && isnan(knWorst(even, 0)));
}

// Above one is always good news.
static void RatioSaysWhoIsBetter(void** state)
{
    (void)state;
    assert_true(knBetterRatio(1.0, 4.0, false) == 4.0);
    assert_true(knBetterRatio(1.0, 4.0, true) == 0.25);
    assert_true(isnan(knBetterRatio(0.0, 4.0, false)));
    assert_true(isnan(knBetterRatio((double)NAN, 4.0, false)));
    assert_true(isnan(knBetterRatio(1.0, (double)INFINITY, true)));
}

static void AssertJson(const char* text, const char* expected)
{
    char* written = NULL;
    size_t size = 0;
    FILE* file = open_memstream(&written, &size);
    assert_non_null(file);
    knWriteJsonString(file, text);
    fclose(file);
    assert_string_equal(written, expected);
    free(written);
}

static void AnyStringIsValidJson(void** state)
{
    (void)state;
    AssertJson("", "\"\"");
    AssertJson("a\"b\\c", "\"a\\\"b\\\\c\"");
    AssertJson("\n\x01", "\"\\u000a\\u0001\"");
    AssertJson("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xAA\xA8",
               "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xAA\xA8\"");
    // alone, overlong, a surrogate, cut off at the end
    AssertJson("\x80", "\"\\ufffd\"");
    AssertJson("\xC0\xAF", "\"\\ufffd\\ufffd\"");
    AssertJson("\xED\xA0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    AssertJson("\xE2\x82", "\"\\ufffd\\ufffd\"");
}

static void RowsBeginWithTheAgreedKeys(void** state)
{
    (void)state;
    char* written = NULL;
    size_t size = 0;
    knBenchRun run = {.bench = "b"};
    knBenchRow row = knBenchRun_MakeRow(&run, "c", "m", "ms");
    row.ours = 2.0;
    row.peer = (double)INFINITY;
    FILE* file = open_memstream(&written, &size);
    assert_non_null(file);
    knWriteJson(file, &row, 1);
    fclose(file);
    const char* expected =
        "[\n  {\"bench\": \"b\", \"case\": \"c\", \"metric\": \"m\", \"ours\": 2, "
        "\"peer\": null, \"ratio\": null, \"paper\": null, \"unit\": \"ms\", ";
    assert_memory_equal(written, expected, strlen(expected));
    assert_non_null(strstr(written, "\"foreignLoad\": null}"));
    free(written);
}

typedef struct Log
{
    int restored, ours, peer;
    int order; // of the last call: 1 ours, 2 the peer
    int longestStreak, streak;
} Log;

static void Note(Log* log, int side)
{
    log->streak = log->order == side ? log->streak + 1 : 1;
    log->order = side;
    log->longestStreak = log->streak > log->longestStreak ? log->streak : log->longestStreak;
}

static void Spin(double seconds)
{
    for (double begin = knSecondsNow(); knSecondsNow() - begin < seconds;)
    {
    }
}

static knResult Restore(void* context)
{
    Log* log = context;
    log->restored += 1;
    Spin(2e-3);
    return kn_success;
}

static knResult Ours(void* context)
{
    Log* log = context;
    log->ours += 1;
    Note(log, 1);
    Spin(1.5e-3);
    return kn_success;
}

static knResult Peer(void* context)
{
    Log* log = context;
    log->peer += 1;
    Note(log, 2);
    Spin(6e-3);
    return kn_success;
}

static knResult Fail(void* context)
{
    (void)context;
    return kn_errorMesh;
}

// Both sides equally often, in turns, and the restoring does not count.
static void SidesTakeTurnsOnRestoredState(void** state)
{
    (void)state;
    Log log = {0};
    knBenchRun run = {.bench = "b", .options.quick = true};
    knMeasureDef def = knDefaultMeasureDef(&run);
    def.beforeRun = Restore;
    def.ours = Ours;
    def.peer = Peer;
    def.context = &log;
    def.minSeconds = 0.0;
    knMeasurement m;
    assert_int_equal(knMeasure(&def, &m), kn_success);
    assert_int_equal(log.ours, log.peer);
    assert_int_equal(log.restored, log.ours + log.peer);
    assert_true(log.longestStreak <= 3);
    assert_true(m.ours >= 1.5 && m.peer >= 6.0 && m.worst >= m.ours);
}

static void FailureOfOneSideLeavesNoRow(void** state)
{
    (void)state;
    Log log = {0};
    knBenchRun run = {.bench = "b", .options.quick = true};
    knMeasureDef def = knDefaultMeasureDef(&run);
    def.ours = Ours;
    def.peer = Fail;
    def.context = &log;
    assert_int_equal(knBenchRun_Measure(&run, &def), kn_errorMesh);
    assert_int_equal(run.rowCount, 0);
}

// A number taken while others held the processors must not pass for a measurement.
static void CrowdedWorkIsSeen(void** state)
{
    (void)state;
    knMeasureDef def = {.processors = 1000000};
    knMeasurement m = {.foreignLoad = 0.5};
    assert_true(knIsCrowded(&def, &m));
    def.processors = 0;
    assert_false(knIsCrowded(&def, &m));
}

static void FileIsAllOrNothing(void** state)
{
    (void)state;
    assert_int_equal(knWriteRowsFile("no-such-folder/rows.json", knWriteJson, NULL, 0),
                     kn_errorFile);
    assert_int_equal(knWriteRowsFile("rows.json", knWriteJson, NULL, 0), kn_success);
    FILE* file = fopen("rows.json", "r");
    char text[16] = {0};
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 4);
    fclose(file);
    remove("rows.json");
    assert_string_equal(text, "[\n]\n");
}

// A lattice fills its cube: six equal tetrahedra per cell, also when shuffled.
static void LatticeFillsTheCube(void** state)
{
    (void)state;
    knLattice l;
    assert_int_equal(knCreateLattice(&l, 4), kn_success);
    assert_int_equal(l.tetCount, 6 * 64);
    assert_int_equal(l.surfaceNodeCount, 125 - 27);
    for (int shuffled = 0; shuffled < 2; ++shuffled)
    {
        double volume6 = 0.0;
        for (uint32_t t = 0; t < l.tetCount; ++t)
        {
            const uint32_t* v = l.tets[t].v;
            double part = knTetVolume6(l.nodes[v[0]], l.nodes[v[1]], l.nodes[v[2]], l.nodes[v[3]]);
            assert_true(part > 0.0);
            volume6 += part;
        }
        assert_true(fabs(volume6 - 6.0) < 1e-6);
        assert_int_equal(knLattice_Shuffle(&l, 7), kn_success);
    }
    knDestroyLattice(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MedianIsTheMiddle),
        cmocka_unit_test(RatioSaysWhoIsBetter),
        cmocka_unit_test(AnyStringIsValidJson),
        cmocka_unit_test(RowsBeginWithTheAgreedKeys),
        cmocka_unit_test(SidesTakeTurnsOnRestoredState),
        cmocka_unit_test(FailureOfOneSideLeavesNoRow),
        cmocka_unit_test(CrowdedWorkIsSeen),
        cmocka_unit_test(FileIsAllOrNothing),
        cmocka_unit_test(LatticeFillsTheCube),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
