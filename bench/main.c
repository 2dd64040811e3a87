// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#include <stdlib.h>
#include <string.h>

static const knBench* const benches[] = {
    &knBenchArena,       &knBenchTasks,      &knBenchTopology, &knBenchAssetLoad, &knBenchCook,
    &knBenchFieldUpdate, &knBenchFracture,   &knBenchModes,    &knBenchBvhPeers,  &knBenchBvhFastcd,
    &knBenchBvhBalanced, &knBenchBvhDynamic, &knBenchCcdPeers, &knBenchCcdIccd,   &knBenchCcdExact,
#ifdef KN_BENCH_BULLET
    &knBenchPile,        &knBenchThreads,    &knBenchBreak,
#endif
};
#define BENCH_COUNT (sizeof benches / sizeof benches[0])

enum
{
    EXIT_GOOD = 0,
    EXIT_BENCH_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_OUTPUT = 3
};

typedef struct Arguments
{
    knBenchOptions options;
    const char* jsonPath;
    const char* csvPath;
    bool chosen[BENCH_COUNT];
    bool list, help;
} Arguments;

static void PrintHelp(void)
{
    puts("usage: knap-bench [options] NAME... | all\n"
         "Measures Knap beside its peers, one row per measurement; a ratio > 1: ours is better.\n"
         "\n"
         "  --list         the names and what they measure\n"
         "  --quick        fewer repetitions, smaller cases\n"
         "  --json FILE    write the rows as JSON\n"
         "  --csv FILE     write the rows as CSV\n"
         "  --assets PATH  cooked files for asset-load: a file or a folder, a folder for break;\n"
         "                 or KN_BENCH_ASSETS\n"
         "  --meshes DIR   the folder of the meshes for cook; or KN_BENCH_MESHES\n"
         "  --case TEXT    of bvh-peers, bvh-fastcd, ccd-iccd, pile only the scenes with TEXT in "
         "their "
         "name\n"
         "  --help         this text\n"
         "\n"
         "exit codes: 0 all ran (skipped rows are told on stderr), 1 a bench failed,\n"
         "2 wrong usage, 3 a result file could not be written");
}

static void PrintNames(FILE* file)
{
    for (size_t i = 0; i < BENCH_COUNT; ++i)
    {
        fprintf(file, "  %-12s  %s\n", benches[i]->name, benches[i]->purpose);
    }
}

static bool ChooseBench(Arguments* arguments, const char* name)
{
    bool all = strcmp(name, "all") == 0;
    bool found = all;
    for (size_t i = 0; i < BENCH_COUNT; ++i)
    {
        bool match = all || strcmp(name, benches[i]->name) == 0;
        arguments->chosen[i] |= match;
        found |= match;
    }
    if (!found)
    {
        fprintf(stderr, "knap-bench: no bench is called '%s'; there are:\n", name);
        PrintNames(stderr);
    }
    return found;
}

// 1 for an option that was understood, 0 for what is none, -1 for one that lacks its value.
static int ReadOption(Arguments* a, int argc, char** argv, int* index)
{
    const struct
    {
        const char* name;
        bool* flag;
        const char** value;
    } table[] = {
        {"--list", &a->list, NULL},
        {"--quick", &a->options.quick, NULL},
        {"--help", &a->help, NULL},
        {"--json", NULL, &a->jsonPath},
        {"--csv", NULL, &a->csvPath},
        {"--assets", NULL, &a->options.assetPath},
        {"--meshes", NULL, &a->options.meshPath},
        {"--case", NULL, &a->options.caseName},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    {
        if (strcmp(argv[*index], table[i].name) != 0)
        {
            continue;
        }
        if (table[i].flag)
        {
            *table[i].flag = true;
            return 1;
        }
        if (*index + 1 == argc)
        {
            return -1;
        }
        *table[i].value = argv[++*index];
        return 1;
    }
    return 0;
}

static bool ReadArguments(Arguments* a, int argc, char** argv)
{
    bool named = false;
    for (int i = 1; i < argc; ++i)
    {
        int option = ReadOption(a, argc, argv, &i);
        if (option < 0)
        {
            fprintf(stderr, "knap-bench: %s needs a value\n", argv[i]);
            return false;
        }
        if (option == 0 && argv[i][0] == '-')
        {
            fprintf(stderr, "knap-bench: unknown option %s; see --help\n", argv[i]);
            return false;
        }
        if (option == 0 && !ChooseBench(a, argv[i]))
        {
            return false;
        }
        named |= option == 0;
    }
    if (!named && !a->list && !a->help)
    {
        fprintf(stderr, "knap-bench: name a bench, or 'all'; there are:\n");
        PrintNames(stderr);
        return false;
    }
    return true;
}

static bool RunChosen(const Arguments* a, knBenchRun* run)
{
    bool good = true;
    for (size_t i = 0; i < BENCH_COUNT; ++i)
    {
        if (!a->chosen[i])
        {
            continue;
        }
        size_t first = run->rowCount;
        run->bench = benches[i]->name;
        if (benches[i]->run(run) != kn_success)
        {
            fprintf(stderr, "knap-bench: %s failed: %s\n", run->bench, knLastError());
            good = false;
        }
        if (run->rowCount > first)
        {
            knPrintRows(stdout, run->rows + first, run->rowCount - first);
            putchar('\n');
            fflush(stdout);
        }
    }
    return good;
}

static bool WriteResults(const char* path, knRowWriterFcn* write, const knBenchRun* run)
{
    if (path && knWriteRowsFile(path, write, run->rows, run->rowCount) != kn_success)
    {
        fprintf(stderr, "knap-bench: %s\n", knLastError());
        return false;
    }
    return true;
}

int main(int argc, char** argv)
{
    Arguments arguments = {.options.assetPath = getenv("KN_BENCH_ASSETS"),
                           .options.meshPath = getenv("KN_BENCH_MESHES")};
    if (!ReadArguments(&arguments, argc, argv))
    {
        return EXIT_USAGE;
    }
    if (arguments.help || arguments.list)
    {
        arguments.help ? PrintHelp() : PrintNames(stdout);
        return EXIT_GOOD;
    }
    knBenchRun run = {.options = arguments.options};
    int code = RunChosen(&arguments, &run) ? EXIT_GOOD : EXIT_BENCH_FAILED;
    // what was measured is kept even when a bench failed
    bool written = WriteResults(arguments.jsonPath, knWriteJson, &run);
    written = WriteResults(arguments.csvPath, knWriteCsv, &run) && written;
    knBenchRun_Release(&run);
    return written ? code : EXIT_OUTPUT;
}
