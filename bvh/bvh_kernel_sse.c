// SPDX-License-Identifier: Zlib
#if defined(__SSE2__)

#define KN_USE_SSE
#include "bvh/bvh_kernel_internal.h"

const knBvhKernels knSseBvhKernels = {
    .meetBlocks = MeetBlocks,
    .meetBlockItself = MeetBlockItself,
    .meetPairs = MeetPairs,
    .refitBlock = RefitBlock,
    .findNormals = FindNormals,
};

#else

typedef int knNoSuchInstructions; // an empty file is no C

#endif
