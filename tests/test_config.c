// SPDX-License-Identifier: Zlib
// The config file: what is right is taken, what is wrong is refused with file and line, and the
// docs say what the library checks.
#define _POSIX_C_SOURCE 200809L // popen

#include "kit.h"
#include "knap/config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static knResult Parse(knConfig* config, const char* text)
{
    return knParseConfig(config, text, strlen(text), "knap.ini");
}

static void KeysReachTheirFields(void** state)
{
    (void)state;
    knConfig config = knDefaultConfig();
    const char* text = "# a comment\n"
                       "[run]\nthreads=3\n"
                       "[contacts]\n  contacts = 5 ; the paper has 8\n\tmaxContacts = 12\r\n"
                       "epsilon: 0.25\nfull = yes\n"
                       "[break]\nisOff = on\nworkPerStep = 9007199254740992\n"
                       "minVolumeShare = 0.125\ndebrisLifetime = 1e1\n\n"
                       "[world]\nslop = 0.5\nsolverIterations = 30\n"
                       "[material glass]\ntensileStrength = 3e7\n"
                       "[contacts]\ngrowth = 0";
    assert_int_equal(Parse(&config, text), kn_success);
    assert_int_equal(config.threads, 3);
    assert_true(config.contacts.contacts == 5 && config.contacts.maxContacts == 12);
    assert_true(config.contacts.epsilon == 0.25f && config.contacts.full);
    assert_int_equal(config.contacts.growth, 0);
    assert_true(config.breaking.isOff && config.breaking.workPerStep == 1ull << 53);
    assert_true(config.breaking.minVolumeShare == 0.125);
    assert_true(config.breaking.debrisLifetime == 10.0f);
    assert_true(config.world.slop == 0.5f && config.world.solverIterations == 30);
    assert_true(knConfig_Material(&config, "glass")->tensileStrength == 3e7);

    // what was not named is as before
    knConfig untouched = knDefaultConfig();
    assert_int_equal(config.contacts.decay, untouched.contacts.decay);
    assert_true(config.contacts.margin == untouched.contacts.margin);
    assert_true(knConfig_Material(&config, "ice")->tensileStrength ==
                knFindMaterialPreset("ice")->tensileStrength);
}

typedef struct Wrong
{
    const char* text;
    const char* place;
    const char* word;
} Wrong;

static void WhatIsWrongIsRefusedWithItsLine(void** state)
{
    (void)state;
    static char longLine[4096];
    snprintf(longLine, sizeof longLine, "[run]\n; %0500d\n", 0);
    const Wrong wrong[] = {
        {"[contacts]\ncontacts = 4\nconatcts = 4\n", "knap.ini:3: ", "conatcts"},
        {"[contacts]\n\n\ncontacts = many\n", "knap.ini:4: ", "many"},
        {"[contacts]\ncontacts = 4.5\n", "knap.ini:2: ", "whole"},
        {"[contacts]\nepsilon = 1.5\n", "knap.ini:2: ", "from 0 to 1"},
        {"[contacts]\nepsilon = nan\n", "knap.ini:2: ", "epsilon"},
        {"[contacts]\nepsilon = 0.1 m\n", "knap.ini:2: ", "number"},
        {"[contacts]\nepsilon =\n", "knap.ini:2: ", "number"},
        {"[contacts]\nfull = perhaps\n", "knap.ini:2: ", "yes or no"},
        {"[contacts]\ncontacts = 99\nmargin = 0\n", "knap.ini:3: ", "maxContacts"},
        {"[break]\nseed = 1\nseed = 2\n", "knap.ini:3: ", "twice"},
        {"[brake]\nseed = 1\n", "knap.ini:2: ", "brake"},
        {"[material wood]\ndensity = 700\n", "knap.ini:2: ", "wood"},
        {"[material glass]\ndensity = -1\n", "knap.ini:2: ", "density"},
        {"threads = 1\n", "knap.ini:1: ", "section"},
        {"[run]\nthreads\n", "knap.ini:2: ", "key = value"},
        {"[run\nthreads = 1\n", "knap.ini:1: ", "key = value"},
        {longLine, "knap.ini:2: ", "long"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); ++i)
    {
        knConfig config = knDefaultConfig();
        assert_int_equal(Parse(&config, "[contacts]\ncontacts = 3\n"), kn_success);
        knConfig before = config;
        assert_int_equal(Parse(&config, wrong[i].text), kn_errorArgument);
        assert_memory_equal(&config, &before, sizeof config);
        if (strncmp(knLastError(), wrong[i].place, strlen(wrong[i].place)) != 0 ||
            !strstr(knLastError(), wrong[i].word))
        {
            fail_msg("case %zu: '%s' has neither '%s' nor '%s'", i, knLastError(), wrong[i].place,
                     wrong[i].word);
        }
    }
}

