// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// SWIPER (2006, 3.1): intervals of all triangles, sorted on three axes. The number of overlaps of
// each axis is kept while insertion sort moves the ends; the axis with the fewest is traversed.

knResult knReserveSwiper(knHierarchy* h, size_t count)
{
    const knAllocator* a = &h->allocator;
    knSwiper* s = &h->swiper;
    knResult result = kn_success;
    for (int axis = 0; axis < 3 && result == kn_success; ++axis)
    {
        knSweepAxis* x = &s->axes[axis];
        result = knGrow(a, (void**)&x->endpoints, &x->capacity, 2 * count, sizeof *x->endpoints);
    }
    if (result == kn_success)
    {
        result = knGrow(a, (void**)&s->boxes, &s->boxCapacity, count, sizeof *s->boxes);
    }
    if (result == kn_success)
    {
        result = knGrow(a, (void**)&s->places, &s->placeCapacity, count, sizeof *s->places);
    }
    if (result == kn_success)
    {
        result = knGrow(a, (void**)&s->open, &s->openCapacity, count, sizeof *s->open);
    }
    return result == kn_success
               ? knGrow(a, (void**)&s->openNames, &s->openNameCapacity, count, sizeof *s->openNames)
               : result;
}

static void FindBoxes(knHierarchy* h)
{
    h->brokenCount = 0;
    float size = 0.0f;
    for (uint32_t i = 0; i < h->triangleSlots; ++i)
    {
        knSweepBox* b = &h->swiper.boxes[i];
        if (h->triangles[i].body == 0)
        {
            continue;
        }
        h->work.fitPrimitives += 1;
        if (!knFindTriangleBox(h->positions, h->triangles[i].v, b->lower, b->upper))
        {
            h->brokenCount += 1;
            continue;
        }
        for (int axis = 0; axis < 3; ++axis)
        {
            size = fmaxf(size, fmaxf(fabsf(b->lower[axis]), fabsf(b->upper[axis])));
        }
    }
    h->swiper.size = size;
}

// What is not finite stands at the end, where it meets nothing that is.
static float EndValue(const knSwiper* s, uint32_t name, int axis)
{
    const knSweepBox* b = &s->boxes[name / 2];
    float value = name & 1 ? b->upper[axis] : b->lower[axis];
    return b->lower[0] <= b->upper[0] ? value : FLT_MAX;
}

static void ListEndpoints(knHierarchy* h)
{
    knSwiper* s = &h->swiper;
    uint32_t count = 0;
    for (uint32_t i = 0; i < h->triangleSlots; ++i)
    {
        for (uint32_t end = 0; end < 2 && h->triangles[i].body != 0; ++end)
        {
            for (int axis = 0; axis < 3; ++axis)
            {
                s->axes[axis].endpoints[count].name = 2 * i + end;
            }
            count += 1;
        }
    }
    s->endpointCount = count;
}

// Of equal values lower ends come first: closed intervals touch.
static inline bool IsBefore(knEndpoint a, knEndpoint b)
{
    return a.value < b.value || (a.value == b.value && (a.name & 1) < (b.name & 1));
}

// False when it takes more than so many moves; the order then is anything.
static bool SortByInsertion(knHierarchy* h, knSweepAxis* x, uint64_t limit)
{
    knEndpoint* e = x->endpoints;
    uint64_t moves = 0;
    for (uint32_t i = 1; i < h->swiper.endpointCount; ++i)
    {
        knEndpoint here = e[i];
        uint32_t k = i;
        while (k > 0 && IsBefore(here, e[k - 1]))
        {
            // a lower end that passes an upper one begins an overlap, the other way ends it
            uint32_t passed = e[k - 1].name & 1, passes = here.name & 1;
            x->overlaps += passed;
            x->overlaps -= passes;
            e[k] = e[k - 1];
            --k;
        }
        e[k] = here;
        moves += i - k;
        if (moves > limit)
        {
            h->work.sortMoves += moves;
            return false;
        }
    }
    h->work.sortMoves += moves;
    return true;
}

static void SiftDown(knEndpoint* e, uint32_t at, uint32_t count)
{
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1)
    {
        child += child + 1 < count && IsBefore(e[child], e[child + 1]);
        if (!IsBefore(e[at], e[child]))
        {
            return;
        }
        knEndpoint t = e[at];
        e[at] = e[child];
        e[child] = t;
        at = child;
    }
}

static void SortByHeap(knEndpoint* e, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
    {
        SiftDown(e, i, count);
    }
    for (uint32_t i = count; i-- > 1;)
    {
        knEndpoint t = e[0];
        e[0] = e[i];
        e[i] = t;
        SiftDown(e, 0, i);
    }
}

// Parts [0, *upTo] and [*from, count) that are in order with each other.
static void PartitionEndpoints(knEndpoint* e, uint32_t count, uint32_t* upTo, uint32_t* from)
{
    knEndpoint a = e[0], b = e[count / 2], c = e[count - 1];
    knEndpoint low = IsBefore(b, a) ? b : a, high = IsBefore(b, a) ? a : b;
    knEndpoint pivot = IsBefore(c, low) ? low : (IsBefore(c, high) ? c : high);
    uint32_t i = 0, k = count - 1;
    for (;;)
    {
        while (IsBefore(e[i], pivot))
        {
            ++i;
        }
        while (IsBefore(pivot, e[k]))
        {
            --k;
        }
        if (i >= k)
        {
            break;
        }
        knEndpoint t = e[i];
        e[i++] = e[k];
        e[k--] = t;
    }
    *upTo = k;
    *from = i == k ? k + 1 : i;
}

