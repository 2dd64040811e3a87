// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L

// Every way a mesh can be wrong that we could think of, through the real command: the right exit
// code, the right words, and no file left behind.

#include "kit.h"
#include "shapes.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void BuildFcn(knSoup* soup);

typedef struct Case
{
    const char* name; // file name; its ending picks the importer
    BuildFcn* build;  // written as OBJ or STL by the ending
    const char* text; // or these bytes
    const char* options;
    int cook;         // exit code of cook
    int doctor;       // of doctor, -1 to skip
    const char* word; // stands in what doctor or, on failure, cook says
} Case;

static const knVec3 zero = {0.0f, 0.0f, 0.0f};
static const knVec3 one = {1.0f, 1.0f, 1.0f};

static void Box(knSoup* s)
{
    AddBox(s, zero, one);
}

static void OpenBox(knSoup* s)
{
    AddBox(s, zero, one);
    s->triangleCount -= 2;
}

static void OneTriangle(knSoup* s)
{
    AddBox(s, zero, one);
    s->triangleCount = 1;
}

static void TwoSpheres(knSoup* s)
{
    AddSphere(s, zero, 1.0f, 2);
    AddSphere(s, one, 1.2f, 2);
}

static void SphereInSphere(knSoup* s)
{
    AddSphere(s, zero, 1.0f, 2);
    AddSphere(s, zero, 0.5f, 2);
}

static void Moebius(knSoup* s)
{
    AddMoebius(s, 40);
}

static void Klein(knSoup* s)
{
    AddKlein(s, 24, 12);
}

static void FlippedFaces(knSoup* s)
{
    AddSphere(s, zero, 1.0f, 2);
    TurnFaces(s, 10, 50);
}

static void InsideOut(knSoup* s)
{
    AddSphere(s, zero, 1.0f, 2);
    TurnFaces(s, 0, s->triangleCount);
}

static void DuplicateFaces(knSoup* s)
{
    AddBox(s, zero, one);
    for (int i = 0; i < 3; ++i)
    {
        const uint32_t* v = s->triangles[i].v;
        AddFace(s, v[0], v[1], v[2]);
    }
}

static void DoubleSheet(knSoup* s)
{
    AddSheet(s, 4, 0.0f);
    size_t count = s->triangleCount;
    for (size_t i = 0; i < count; ++i)
    {
        uint32_t a = s->triangles[i].v[0], b = s->triangles[i].v[1], c = s->triangles[i].v[2];
        AddFace(s, a, c, b);
    }
}

static void FlatSheet(knSoup* s)
{
    AddSheet(s, 4, 0.0f);
}

// One side of the box is split at the middle of an edge that its neighbour keeps whole.
static void TJunction(knSoup* s)
{
    AddBox(s, zero, one);
    knTriangle t = s->triangles[0];
    knVec3 a = s->positions[t.v[0]], b = s->positions[t.v[1]];
    uint32_t middle = 0;
    knSoup_AddPosition(s, knLerp(a, b, 0.5f), &middle);
    s->triangles[0].v[1] = middle;
    AddFace(s, middle, t.v[1], t.v[2]);
}

static void Huge(knSoup* s)
{
    AddBox(s, zero, one);
    MoveSoup(s, 1e20f, zero);
}

static void Tiny(knSoup* s)
{
    AddBox(s, zero, one);
    MoveSoup(s, 1e-20f, zero);
}

static void TenParts(knSoup* s)
{
    for (int i = 0; i < 10; ++i)
    {
        knVec3 lower = {2.0f * (float)i, 0.0f, 0.0f};
        AddBox(s, lower, knAdd(lower, one));
    }
}

static void TwoBoxesAtAnEdge(knSoup* s)
{
    AddBox(s, zero, one);
    AddBox(s, knMakeVec3(1.0f, 1.0f, 0.0f), knMakeVec3(2.0f, 2.0f, 1.0f));
}

static void TwoBoxesAtACorner(knSoup* s)
{
    AddBox(s, zero, one);
    AddBox(s, one, knMakeVec3(2.0f, 2.0f, 2.0f));
}

static void Needle(knSoup* s)
{
    AddBox(s, zero, one);
    knTriangle t = s->triangles[0];
    knVec3 a = s->positions[t.v[0]], b = s->positions[t.v[1]];
    uint32_t middle = 0;
    knSoup_AddPosition(s, knLerp(a, b, 0.5f), &middle);
    s->triangles[0].v[1] = middle;
    AddFace(s, middle, t.v[1], t.v[2]);
    // closes the gap that the split makes with a triangle without area
    AddFace(s, t.v[0], t.v[1], middle);
}