static void BytesThatAreNoTextAreRefused(void** state)
{
    (void)state;
    knConfig config = knDefaultConfig();
    assert_int_equal(knParseConfig(&config, "[run]\nthr\0eads = 2\n", 18, "x"), kn_errorArgument);
    assert_int_equal(knParseConfig(&config, NULL, 4, "x"), kn_errorArgument);
    assert_int_equal(knParseConfig(&config, "", 0, "x"), kn_success);
    assert_int_equal(knLoadConfig(&config, "no-such-file.ini"), kn_errorFile);
    assert_non_null(strstr(knLastError(), "no-such-file.ini"));
    config.size = 3;
    assert_int_equal(Parse(&config, ""), kn_errorArgument);
}

// A game may have set a locale with a decimal comma; the file has points.
static void NumbersDoNotDependOnTheLocale(void** state)
{
    (void)state;
    const char* names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    const char* found = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && !found; ++i)
    {
        found = setlocale(LC_NUMERIC, names[i]);
    }
    knConfig config = knDefaultConfig();
    assert_int_equal(Parse(&config, "[contacts]\nepsilon = 0.5\n"), kn_success);
    assert_true(config.contacts.epsilon == 0.5f);
    setlocale(LC_NUMERIC, "C");
}

static size_t ReadCommand(const char* arguments, char* output, size_t capacity, int* code)
{
    char line[1024];
    snprintf(line, sizeof line, "%s %s 2>&1", KN_COMMAND, arguments);
    FILE* pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t size = fread(output, 1, capacity - 1, pipe);
    output[size] = 0;
    *code = WEXITSTATUS(pclose(pipe));
    return size;
}

static char output[1 << 16], page[1 << 16];

// The file that the command prints has every key, at its default.
static void PrintedFileIsTheDefault(void** state)
{
    (void)state;
    int code;
    size_t size = ReadCommand("config", output, sizeof output, &code);
    assert_int_equal(code, 0);
    knConfig config = knDefaultConfig(), expected = config;
    config.contacts.contacts = 2;
    config.breaking.debrisShare = 0.5;
    config.materials[0].density = 1.0;
    config.threads = 9;
    assert_int_equal(knParseConfig(&config, output, size, "printed"), kn_success);
    assert_memory_equal(&config.contacts, &expected.contacts, sizeof config.contacts);
    assert_true(config.breaking.debrisShare == expected.breaking.debrisShare);
    assert_true(config.materials[0].density == expected.materials[0].density);
    assert_int_equal(config.threads, expected.threads);
}

static void CommandChecksAFile(void** state)
{
    (void)state;
    int code;
    FILE* file = fopen("wrong.ini", "w");
    fputs("[contacts]\nmargin = lots\n", file);
    fclose(file);
    ReadCommand("config wrong.ini", output, sizeof output, &code);
    assert_int_equal(code, 2);
    assert_non_null(strstr(output, "wrong.ini:2: "));
    ReadCommand("config wrong.ini --markdown", output, sizeof output, &code);
    assert_int_equal(code, 1);
}

// docs/config.md is what the tables say today.
static void DocsAreCurrent(void** state)
{
    (void)state;
    int code;
    size_t size = ReadCommand("config --markdown", output, sizeof output, &code);
    FILE* file = fopen(KN_SOURCE_DIR "/docs/config.md", "rb");
    assert_non_null(file);
    size_t stored = fread(page, 1, sizeof page, file);
    fclose(file);
    if (stored != size || memcmp(page, output, size) != 0)
    {
        fail_msg("docs/config.md is old: knap config --markdown > docs/config.md");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(KeysReachTheirFields),
        cmocka_unit_test(WhatIsWrongIsRefusedWithItsLine),
        cmocka_unit_test(BytesThatAreNoTextAreRefused),
        cmocka_unit_test(NumbersDoNotDependOnTheLocale),
        cmocka_unit_test(PrintedFileIsTheDefault),
        cmocka_unit_test(CommandChecksAFile),
        cmocka_unit_test(DocsAreCurrent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
