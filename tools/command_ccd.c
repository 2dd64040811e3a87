// SPDX-License-Identifier: Zlib
#include "command.h"
#include "file.h"
#include "knap/bvh_ccd.h"
#include "rational.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
           "answer, 0 or 1 (or false, true). A coordinate that is no double is widened to those\n"
           "around it. Names of columns may stand in the first line.\n\n"
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

static bool IsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

#define MOST_FIELDS 9

typedef struct Fields
{
    const char* text[MOST_FIELDS];
    size_t length[MOST_FIELDS];
    int count;
} Fields;

// A comma behind the last field is let pass.
static void SplitLine(const char* line, size_t length, Fields* f)
{
    size_t begin = 0;
    f->count = 0;
    for (size_t i = 0; i <= length && f->count < MOST_FIELDS; ++i)
    {
        if (i == length || line[i] == ',')
        {
            size_t end = i;
            while (begin < end && IsBlank(line[begin]))
            {
                begin += 1;
            }
            while (end > begin && IsBlank(line[end - 1]))
            {
                end -= 1;
            }
            f->text[f->count] = line + begin;
            f->length[f->count++] = end - begin;
            begin = i + 1;
        }
    }
    f->count -= f->count > 1 && f->length[f->count - 1] == 0;
}

// 1, 0, or -1 when it is neither true nor false.
static int TruthOf(const char* text, size_t length)
{
    static const char* const words[4] = {"0", "1", "false", "true"};
    for (int i = 0; i < 4; ++i)
    {
        if (strlen(words[i]) == length && strncasecmp(words[i], text, length) == 0)
        {
            return i % 2;
        }
    }
    return -1;
}

// Names of columns: no field is a number.
static bool IsHeader(const Fields* f)
{
    bool isHeader = f->count > 0;
    for (int i = 0; i < f->count; ++i)
    {
        isHeader = isHeader && f->length[i] > 0 && isalpha((unsigned char)f->text[i][0]);
    }
    return isHeader;
}

static knResult ParseRow(const Fields* f, knDVec3* point, double* slack, bool* isTrue)
{
    int truth = f->count == 7 ? TruthOf(f->text[6], f->length[6]) : -1;
    if (f->count != 7 || truth < 0)
    {
        return knFail(kn_errorFormat,
                      f->count != 7
                          ? "a row has six whole numbers and the answer: 7 columns, not %d"
                          : "the answer is 0 or 1 (column 7 of %d)",
                      f->count);
    }
    double value[3], error;
    for (int k = 0; k < 3; ++k)
    {
        knResult result = knParseRational(f->text[2 * k], f->length[2 * k], f->text[2 * k + 1],
                                          f->length[2 * k + 1], &value[k], &error);
        if (result != kn_success)
        {
            return result;
        }
        *slack = error > *slack ? error : *slack;
    }
    *point = knMakeDVec3(value[0], value[1], value[2]);
    *isTrue = truth == 1;
    return kn_success;
}

static double Now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define BATCH 256 // tests that are run between two looks at the clock

typedef struct Reader
{
    const Options* options;
    Tally* tally;
    knCcdTest tests[BATCH];
    knCcdAnswer answers[BATCH];
    bool truths[BATCH];
    size_t count;
    int row; // of the test that is read
    size_t line;
} Reader;

static knResult RunBatch(Reader* r)
{
    Tally* tally = r->tally;
    knResult result = kn_success;
    double begin = Now();
    for (size_t i = 0; i < r->count && result == kn_success; ++i)
    {
        result = knRunCcdTest(&r->tests[i], r->options->solver, &r->answers[i]);
    }
    tally->seconds += Now() - begin;
    for (size_t i = 0; i < r->count && result == kn_success; ++i)
    {
        const knCcdAnswer* answer = &r->answers[i];
        tally->queries += 1;
        tally->correct += answer->isContact == r->truths[i];
        tally->falsePositives += answer->isContact && !r->truths[i];
        tally->falseNegatives += !answer->isContact && r->truths[i];
        tally->widened += r->tests[i].slack > 0.0;
        tally->capped += answer->isCapped;
        tally->steps += answer->stepCount;
        tally->mostSteps =
            answer->stepCount > tally->mostSteps ? answer->stepCount : tally->mostSteps;
    }
    r->count = 0;
    return result;
}

static knResult ReadRow(Reader* r, const Fields* f, knCcdKind kind)
{
    knCcdTest* test = &r->tests[r->count];
    if (r->row == 0)
    {
        *test = (knCcdTest){.kind = kind, .separation = r->options->separation};
    }
    bool isTrue = false;
    knDVec3* point = r->row < 4 ? &test->start[r->row] : &test->end[r->row - 4];
    knResult result = ParseRow(f, point, &test->slack, &isTrue);
    if (result == kn_success && r->row > 0 && isTrue != r->truths[r->count])
    {
        result =
            knFail(kn_errorFormat, "this row has another answer than those of its test before");
    }
    r->truths[r->count] = isTrue;
    r->row = (r->row + 1) % 8;
    r->count += r->row == 0;
    return result == kn_success && r->count == BATCH ? RunBatch(r) : result;
}

static knResult RunText(Reader* r, knCcdKind kind, const char* text, size_t size)
{
    knResult result = kn_success;
    bool isFirst = true;
    const char *end = text + size, *line = text + (strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    while (line < end && result == kn_success)
    {
        const char* stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        Fields f;
        r->line += 1;
        SplitLine(line, length, &f);
        if (f.count > 1 || f.length[0] > 0)
        {
            result = isFirst && IsHeader(&f) ? kn_success : ReadRow(r, &f, kind);
            isFirst = false;
        }
        line += length + 1;
    }
    if (result == kn_success && r->row != 0)
    {
        result = knFail(kn_errorFormat, "the file ends after %d of the 8 rows of a test", r->row);
    }
    return result == kn_success ? RunBatch(r) : result;
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
    Reader* reader = knAllocate(&a, 1, sizeof *reader);
    knResult result = kn_errorMemory;
    if (reader)
    {
        memset(reader, 0, sizeof *reader);
        reader->options = o;
        reader->tally = tally;
        result = RunText(reader, kind, text, size);
        if (result != kn_success)
        {
            fprintf(stderr, "knap: %s, line %zu:\n", path, reader->line);
        }
        knRelease(&a, reader, 1, sizeof *reader);
    }
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