static void AllDegenerate(knSoup* s)
{
    AddBox(s, zero, one);
    for (size_t i = 0; i < s->triangleCount; ++i)
    {
        s->triangles[i].v[2] = s->triangles[i].v[1];
    }
}

static void Stray(knSoup* s)
{
    AddBox(s, zero, one);
    knSoup_AddPosition(s, knMakeVec3(0.5f, 0.5f, 0.5f), NULL);
}

static void Hub(knSoup* s)
{
    AddHub(s, 1000);
}

static void NotANumber(knSoup* s)
{
    AddBox(s, zero, one);
    s->positions[3].y = NAN;
}

static void Infinite(knSoup* s)
{
    AddBox(s, zero, one);
    s->positions[3].y = INFINITY;
}

static void HalfSphere(knSoup* s)
{
    AddSphere(s, zero, 1.0f, 2);
    s->triangleCount = s->triangleCount * 3 / 4;
}

#define GARBAGE "\x07\xF3 garbage \x01\x02\x03 that nobody reads \xFF\xFE as a mesh \x80\x81"
#define NODES   "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n"

// A prism with two faces of 300 corners: cut from corner to corner they would choke TetGen.
static char roundPrism[65536];

static void MakeRoundPrism(void)
{
    enum
    {
        sides = 300
    };
    size_t n = sizeof roundPrism;
    size_t at = 0;
    for (int i = 0; i < 2 * sides; ++i)
    {
        double angle = 6.283185307179586 * (i % sides) / sides;
        at += (size_t)snprintf(roundPrism + at, n - at, "v %.7f %.7f %.7f\n", cos(angle),
                               sin(angle), 0.3 * (i / sides));
    }
    for (int i = 0; i < sides; ++i)
    {
        int j = (i + 1) % sides;
        at += (size_t)snprintf(roundPrism + at, n - at, "f %d %d %d %d\n", i + 1, j + 1,
                               sides + j + 1, sides + i + 1);
    }
    for (int cap = 0; cap < 2; ++cap)
    {
        at += (size_t)snprintf(roundPrism + at, n - at, "f");
        for (int i = 0; i < sides; ++i)
        {
            int corner = cap == 0 ? sides - i : sides + i + 1;
            at += (size_t)snprintf(roundPrism + at, n - at, " %d", corner);
        }
        at += (size_t)snprintf(roundPrism + at, n - at, "\n");
    }
}

