// SPDX-License-Identifier: Zlib
#pragma once

// What every test needs: cmocka with the headers it asks for, and a few assertions of ours.

#include "knap/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__cplusplus)
extern "C"
{
#endif

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define ASSERT_NEAR(a, b, tolerance)                                                               \
    AssertNear((double)(a), (double)(b), (double)(tolerance), __FILE__, __LINE__)

    // Fails also when either is not a number.
    void AssertNear(double a, double b, double tolerance, const char* file, int line);

    // Fills an output with a pattern, and tells later whether anybody wrote to it.
    void MarkUntouched(void* memory, size_t size);
    bool IsUntouched(const void* memory, size_t size);

    // Makes something through the allocator and destroys it again when that worked. On failure it
    // must have left its outputs alone, which it checks itself.
    typedef knResult AttemptFcn(const knAllocator* allocator, void* context);

    // Fails the first allocation, then the second, until the attempt succeeds: every failure must
    // be kn_errorMemory with a message, and nothing may stay behind.
    void SurviveAllocationFailures(AttemptFcn* attempt, void* context);

#if defined(__cplusplus)
}
#endif
