// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // popen

#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int Run(const char* arguments, char* output, size_t capacity)
{
    char line[2048];
    snprintf(line, sizeof line, "%s %s 2>&1", KN_COMMAND, arguments);
    FILE* pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t size = fread(output, 1, capacity - 1, pipe);
    output[size] = 0;
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int CookBrick(void** state)
{
    (void)state;
    char output[4096];
    return Run("cook " KN_SOURCE_DIR "/demos/assets/brick.obj -o brick.knap", output,
               sizeof output);
}

static double ErrorAfter(const char* text, const char* state, const char* key)
{
    const char* place = strstr(text, state);
    place = place ? strstr(place, key) : NULL;
    assert_non_null(place);
    return strtod(place + strlen(key), NULL);
}

// The field stays near the truth: within a hundredth of the radius in the mean.
static void FieldIsNearTheTruth(void** state)
{
    (void)state;
    char output[4096];
    unlink("brick.png");
    assert_int_equal(Run("field brick.knap --size 240x160 -o brick.png", output, sizeof output), 0);
    assert_true(ErrorAfter(output, "before", "mean ") < 0.01);
    assert_true(ErrorAfter(output, "after", "mean ") < 0.01);
    assert_int_equal(access("brick.png", R_OK), 0);
}

// Directions near cracks, where pieces touch, and depth that grows inwards, deep inside too.
static void DirectionsAndFallsAreCounted(void** state)
{
    (void)state;
    char output[4096];
    assert_int_equal(
        Run("field brick.knap --json --size 240x160 -o ways.png", output, sizeof output), 0);
    assert_true(ErrorAfter(output, "\"before\"", "\"crackSamples\": ") == 0.0);
    assert_true(ErrorAfter(output, "\"after\"", "\"crackSamples\": ") > 1000.0);
    assert_true(ErrorAfter(output, "\"after\"", "\"crackAngle95\": ") <= 15.0);
    double steps = ErrorAfter(output, "\"after\"", "\"steps\": ");
    assert_true(steps > 10000.0);
    assert_true(ErrorAfter(output, "\"after\"", "\"falls\": ") < 0.02 * steps);
}

// A script reads the same numbers, and finds that the brick was broken.
static void JsonTellsTheErrors(void** state)
{
    (void)state;
    char output[4096];
    assert_int_equal(Run("field brick.knap --json --axis x --pieces 6 --size 240x160 -o json.png",
                         output, sizeof output),
                     0);
    assert_non_null(strstr(output, "\"axis\": \"x\""));
    assert_true(ErrorAfter(output, "\"before\"", "\"pieces\": ") == 1.0);
    assert_true(ErrorAfter(output, "\"after\"", "\"pieces\": ") >= 6.0);
    assert_true(ErrorAfter(output, "\"after\"", "\"meanError\": ") < 0.01);
}

static void WrongCallsAreRefused(void** state)
{
    (void)state;
    char output[4096];
    assert_int_equal(Run("field brick.knap", output, sizeof output), 1);
    assert_int_equal(Run("field brick.knap --axis w -o a.png", output, sizeof output), 1);
    assert_int_equal(Run("field brick.knap --pieces 2.5 -o a.png", output, sizeof output), 1);
    assert_int_equal(Run("field brick.knap --size 20x20 -o a.png", output, sizeof output), 1);
    assert_int_equal(Run("field none.knap -o a.png", output, sizeof output), 2);
    assert_int_equal(Run("field brick.knap --size 240x160 -o no/such/a.png", output, sizeof output),
                     5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(FieldIsNearTheTruth),
        cmocka_unit_test(DirectionsAndFallsAreCounted),
        cmocka_unit_test(JsonTellsTheErrors),
        cmocka_unit_test(WrongCallsAreRefused),
    };
    return cmocka_run_group_tests(tests, CookBrick, NULL);
}
