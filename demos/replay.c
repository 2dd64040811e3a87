// SPDX-License-Identifier: Zlib
#include "demos/replay.h"

#include "knap/world_save.h"

#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)

knResult knStage_SaveRecording(knStage* stage, const char* path)
{
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knWorld_StopRecording(stage->world, &bytes, &size);
    if (result != kn_success)
    {
        return result;
    }
    FILE* file = fopen(path, "wb");
    bool isWritten = file && fwrite(bytes, 1, size, file) == size;
    isWritten = file && fclose(file) == 0 && isWritten;
    knWorld_FreeBytes(stage->world, bytes, size);
    return isWritten ? kn_success : knFail(kn_errorFile, "%s: cannot be written", path);
}

// The name is that of the mesh, bunny.obj for the model bunny.
static const knModel* FindModel(void* user, const char* name)
{
    const knStage* stage = user;
    for (uint32_t i = 0; i < stage->modelCount; ++i)
    {
        size_t length = strlen(stage->models[i].name);
        if (strncmp(stage->models[i].name, name, length) == 0 &&
            (name[length] == '.' || name[length] == 0))
        {
            return stage->models[i].model;
        }
    }
    return NULL;
}

static knResult ReadWhole(const char* path, char** bytes, size_t* size)
{
    FILE* file = fopen(path, "rb");
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    bool isFit = length > 0 && (size_t)length <= MAX_BYTES && fseek(file, 0, SEEK_SET) == 0;
    *size = isFit ? (size_t)length : 0;
    *bytes = isFit ? knAllocate(NULL, *size, 1) : NULL;
    bool isRead = *bytes && fread(*bytes, 1, *size, file) == *size;
    if (file)
    {
        fclose(file);
    }
    return isRead ? kn_success : knFail(kn_errorFile, "%s: cannot be read", path);
}

static knResult Replay(knStage* stage, const knStageDef* def, const char* path, const char* bytes,
                       size_t size, knReplayReport* report)
{
    knLoadDef load = knDefaultLoadDef();
    load.find = FindModel;
    load.user = stage;
    load.tasks = def->tasks;
    knWorld* world = NULL;
    knResult result = knReplayWorld(&world, bytes, size, &load, NULL, report);
    if (result != kn_success)
    {
        return knFail(result, "%s: %s", path, knLastError());
    }
    knDestroyWorld(world);
    return kn_success;
}

knResult knReplayFile(const knStageDef* def, const char* path, FILE* out)
{
    knStage* stage = NULL;
    char* bytes = NULL;
    size_t size = 0;
    knReplayReport report = {0};
    knResult result = ReadWhole(path, &bytes, &size);
    result = result == kn_success ? knCreateStage(&stage, def) : result;
    result = result == kn_success ? Replay(stage, def, path, bytes, size, &report) : result;
    knDestroyStage(stage);
    knRelease(NULL, bytes, size, 1);
    if (result != kn_success)
    {
        return result;
    }
    fprintf(out, "%s: %u steps, %u calls, state %016llx\n", path, report.steps, report.calls,
            (unsigned long long)report.hash);
    return report.wrongSteps == 0
               ? kn_success
               : knFail(kn_errorProcess, "%s: %u steps ended otherwise, the first is %u", path,
                        report.wrongSteps, report.firstWrong);
}