static const Case cases[] = {
    {"box.obj", Box, NULL, "", 0, 0, "as it is"},
    {"box.stl", Box, NULL, "", 0, 0, "as it is"},
    {"empty.obj", NULL, "", "", 2, 2, "empty"},
    {"missing.obj", NULL, NULL, "", 2, 2, "No such file"},
    {"noname", Box, NULL, "", 0, 0, "as it is"},
    {"garbage.stl", NULL, GARBAGE, "", 2, 2, "import failed"},
    {"garbage.ply", NULL, GARBAGE, "", 2, 2, "import failed"},
    {"garbage.glb", NULL, GARBAGE, "", 2, 2, "import failed"},
    {"garbage.off", NULL, GARBAGE, "", 2, 2, "import failed"},
    {"prose.obj", NULL, "This is no mesh.\nReally not.\n", "", 3, 3, "no triangle"},
    {"vertices.obj", NULL, "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "", 3, 3, "no triangle"},
    {"truncated.obj", NULL, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4",
     "", 0, 7, "hole"},
    {"index.obj", NULL, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "", 2, 2, "import failed"},
    {"nan.stl", NotANumber, NULL, "", 3, 3, "not-finite"},
    {"infinite.stl", Infinite, NULL, "", 3, 3, "not-finite"},
    {"one.obj", OneTriangle, NULL, "", 3, 3, "zero-volume"},
    {"open.obj", OpenBox, NULL, "", 0, 7, "hole"},
    {"open-refused.obj", OpenBox, NULL, "--no-fill", 3, 3, "hole"},
    {"open-strict.obj", OpenBox, NULL, "--no-repair", 3, 3, "hole"},
    {"spheres.obj", TwoSpheres, NULL, "", 3, 3, "self-intersection"},
    {"cavity.obj", SphereInSphere, NULL, "", 0, 7, "inside-out"},
    {"moebius.obj", Moebius, NULL, "", 3, 3, "not-orientable"},
    {"klein.obj", Klein, NULL, "", 3, 3, "not-orientable"},
    {"flipped.obj", FlippedFaces, NULL, "", 0, 7, "flipped"},
    {"inside-out.obj", InsideOut, NULL, "", 0, 7, "inside-out"},
    {"duplicates.obj", DuplicateFaces, NULL, "", 0, 7, "duplicate-triangle"},
    {"double-sheet.obj", DoubleSheet, NULL, "", 3, 3, "zero-volume"},
    {"sheet.obj", FlatSheet, NULL, "", 3, 3, "zero-volume"},
    {"t-junction.obj", TJunction, NULL, "", 0, 7, "t-junction"},
    {"huge.obj", Huge, NULL, "", 3, 3, "--scale"},
    {"huge-scaled.obj", Huge, NULL, "--scale 1e-10", 3, 3, "--scale"},
    {"huge-rescued.stl", Huge, NULL, "--scale 1e-12 --no-fill", 3, 3, "--scale"},
    {"tiny.stl", Tiny, NULL, "", 3, 3, "--scale"},
    {"ten.obj", TenParts, NULL, "", 0, 0, "10 components"},
    {"ten-refused.obj", TenParts, NULL, "--components refuse", 3, 3, "several-components"},
    {"edge.obj", TwoBoxesAtAnEdge, NULL, "", 0, 7, "non-manifold-edge"},
    {"corner.obj", TwoBoxesAtACorner, NULL, "", 0, 7, "non-manifold-vertex"},
    {"needle.obj", Needle, NULL, "", 0, 7, "degenerate"},
    {"degenerate.obj", AllDegenerate, NULL, "", 3, 3, "degenerate"},
    {"round.obj", NULL, roundPrism, "", 0, 0, "as it is"},
    {"mark.obj", NULL,
     "\xEF\xBB\xBFv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n", "", 0,
     0, "as it is"},
    {"stray.obj", Stray, NULL, "", 0, -1, ""},
    {"hub.obj", Hub, NULL, "", 0, 0, "as it is"},
    {"half.obj", HalfSphere, NULL, "", 0, 7, "hole"},
    {"hurry.obj", Hub, NULL, "--time-limit 0.01", -1, -1, "no answer within"},
    {"options.obj", Box, NULL, "--radius-edge 0.1", 1, -1, "radius-edge"},
    {"units.obj", Box, NULL, "--units parsec", 1, -1, "units"},
    {"lonely.node", NULL, NODES, "", 2, 2, "lonely.ele"},
};

static void PutObj(FILE* out, const knSoup* soup)
{
    for (size_t i = 0; i < soup->positionCount; ++i)
    {
        knVec3 p = soup->positions[i];
        fprintf(out, "v %.9g %.9g %.9g\n", (double)p.x, (double)p.y, (double)p.z);
    }
    for (size_t i = 0; i < soup->triangleCount; ++i)
    {
        const uint32_t* v = soup->triangles[i].v;
        fprintf(out, "f %u %u %u\n", v[0] + 1, v[1] + 1, v[2] + 1);
    }
}

static void PutStl(FILE* out, const knSoup* soup)
{
    char header[80] = {0};
    uint32_t count = (uint32_t)soup->triangleCount;
    fwrite(header, sizeof header, 1, out);
    fwrite(&count, sizeof count, 1, out);
    for (size_t i = 0; i < soup->triangleCount; ++i)
    {
        fwrite(&zero, sizeof zero, 1, out);
        for (int k = 0; k < 3; ++k)
        {
            fwrite(&soup->positions[soup->triangles[i].v[k]], sizeof(knVec3), 1, out);
        }
        fwrite("\0", 2, 1, out);
    }
}

static void WriteCase(const Case* c)
{
    if (!c->build && !c->text)
    {
        return;
    }
    FILE* out = fopen(c->name, "wb");
    assert_non_null(out);
    if (c->text)
    {
        fputs(c->text, out);
    }
    else
    {
        knSoup soup = knMakeSoup(NULL);
        c->build(&soup);
        (strstr(c->name, ".stl") ? PutStl : PutObj)(out, &soup);
        knDestroySoup(&soup);
    }
    assert_int_equal(fclose(out), 0);
}

// Runs a shell line and gives its exit code; what it prints lands in `text`.
static int RunLine(const char* line, char* text, size_t textSize)
{
    FILE* pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t count = fread(text, 1, textSize - 1, pipe);
    text[count] = 0;
    int status = pclose(pipe);
    // a signal is never the right end
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool Exists(const char* path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

// Nothing may be left that begins with the output's name: temporary files have it as a prefix.
static void AssertNothingLeft(const char* prefix)
{
    DIR* folder = opendir(".");
    assert_non_null(folder);
    for (const struct dirent* entry; (entry = readdir(folder)) != NULL;)
    {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
        {
            fail_msg("%s was left behind", entry->d_name);
        }
    }
    closedir(folder);
}

static bool Judge(const Case* c)
{
    char line[512], cooked[8192], examined[8192] = "";
    WriteCase(c);
    unlink("out.knap");
    snprintf(line, sizeof line, "%s cook %s -o out.knap %s 2>&1", KN_COMMAND, c->name, c->options);
    int cook = RunLine(line, cooked, sizeof cooked);
    bool rightCook = c->cook < 0 ? cook <= 7 : cook == c->cook;
    int doctor = -1;
    if (c->doctor >= 0)
    {
        snprintf(line, sizeof line, "%s doctor %s %s 2>&1", KN_COMMAND, c->name, c->options);
        doctor = RunLine(line, examined, sizeof examined);
    }
    bool rightDoctor = doctor == c->doctor;
    bool said = strstr(cooked, c->word) || strstr(examined, c->word);
    if (!rightCook || !rightDoctor || !said)
    {
        print_error("%s: cook gave %d (wanted %d), doctor %d (wanted %d), '%s' %s\ncook: %s\n"
                    "doctor: %s\n",
                    c->name, cook, c->cook, doctor, c->doctor, c->word,
                    said ? "was said" : "was not said", cooked, examined);
    }
    assert_int_equal(Exists("out.knap"), cook == 0);
    unlink("out.knap");
    AssertNothingLeft("out.knap");
    AssertNothingLeft(".knap-");
    return rightCook && rightDoctor && said;
}

static void BadInputGetsItsDiagnosis(void** state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < COUNT_OF(cases); ++i)
    {
        wrong += !Judge(&cases[i]);
    }
    assert_int_equal(wrong, 0);
}

static void WriteText(const char* path, const char* text)
{
    FILE* out = fopen(path, "wb");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

// Ready-made tetrahedra go round TetGen; broken ones are named.
static void TetrahedraAreTakenOrRefused(void** state)
{
    (void)state;
    const struct
    {
        const char* nodes;
        const char* tets;
        int code;
        const char* word;
    } pairs[] = {
        {NODES, "1 4 0\n0 0 1 2 3\n", 0, "tetrahedra           1"},
        {NODES, "# turned\n1 4 0\n0 1 0 2 3\n", 0, "tetrahedra           1"},
        {"4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n", "1 4 0\n1 1 2 3 4\n", 0, "points"},
        {NODES, "1 4 0\n0 0 1 2 9\n", 2, "node"},
        {NODES, "1 4 0\n0 0 1 2 2\n", 3, "flat"},
        {NODES, "1 4 0\n0 0 1 2\n", 2, "number"},
        {NODES, "2 4 0\n0 0 1 2 3\n1 0 1 2 3\n", 3, "overlap"},
        {NODES, "99999999 4 0\n", 2, "count"},
        {NODES, "", 2, "empty"},
        {"4 3 0 0\n0 0 0 nan\n", "1 4 0\n0 0 1 2 3\n", 2, "finite"},
        {"4 2 0 0\n0 0 0\n", "1 4 0\n0 0 1 2 3\n", 2, "3 dimensions"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); ++i)
    {
        char text[8192];
        WriteText("ready.node", pairs[i].nodes);
        WriteText("ready.ele", pairs[i].tets);
        int code = RunLine(KN_COMMAND " cook ready.ele -o out.knap 2>&1", text, sizeof text);
        if (code != pairs[i].code || !strstr(text, pairs[i].word))
        {
            fail_msg("pair %zu: exit code %d, wanted %d and '%s': %s", i, code, pairs[i].code,
                     pairs[i].word, text);
        }
        unlink("out.knap");
        AssertNothingLeft("out.knap");
    }
}

static void AnOldFileSurvivesAFailedCook(void** state)
{
    (void)state;
    char text[8192], kept[64];
    WriteText("out.knap", "precious");
    WriteText("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    assert_int_equal(RunLine(KN_COMMAND " cook bad.obj -o out.knap 2>&1", text, sizeof text), 3);
    FILE* in = fopen("out.knap", "rb");
    kept[fread(kept, 1, sizeof kept - 1, in)] = 0;
    fclose(in);
    assert_string_equal(kept, "precious");
    unlink("out.knap");
}

static void AnOutputThatCannotBeWrittenIsAnError(void** state)
{
    (void)state;
    char text[8192];
    Case box = {"box.obj", Box, NULL, "", 0, 0, ""};
    WriteCase(&box);
    assert_int_equal(
        RunLine(KN_COMMAND " cook box.obj -o nowhere/out.knap 2>&1", text, sizeof text), 5);
    assert_non_null(strstr(text, "nowhere/out.knap"));
    assert_int_equal(RunLine(KN_COMMAND " cook . -o out.knap 2>&1", text, sizeof text), 2);
    assert_int_equal(RunLine(KN_COMMAND " cook box.obj 2>&1", text, sizeof text), 1);
    assert_int_equal(RunLine(KN_COMMAND " simmer box.obj 2>&1", text, sizeof text), 1);
    assert_int_equal(RunLine(KN_COMMAND " info box.obj 2>&1", text, sizeof text), 2);
    assert_int_equal(RunLine(KN_COMMAND " draw box.obj -o x.png 2>&1", text, sizeof text), 2);
}

// Neither the source nor anything that is no plain file may be replaced.
static void NothingPreciousIsReplaced(void** state)
{
    (void)state;
    char text[8192];
    Case box = {"box.obj", Box, NULL, "", 0, 0, ""};
    WriteCase(&box);
    assert_int_equal(RunLine(KN_COMMAND " cook box.obj -o ./box.obj 2>&1", text, sizeof text), 1);
    assert_non_null(strstr(text, "replace the input"));
    unlink("pipe");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(RunLine(KN_COMMAND " cook box.obj -o pipe 2>&1", text, sizeof text), 5);
    struct stat s;
    assert_int_equal(stat("pipe", &s), 0);
    assert_true(S_ISFIFO(s.st_mode));
    // nor does a pipe that nobody writes to keep a reader waiting
    assert_int_equal(RunLine(KN_COMMAND " info pipe 2>&1", text, sizeof text), 2);
    unlink("pipe");
    // a link is followed
    WriteText("real.knap", "old");
    unlink("link.knap");
    assert_int_equal(symlink("real.knap", "link.knap"), 0);
    assert_int_equal(RunLine(KN_COMMAND " cook box.obj -o link.knap 2>&1", text, sizeof text), 0);
    assert_int_equal(lstat("link.knap", &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(RunLine(KN_COMMAND " info real.knap 2>&1", text, sizeof text), 0);
}

static void AStrangeEnvironmentDoesNoHarm(void** state)
{
    (void)state;
    char text[8192];
    Case box = {"box.obj", Box, NULL, "", 0, 0, ""};
    WriteCase(&box);
    assert_int_equal(
        RunLine(KN_COMMAND " cook box.obj -o out.knap <&- >&- 2>&-", text, sizeof text), 0);
    // what cannot be printed is an error, not a success
    assert_int_equal(RunLine(KN_COMMAND " info out.knap 2>&1 >/dev/full", text, sizeof text), 5);
    // a disk without room for the file
    assert_int_equal(
        RunLine("(ulimit -f 1; " KN_COMMAND " cook box.obj -o small.knap 2>&1)", text, sizeof text),
        5);
    AssertNothingLeft("small.knap");
    AssertNothingLeft(".knap-");
    unlink("out.knap");
}

int main(void)
{
    if (chdir(KN_TEST_DIR) != 0)
    {
        return 1;
    }
    MakeRoundPrism();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(BadInputGetsItsDiagnosis),
        cmocka_unit_test(TetrahedraAreTakenOrRefused),
        cmocka_unit_test(AnOldFileSurvivesAFailedCook),
        cmocka_unit_test(AnOutputThatCannotBeWrittenIsAnError),
        cmocka_unit_test(NothingPreciousIsReplaced),
        cmocka_unit_test(AStrangeEnvironmentDoesNoHarm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
