// SPDX-License-Identifier: Zlib
#define _GNU_SOURCE // pipe2

#include "contain.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAGIC     0x70616E6Bu
#define MAX_OUTPUT_BYTES (1u << 20)

// Sanitizers reserve terabytes of address space, so a limit on it would stop everything.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY 0
#else
#define LIMITS_MEMORY 1
#endif

// What the child sends before its answer.
typedef struct AnswerHeader
{
    uint32_t magic;
    uint32_t result;
    uint64_t size;
    char message[KN_MAX_MESSAGE];
} AnswerHeader;

knBuffer knMakeBuffer(const knAllocator* allocator)
{
    return (knBuffer){.allocator = allocator ? *allocator : knDefaultAllocator()};
}

void knDestroyBuffer(knBuffer* buffer)
{
    knRelease(&buffer->allocator, buffer->bytes, buffer->capacity, 1);
    *buffer = knMakeBuffer(&buffer->allocator);
}

knResult knBuffer_Append(knBuffer* buffer, const void* bytes, size_t size)
{
    if (size == 0)
    {
        return kn_success;
    }
    if (size > SIZE_MAX - buffer->size)
    {
        return knFail(kn_errorMemory, "a buffer of more bytes than can be addressed");
    }
    void* grown = buffer->bytes;
    knResult result = knGrow(&buffer->allocator, &grown, &buffer->capacity, buffer->size + size, 1);
    buffer->bytes = grown;
    if (result == kn_success)
    {
        memcpy(buffer->bytes + buffer->size, bytes, size);
        buffer->size += size;
    }
    return result;
}

bool knReader_Take(knReader* reader, void* item, size_t size)
{
    if (size > reader->left)
    {
        reader->isShort = true;
        return false;
    }
    memcpy(item, reader->bytes, size);
    reader->bytes += size;
    reader->left -= size;
    return true;
}

void* knReader_TakeArray(knReader* reader, size_t count, size_t itemSize,
                         const knAllocator* allocator)
{
    if (count == 0 || count > reader->left / itemSize)
    {
        reader->isShort = reader->isShort || count > 0;
        return NULL;
    }
    void* items = knAllocate(allocator, count, itemSize);
    if (items)
    {
        knReader_Take(reader, items, count * itemSize);
    }
    return items;
}

static double Now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void LimitChild(knContainLimits limits)
{
    // a second more than the parent waits: the parent's clock decides, this is for a lost parent
    rlim_t seconds = (rlim_t)(limits.seconds + 2.0);
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES});
    if (LIMITS_MEMORY && limits.megabytes > 0)
    {
        rlim_t bytes = (rlim_t)limits.megabytes << 20;
        setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
    }
}

static _Noreturn void RunChild(knContainedFcn* function, void* context, knContainLimits limits,
                               int answerFd, int outputFd)
{
    LimitChild(limits);
    dup2(outputFd, STDOUT_FILENO);
    dup2(outputFd, STDERR_FILENO);
    // nobody may ask the terminal a question from in here
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    knBuffer answer = knMakeBuffer(NULL);
    knClearLastError();
    knResult result = function(context, &answer);
    AnswerHeader header = {.magic = ANSWER_MAGIC, .result = (uint32_t)result};
    header.size = result == kn_success ? answer.size : 0;
    snprintf(header.message, sizeof header.message, "%s", knLastError());
    bool sent = knWriteAll(answerFd, &header, sizeof header) &&
                knWriteAll(answerFd, answer.bytes, (size_t)header.size);
    fflush(NULL);
    // no atexit handlers, no leak check, no second flush of the parent's buffers
    _exit(sent ? 0 : 1);
}

// Reads until the child closes its end or the time is up; false for the latter.
static bool ReadAnswer(int fd, double deadline, knBuffer* bytes, knResult* result)
{
    static unsigned char chunk[1 << 16];
    for (;;)
    {
        double left = deadline - Now();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = left > 0.0 ? poll(&p, 1, (int)(left * 1000.0) + 1) : 0;
        if (ready < 0 && errno == EINTR)
        {
            continue;
        }
        if (ready <= 0)
        {
            return false;
        }
        ssize_t count = read(fd, chunk, sizeof chunk);
        if (count < 0 && errno == EINTR)
        {
            continue;
        }
        if (count <= 0)
        {
            return true;
        }
        if (*result == kn_success)
        {
            *result = knBuffer_Append(bytes, chunk, (size_t)count);
        }
    }
}