static void SortQuickly(knEndpoint* e, uint32_t count, int depth)
{
    while (count > 24)
    {
        if (depth-- == 0)
        {
            SortByHeap(e, count);
            return;
        }
        uint32_t upTo, from;
        PartitionEndpoints(e, count, &upTo, &from);
        SortQuickly(e, upTo + 1, depth);
        e += from;
        count -= from;
    }
    for (uint32_t i = 1; i < count; ++i)
    {
        knEndpoint here = e[i];
        uint32_t k = i;
        for (; k > 0 && IsBefore(here, e[k - 1]); --k)
        {
            e[k] = e[k - 1];
        }
        e[k] = here;
    }
}

// Each interval overlaps those that are open when it begins.
static uint64_t CountOverlaps(const knEndpoint* e, uint32_t count)
{
    uint64_t open = 0, overlaps = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        bool isEnd = (e[i].name & 1) != 0;
        overlaps += isEnd ? 0 : open;
        open = isEnd ? open - 1 : open + 1;
    }
    return overlaps;
}

static void SortAnew(knHierarchy* h, knSweepAxis* x)
{
    SortQuickly(x->endpoints, h->swiper.endpointCount, 64);
    x->overlaps = CountOverlaps(x->endpoints, h->swiper.endpointCount);
    x->isSorted = true;
    h->work.quicksorts += 1;
}

static void SortAxis(knHierarchy* h, knSweepAxis* x)
{
    double n = (double)h->swiper.endpointCount / 2.0;
    double limit = (double)h->def.sortLimit * n * log2(n + 1.0);
    if (h->period < x->restUntil)
    {
        // sorted once at the end of the rest, so that insertion has little to do after it
        x->isSorted = false;
        if (h->period + 1 == x->restUntil)
        {
            SortAnew(h, x);
        }
    }
    else if (!SortByInsertion(h, x, (uint64_t)limit))
    {
        x->isSorted = false;
        x->restUntil = h->period + h->def.sortFrames;
        h->work.failedSorts += 1;
    }
    else
    {
        x->isSorted = true;
    }
}

static void ChooseAxis(knHierarchy* h)
{
    knSwiper* s = &h->swiper;
    int best = -1;
    for (int axis = 0; axis < 3; ++axis)
    {
        if (s->axes[axis].isSorted && (best < 0 || s->axes[axis].overlaps < s->axes[best].overlaps))
        {
            best = axis;
        }
    }
    if (best < 0)
    {
        best = (int)knRandom_Below(&s->random, 3);
        SortAnew(h, &s->axes[best]);
    }
    s->axis = best;
}

knResult knUpdateSwiper(knHierarchy* h)
{
    knSwiper* s = &h->swiper;
    FindBoxes(h);
    if (s->isChanged)
    {
        ListEndpoints(h);
    }
    for (int axis = 0; axis < 3; ++axis)
    {
        knSweepAxis* x = &s->axes[axis];
        for (uint32_t i = 0; i < s->endpointCount; ++i)
        {
            x->endpoints[i].value = EndValue(s, x->endpoints[i].name, axis);
        }
        if (s->isChanged)
        {
            SortAnew(h, x);
            x->restUntil = 0;
        }
        else
        {
            SortAxis(h, x);
        }
    }
    ChooseAxis(h);
    s->isChanged = false;
    return kn_success;
}

static bool EntriesOverlap(const float* open, const float* here)
{
#if defined(__SSE2__)
    __m128 below = _mm_cmple_ps(_mm_loadu_ps(open), _mm_loadu_ps(here));
    return _mm_movemask_ps(below) == 15;
#else
    return open[0] <= here[0] && open[1] <= here[1] && open[2] <= here[2] && open[3] <= here[3];
#endif
}

// Meets the open intervals, and is open then.
static void OpenInterval(knHierarchyWalk* w, uint32_t id, uint32_t* openCount)
{
    knHierarchy* h = w->hierarchy;
    knSwiper* s = &h->swiper;
    int u = (s->axis + 1) % 3, v = (s->axis + 2) % 3;
    const knSweepBox* b = &s->boxes[id];
    const float here[4] = {b->upper[u], b->upper[v], -b->lower[u], -b->lower[v]};
    uint32_t body = h->triangles[id].body;
    w->sink->funnel.nodeTests += *openCount;
    for (uint32_t i = 0; i < *openCount; ++i)
    {
        if (EntriesOverlap(s->open[i].bounds, here) &&
            knWantsBodies(w, body, h->triangles[s->openNames[i]].body))
        {
            w->sink->funnel.leafPairs += 1;
            knPairBatch_Add(&w->batch, s->openNames[i], id);
        }
    }
    s->open[*openCount] = (knSweepEntry){{b->lower[u], b->lower[v], -b->upper[u], -b->upper[v]}};
    s->openNames[*openCount] = id;
    s->places[id] = (*openCount)++;
}

static void CloseInterval(knSwiper* s, uint32_t id, uint32_t* openCount)
{
    uint32_t last = --(*openCount), place = s->places[id];
    s->open[place] = s->open[last];
    s->openNames[place] = s->openNames[last];
    s->places[s->openNames[last]] = place;
}

void knWalkSwiper(knHierarchyWalk* w)
{
    knSwiper* s = &w->hierarchy->swiper;
    const knEndpoint* e = s->axes[s->axis].endpoints;
    uint32_t openCount = 0;
    for (uint32_t i = 0; i < s->endpointCount && !knIsDone(w); ++i)
    {
        uint32_t id = e[i].name / 2;
        bool isFinite = s->boxes[id].lower[0] <= s->boxes[id].upper[0];
        if (isFinite && (e[i].name & 1) == 0)
        {
            OpenInterval(w, id, &openCount);
        }
        else if (isFinite)
        {
            CloseInterval(s, id, &openCount);
        }
    }
}
