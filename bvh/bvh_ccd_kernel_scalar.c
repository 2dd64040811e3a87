// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_kernel_internal.h"

const knCcdKernels knScalarCcdKernels = {
    .meetEdges = MeetEdges,
    .meetFaces = MeetFaces,
    .overlapFaces = OverlapFaces,
    .fitBlock = FitBlock,
    .findNormals = FindNormals,
};
