// SPDX-License-Identifier: Zlib
// The demo's command line: what a run leaves behind, recordings, and sentences for what is wrong.
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

// Without a display; tells the exit code. What it prints is in out.txt and err.txt.
static int Run(const char* arguments)
{
    const char* folder = getenv("KN_TEST_MODELS");
    char line[2048];
    snprintf(line, sizeof line,
             "unset DISPLAY WAYLAND_DISPLAY; " KN_DEMO " --assets %s %s >out.txt 2>err.txt",
             folder ? folder : "../models", arguments);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char* Read(const char* path)
{
    static char texts[2][65536];
    static int turn;
    char* text = texts[turn ^= 1];
    FILE* file = fopen(path, "r");
    if (!file)
    {
        fail_msg("%s: not there", path);
        return NULL;
    }
    size_t length = fread(text, 1, sizeof texts[0] - 1, file);
    fclose(file);
    text[length] = 0;
    return text;
}

// What stands behind a key of the statistics.
static const char* Value(const char* path, const char* key, char value[64])
{
    const char* at = strstr(Read(path), key);
    if (!at)
    {
        fail_msg("%s has no %s", path, key);
        return NULL;
    }
    at += strlen(key) + strspn(at + strlen(key), "\": ");
    size_t length = strcspn(at, "\"},\n");
    snprintf(value, 64, "%.*s", (int)(length < 63 ? length : 63), at);
    return value;
}

static void WhatIsWrongIsSaid(void** state)
{
    (void)state;
    static const struct
    {
        const char* arguments;
        int code;
        const char* says;
    } rows[] = {
        {"plates --steps none --headless", 2, "--steps takes a whole number from 1"},
        {"--seed -1", 2, "--seed takes a whole number from 0"},
        {"--threads 65", 2, "from 1 to 64"},
        {"--size 10x10", 2, "--size takes WIDTHxHEIGHT"},
        {"--csv", 2, "--csv takes a name"},
        {"--show contacts,nothing", 2, "--show takes names"},
        {"--nothing", 2, "what is --nothing?"},
        {"plates wall", 2, "what is wall?"},
        {"nothing", 2, "no scene 'nothing'"},
        {"plates --stats a.json", 2, "--stats is for runs with --headless"},
        {"plates --headless --frames 3", 2, "--frames is for runs in a window"},
        {"plates --headless --png %d-%d.png", 2, "at most one %04d"},
        {"all --headless --csv a.csv", 2, "one %s"},
        {"all", 2, "--headless"},
        {"wall --headless --csv nowhere/a.csv", 1, "nowhere/a.csv: cannot be written"},
        {"wall --headless --assets nowhere", 1, "./demos/run wall cooks it"},
        {"wall --headless --config bad.ini", 1, "bad.ini:2: "},
        {"wall --replay bad.ini", 1, "bad.ini"},
        {"plates", 3, "no display"},
    };
    FILE* file = fopen("bad.ini", "w");
    assert_non_null(file);
    fputs("[contacts]\nmaxContacts = 0\n", file);
    fclose(file);
    for (size_t i = 0; i < COUNT_OF(rows); ++i)
    {
        int code = Run(rows[i].arguments);
        const char* text = Read("err.txt");
        if (code != rows[i].code || !strstr(text, rows[i].says))
        {
            fail_msg("%s: %d, %s", rows[i].arguments, code, text);
        }
    }
    assert_int_equal(Run("--help"), 0);
    assert_non_null(strstr(Read("out.txt"), "drop-bunnies"));
}

static void ARunLeavesItsFigures(void** state)
{
    (void)state;
    char value[64], first[64];
    assert_int_equal(Run("piggy --headless --full --steps 40 --seed 7 --stats %s.json "
                         "--csv %s.csv --table"),
                     0);
    static const char* const wanted[][2] = {{"seed", "7"},         {"threads", "1"},
                                            {"steps", "40"},       {"time_step_ms", "15"},
                                            {"original", "10744"}, {"objects", "1"}};
    for (size_t i = 0; i < COUNT_OF(wanted); ++i)
    {
        assert_string_equal(Value("piggy.json", wanted[i][0], value), wanted[i][1]);
    }
    static const char* const columns[] = {"output_points", "colliding_points", "total_ms",
                                          "collision_ms",  "physics_ms",       "update_ms",
                                          "fracture_ms",   "fragments"};
    for (size_t i = 0; i < COUNT_OF(columns); ++i)
    {
        assert_non_null(strstr(Read("piggy.json"), columns[i]));
    }
    const char* csv = Read("piggy.csv");
    int rows = 0;
    for (const char* at = strchr(csv, '\n'); at; at = strchr(at + 1, '\n'))
    {
        rows += 1;
    }
    assert_int_equal(rows, 41); // and a line of names
    assert_non_null(strstr(csv, "\n40,"));
    const char* table = Read("out.txt");
    assert_true(strstr(table, "Table 2") && strstr(table, "Table 3") && strstr(table, "paper"));
    // two threads change the time it takes and nothing else
    Value("piggy.json", "state_hash", first);
    assert_int_equal(Run("piggy --headless --steps 40 --seed 7 --threads 2 --stats two.json"), 0);
    assert_string_equal(Value("two.json", "threads", value), "2");
    assert_string_equal(Value("two.json", "state_hash", value), first);
}

// What was recorded goes through again to the same bit; a byte that was changed is found.
static void RecordingsRepeat(void** state)
{
    (void)state;
    char hash[64];
    assert_int_equal(Run("wall --headless --steps 50 --record wall.rec --stats wall.json"), 0);
    Value("wall.json", "state_hash", hash);
    assert_int_equal(Run("wall --replay wall.rec"), 0);
    const char* told = Read("out.txt");
    assert_non_null(strstr(told, "50 steps"));
    assert_non_null(strstr(told, "state "));
    FILE* file = fopen("wall.rec", "r+b");
    assert_non_null(file);
    fseek(file, -100, SEEK_END);
    int byte = fgetc(file);
    fseek(file, -100, SEEK_END);
    fputc(byte ^ 0x10, file);
    fclose(file);
    assert_int_equal(Run("wall --replay wall.rec"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(WhatIsWrongIsSaid),
        cmocka_unit_test(ARunLeavesItsFigures),
        cmocka_unit_test(RecordingsRepeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
