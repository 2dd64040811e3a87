// SPDX-License-Identifier: Zlib
#include "bvh/bvh_kernel_internal.h"

const knBvhKernels knScalarBvhKernels = {
    .meetBlocks = MeetBlocks,
    .meetBlockItself = MeetBlockItself,
    .meetPairs = MeetPairs,
    .refitBlock = RefitBlock,
    .findNormals = FindNormals,
};
