// SPDX-License-Identifier: Zlib
#define _DEFAULT_SOURCE // dirent's file names, stat

#include "bench/benches.h"
#include "bench/files.h"
#include "bench/lattice.h"

#include "knap/asset.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#if defined(KN_BENCH_ASSIMP)
#include <assimp/cimport.h>
#include <assimp/scene.h>
#endif

#define MAX_ASSETS 32

typedef struct State
{
    char path[PATH_MAX];    // of the cooked file
    char objPath[PATH_MAX]; // of its surface
    void* bytes;
    size_t size;
} State;

static knResult LoadInPlace(void* context)
{
    State* s = context;
    knAsset* asset = NULL;
    knResult result = knCreateAssetInPlace(&asset, s->bytes, s->size, NULL);
    knKeep(asset);
    knDestroyAsset(asset);
    return result;
}

static knResult LoadFile(void* context)
{
    State* s = context;
    knAsset* asset = NULL;
    knResult result = knLoadAsset(&asset, s->path, NULL);
    knKeep(asset);
    knDestroyAsset(asset);
    return result;
}

static knResult HashOnly(void* context)
{
    State* s = context;
    XXH64_hash_t hash = XXH3_64bits(s->bytes, s->size);
    knKeep(&hash);
    return kn_success;
}

static knResult ReadAndHash(void* context)
{
    State* s = context;
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knReadWholeFile(s->path, &bytes, &size);
    if (result == kn_success)
    {
        XXH64_hash_t hash = XXH3_64bits(bytes, size);
        knKeep(&hash);
        knRelease(NULL, bytes, size, 1);
    }
    return result;
}

#if defined(KN_BENCH_ASSIMP)
// No post-processing: the least that it can do with the file.
static knResult ImportObj(void* context)
{
    State* s = context;
    const struct aiScene* scene = aiImportFile(s->objPath, 0);
    if (!scene)
    {
        return knFail(kn_errorFile, "assimp: %s", aiGetErrorString());
    }
    knKeep(scene);
    aiReleaseImport(scene);
    return kn_success;
}
#endif

static knResult MeasureAsset(knBenchRun* run, State* s, const char* name)
{
    char caseName[64];
    knMeasureDef def = knDefaultMeasureDef(run);
    def.caseName = caseName;
    def.metric = "load time";
    def.context = s;
    snprintf(caseName, sizeof caseName, "%s, %zu KiB, memory", name, s->size / 1024);
    def.ours = LoadInPlace;
    def.peer = HashOnly;
    def.peerName = "XXH3 alone";
    def.note = "a lower bound: the peer checks nothing but the checksum";
    knResult result = knBenchRun_Measure(run, &def);
    snprintf(caseName, sizeof caseName, "%s, %zu KiB, file", name, s->size / 1024);
    def.ours = LoadFile;
    def.peer = ReadAndHash;
    def.peerName = "fread and XXH3";
    def.note = "a lower bound: the peer checks nothing but the checksum; files are in the cache";
    result = result == kn_success ? knBenchRun_Measure(run, &def) : result;
#if defined(KN_BENCH_ASSIMP)
    snprintf(caseName, sizeof caseName, "%s, surface as OBJ", name);
    def.peer = ImportObj;
    def.peerName = "assimp, OBJ";
    def.note = "the peer reads the surface alone, without post-processing; files are in the cache";
    result = result == kn_success ? knBenchRun_Measure(run, &def) : result;
#endif
    return result;
}

// Takes the bytes; writes the surface beside the scratch files for the peer.
static knResult BenchBytes(knBenchRun* run, State* s, const char* scratch, const char* name)
{
    knAsset* asset = NULL;
    knResult result = knCreateAssetInPlace(&asset, s->bytes, s->size, NULL);
    result = result == kn_success ? knJoinPath(s->objPath, scratch, "surface.obj") : result;
    result = result == kn_success ? knWriteObj(s->objPath, knAsset_Surface(asset)) : result;
    knDestroyAsset(asset);
    result = result == kn_success ? MeasureAsset(run, s, name) : result;
    knRelease(NULL, s->bytes, s->size, 1);
    return result;
}

