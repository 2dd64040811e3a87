// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L

#include "file.h"
#include "kit.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static int CountFiles(void)
{
    int count = 0;
    DIR* folder = opendir(".");
    assert_non_null(folder);
    while (readdir(folder))
    {
        count += 1;
    }
    closedir(folder);
    return count;
}

static void WhatIsWrittenIsRead(void** state)
{
    (void)state;
    char bytes[100000];
    for (size_t i = 0; i < sizeof bytes; ++i)
    {
        bytes[i] = (char)(i * 31 + i / 256);
    }
    assert_int_equal(knWriteFile("big.bin", bytes, sizeof bytes), kn_success);
    int count = CountFiles();
    // again, over itself
    assert_int_equal(knWriteFile("big.bin", bytes, sizeof bytes), kn_success);
    assert_int_equal(CountFiles(), count);
    char* text = NULL;
    size_t size = 0;
    assert_int_equal(knReadText("big.bin", NULL, &text, &size), kn_success);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(text, bytes, size);
    assert_int_equal(text[size], 0);
    knRelease(NULL, text, size + 1, 1);
    unlink("big.bin");
}

static void AFailedWriteLeavesNothing(void** state)
{
    (void)state;
    int count = CountFiles();
    assert_int_equal(knWriteFile("no/such/folder/file", "x", 1), kn_errorFile);
    assert_non_null(strstr(knLastError(), "no/such/folder/file"));
    // a folder in the way: the bytes are written aside, the rename fails, the rest is taken away
    mkdir("taken", 0777);
    assert_int_equal(knWriteFile("taken", "x", 1), kn_errorFile);
    rmdir("taken");
    assert_int_equal(CountFiles(), count);
}

static void OnlyPlainFilesAreReadable(void** state)
{
    (void)state;
    assert_int_equal(knCheckReadable("."), kn_errorFile);
    assert_int_equal(knCheckReadable("/dev/zero"), kn_errorFile);
    assert_int_equal(knCheckReadable("absent"), kn_errorFile);
    assert_int_equal(knWriteFile("nothing", "", 0), kn_success);
    assert_int_equal(knCheckReadable("nothing"), kn_errorFormat);
    unlink("nothing");
}

static void NamesAreTakenApart(void** state)
{
    (void)state;
    assert_true(knHasEnding("a/b.OBJ", ".obj"));
    assert_false(knHasEnding("obj", ".obj"));
    assert_false(knHasEnding("a.objx", ".obj"));
    assert_string_equal(knFileName("a/b/c.ply"), "c.ply");
    assert_string_equal(knFileName("c.ply"), "c.ply");
}

int main(void)
{
    if (chdir(KN_TEST_DIR) != 0)
    {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(WhatIsWrittenIsRead),
        cmocka_unit_test(AFailedWriteLeavesNothing),
        cmocka_unit_test(OnlyPlainFilesAreReadable),
        cmocka_unit_test(NamesAreTakenApart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
