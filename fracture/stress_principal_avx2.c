// SPDX-License-Identifier: Zlib
#include "fracture/stress_principal_internal.h"

void knStress_KeepLargestAvx2(const StressTask* task, const StressBlock* block, uint32_t firstNode)
{
    KeepLargest(task, block, firstNode);
}
