// SPDX-License-Identifier: Zlib
// Feeds the loader with files that mean harm. Built with -fsanitize=fuzzer it is a libFuzzer
// target; built with KN_FUZZ_REPLAY it is a plain program that runs files and folders of files.

#include "cooked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned int seed);

#define MAX_MEMORY_PER_BYTE 2
#define SMALL_OVERHEAD      4096

// Without this the checksum would stop every input at the door.
static void PassTheDoor(Cooked* cooked)
{
    memcpy(cooked->bytes, KN_ASSET_MAGIC, 8);
    CookedHeader(cooked)->version = KN_ASSET_VERSION;
    memset(CookedHeader(cooked)->zero, 0, sizeof CookedHeader(cooked)->zero);
    FixChecksum(cooked);
}

// Some changes need figures that nobody guesses: mass, volume and bounds follow the mesh, as far as
// the mesh can be read at all, so that what looks at them is passed too.
static void RepairInfo(Cooked* cooked)
{
    knFileHeader* header = CookedHeader(cooked);
    if (cooked->size < sizeof(knFileHeader) + KN_MAX_SECTIONS * sizeof(knFileSection) ||
        header->sectionCount > KN_MAX_SECTIONS)
    {
        return;
    }
    knTetMesh mesh = {.nodes = NULL};
    knAssetInfo* info = NULL;
    for (uint32_t i = 0; i < header->sectionCount; ++i)
    {
        const knFileSection* s = &CookedTable(cooked)[i];
        if (s->offset > cooked->size || s->size > cooked->size - s->offset || s->offset % 64 != 0)
        {
            return;
        }
        void* bytes = cooked->bytes + s->offset;
        if (s->tag == KN_TAG_NODES)
        {
            mesh.nodes = bytes;
            mesh.nodeCount = (uint32_t)(s->size / sizeof(knVec3));
        }
        else if (s->tag == KN_TAG_TETS)
        {
            mesh.tets = bytes;
            mesh.tetCount = (uint32_t)(s->size / sizeof(knTet));
        }
        else if (s->tag == KN_TAG_INFO && s->size == sizeof(knAssetInfo))
        {
            info = bytes;
        }
    }
    for (uint32_t i = 0; i < 4 * mesh.tetCount; ++i)
    {
        if (mesh.tets[i / 4].v[i % 4] >= mesh.nodeCount)
        {
            return;
        }
    }
    if (info && mesh.nodeCount > 0 && mesh.tetCount > 0)
    {
        knMassProperties p = knTetMesh_MassProperties(&mesh, info->density);
        info->volume = p.volume;
        info->mass = p.mass;
        info->center = p.center;
        info->inertia = p.inertia;
        info->bounds = knBoundingBox(mesh.nodes, mesh.nodeCount);
    }
}

static void Fail(const char* what)
{
    fprintf(stderr, "fuzz_asset: %s\n", what);
    abort();
}

static void Load(const Cooked* cooked)
{
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knAsset* asset = NULL;
    knResult result = knCreateAssetInPlace(&asset, cooked->bytes, cooked->size, &allocator);
    if (result == kn_success)
    {
        const char* wrong = WalkEverything(asset);
        if (wrong)
        {
            Fail(wrong);
        }
        knDestroyAsset(asset);
    }
    if (tracker.liveCount != 0)
    {
        Fail("memory stays behind");
    }
    if (tracker.peakBytes > MAX_MEMORY_PER_BYTE * cooked->size + SMALL_OVERHEAD)
    {
        Fail("more memory than the file can ask for");
    }
}

// As it is, then with a header that fits, then with figures that fit the mesh: one input reaches
// three depths.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    size_t rounded = (size_t)knAlignSection(size > 0 ? size : 1);
    Cooked cooked = {aligned_alloc(KN_SECTION_ALIGNMENT, rounded), size};
    if (!cooked.bytes)
    {
        return 0;
    }
    if (size > 0)
    {
        memcpy(cooked.bytes, data, size);
    }
    Load(&cooked);
    if (size >= sizeof(knFileHeader))
    {
        PassTheDoor(&cooked);
        Load(&cooked);
        RepairInfo(&cooked);
        FixChecksum(&cooked);
        Load(&cooked);
    }
    DestroyCooked(&cooked);
    return 0;
}

#ifndef KN_FUZZ_REPLAY

static uint32_t Next(uint32_t* state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// The interesting words: indices and counts near their bounds, and floats that are none.
static uint32_t PickWord(uint32_t* state, const uint8_t* data, size_t wordCount)
{
    static const uint32_t words[] = {0,           1,           4,           7,
                                     8,           0x7F800000u, 0x7FC00000u, 0x80000000u,
                                     0x3FFFFFFFu, 0x40000000u, 0x04000001u, UINT32_MAX};
    uint32_t word = words[Next(state) % (sizeof words / sizeof words[0])];
    if (Next(state) % 2 == 0)
    {
        memcpy(&word, data + 4 * (Next(state) % wordCount), 4);
        word += Next(state) % 3 - 1;
    }
    return word;
}

// Half of the time whole words are changed or swapped inside the arrays, which keeps the layout
// whole; the rest is libFuzzer's own.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned int seed)
{
    uint32_t state = seed;
    size_t wordCount = size / 4;
    if (wordCount < sizeof(knFileHeader) / 4 || Next(&state) % 2 == 0)
    {
        return LLVMFuzzerMutate(data, size, maxSize);
    }
    for (uint32_t changes = 1 + Next(&state) % 4; changes > 0; --changes)
    {
        uint8_t* place = data + 4 * (Next(&state) % wordCount);
        uint32_t word = PickWord(&state, data, wordCount);
        if (Next(&state) % 3 == 0)
        {
            uint8_t* other = data + 4 * (Next(&state) % wordCount);
            memcpy(&word, other, 4);
            memmove(other, place, 4);
        }
        memcpy(place, &word, 4);
    }
    return size;
}

#else

#include <dirent.h>

static int RunFile(const char* path)
{
    FILE* file = fopen(path, "rb");
    uint8_t* bytes = malloc(1 << 20);
    if (!file || !bytes)
    {
        fprintf(stderr, "replay: cannot read %s\n", path);
        free(bytes);
        return 1;
    }
    size_t size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return 0;
}

static int RunFolder(const char* path, int* count)
{
    DIR* folder = opendir(path);
    if (!folder)
    {
        *count += 1;
        return RunFile(path);
    }
    int failed = 0;
    for (const struct dirent* entry = readdir(folder); entry; entry = readdir(folder))
    {
        char name[4096];
        if (entry->d_name[0] != '.')
        {
            snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
            *count += 1;
            failed |= RunFile(name);
        }
    }
    closedir(folder);
    return failed;
}

int main(int argumentCount, char** arguments)
{
    int count = 0;
    int failed = 0;
    for (int i = 1; i < argumentCount; ++i)
    {
        failed |= RunFolder(arguments[i], &count);
    }
    printf("%d files replayed\n", count);
    return failed || count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
