// SPDX-License-Identifier: Zlib
#pragma once

// Result codes, the last error message, and the hooks for errors and broken assumptions.

#if defined(__GNUC__)
#define KN_PRINTF_LIKE(text, first) __attribute__((__format__(__printf__, text, first)))
#define KN_VISIBLE                  __attribute__((visibility("default")))
#else
#define KN_PRINTF_LIKE(text, first)
#define KN_VISIBLE
#endif

#if defined(__cplusplus)
#define KN_API extern "C" KN_VISIBLE
#else
#define KN_API KN_VISIBLE
#endif

#define KN_MAX_MESSAGE 512 // bytes, the terminating zero included

typedef enum knResult
{
    kn_success = 0,
    kn_errorArgument, // a null pointer, a bad count, a value out of range
    kn_errorMemory,   // the allocator returned null
    kn_errorFile,     // a file could not be opened, read or written
    kn_errorFormat,   // the bytes are not what they should be
    kn_errorVersion,  // a file of another version of Knap
    kn_errorChecksum, // the bytes changed since they were written
    kn_errorMesh,     // a mesh that cannot be used as it is
    kn_errorLimit,    // a stated limit was reached
    kn_errorHandle,   // an id that is null, stale or foreign
    kn_errorProcess,  // a helper process died, hung or ran out of memory
    kn_resultCount
} knResult;

typedef void knErrorFcn(knResult result, const char* message, void* user);

// Returns true when it has dealt with the broken assumption; the library then goes on.
typedef int knAssertFcn(const char* condition, const char* file, int line, void* user);

// "kn_errorMemory" and the like; never null.
KN_API const char* knResultName(knResult result);

// The message of the last failure on this thread; empty when nothing has failed. Never null.
KN_API const char* knLastError(void);

KN_API void knClearLastError(void);

// Called on the failing thread for every failure. Process-wide, because a failure can come before
// there is any object to hang it on; set it once at start-up. Null removes it.
KN_API void knSetErrorHook(knErrorFcn* hook, void* user);

// Called when Knap finds a bug of its own. Process-wide as above. Without a hook the library counts
// the failure and goes on; it never aborts.
KN_API void knSetAssertHook(knAssertFcn* hook, void* user);

// How many assumptions were found broken since the process began.
KN_API int knAssertFailureCount(void);

// Records the message, calls the hook and returns the result, so that a failing function ends in
// `return knFail(...)`.
KN_API knResult knFail(knResult result, const char* format, ...) KN_PRINTF_LIKE(2, 3);

KN_API void knAssertFailed(const char* condition, const char* file, int line);

#define KN_ASSERT(condition)                                                                       \
    ((condition) ? (void)0 : knAssertFailed(#condition, __FILE__, __LINE__))
