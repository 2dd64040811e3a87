// SPDX-License-Identifier: Zlib
#include "command.h"
#include "file.h"
#include "knap/bvh_ccd.h"
#include "rational.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Runs elementary tests from files and compares the answers with those written there.

typedef struct Options
{
    knCcdKind kind;
    bool hasKind;
    knCcdSolver solver;
    double separation;
    bool isJson;
} Options;

typedef struct Tally
{
    size_t queries, correct, falsePositives, falseNegatives;
    size_t widened, capped, steps, mostSteps;
    double seconds;
} Tally;

static void PrintHelp(void)
{
    printf("usage: knap ccd QUERIES.csv... [OPTION...]\n\n"
           "Runs continuous collision tests and compares them with the answers in the file. Eight\n"
           "rows a test: v, f0, f1, f2 (or a0, a1, b0, b1) at the start, then at the end; a row\n"
           "is x, y, z, each as numerator and denominator, whole numbers of any length, then the\n"
           "answer, 0 or 1. A coordinate that is no double is widened to those around it.\n\n"
           "  --kind vf|ee      vertex and face, or edge and edge; by default what the file's\n"
           "                    path says ('vertex-face', 'edge-edge')\n"
           "  --separation D    a distance of at most D is a contact (default 0)\n"
           "  --solver S        conservative (default, never misses), cubic, filtered\n"
           "  --json            counts as JSON\n"
           "  --help            this text\n\n"
           "exit codes: 0 good, 1 wrong arguments, 2 unreadable file, 3 a contact was missed,\n"
           "6 out of memory\n");
}

static bool TakeSolver(Options* o, const char* word)
{
    static const char* const names[kn_ccdSolverCount] = {"conservative", "cubic", "filtered"};
    for (int i = 0; i < kn_ccdSolverCount; ++i)
    {
        if (strcmp(word, names[i]) == 0)
        {
            o->solver = (knCcdSolver)i;
            return true;
        }
    }
    knUsageError("ccd", "--solver is conservative, cubic or filtered, not '%s'", word);
    return false;
}

static bool TakeOption(Options* o, int option)
{
    switch (option)
    {
    case 'k':
        o->hasKind = true;
        o->kind = strcmp(optarg, "ee") == 0 ? kn_ccdEdgeEdge : kn_ccdVertexFace;
        if (strcmp(optarg, "ee") != 0 && strcmp(optarg, "vf") != 0)
        {
            knUsageError("ccd", "--kind is vf or ee, not '%s'", optarg);
            return false;
        }
        return true;
    case 'd':
        return knParseNumber("ccd", "--separation", optarg, 0.0, 1e300, &o->separation);
    case 's':
        return TakeSolver(o, optarg);
    case 'j':
        o->isJson = true;
        return true;
    default:
        knUsageError("ccd", "that option is not known");
        return false;
    }
}

// The fields of a line; returns how many there are, at most 8.
static int SplitLine(const char* line, size_t length, const char* fields[8], size_t lengths[8])
{
    int count = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= length && count < 8; ++i)
    {
        if (i == length || line[i] == ',')
        {
            size_t end = i;
            while (begin < end && (line[begin] == ' ' || line[begin] == '\t'))
            {
                begin += 1;
            }
            while (end > begin && (line[end - 1] == ' ' || line[end - 1] == '\r'))
            {
                end -= 1;
            }
            fields[count] = line + begin;
            lengths[count++] = end - begin;
            begin = i + 1;
        }
    }
    return count;
}

static knResult ParseRow(const char* line, size_t length, knDVec3* point, double* slack,
                         bool* isTrue)
{
    const char* fields[8];
    size_t lengths[8];
    if (SplitLine(line, length, fields, lengths) != 7 || lengths[6] != 1 ||
        (fields[6][0] != '0' && fields[6][0] != '1'))
    {
        return knFail(kn_errorFormat, "a row has six whole numbers, then 0 or 1");
    }
    double value[3], error;
    for (int k = 0; k < 3; ++k)
    {
        knResult result = knParseRational(fields[2 * k], lengths[2 * k], fields[2 * k + 1],
                                          lengths[2 * k + 1], &value[k], &error);
        if (result != kn_success)
        {
            return result;
        }
        *slack = error > *slack ? error : *slack;
    }
    *point = knMakeDVec3(value[0], value[1], value[2]);
    *isTrue = fields[6][0] == '1';
    return kn_success;
}

