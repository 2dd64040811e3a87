// SPDX-License-Identifier: Zlib
#pragma once

// The harness of knap-bench: measures ours and a peer side by side and keeps the rows.

#include "knap/memory.h"

#include <stdbool.h>
#include <stdio.h>

// One measurement. A number that there is none of is NaN; texts that are too long are cut.
typedef struct knBenchRow
{
    char bench[32];
    char caseName[64];
    char metric[32];
    double ours;  // median
    double peer;  // median
    double ratio; // of the medians; > 1: ours is better
    double paper; // what the paper reports
    char unit[16];
    double worst;
    double peerWorst;
    char peerName[64];
    char note[200];
    double foreignLoad; // processors that other programs kept busy meanwhile
} knBenchRow;

typedef struct knBenchOptions
{
    bool quick;            // fewer repetitions, smaller cases
    const char* assetPath; // a cooked file or a folder of them, or null
    const char* meshPath;  // the folder of the demo meshes, or null
    const char* caseName;  // only cases with this in their name, where a bench has many; or null
} knBenchOptions;

// What a bench gets to work with; it collects the rows.
typedef struct knBenchRun
{
    knBenchOptions options;
    const char* bench; // the name of the one that runs
    knBenchRow* rows;
    size_t rowCount;
    size_t rowCapacity;
} knBenchRun;

// One bench, one file: bench_x.c defines it and the table in main.c names it.
typedef struct knBench
{
    const char* name;
    const char* purpose;
    knResult (*run)(knBenchRun* run);
} knBench;

typedef knResult knBenchFcn(void* context);

// Sample by sample, ours and the peer take turns on the same work after a warm-up. Work that is
// shorter than a millisecond runs several times in a sample.
typedef struct knMeasureDef
{
    const char* caseName;
    const char* metric;
    const char* unit;
    double scale;             // from seconds per run to the unit
    knBenchFcn* beforeSample; // not timed; may be null
    knBenchFcn* afterSettle;  // not timed, behind settleSeconds; may be null
    knBenchFcn* beforeRun;    // not timed; with it every run is timed alone; may be null
    knBenchFcn* ours;
    knBenchFcn* peer; // null: the row has no peer
    void* context;    // for all of them
    const char* peerName;
    const char* note;
    double settleSeconds; // before each sample the side runs untimed for that long
    double minSeconds;    // samples go on for at least that long
    int repetitions;      // samples of each side, at least
    bool threadTime;      // processor time of this thread, which does all the work
    int processors;       // that the work needs for itself; 0: any share will do, the ratio holds
} knMeasureDef;

// In the unit of the definition; NaN for a peer that there is not.
typedef struct knMeasurement
{
    double ours, worst;
    double peer, peerWorst;
    double foreignLoad; // processors that other programs kept busy; NaN when unknown
} knMeasurement;

// Milliseconds, and the number of repetitions that suits the options.
knMeasureDef knDefaultMeasureDef(const knBenchRun* run);

// Tries again while other programs hold processors that the work needs; `foreignLoad` tells how it
// ended. Fails when either side does.
knResult knMeasure(const knMeasureDef* def, knMeasurement* measurement);

// True when the work did not have its processors: the numbers are then about somebody else.
bool knIsCrowded(const knMeasureDef* def, const knMeasurement* measurement);

// Measures and adds the row, or skips it when it was crowded.
knResult knBenchRun_Measure(knBenchRun* run, const knMeasureDef* def);

// All numbers NaN, all texts empty but the bench's name.
knBenchRow knBenchRun_MakeRow(const knBenchRun* run, const char* caseName, const char* metric,
                              const char* unit);
knResult knBenchRun_AddRow(knBenchRun* run, const knBenchRow* row);

// Tells on stderr which rows there are none of, and why.
void knBenchRun_Skip(const knBenchRun* run, const char* what, const char* why);
void knBenchRun_Release(knBenchRun* run);

double knSecondsNow(void);

// Sorts the samples. The mean of the middle two for an even count; NaN for none.
double knMedian(double* samples, size_t count);
double knWorst(const double* samples, size_t count);

// NaN unless both are positive and finite.
double knBetterRatio(double ours, double peer, bool higherIsBetter);

// The optimiser must believe that what the pointer reaches is read and written here.
static inline void knKeep(const void* p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

void knPrintRows(FILE* file, const knBenchRow* rows, size_t count);
void knWriteJson(FILE* file, const knBenchRow* rows, size_t count);
void knWriteCsv(FILE* file, const knBenchRow* rows, size_t count);

// The quotes included. Bytes that are no UTF-8 become U+FFFD, so any string gives valid JSON.
void knWriteJsonString(FILE* file, const char* text);

typedef void knRowWriterFcn(FILE* file, const knBenchRow* rows, size_t count);

// All or nothing: the file is written beside its place and then renamed into it.
knResult knWriteRowsFile(const char* path, knRowWriterFcn* write, const knBenchRow* rows,
                         size_t count);
