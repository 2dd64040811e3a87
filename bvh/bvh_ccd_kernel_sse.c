// SPDX-License-Identifier: Zlib
#if defined(__SSE2__)

#define KN_USE_SSE
#include "bvh/bvh_ccd_kernel_internal.h"

const knCcdKernels knSseCcdKernels = {
    .meetEdges = MeetEdges,
    .meetFaces = MeetFaces,
    .overlapFaces = OverlapFaces,
    .fitBlock = FitBlock,
    .findNormals = FindNormals,
};

#else

typedef int knNoSuchInstructions; // an empty file is no C

#endif
