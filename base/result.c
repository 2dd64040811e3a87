// SPDX-License-Identifier: Zlib
#include "knap/result.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static _Thread_local char lastError[KN_MAX_MESSAGE];

// the pair is read without a lock: hooks are set once at start-up
static knErrorFcn* errorHook;
static void* errorHookUser;
static knAssertFcn* assertHook;
static void* assertHookUser;
static atomic_int assertFailureCount;

const char* knResultName(knResult result)
{
    static const char* const names[kn_resultCount] = {
        [kn_success] = "kn_success",
        [kn_errorArgument] = "kn_errorArgument",
        [kn_errorMemory] = "kn_errorMemory",
        [kn_errorFile] = "kn_errorFile",
        [kn_errorFormat] = "kn_errorFormat",
        [kn_errorVersion] = "kn_errorVersion",
        [kn_errorChecksum] = "kn_errorChecksum",
        [kn_errorMesh] = "kn_errorMesh",
        [kn_errorLimit] = "kn_errorLimit",
        [kn_errorHandle] = "kn_errorHandle",
        [kn_errorProcess] = "kn_errorProcess",
    };
    return (unsigned)result < kn_resultCount ? names[result] : "unknown result";
}

const char* knLastError(void)
{
    return lastError;
}

void knClearLastError(void)
{
    lastError[0] = 0;
}

void knSetErrorHook(knErrorFcn* hook, void* user)
{
    errorHook = hook;
    errorHookUser = user;
}

void knSetAssertHook(knAssertFcn* hook, void* user)
{
    assertHook = hook;
    assertHookUser = user;
}

int knAssertFailureCount(void)
{
    return atomic_load(&assertFailureCount);
}

knResult knFail(knResult result, const char* format, ...)
{
    // formatted aside first: an argument may be the last message itself
    char message[KN_MAX_MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length < 0)
    {
        message[0] = 0;
    }
    snprintf(lastError, sizeof lastError, "%s", message);
    if (errorHook)
    {
        errorHook(result, lastError, errorHookUser);
    }
    return result;
}

void knAssertFailed(const char* condition, const char* file, int line)
{
    atomic_fetch_add(&assertFailureCount, 1);
    if (!assertHook || !assertHook(condition, file, line, assertHookUser))
    {
        knFail(kn_errorArgument, "%s:%d: broken assumption: %s", file, line, condition);
    }
}
