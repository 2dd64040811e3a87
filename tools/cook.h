// SPDX-License-Identifier: Zlib
#pragma once

// The whole way from a mesh file to the bytes of a cooked asset.

#include "doctor.h"
#include "knap/asset.h"
#include "modes.h"
#include "tetrahedralize.h"

typedef enum knCookStage
{
    kn_stageImport,
    kn_stageDiagnose,
    kn_stageTetrahedralize,
    kn_stageModes,
    kn_stageEncode,
    kn_stageWrite,
    kn_stageCount
} knCookStage;

typedef void knCookProgressFcn(knCookStage stage, void* user);

typedef struct knCookOptions
{
    knImportOptions import;
    knDoctorOptions doctor;
    knTetOptions tet;
    knModeOptions modes; // solved under the limits of the import
    knMaterial material;
    bool recenter;       // moves the centre of the bounds to the origin
    float creaseDegrees; // sharper edges get split normals
    knCookProgressFcn* progress;
    void* progressUser;
} knCookOptions;

// Owns the bytes.
typedef struct knCooked
{
    knAllocator allocator;
    void* bytes;
    size_t size;
    knDoctorReport report;
    knTetStats tetStats;
    double modeSeconds;            // spent on elastic modes
    char modeNote[KN_MAX_MESSAGE]; // why modes are missing that were asked for; else empty
    double surfaceVolume;          // m^3, of the closed surface, by the divergence theorem
    double seconds;
    knCookStage stage; // the one that failed, or the last
} knCooked;

knCookOptions knDefaultCookOptions(void);
const char* knCookStageName(knCookStage stage);

// On failure `cooked` still tells the stage and holds the doctor's report as far as it came.
knResult knCook(const char* path, const knCookOptions* options, const knAllocator* allocator,
                knCooked* cooked);
void knDestroyCooked(knCooked* cooked);
