// SPDX-License-Identifier: Zlib
#include "kit.h"

#include <math.h>

#define PATTERN 0xA5

void AssertNear(double a, double b, double tolerance, const char* file, int line)
{
    if (!(fabs(a - b) <= tolerance))
    {
        print_error("%.17g is not %.17g within %g\n", a, b, tolerance);
        _fail(file, line);
    }
}

void MarkUntouched(void* memory, size_t size)
{
    memset(memory, PATTERN, size);
}

bool IsUntouched(const void* memory, size_t size)
{
    const unsigned char* bytes = memory;
    for (size_t i = 0; i < size; ++i)
    {
        if (bytes[i] != PATTERN)
        {
            return false;
        }
    }
    return true;
}

void SurviveAllocationFailures(AttemptFcn* attempt, void* context)
{
    knResult result = kn_errorMemory;
    for (size_t n = 1; result != kn_success; ++n)
    {
        knMemoryTracker tracker;
        knAllocator allocator = knTrackingAllocator(&tracker, NULL);
        tracker.failAtCall = n;
        knClearLastError();
        result = attempt(&allocator, context);
        assert_int_equal(tracker.liveCount, 0);
        assert_int_equal(tracker.bytes, 0);
        if (result == kn_success)
        {
            // it really ran out of calls to fail, and there were some
            assert_true(tracker.callCount < n && n > 1);
        }
        else
        {
            assert_int_equal(result, kn_errorMemory);
            assert_true(knLastError()[0] != 0);
        }
        assert_true(n < 1000);
    }
}
