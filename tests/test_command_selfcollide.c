// SPDX-License-Identifier: Zlib
#include "frame.h"
#include "kit.h"

#include <sys/wait.h>

#define DATA_DIR KN_SOURCE_DIR "/../shared/data"

static const char* DataDir(void)
{
    const char* named = getenv("KN_SHARED_DATA");
    return named ? named : DATA_DIR;
}

static int RunCommand(const char* format, ...)
{
    char arguments[2048], command[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(command, sizeof command, "%s selfcollide %s 2>messages.txt", KN_COMMAND, arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char* ReadWhole(const char* path, size_t* size)
{
    FILE* file = fopen(path, "rb");
    if (!file)
    {
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char* text = malloc(*size + 1);
    assert_int_equal(fread(text, 1, *size, file), *size);
    text[*size] = 0;
    fclose(file);
    return text;
}

static void AssertSameFiles(const char* a, const char* b)
{
    size_t aSize = 0, bSize = 0;
    char *aText = ReadWhole(a, &aSize), *bText = ReadWhole(b, &bSize);
    assert_non_null(aText);
    assert_non_null(bText);
    assert_int_equal(aSize, bSize);
    assert_memory_equal(aText, bText, aSize);
    free(aText);
    free(bText);
}

// Two triangles that cross, and a third beside them.
static const float points[9][3] = {{0, 0, 0},        {2, 0, 0},       {0, 2, 0},
                                   {0.5f, 0.5f, -1}, {0.5f, 0.5f, 1}, {1, 0.5f, 1},
                                   {5, 5, 5},        {6, 5, 5},       {5, 6, 5}};

static void PutBytes(FILE* file, const void* value, size_t size, bool isBig)
{
    const unsigned char* bytes = value;
    for (size_t i = 0; i < size; ++i)
    {
        fputc(bytes[isBig ? size - 1 - i : i], file);
    }
}

// Properties that nobody asked for stand between those that count.
static void WriteBinaryPly(const char* path, bool isBig, bool isDouble)
{
    FILE* file = fopen(path, "wb");
    fprintf(file,
            "ply\nformat binary_%s_endian 1.0\ncomment made for a test\nelement vertex 9\n"
            "property %s x\nproperty uchar red\nproperty %s y\nproperty %s z\nelement extra 2\n"
            "property list uchar short numbers\nelement face 3\nproperty uchar quality\n"
            "property list uchar int vertex_indices\nend_header\n",
            isBig ? "big" : "little", isDouble ? "double" : "float", isDouble ? "double" : "float",
            isDouble ? "double" : "float");
    for (int i = 0; i < 27; ++i)
    {
        double wide = (double)points[i / 3][i % 3];
        isDouble ? PutBytes(file, &wide, 8, isBig)
                 : PutBytes(file, &points[i / 3][i % 3], 4, isBig);
        if (i % 3 == 0)
        {
            fputc(255, file);
        }
    }
    for (int i = 0; i < 2; ++i)
    {
        short number = 7;
        fputc(i, file);
        for (int k = 0; k < i; ++k)
        {
            PutBytes(file, &number, sizeof number, isBig);
        }
    }
    for (int i = 0; i < 9; ++i)
    {
        if (i % 3 == 0)
        {
            fputc(1, file);
            fputc(3, file);
        }
        PutBytes(file, &i, 4, isBig);
    }
    fclose(file);
}

static void WriteText(const char* path, const char* text)
{
    FILE* file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void AssertPairs(const char* arguments, const char* expected)
{
    assert_int_equal(RunCommand("%s --pairs pairs.txt", arguments), 0);
    size_t size = 0;
    char* text = ReadWhole("pairs.txt", &size);
    assert_string_equal(text, expected);
    free(text);
}

static void EveryFormatGivesTheSamePairs(void** state)
{
    (void)state;
    for (int i = 0; i < 4; ++i)
    {
        WriteBinaryPly("frame.ply", (i & 1) != 0, (i & 2) != 0);
        AssertPairs("frame.ply", "0 1\n");
    }
    WriteText("ascii.ply", "ply\r\nformat ascii 1.0\r\nelement vertex 9\r\nproperty float x\r\n"
                           "property float y\r\nproperty float z\r\nelement face 3\r\n"
                           "property list uchar uint vertex_index\r\nend_header\r\n"
                           "0 0 0\n2 0 0\n0 2 0\n.5 .5 -1\n.5 .5 1\n1 .5 1\n5 5 5\n6 5 5\n5 6 5\n"
                           "3 0 1 2\n3 3 4 5\n3 6 7 8\n");
    AssertPairs("ascii.ply", "0 1\n");
    WriteText("frame.obj", "# a comment\nv 0 0 0\nv 2 0 0\nv 0 2 0\nvt 0 0\nf 1/1 2/1/1 3//1\n"
                           "v .5 .5 -1\nv .5 .5 1\nv 1 .5 1\nf -3 -2 -1\nv 5 5 5\nv 6 5 5\n"
                           "v 5 6 5\nf 7 8 9\n");
    AssertPairs("frame.obj", "0 1\n");
}

// A square, a triangle through both halves of it, nothing, a segment through it, a point on it, and
// a triangle that lies elsewhere and has a corner twice.
#define ODD_PAIRS "0 1\n0 3\n0 4\n"

static const float oddPoints[13][3] = {
    {0, 0, 0},        {2, 0, 0},           {2, 2, 0},          {0, 2, 0},
    {0.5f, 0.5f, -1}, {0.5f, 0.5f, 1},     {1, 0.5f, 1},       {1.5f, 1.25f, -1},
    {1.5f, 1.25f, 1}, {0.25f, 0.75f, 0.f}, {9.0f, 9.0f, 9.0f}, {8.0f, 9.0f, 9.0f},
    {9, 9, 9}};

static const char* const oddFaces[6] = {"4 0 1 2 3", "3 4 5 6", "0", "2 7 8", "1 9", "3 10 11 10"};

// Everything that a header may have: blanks and tabs, long comments, other elements and lists,
// faces before vertices, and lines that end in one of three ways.
static void WriteOddPly(const char* path, const char* lineEnd)
{
    FILE* file = fopen(path, "wb");
    fprintf(file, "ply%sformat   ascii 1.0%scomment ", lineEnd, lineEnd);
    for (int i = 0; i < 300; ++i)
    {
        fputs("element ", file);
    }
    fprintf(file, "%sobj_info num_cols 512%selement face 6%sproperty list\tuint8 int8 ", lineEnd,
            lineEnd, lineEnd);
    fprintf(file, "vertex_indices%sproperty list uchar float texcoord%selement camera 1%s", lineEnd,
            lineEnd, lineEnd);
    fprintf(file, "property int8 x%selement vertex 13%sproperty float64 x%s", lineEnd, lineEnd,
            lineEnd);
    fprintf(file, "property double y%sproperty uchar red%sproperty double z%send_header%s", lineEnd,
            lineEnd, lineEnd, lineEnd);
    for (int i = 0; i < 6; ++i)
    {
        fprintf(file, "%s %s%s", oddFaces[i], i == 1 ? "2 0.5 0.5" : "0", lineEnd);
    }
    fprintf(file, "-7%s", lineEnd);
    for (int i = 0; i < 13; ++i)
    {
        const float* p = oddPoints[i];
        fprintf(file, "%.9g %.9g 255 %.9g%s", (double)p[0], (double)p[1], (double)p[2], lineEnd);
    }
    fclose(file);
}

// Pairs are those of the file's faces, whatever corners they have.
static void OddFilesAreRead(void** state)
{
    (void)state;
    static const char* const ends[] = {"\n", "\r\n", "\r"};
    for (size_t i = 0; i < COUNT_OF(ends); ++i)
    {
        WriteOddPly("odd.ply", ends[i]);
        AssertPairs("odd.ply", ODD_PAIRS);
    }
    AssertPairs("odd.ply --method lazy --no-adjacent", ODD_PAIRS);
    assert_int_equal(RunCommand("odd.ply odd.ply --ccd"), 2);
    WriteText("odd.obj", "  # ends in \\\nmtllib a.mtl\r\no thing\nv 0 0 0 0.5 0.5 0.5\nv 2 0 0 1\n"
                         "v 2 2 0\n\tv\t0 2 0\nvn 0 0 1\nvt 0 0\ns off\nf 1//1 2//1 3//1 4//1 # a "
                         "square\nv .5 .5 -1\nv 5e-1 +.5 1\nv 1 .5 1\nf -3/1/1 -2/1/1 \\\n-1/1/1\n"
                         "l 1 2 3\np 4\nv 1.5 1.25 -1\nv 1.5 1.25 1\nf 8 9\r\nf 12 13 12\nv 0 0 9\n"
                         "v 7 7 7\nv 8 8 8\nv 9 8 7");
    AssertPairs("odd.obj", "0 1\n0 2\n");
}

// Two polygons that share a corner cross each other where the triangles of their fans share none.
static void AdjacentPolygonsAreLeftOut(void** state)
{
    (void)state;
    WriteText("corner.obj",
              "v 0 0 0\nv 4 0 0\nv 4 4 0\nv 2 6 0\nv 0 4 0\nv .4 3.5 -1\nv .6 3.5 -1\n"
              "v .5 3.5 1\nf 1 2 3 4 5\nf 6 7 8 3\n");
    AssertPairs("corner.obj", "0 1\n");
    AssertPairs("corner.obj --no-adjacent", "");
}

static void AssertTold(const char* word)
{
    size_t size = 0;
    char* text = ReadWhole("messages.txt", &size);
    if (!strstr(text, word))
    {
        fail_msg("'%s' does not say '%s'", text, word);
    }
    free(text);
}

#define PLY    "ply\nformat ascii 1.0\n"
#define POINT  "element vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
#define CORNER "element face 1\nproperty list uchar int vertex_index\n"

static void BadFilesAreErrors(void** state)
{
    (void)state;
    static const char* const bad[][2] = {
        {"", "empty"},
        {"ply\n", "without an end"},
        {"plx\nend_header\n", "begin with 'ply'"},
        {"ply\nformat text 1.0\nend_header\n", "known format"},
        {PLY "element vertex 1\nproperty float x\nend_header\n1\n", "without y"},
        {PLY "element face 1\nproperty uchar red\nend_header\n1\n", "list vertex_indices"},
        {PLY "element tristrips 1\nproperty list int int vertex_indices\nend_header\n0\n",
         "strips"},
        {PLY "property float x\nend_header\n", "'property float x'"},
        {PLY POINT CORNER "end_header\n0 0 0\n3 0 0 1\n", "vertex 1, but there are 1"},
        {PLY POINT CORNER "end_header\n0 0 0\n3 0 0 -1\n", "names vertex -1"},
        {PLY POINT CORNER "end_header\n0 0 0\n3 0 0.5 0\n", "names vertex 0.5"},
        {PLY POINT CORNER "end_header\n0 0 0\n3 0 0\n", "ends early"},
        {PLY POINT CORNER "end_header\n0 0 zero\n3 0 0 0\n", "not numbers"},
        {"ply\nformat binary_big_endian 1.0\nelement vertex 99999999\nproperty float x\nproperty "
         "float y\nproperty float z\nend_header\n",
         "ends early"}};
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        WriteText("bad.ply", bad[i][0]);
        assert_int_equal(RunCommand("bad.ply --pairs none.txt"), 2);
        AssertTold(bad[i][1]);
    }
    static const char* const badObj[][2] = {{"v 0 0 0\nf 1 2 3\n", "vertex 1, but there are 1"},
                                            {"v 0 0 0\nf 1 1 x\n", "'x' is no vertex"},
                                            {"v 0 0 0\nf 1 1.5 1\n", "'1.5' is no vertex"},
                                            {"v 0 0 0\nf 0 1 1\n", "'0' is no vertex"},
                                            {"v 0 0 0\nf -2 1 1\n", "names vertex -1"},
                                            {"v 0 0\n1 0 0\n", "three coordinates"}};
    for (size_t i = 0; i < COUNT_OF(badObj); ++i)
    {
        WriteText("bad.obj", badObj[i][0]);
        assert_int_equal(RunCommand("bad.obj"), 2);
        AssertTold(badObj[i][1]);
    }
}

static void ExitCodesTellWhatWasWrong(void** state)
{
    (void)state;
    WriteText("frame.stl", "solid\n");
    static const struct
    {
        const char* arguments;
        int code;
        const char* word;
    } cases[] = {{"missing.ply", 2, "missing.ply"},
                 {"frame.stl", 2, "neither .ply nor .obj"},
                 {"", 1, "at least one frame"},
                 {"corner.obj --method slow", 1, "'slow' is no word"},
                 {"corner.obj --threads 0", 1, "--threads"},
                 {"corner.obj --sideways", 1, "sideways"},
                 {"corner.obj corner.obj --ccd --method lazy", 1, "'lazy' is no word"},
                 {"corner.obj --pairs no-such-folder/pairs", 5, "no-such-folder"},
                 {"corner.obj --stats no-such-folder/stats >pairs.txt", 5, "no-such-folder"},
                 {"corner.obj >/dev/full", 5, "standard output"}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i)
    {
        assert_int_equal(RunCommand("%s", cases[i].arguments), cases[i].code);
        AssertTold(cases[i].word);
    }
}

#define FRAMES 12

// A row of triangles that stand on a floor of two; in each frame another one is sunk into it, and
// every third frame has a triangle less.
static void WriteStandingFrame(int frame)
{
    char path[32];
    snprintf(path, sizeof path, "row%02d.obj", frame);
    FILE* file = fopen(path, "w");
    fputs("v -1 -1 0\nv 199 -1 0\nv -1 99 0\nv -50 9 0\nf 1 2 3\nf 1 3 4\n", file);
    for (int i = 0; i < FRAMES; ++i)
    {
        double low = i == frame ? -0.5 : 0.5;
        fprintf(file, "v %d 0.5 %g\nv %d 0.6 %g\nv %d 0.5 3\n", 5 * i, low, 5 * i + 1, low, 5 * i);
    }
    for (int i = 0; i < FRAMES; ++i)
    {
        if (frame % 3 != 2 || i != (frame + 1) % FRAMES)
        {
            fprintf(file, "f %d %d %d\n", 5 + 3 * i, 6 + 3 * i, 7 + 3 * i);
        }
    }
    fclose(file);
}

// Where the faces change the hierarchy is made anew, and numbers are those of each file.
static void FramesMayChangeTheirFaces(void** state)
{
    (void)state;
    for (int i = 0; i < FRAMES; ++i)
    {
        WriteStandingFrame(i);
    }
    static const char* const methods[] = {"refit", "grid-selective", "rebuild-nocull"};
    for (size_t m = 0; m < COUNT_OF(methods); ++m)
    {
        assert_int_equal(
            RunCommand("row*.obj --method %s --pairs row.txt --stats row.json", methods[m]), 0);
        for (int i = 0; i < FRAMES; ++i)
        {
            char path[32], expected[32];
            size_t size = 0;
            // the triangle left out of the last frame is the first, and all numbers fall by one
            int face = 2 + i - (i % 3 == 2 && (i + 1) % FRAMES < i);
            snprintf(path, sizeof path, "row.txt.%d", i);
            snprintf(expected, sizeof expected, "0 %d\n", face);
            char* text = ReadWhole(path, &size);
            assert_non_null(text);
            assert_string_equal(text, expected);
            free(text);
        }
    }
    size_t size = 0;
    char* stats = ReadWhole("row.json", &size);
    assert_non_null(strstr(stats, "\"kept_hierarchy\": false"));
    free(stats);
}

// A vertex that falls through a face a quarter of the way down, and rises again at other faces;
// what is found does not depend on how, and the step goes on where faces change.
static void ContactsBetweenFramesAreFound(void** state)
{
    (void)state;
    static const char* const faces = "v 0 0 0\nv 4 0 0\nv 0 4 0\nv 1 1 %d\nv 9 9 9\nv 9 8 9\n"
                                     "f 1 2 3\nf 4 5 %d\n";
    for (int i = 0; i < 3; ++i)
    {
        char path[16], text[256];
        snprintf(path, sizeof path, "fall%d.obj", i);
        snprintf(text, sizeof text, faces, i == 1 ? -3 : 1, i < 2 ? 6 : 2);
        WriteText(path, text);
    }
    static const char* const ways[] = {"--ccd",
                                       "--ccd --method triangles-nocull --threads 2",
                                       "--ccd --method everytest,rebuild,scalar",
                                       "--ccd --method cones,filtered --threads 3",
                                       "--ccd --method connectivity-dops",
                                       "--ccd --method triangles,median,dops"};
    for (size_t i = 0; i < COUNT_OF(ways); ++i)
    {
        size_t size = 0;
        assert_int_equal(RunCommand("fall?.obj %s --features fall.csv --stats fall.json", ways[i]),
                         0);
        for (int step = 0; step < 2; ++step)
        {
            char* text = ReadWhole(step ? "fall.csv.1" : "fall.csv.0", &size);
            int v = -1, f = -1;
            double time = -1.0;
            assert_non_null(text);
            const char* line = strstr(text, "vf");
            assert_non_null(line);
            assert_int_equal(sscanf(line, "vf %d %d %lf", &v, &f, &time), 3);
            assert_int_equal(v, 3);
            // six vertices and six edges come before the faces
            assert_int_equal(f, 12);
            assert_true(time > (step ? 0.749 : 0.249) && time < (step ? 0.751 : 0.251));
            free(text);
        }
    }
    assert_int_equal(RunCommand("fall0.obj --ccd"), 1);
    assert_int_equal(RunCommand("fall0.obj frame.obj --ccd"), 2);
    assert_int_equal(RunCommand("fall0.obj fall1.obj --ccd --method grid"), 1);
}

// Pairs of a real frame, found beforehand with exact predicates.
static void ClothHasItsPairs(void** state)
{
    (void)state;
    char pairs[1024];
    snprintf(pairs, sizeof pairs, "%s/cloth-ball/cloth_ball92.pairs", DataDir());
    FILE* file = fopen(pairs, "rb");
    if (!file)
    {
        printf("skipped: %s is not here\n", pairs);
        skip();
    }
    fclose(file);
    static const char* const methods[] = {"midpoint", "median-sse", "grid-selective",
                                          "midpoint-scalar"};
    for (size_t i = 0; i < COUNT_OF(methods); ++i)
    {
        assert_int_equal(RunCommand("%s/cloth-ball/cloth_ball92.ply --no-adjacent --method %s "
                                    "--threads %d --pairs cloth.txt --stats cloth.json",
                                    DataDir(), methods[i], i % 2 ? 2 : 1),
                         0);
        AssertSameFiles("cloth.txt", pairs);
    }
    // from the frame behind it and back, by moving the vertices
#if defined(__SANITIZE_ADDRESS__)
    static const char* const movers[] = {"selective", "lazy"};
#else
    static const char* const movers[] = {"selective", "balanced", "lazy", "swiper"};
#endif
    for (size_t i = 0; i < COUNT_OF(movers); ++i)
    {
        assert_int_equal(
            RunCommand("%s/cloth-ball/cloth_ball93.ply %s/cloth-ball/cloth_ball92.ply "
                       "--no-adjacent --method %s --pairs moved.txt --stats moved.json",
                       DataDir(), DataDir(), movers[i]),
            0);
        AssertSameFiles("moved.txt.1", pairs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryFormatGivesTheSamePairs),
        cmocka_unit_test(OddFilesAreRead),
        cmocka_unit_test(AdjacentPolygonsAreLeftOut),
        cmocka_unit_test(BadFilesAreErrors),
        cmocka_unit_test(ExitCodesTellWhatWasWrong),
        cmocka_unit_test(FramesMayChangeTheirFaces),
        cmocka_unit_test(ContactsBetweenFramesAreFound),
        cmocka_unit_test(ClothHasItsPairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
