// SPDX-License-Identifier: Zlib
#include "kit.h"

#include <sys/wait.h>

// `knap ccd`: files of queries, as they come.

static int RunCommand(const char* arguments)
{
    char command[6000];
    snprintf(command, sizeof command, "%s ccd %s >answer.json 2>messages.txt", KN_COMMAND,
             arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void WriteText(const char* path, const char* text, size_t size)
{
    FILE* file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

static void ReadText(const char* path, char* text, size_t size)
{
    FILE* file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static void AssertCounts(int queries, int correct, int falsePositives, int falseNegatives)
{
    char text[2048];
    ReadText("answer.json", text, sizeof text);
    const struct
    {
        const char* key;
        int value;
    } counts[4] = {{"\"queries\":", queries},
                   {"\"correct\":", correct},
                   {"\"false_positives\":", falsePositives},
                   {"\"false_negatives\":", falseNegatives}};
    for (int i = 0; i < 4; ++i)
    {
        const char* at = strstr(text, counts[i].key);
        assert_non_null(at);
        assert_int_equal(atoi(at + strlen(counts[i].key)), counts[i].value);
    }
    assert_non_null(strstr(text, "\"ns_per_query\":"));
}

// A vertex falls through a face, or stops above it.
static void MakeQuery(char* out, size_t size, const char* end, const char* truth, const char* line)
{
    static const char* const corners[3] = {"0,1,0,1,0,1", "4,1,0,1,0,1", "0,1,4,1,0,1"};
    size_t at = 0;
    for (int row = 0; row < 8; ++row)
    {
        char vertex[256];
        snprintf(vertex, sizeof vertex, "1,1,1,1,%s", row < 4 ? "1,1" : end);
        at += (size_t)snprintf(out + at, size - at, "%s,%s%s",
                               row % 4 ? corners[row % 4 - 1] : vertex, truth, line);
    }
}

static void WriteQuery(const char* path, const char* end, const char* truth, const char* line)
{
    char text[4096];
    MakeQuery(text, sizeof text, end, truth, line);
    WriteText(path, text, strlen(text));
}

// The same number, however it is written, and the same answer.
static void OddFilesAreRead(void** state)
{
    (void)state;
    static const struct
    {
        const char *end, *truth, *line, *before;
        int cut; // bytes off the end
    } files[] = {
        {"-1,1", "1", "\n", "", 0},
        {"-1,1", "1", "\r\n", "", 0},
        {"-1,1", "1", "\r\n", "", 2},
        {"-1,1", "1", "\n", "", 1},
        {"1,-1", "true", "\n", "", 0},
        {"+000003,-00003", "TRUE", " \t\r\n\r\n  \n", "", 0},
        {" -1 ,\t1 ", " 1 ", "\n", "xn,xd,yn,yd,zn,zd,result\r\n", 0},
        {"-1,1", "1,", "\n", "\xEF\xBB\xBF", 0},
        {"-100000000000000000000000000000000000000000000000000000000000000001,"
         "100000000000000000000000000000000000000000000000000000000000000000",
         "1", "\n", "\n", 0},
        {"1,3", "0", "\n", "", 0},
        {"100000000000000000000000000000000000000000000000000000000000000001,"
         "10000000000000000000000000000000000000000000000000000000000000000000000",
         "False", "\n", "", 0},
    };
    for (size_t i = 0; i < COUNT_OF(files); ++i)
    {
        char text[8192];
        size_t size = strlen(files[i].before);
        memcpy(text, files[i].before, size);
        MakeQuery(text + size, sizeof text - size, files[i].end, files[i].truth, files[i].line);
        WriteText("odd.csv", text, strlen(text) - (size_t)files[i].cut);
        assert_int_equal(RunCommand("odd.csv --kind vf --json"), 0);
        AssertCounts(1, 1, 0, 0);
    }
}

// A wrong answer in the file is counted; that one is missed ends in an exit code of its own.
static void AnswersAreCompared(void** state)
{
    (void)state;
    WriteQuery("vertex-face.csv", "-1,1", "0", "\n");
    assert_int_equal(RunCommand("vertex-face.csv --json"), 0);
    AssertCounts(1, 0, 1, 0);
    WriteQuery("vertex-face.csv", "1,2", "1", "\n");
    assert_int_equal(RunCommand("vertex-face.csv vertex-face.csv --json"), 3);
    AssertCounts(2, 0, 0, 2);
    assert_int_equal(RunCommand("vertex-face.csv --json --separation 0.75"), 0);
    AssertCounts(1, 1, 0, 0);
    assert_int_equal(RunCommand("vertex-face.csv --json --separation 0.25"), 3);
    WriteQuery("vertex-face.csv", "-1,1", "1", "\n");
    assert_int_equal(RunCommand("vertex-face.csv --json --solver cubic"), 0);
    AssertCounts(1, 1, 0, 0);
    assert_int_equal(RunCommand("vertex-face.csv --json --solver filtered"), 0);
    AssertCounts(1, 1, 0, 0);
    // as edges, these points stay apart
    assert_int_equal(RunCommand("vertex-face.csv --kind ee --json"), 3);
    AssertCounts(1, 0, 0, 1);
    assert_int_equal(RunCommand("vertex-face.csv"), 0);
}

// What cannot be read is said, with the file and the line.
static void BadFilesAreRefused(void** state)
{
    (void)state;
    static const struct
    {
        const char *text, *line, *word;
    } files[] = {
        {"0,1,0,1,0,1,1\n", "line 1", "1 of the 8 rows"},
        {"0,1,0,1,0,1,1\n0,1,0,1,0,1,0\n", "line 2", "another answer"},
        {"0,1,0,1,0,1,1\n\n0,1,0,1,0,1,2\n", "line 3", "0 or 1"},
        {"0,1,0,1,0,1\n", "line 1", "7 columns, not 6"},
        {"0,1,0,1,0,1,1,1\n", "line 1", "7 columns"},
        {"0,1,0,1,0,0,1\n", "line 1", "denominator is 0"},
        {"0,1,0,1,0.5,1,1\n", "line 1", "'0.5' is no whole number"},
        {"0,1,0,1,,1,1\n", "line 1", "no digits"},
        {"x,y,z\nx,y,z\n", "line 2", "7 columns, not 3"},
    };
    for (size_t i = 0; i < COUNT_OF(files); ++i)
    {
        char messages[1024];
        WriteText("bad.csv", files[i].text, strlen(files[i].text));
        assert_int_equal(RunCommand("bad.csv --kind vf"), 2);
        ReadText("messages.txt", messages, sizeof messages);
        assert_non_null(strstr(messages, "bad.csv"));
        assert_non_null(strstr(messages, files[i].line));
        assert_non_null(strstr(messages, files[i].word));
    }
    WriteText("zero.csv", "0,1,0,1,0,1,1\n\0\n", 16);
    assert_int_equal(RunCommand("zero.csv --kind vf"), 2);
    assert_int_equal(RunCommand("missing.csv --kind vf"), 2);
    assert_int_equal(RunCommand(""), 1);
    assert_int_equal(RunCommand("bad.csv"), 1);
    assert_int_equal(RunCommand("bad.csv --kind ff"), 1);
    assert_int_equal(RunCommand("bad.csv --kind vf --solver quartic"), 1);
    assert_int_equal(RunCommand("bad.csv --kind vf --separation -1"), 1);
    assert_int_equal(RunCommand("bad.csv --kind vf --separation nan"), 1);
}

// More than one batch, of both kinds of answers.
static void ManyQueriesAreCounted(void** state)
{
    (void)state;
    FILE* file = fopen("many.csv", "wb");
    for (int i = 0; i < 1000; ++i)
    {
        char text[4096];
        MakeQuery(text, sizeof text, i % 3 ? "-1,7" : "1,7", i % 3 ? "1" : "0", "\n");
        fputs(text, file);
    }
    fclose(file);
    assert_int_equal(RunCommand("many.csv --kind vf --json"), 0);
    AssertCounts(1000, 1000, 0, 0);
}

// The queries that came with their answers.
static void SharedQueriesAreAnswered(void** state)
{
    (void)state;
    const char* named = getenv("KN_SHARED_DATA");
    static const struct
    {
        const char* path;
        int queries;
    } files[] = {{"vertex-face/data_0_0.csv", 125},
                 {"vertex-face/data_0_1.csv", 125},
                 {"edge-edge/data_0_0.csv", 54},
                 {"edge-edge/data_0_1.csv", 20}};
    for (size_t i = 0; i < COUNT_OF(files); ++i)
    {
        char path[2048], arguments[4096];
        snprintf(path, sizeof path, "%s/ccd-unit-tests/%s",
                 named ? named : KN_SOURCE_DIR "/../shared/data", files[i].path);
        FILE* file = fopen(path, "rb");
        if (!file)
        {
            printf("skipped: %s is not here\n", path);
            skip();
        }
        fclose(file);
        snprintf(arguments, sizeof arguments, "%s --json", path);
        assert_int_equal(RunCommand(arguments), 0);
        AssertCounts(files[i].queries, files[i].queries, 0, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(OddFilesAreRead),          cmocka_unit_test(AnswersAreCompared),
        cmocka_unit_test(BadFilesAreRefused),       cmocka_unit_test(ManyQueriesAreCounted),
        cmocka_unit_test(SharedQueriesAreAnswered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
