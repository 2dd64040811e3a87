// SPDX-License-Identifier: Zlib
#if defined(__AVX2__)

#define KN_USE_AVX2
#include "bvh/bvh_kernel_internal.h"

const knBvhKernels knAvx2BvhKernels = {
    .meetBlocks = MeetBlocks,
    .meetBlockItself = MeetBlockItself,
    .meetPairs = MeetPairs,
    .refitBlock = RefitBlock,
    .findNormals = FindNormals,
};

#else

typedef int knNoSuchInstructions; // an empty file is no C

#endif