static knResult BenchFile(knBenchRun* run, const char* scratch, const char* path)
{
    State s = {0};
    const char* slash = strrchr(path, '/');
    snprintf(s.path, sizeof s.path, "%s", path);
    knResult result = knReadWholeFile(path, &s.bytes, &s.size);
    return result == kn_success ? BenchBytes(run, &s, scratch, slash ? slash + 1 : path) : result;
}

static knResult BenchLattice(knBenchRun* run, const char* scratch, uint32_t cells)
{
    State s = {0};
    knLattice lattice;
    knResult result = knCreateLattice(&lattice, cells);
    if (result != kn_success)
    {
        return result;
    }
    char name[32];
    snprintf(name, sizeof name, "lattice of %u", lattice.tetCount);
    result = knLattice_Encode(&lattice, &s.bytes, &s.size);
    knDestroyLattice(&lattice);
    if (result != kn_success)
    {
        return result;
    }
    result = knJoinPath(s.path, scratch, "lattice.knap");
    result = result == kn_success ? knWriteWholeFile(s.path, s.bytes, s.size) : result;
    if (result != kn_success)
    {
        knRelease(NULL, s.bytes, s.size, 1);
        return result;
    }
    return BenchBytes(run, &s, scratch, name);
}

static int IsCooked(const struct dirent* entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".knap") == 0;
}

// All cooked files of a folder, by name.
static knResult BenchFolder(knBenchRun* run, const char* scratch, const char* folder, int* found)
{
    struct dirent** entries = NULL;
    int count = scandir(folder, &entries, IsCooked, alphasort);
    knResult result = kn_success;
    for (int i = 0; i < count; ++i)
    {
        char path[PATH_MAX];
        if (result == kn_success && i < MAX_ASSETS)
        {
            result = knJoinPath(path, folder, entries[i]->d_name);
            result = result == kn_success ? BenchFile(run, scratch, path) : result;
        }
        free(entries[i]);
    }
    free(entries);
    *found = count > 0 ? count : 0;
    return result;
}

static knResult BenchGiven(knBenchRun* run, const char* scratch, const char* path)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
    {
        return BenchFile(run, scratch, path);
    }
    int found = 0;
    knResult result = BenchFolder(run, scratch, path, &found);
    return result == kn_success && found == 0 ? knFail(kn_errorFile, "%s: no *.knap there", path)
                                              : result;
}

static knResult BenchDefault(knBenchRun* run, const char* scratch)
{
    static const char* const places[] = {"../assets", "../demos/assets"};
    char program[PATH_MAX], folder[PATH_MAX];
    int found = 0;
    knResult result = knProgramFolder(program);
    for (int i = 0; result == kn_success && found == 0 && i < 2; ++i)
    {
        result = knJoinPath(folder, program, places[i]);
        result = result == kn_success ? BenchFolder(run, scratch, folder, &found) : result;
    }
    if (result == kn_success && found == 0)
    {
        knBenchRun_Skip(run, "the demo meshes", "none are cooked; a lattice stands in");
    }
    result = result == kn_success ? BenchLattice(run, scratch, 15) : result;
    return result == kn_success && !run->options.quick ? BenchLattice(run, scratch, 32) : result;
}

static knResult Run(knBenchRun* run)
{
    char scratch[PATH_MAX];
    knResult result = knMakeScratchFolder(scratch);
    if (result != kn_success)
    {
        return result;
    }
#if !defined(KN_BENCH_ASSIMP)
    knBenchRun_Skip(run, "the rows beside assimp", "built without assimp");
#endif
    const char* path = run->options.assetPath;
    result = path ? BenchGiven(run, scratch, path) : BenchDefault(run, scratch);
    knRemoveScratchFolder(scratch);
    return result;
}

const knBench knBenchAssetLoad = {
    "asset-load", "loading a cooked asset with all checks beside fread + XXH3 and assimp", Run};
