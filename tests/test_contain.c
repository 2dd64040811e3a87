// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L

#include "contain.h"
#include "kit.h"

#include <signal.h>
#include <unistd.h>

static knResult Answer(void* context, knBuffer* answer)
{
    printf("chatter that must not reach the terminal\n");
    fprintf(stderr, "nor this\n");
    return knBuffer_Append(answer, context, strlen(context));
}

static knResult Crash(void* context, knBuffer* answer)
{
    (void)context;
    (void)answer;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return kn_success;
}

static knResult Leave(void* context, knBuffer* answer)
{
    (void)context;
    (void)answer;
    _exit(3);
    return kn_success;
}

static knResult Hang(void* context, knBuffer* answer)
{
    (void)context;
    (void)answer;
    while (pause() == -1)
    {
    }
    return kn_success;
}

static knResult Refuse(void* context, knBuffer* answer)
{
    (void)context;
    knBuffer_Append(answer, "half", 4);
    return knFail(kn_errorMesh, "I will not");
}

static knResult Devour(void* context, knBuffer* answer)
{
    (void)answer;
    (void)context;
    // touches what it gets, so that the limit is about memory and not about promises
    for (;;)
    {
        char* block = malloc(1 << 24);
        if (!block)
        {
            return knFail(kn_errorMemory, "no more");
        }
        memset(block, 1, 1 << 24);
    }
}

static knResult SendMuch(void* context, knBuffer* answer)
{
    size_t count = *(size_t*)context;
    for (size_t i = 0; i < count; ++i)
    {
        uint32_t word = (uint32_t)(i * 2654435761u);
        knResult result = knBuffer_Append(answer, &word, sizeof word);
        if (result != kn_success)
        {
            return result;
        }
    }
    return kn_success;
}

static const knContainLimits limits = {.seconds = 20.0, .megabytes = 2048};

static knResult Run(knContainedFcn* function, void* context, knBuffer* answer,
                    knContainReport* report)
{
    *answer = knMakeBuffer(NULL);
    return knRunContained(function, context, limits, answer, report);
}

static void AnswersArriveAndChatterIsCaptured(void** state)
{
    (void)state;
    knBuffer answer;
    knContainReport report;
    assert_int_equal(Run(Answer, "hello", &answer, &report), kn_success);
    assert_int_equal(report.end, kn_containReturned);
    assert_int_equal(answer.size, 5);
    assert_memory_equal(answer.bytes, "hello", 5);
    assert_non_null(strstr(report.output, "chatter"));
    assert_non_null(strstr(report.output, "nor this"));
    knDestroyBuffer(&answer);
}

static void ACrashIsAnError(void** state)
{
    (void)state;
    knBuffer answer;
    knContainReport report;
    assert_int_equal(Run(Crash, NULL, &answer, &report), kn_errorProcess);
    assert_int_equal(report.end, kn_containCrashed);
    assert_int_equal(report.code, SIGSEGV);
    assert_non_null(strstr(knLastError(), "crashed"));
    assert_int_equal(answer.size, 0);
    knDestroyBuffer(&answer);
}

static void AnExitIsAnError(void** state)
{
    (void)state;
    knBuffer answer;
    knContainReport report;
    assert_int_equal(Run(Leave, NULL, &answer, &report), kn_errorProcess);
    assert_int_equal(report.end, kn_containExited);
    assert_int_equal(report.code, 3);
    knDestroyBuffer(&answer);
}

static void AHangEndsAtTheLimit(void** state)
{
    (void)state;
    knBuffer answer = knMakeBuffer(NULL);
    knContainReport report;
    knContainLimits brief = {.seconds = 0.2, .megabytes = 0};
    assert_int_equal(knRunContained(Hang, NULL, brief, &answer, &report), kn_errorProcess);
    assert_int_equal(report.end, kn_containTimedOut);
    assert_true(report.seconds < 10.0);
    knDestroyBuffer(&answer);
}

static void ARefusalKeepsItsReasonAndSendsNothing(void** state)
{
    (void)state;
    knBuffer answer;
    knContainReport report;
    assert_int_equal(Run(Refuse, NULL, &answer, &report), kn_errorMesh);
    assert_string_equal(knLastError(), "I will not");
    assert_int_equal(answer.size, 0);
    knDestroyBuffer(&answer);
}

static void MemoryIsLimited(void** state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    // the limit is off there, and the machine's memory is no test object
    skip();
#endif
    knBuffer answer = knMakeBuffer(NULL);
    knContainReport report;
    knContainLimits small = {.seconds = 20.0, .megabytes = 256};
    assert_int_equal(knRunContained(Devour, NULL, small, &answer, &report), kn_errorMemory);
    knDestroyBuffer(&answer);
}

static void ALongAnswerArrivesWhole(void** state)
{
    (void)state;
    knBuffer answer;
    knContainReport report;
    size_t count = 3000000;
    assert_int_equal(Run(SendMuch, &count, &answer, &report), kn_success);
    assert_int_equal(answer.size, 4 * count);
    const uint32_t* words = (const uint32_t*)answer.bytes;
    for (size_t i = 0; i < count; ++i)
    {
        assert_int_equal(words[i], (uint32_t)(i * 2654435761u));
    }
    knDestroyBuffer(&answer);
}

static void AReaderNeverLeavesItsBytes(void** state)
{
    (void)state;
    unsigned char bytes[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    knReader reader = {bytes, sizeof bytes, false};
    uint32_t word = 0;
    assert_true(knReader_Take(&reader, &word, 4));
    assert_null(knReader_TakeArray(&reader, 4, 2, NULL));
    assert_null(knReader_TakeArray(&reader, SIZE_MAX / 2, 4, NULL));
    unsigned char* rest = knReader_TakeArray(&reader, 6, 1, NULL);
    assert_memory_equal(rest, bytes + 4, 6);
    assert_false(knReader_Take(&reader, &word, 1));
    knRelease(NULL, rest, 6, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AnswersArriveAndChatterIsCaptured),
        cmocka_unit_test(ACrashIsAnError),
        cmocka_unit_test(AnExitIsAnError),
        cmocka_unit_test(AHangEndsAtTheLimit),
        cmocka_unit_test(ARefusalKeepsItsReasonAndSendsNothing),
        cmocka_unit_test(MemoryIsLimited),
        cmocka_unit_test(ALongAnswerArrivesWhole),
        cmocka_unit_test(AReaderNeverLeavesItsBytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