// The last lines that were printed, joined into one.
static void ReadOutput(FILE* file, char* text, size_t textSize)
{
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    long start = size > (long)textSize - 1 ? size - (long)textSize + 1 : 0;
    fseek(file, start, SEEK_SET);
    size_t count = fread(text, 1, textSize - 1, file);
    size_t out = 0;
    for (size_t i = 0; i < count; ++i)
    {
        char c = text[i];
        bool space = c < ' ' || c > '~';
        if (!space)
        {
            text[out++] = c;
        }
        else if (out > 0 && text[out - 1] != ' ')
        {
            text[out++] = ' ';
        }
    }
    text[out] = 0;
}

static void WaitFor(pid_t child, bool timedOut, knContainReport* report)
{
    int status = 0;
    if (timedOut)
    {
        kill(child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    {
    }
    if (timedOut)
    {
        report->end = kn_containTimedOut;
    }
    else if (WIFSIGNALED(status))
    {
        report->end = kn_containCrashed;
        report->code = WTERMSIG(status);
    }
    else
    {
        report->end = kn_containExited;
        report->code = WEXITSTATUS(status);
    }
}

// Whatever the child did before it ended, a whole answer with the right frame counts.
static knResult TakeAnswer(const knBuffer* raw, knBuffer* answer, knContainReport* report)
{
    AnswerHeader header;
    knReader reader = {raw->bytes, raw->size, false};
    if (!knReader_Take(&reader, &header, sizeof header) || header.magic != ANSWER_MAGIC ||
        header.size != reader.left || header.result >= kn_resultCount ||
        !memchr(header.message, 0, sizeof header.message))
    {
        return kn_errorProcess;
    }
    report->end = kn_containReturned;
    snprintf(report->message, sizeof report->message, "%s", header.message);
    if (header.result != kn_success)
    {
        return knFail((knResult)header.result, "%s", header.message);
    }
    return knBuffer_Append(answer, reader.bytes, reader.left);
}

static knResult Fail(const knContainReport* report, double seconds)
{
    switch (report->end)
    {
    case kn_containTimedOut:
        return knFail(kn_errorProcess, "gave no answer within %.0f seconds", seconds);
    case kn_containCrashed:
        return knFail(kn_errorProcess, "crashed (%s)", strsignal(report->code));
    case kn_containExited:
        return knFail(kn_errorProcess, "ended with exit code %d and no answer", report->code);
    default:
        return knFail(kn_errorProcess, "could not be started: %s", strerror(errno));
    }
}

static knResult Supervise(pid_t child, int answerFd, knContainLimits limits, knBuffer* answer,
                          knContainReport* report)
{
    double start = Now();
    knBuffer raw = knMakeBuffer(&answer->allocator);
    knResult result = kn_success;
    bool complete = ReadAnswer(answerFd, start + limits.seconds, &raw, &result);
    WaitFor(child, !complete, report);
    report->seconds = Now() - start;
    if (result == kn_success)
    {
        result = complete ? TakeAnswer(&raw, answer, report) : kn_errorProcess;
        result = result == kn_errorProcess ? Fail(report, limits.seconds) : result;
    }
    knDestroyBuffer(&raw);
    return result;
}

knResult knRunContained(knContainedFcn* function, void* context, knContainLimits limits,
                        knBuffer* answer, knContainReport* report)
{
    *report = (knContainReport){.end = kn_containBroken};
    FILE* output = tmpfile();
    int ends[2] = {-1, -1};
    if (!output || pipe2(ends, O_CLOEXEC) != 0)
    {
        knResult result = Fail(report, limits.seconds);
        if (output)
        {
            fclose(output);
        }
        return result;
    }
    // what waits in the parent's buffers must not be printed twice
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
    {
        close(ends[0]);
        RunChild(function, context, limits, ends[1], fileno(output));
    }
    close(ends[1]);
    knResult result = child < 0 ? Fail(report, limits.seconds)
                                : Supervise(child, ends[0], limits, answer, report);
    close(ends[0]);
    ReadOutput(output, report->output, sizeof report->output);
    fclose(output);
    return result;
}
