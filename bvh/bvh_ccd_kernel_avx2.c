// SPDX-License-Identifier: Zlib
#if defined(__AVX2__)

#define KN_USE_AVX2
#include "bvh/bvh_ccd_kernel_internal.h"

const knCcdKernels knAvx2CcdKernels = {
    .meetEdges = MeetEdges,
    .meetFaces = MeetFaces,
    .overlapFaces = OverlapFaces,
    .fitBlock = FitBlock,
    .findNormals = FindNormals,
};

#else

typedef int knNoSuchInstructions; // an empty file is no C

#endif