static double Now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static knResult RunTest(const Options* o, const knCcdTest* test, bool isTrue, Tally* tally)
{
    knCcdAnswer answer;
    double begin = Now();
    knResult result = knRunCcdTest(test, o->solver, &answer);
    tally->seconds += Now() - begin;
    if (result != kn_success)
    {
        return result;
    }
    tally->queries += 1;
    tally->correct += answer.isContact == isTrue;
    tally->falsePositives += answer.isContact && !isTrue;
    tally->falseNegatives += !answer.isContact && isTrue;
    tally->widened += test->slack > 0.0;
    tally->capped += answer.isCapped;
    tally->steps += answer.stepCount;
    tally->mostSteps = answer.stepCount > tally->mostSteps ? answer.stepCount : tally->mostSteps;
    return kn_success;
}

static knResult RunText(const Options* o, knCcdKind kind, const char* text, Tally* tally)
{
    knCcdTest test = {.kind = kind, .separation = o->separation};
    int row = 0;
    size_t lineNumber = 0;
    knResult result = kn_success;
    for (const char* line = text; *line && result == kn_success;)
    {
        size_t length = strcspn(line, "\n");
        lineNumber += 1;
        if (strspn(line, " \t\r") < length)
        {
            bool isTrue = false;
            knDVec3* point = row < 4 ? &test.start[row] : &test.end[row - 4];
            result = ParseRow(line, length, point, &test.slack, &isTrue);
            row += 1;
            if (row == 8 && result == kn_success)
            {
                result = RunTest(o, &test, isTrue, tally);
                row = 0;
                test.slack = 0.0;
            }
        }
        line += length + (line[length] != 0);
    }
    if (result == kn_success && row != 0)
    {
        result = knFail(kn_errorFormat, "the last test has %d rows of 8", row);
    }
    if (result != kn_success)
    {
        fprintf(stderr, "knap: row %zu\n", lineNumber);
    }
    return result;
}

static int RunFile(const Options* o, const char* path, Tally* tally)
{
    knCcdKind kind = o->kind;
    if (!o->hasKind)
    {
        bool isEdges = strstr(path, "edge-edge") != NULL;
        if (!isEdges && !strstr(path, "vertex-face"))
        {
            return knUsageError("ccd", "--kind is needed: '%s' does not tell", path);
        }
        kind = isEdges ? kn_ccdEdgeEdge : kn_ccdVertexFace;
    }
    knAllocator a = knDefaultAllocator();
    char* text = NULL;
    size_t size = 0;
    if (knReadText(path, &a, &text, &size) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    knResult result = RunText(o, kind, text, tally);
    knRelease(&a, text, size + 1, 1);
    return result == kn_success
               ? kn_exitOk
               : knReportFailure(result == kn_errorMemory ? kn_exitInternal : kn_exitUnreadable);
}

static void Print(const Options* o, const Tally* t)
{
    double ns = t->queries > 0 ? 1e9 * t->seconds / (double)t->queries : 0.0;
    if (!o->isJson)
    {
        printf("%zu queries, %zu correct, %zu false positives, %zu false negatives; %.0f ns a "
               "query\n",
               t->queries, t->correct, t->falsePositives, t->falseNegatives, ns);
        return;
    }
    knJson json = knMakeJson(stdout);
    knJson_BeginObject(&json, NULL);
    knJson_Count(&json, "queries", t->queries);
    knJson_Count(&json, "correct", t->correct);
    knJson_Count(&json, "false_positives", t->falsePositives);
    knJson_Count(&json, "false_negatives", t->falseNegatives);
    knJson_Number(&json, "ns_per_query", ns);
    knJson_Count(&json, "widened", t->widened);
    knJson_Count(&json, "capped", t->capped);
    knJson_Count(&json, "steps", t->steps);
    knJson_Count(&json, "most_steps", t->mostSteps);
    knJson_EndObject(&json);
}

int knCommandCcd(int argc, char** argv)
{
    static const struct option longOptions[] = {
        {"kind", required_argument, NULL, 'k'},   {"separation", required_argument, NULL, 'd'},
        {"solver", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    Options o = {.solver = kn_ccdConservative};
    for (int option; (option = getopt_long(argc, argv, "", longOptions, NULL)) != -1;)
    {
        if (option == 'h')
        {
            PrintHelp();
            return kn_exitOk;
        }
        if (!TakeOption(&o, option))
        {
            return kn_exitUsage;
        }
    }
    if (optind >= argc)
    {
        return knUsageError("ccd", "at least one file of queries is needed");
    }
    Tally tally = {0};
    int code = kn_exitOk;
    for (int i = optind; i < argc && code == kn_exitOk; ++i)
    {
        code = RunFile(&o, argv[i], &tally);
    }
    if (code == kn_exitOk)
    {
        Print(&o, &tally);
        code = tally.falseNegatives > 0 && o.solver == kn_ccdConservative ? kn_exitUnfit : code;
    }
    return code;
}
