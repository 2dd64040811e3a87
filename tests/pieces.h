// SPDX-License-Identifier: Zlib
#pragma once

// Real objects for tests of pieces: cooked once per test program, broken as the test likes.

#include "knap/query.h"

struct knModeOptions;

#if defined(__cplusplus)
extern "C"
{
#endif

    // A demo mesh by name ("bunny"), or a box, cooked and opened. Aborts when it cannot.
    typedef struct TestModel
    {
        void* bytes;
        size_t size;
        knAsset* asset;
        knModel* model;
    } TestModel;

    TestModel OpenDemoModel(const char* name);

    // With so many elastic modes; the others have none, which makes them much quicker to cook.
    TestModel OpenDemoModelWithModes(const char* name, uint32_t modeCount);

    // From the text of an OFF file.
    TestModel OpenOffModel(const char* name, const char* text);
    TestModel OpenOffModelWith(const char* name, const char* text,
                               const struct knModeOptions* modes);

    // A box from `lower` to `upper` of twelve triangles, so with points at its corners only.
    TestModel OpenBoxModel(const char* name, knVec3 lower, knVec3 upper);
    void CloseModel(TestModel* model);

    knFamily* MakeFamily(const TestModel* model);

    // Splits a piece by a plane through its centre of mass; false when nothing was split.
    bool SplitByPlane(knFamily* family, uint32_t fragment, knVec3 normal);

    // Splits piece after piece by random planes until there are so many.
    void BreakInto(knFamily* family, uint32_t pieceCount, uint64_t seed);

    // The live pieces, ascending.
    uint32_t ListPieces(const knFamily* family, uint32_t* pieces, uint32_t capacity);

#if defined(__cplusplus)
}
#endif
