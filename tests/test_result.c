// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/result.h"

#include <pthread.h>

// A log line must tell results apart, and a result from elsewhere must not crash it.
static void EveryResultHasItsOwnName(void** state)
{
    (void)state;
    for (int i = 0; i < kn_resultCount; ++i)
    {
        const char* name = knResultName((knResult)i);
        assert_int_equal(strncmp(name, "kn_", 3), 0);
        for (int k = 0; k < i; ++k)
        {
            assert_string_not_equal(name, knResultName((knResult)k));
        }
    }
    assert_string_equal(knResultName(kn_errorMemory), "kn_errorMemory");
    assert_non_null(knResultName(kn_resultCount));
    assert_non_null(knResultName((knResult)-1));
    assert_non_null(knResultName((knResult)1000000));
}

static void TheLastMessageCanBeReadAndCleared(void** state)
{
    (void)state;
    assert_int_equal(knFail(kn_errorLimit, "%d of %s", 7, "nine"), kn_errorLimit);
    assert_string_equal(knLastError(), "7 of nine");
    knClearLastError();
    assert_string_equal(knLastError(), "");
}

static void ALongMessageIsCutNotOverrun(void** state)
{
    (void)state;
    char text[2 * KN_MAX_MESSAGE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    knFail(kn_errorFile, "%s", text);
    assert_int_equal(strlen(knLastError()), KN_MAX_MESSAGE - 1);
    assert_memory_equal(knLastError(), text, KN_MAX_MESSAGE - 1);
}

// Callers put a prefix before the reason: the old message is an argument of the new one.
static void TheLastMessageCanBePartOfTheNextOne(void** state)
{
    (void)state;
    knFail(kn_errorFile, "inner");
    knFail(kn_errorFile, "outer: %s", knLastError());
    assert_string_equal(knLastError(), "outer: inner");
}

static void* FailOnAnotherThread(void* argument)
{
    bool* wasEmpty = argument;
    *wasEmpty = knLastError()[0] == 0;
    knFail(kn_errorFormat, "there");
    return NULL;
}

static void EachThreadHasItsOwnMessage(void** state)
{
    (void)state;
    bool wasEmpty = false;
    pthread_t thread;
    knFail(kn_errorFile, "here");
    assert_int_equal(pthread_create(&thread, NULL, FailOnAnotherThread, &wasEmpty), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(wasEmpty);
    assert_string_equal(knLastError(), "here");
}

typedef struct Heard
{
    int count;
    knResult result;
    char message[KN_MAX_MESSAGE];
} Heard;

static void Hear(knResult result, const char* message, void* user)
{
    Heard* heard = user;
    heard->count += 1;
    heard->result = result;
    snprintf(heard->message, sizeof heard->message, "%s", message);
}

static void TheHookHearsEveryFailure(void** state)
{
    (void)state;
    Heard heard = {0};
    knSetErrorHook(Hear, &heard);
    knFail(kn_errorMesh, "first");
    knFail(kn_errorVersion, "second %d", 2);
    knSetErrorHook(NULL, NULL);
    knFail(kn_errorFile, "third");
    assert_int_equal(heard.count, 2);
    assert_int_equal(heard.result, kn_errorVersion);
    assert_string_equal(heard.message, "second 2");
}

static int DealWith(const char* condition, const char* file, int line, void* user)
{
    assert_string_equal(condition, "1 == 2");
    assert_non_null(strstr(file, "test_result.c"));
    assert_true(line > 0);
    *(int*)user += 1;
    return 1;
}

// The library never aborts: without a hook it counts, leaves a message and goes on.
static void ABrokenAssumptionIsCountedAndSurvived(void** state)
{
    (void)state;
    int before = knAssertFailureCount();
    knClearLastError();
    KN_ASSERT(1 == 1);
    assert_int_equal(knAssertFailureCount(), before);
    KN_ASSERT(1 == 2);
    assert_int_equal(knAssertFailureCount(), before + 1);
    assert_non_null(strstr(knLastError(), "1 == 2"));
    knClearLastError();
    int dealtWith = 0;
    knSetAssertHook(DealWith, &dealtWith);
    KN_ASSERT(1 == 2);
    knSetAssertHook(NULL, NULL);
    assert_int_equal(dealtWith, 1);
    assert_int_equal(knAssertFailureCount(), before + 2);
    assert_string_equal(knLastError(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryResultHasItsOwnName),
        cmocka_unit_test(TheLastMessageCanBeReadAndCleared),
        cmocka_unit_test(ALongMessageIsCutNotOverrun),
        cmocka_unit_test(TheLastMessageCanBePartOfTheNextOne),
        cmocka_unit_test(EachThreadHasItsOwnMessage),
        cmocka_unit_test(TheHookHearsEveryFailure),
        cmocka_unit_test(ABrokenAssumptionIsCountedAndSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
