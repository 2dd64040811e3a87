// SPDX-License-Identifier: Zlib
#include "selfcollide_hierarchy.h"

static knResult MakeFrameHierarchy(knHierarchy** hierarchy, const knHierarchyDef* def,
                                   const knFrame* frame)
{
    knId body;
    knResult result = knCreateHierarchy(hierarchy, def, NULL);
    if (result == kn_success)
    {
        result = knHierarchy_AddVertices(*hierarchy, frame->positions,
                                         (uint32_t)frame->positionCount, NULL);
    }
    return result == kn_success ? knHierarchy_AddBody(*hierarchy, frame->triangles,
                                                      (uint32_t)frame->triangleCount, NULL, &body)
                                : result;
}

knResult knUpdateFrameHierarchy(knHierarchy** hierarchy, const knHierarchyDef* def,
                                const knFrame* frame, bool isMove)
{
    knResult result = kn_success;
    if (isMove)
    {
        result = knHierarchy_MoveVertices(*hierarchy, 0, (uint32_t)frame->positionCount,
                                          frame->positions);
    }
    else
    {
        knDestroyHierarchy(*hierarchy);
        *hierarchy = NULL;
        result = MakeFrameHierarchy(hierarchy, def, frame);
    }
    return result == kn_success ? knHierarchy_Update(*hierarchy) : result;
}

void knJsonHierarchyWork(knJson* json, const knHierarchyWork* w)
{
    knJson_BeginObject(json, "work");
    knJson_Count(json, "primitive_tests", w->primitiveTests);
    knJson_Count(json, "box_tests", w->boxTests);
    knJson_Count(json, "fit_primitives", w->fitPrimitives);
    knJson_Count(json, "merged_boxes", w->mergedBoxes);
    knJson_Count(json, "split_primitives", w->splitPrimitives);
    knJson_Count(json, "fold_primitives", w->foldPrimitives);
    knJson_Count(json, "splits", w->splits);
    knJson_Count(json, "invalidations", w->invalidations);
    knJson_Count(json, "sort_moves", w->sortMoves);
    knJson_Count(json, "quicksorts", w->quicksorts);
    knJson_EndObject(json);
}
