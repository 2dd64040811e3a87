// SPDX-License-Identifier: Zlib
#pragma once

// Runs code that may crash, hang, exit or eat all memory in a child process, where it cannot hurt.

#include "knap/memory.h"

#include <stdbool.h>
#include <stdint.h>

// A growing run of bytes.
typedef struct knBuffer
{
    knAllocator allocator;
    unsigned char* bytes;
    size_t size;
    size_t capacity;
} knBuffer;

knBuffer knMakeBuffer(const knAllocator* allocator);
void knDestroyBuffer(knBuffer* buffer);
knResult knBuffer_Append(knBuffer* buffer, const void* bytes, size_t size);

// Takes the bytes apart again, never past their end: a child that went wrong may send anything.
typedef struct knReader
{
    const unsigned char* bytes;
    size_t left;
    bool isShort; // more was asked for than there is
} knReader;

bool knReader_Take(knReader* reader, void* item, size_t size);

// Allocates and fills an array of `count` items; null when the bytes do not hold it or for want of
// memory. A count of 0 gives null.
void* knReader_TakeArray(knReader* reader, size_t count, size_t itemSize,
                         const knAllocator* allocator);

typedef struct knContainLimits
{
    double seconds;   // wall clock
    size_t megabytes; // address space, 0 for no limit
} knContainLimits;

typedef enum knContainEnd
{
    kn_containReturned, // the function came back; its own result is in `result`
    kn_containCrashed,  // killed by a signal
    kn_containExited,   // called exit
    kn_containTimedOut,
    kn_containBroken // no process could be had, or it sent nonsense
} knContainEnd;

typedef struct knContainReport
{
    knContainEnd end;
    int code;                     // signal or exit code
    char message[KN_MAX_MESSAGE]; // last error of the function
    char output[1024];            // the end of what it printed, one line
    double seconds;
} knContainReport;

// Runs in the child. What it appends to `answer` reaches the parent when it returns kn_success.
typedef knResult knContainedFcn(void* context, knBuffer* answer);

// kn_success when the function returned kn_success; its own result when it failed; kn_errorProcess
// when it did not come back. The parent must have no other threads running.
knResult knRunContained(knContainedFcn* function, void* context, knContainLimits limits,
                        knBuffer* answer, knContainReport* report);
