// SPDX-License-Identifier: Zlib
#include "bench/ccd_peer.h"

#if defined(KN_BENCH_TOOLS)

#include "bench/files.h"
#include "file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// The public answers: lists of pairs, and of the same length what is true of each.

typedef struct Text
{
    char* text;
    size_t size;
} Text;

static knResult ReadList(Text* list, const char* folder, int frame, const char* ending)
{
    char relative[256], path[PATH_MAX];
    const char* root = getenv("KN_SHARED_DATA");
    snprintf(relative, sizeof relative, "%s%s/%d%s.json", root ? "" : "shared/data/", folder, frame,
             ending);
    knResult result = root ? knJoinPath(path, root, relative) : knFindUpwards(path, relative);
    knAllocator a = knDefaultAllocator();
    return result == kn_success ? knReadText(path, &a, &list->text, &list->size) : result;
}

static void ReleaseList(Text* list)
{
    knAllocator a = knDefaultAllocator();
    knRelease(&a, list->text, list->size + 1, 1);
}

static bool NextNumber(const char** at, uint64_t* number)
{
    while (**at && !isdigit((unsigned char)**at))
    {
        *at += 1;
    }
    bool isThere = **at != 0;
    char* end;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return isThere;
}

// True or false, as words or as 1 and 0.
static bool NextTruth(const char** at)
{
    while (**at && !strchr("tf01", **at))
    {
        *at += 1;
    }
    bool isTrue = **at == 't' || **at == '1';
    *at += **at == 't' ? 4 : (**at == 'f' ? 5 : (**at != 0));
    return isTrue;
}

static bool HasContact(const knCcdContact* contacts, size_t count, const knCcdContact* c)
{
    size_t low = 0, high = count;
    while (low < high)
    {
        size_t middle = low + (high - low) / 2;
        const knCcdContact* m = &contacts[middle];
        bool isBefore = m->kind != c->kind ? m->kind == kn_ccdEdgeEdge
                                           : (m->a != c->a ? m->a < c->a : m->b < c->b);
        low = isBefore ? middle + 1 : low;
        high = isBefore ? high : middle;
    }
    return low < count && contacts[low].kind == c->kind && contacts[low].a == c->a &&
           contacts[low].b == c->b;
}

static knResult JudgeKind(knCcdKind kind, const Text lists[2], const knCcdStep* step,
                          uint32_t vertexCount, knCcdVerdict* verdict)
{
    size_t count, edgeCount, trueCount = 0, found = 0;
    const knCcdContact* contacts = knCcdStep_Contacts(step, &count);
    knCcdStep_Edges(step, &edgeCount);
    const char *pairs = lists[0].text, *truths = lists[1].text;
    for (uint64_t x, y; NextNumber(&pairs, &x) && NextNumber(&pairs, &y);)
    {
        bool isEdges = kind == kn_ccdEdgeEdge;
        if (!NextTruth(&truths))
        {
            continue;
        }
        uint64_t a = isEdges ? (x < y ? x : y) - vertexCount : (x < y ? x : y);
        uint64_t b = (x < y ? y : x) - vertexCount - (isEdges ? 0 : edgeCount);
        knCcdContact c = {kind, (uint32_t)a, (uint32_t)b, 0.0};
        trueCount += 1;
        found += HasContact(contacts, count, &c);
    }
    size_t reported = 0;
    for (size_t i = 0; i < count; ++i)
    {
        reported += contacts[i].kind == kind;
    }
    verdict->trueCount += trueCount;
    verdict->missed += trueCount - found;
    verdict->extra += reported - found;
    return kn_success;
}

knResult knJudgeContacts(const char* folder, int frame, const knCcdStep* step, uint32_t vertexCount,
                         knCcdVerdict* verdict)
{
    *verdict = (knCcdVerdict){0};
    knResult result = kn_success;
    for (int kind = 0; kind < 2 && result == kn_success; ++kind)
    {
        Text lists[2] = {{0}};
        bool isEdges = kind == kn_ccdEdgeEdge;
        result = ReadList(&lists[0], folder, frame, isEdges ? "ee" : "vf");
        result = result == kn_success
                     ? ReadList(&lists[1], folder, frame, isEdges ? "ee_mma_bool" : "vf_mma_bool")
                     : result;
        result = result == kn_success
                     ? JudgeKind((knCcdKind)kind, lists, step, vertexCount, verdict)
                     : result;
        ReleaseList(&lists[0]);
        ReleaseList(&lists[1]);
    }
    return result;
}

#endif
