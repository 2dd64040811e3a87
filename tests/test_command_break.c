// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // popen

#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int Run(const char* arguments, char* output, size_t capacity)
{
    char line[2048];
    snprintf(line, sizeof line, "%s %s 2>&1", KN_COMMAND, arguments);
    FILE* pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t size = fread(output, 1, capacity - 1, pipe);
    output[size] = 0;
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int CookBrick(void** state)
{
    (void)state;
    char output[4096];
    return Run("cook " KN_SOURCE_DIR "/demos/assets/brick.obj -o brick.knap --modes 12", output,
               sizeof output);
}

static double NumberAfter(const char* text, const char* key)
{
    const char* place = strstr(text, key);
    assert_non_null(place);
    return strtod(place + strlen(key), NULL);
}

// What is in an OBJ file: objects, groups, materials, faces with all three indices in range.
typedef struct ObjCount
{
    int objects, insides, outsides, faces, vertices, texts, normals, bad;
} ObjCount;

static ObjCount ReadObj(const char* path)
{
    FILE* in = fopen(path, "r");
    assert_non_null(in);
    ObjCount c = {0};
    char line[512];
    while (fgets(line, sizeof line, in))
    {
        char name[64];
        sprintf(name, "o piece_%d\n", c.objects);
        c.objects += strcmp(line, name) == 0;
        c.insides += strcmp(line, "usemtl inside\n") == 0;
        c.outsides += strcmp(line, "usemtl outside\n") == 0;
        c.vertices += strncmp(line, "v ", 2) == 0;
        c.texts += strncmp(line, "vt ", 3) == 0;
        c.normals += strncmp(line, "vn ", 3) == 0;
        int v[9];
        if (line[0] == 'f')
        {
            c.faces += 1;
            int got = sscanf(line, "f %d/%d/%d %d/%d/%d %d/%d/%d", &v[0], &v[1], &v[2], &v[3],
                             &v[4], &v[5], &v[6], &v[7], &v[8]);
            c.bad += got != 9;
            for (int i = 0; i < got; ++i)
            {
                int limit = i % 3 == 0 ? c.vertices : i % 3 == 1 ? c.texts : c.normals;
                c.bad += v[i] < 1 || v[i] > limit;
            }
        }
    }
    fclose(in);
    return c;
}

// One object per piece, each with an outside and an inside; the pieces weigh what the brick does.
static void ObjHasAllPieces(void** state)
{
    (void)state;
    char output[16384];
    assert_int_equal(
        Run("break brick.knap --impulse 20 --json -o pieces.obj", output, sizeof output), 0);
    int pieces = (int)NumberAfter(output, "\"pieces\": ");
    assert_true(pieces >= 3);
    ObjCount c = ReadObj("pieces.obj");
    assert_int_equal(c.objects, pieces);
    assert_int_equal(c.insides, pieces);
    assert_int_equal(c.outsides, pieces);
    assert_int_equal(c.bad, 0);
    assert_true(c.faces > 464);
    double sum = 0.0;
    const char* place = strstr(output, "\"masses\": [");
    assert_non_null(place);
    place += strlen("\"masses\": [");
    for (int i = 0; i < pieces; ++i)
    {
        char* end = NULL;
        sum += strtod(place, &end);
        place = end + strspn(end, ", \n");
    }
    ASSERT_NEAR(sum, 3.8346850540017843, 1e-6);
}

static void SoftHitHoldsAndSaysWhatBreaks(void** state)
{
    (void)state;
    char output[4096];
    assert_int_equal(Run("break brick.knap --impulse 0.01 -o whole.obj", output, sizeof output), 0);
    assert_non_null(strstr(output, "it holds"));
    assert_int_equal(ReadObj("whole.obj").objects, 1);
}

static void SameSeedWritesTheSameBytes(void** state)
{
    (void)state;
    char output[4096];
    assert_int_equal(Run("break brick.knap --impulse 20 --seed 4 -o a.obj", output, sizeof output),
                     0);
    assert_int_equal(Run("break brick.knap --impulse 20 --seed 4 -o b.obj", output, sizeof output),
                     0);
    assert_int_equal(system("cmp -s a.obj b.obj"), 0);
}

static void PatternsAndPicturesAreWritten(void** state)
{
    (void)state;
    char output[4096];
    unlink("brick.png");
    assert_int_equal(
        Run("break brick.knap --pattern voronoi --pieces 9 --size 160x120 -o brick.png", output,
            sizeof output),
        0);
    assert_int_equal(access("brick.png", R_OK), 0);
    assert_int_equal(Run("break brick.knap --pattern plane -o plane.obj", output, sizeof output),
                     0);
    assert_in_range(ReadObj("plane.obj").objects, 2, 4);
    assert_int_equal(
        Run("break brick.knap --pattern radial --pieces 12 -o r.obj", output, sizeof output), 0);
    assert_true(ReadObj("r.obj").objects > 4);
}

// Each says what is wrong and what to do.
// Energy, paint and anchors reach the event: less of the one, fewer pieces; where it is painted
// strong it holds; of an anchored brick some pieces stay.
static void EnergyPaintAndAnchorsCount(void** state)
{
    (void)state;
    char output[65536];
    assert_int_equal(Run("break brick.knap --impulse 20 --json -o a.obj", output, sizeof output),
                     0);
    double pieces = NumberAfter(output, "\"pieces\": ");
    double spent = NumberAfter(output, "\"spentEnergy\": ");
    char line[256];
    snprintf(line, sizeof line, "break brick.knap --impulse 20 --energy %g --json -o a.obj",
             2.0 * spent);
    assert_int_equal(Run(line, output, sizeof output), 0);
    assert_true(NumberAfter(output, "\"pieces\": ") < pieces);
    assert_true(NumberAfter(output, "\"spentEnergy\": ") <= 2.0 * spent);
    assert_int_equal(
        Run("break brick.knap --impulse 20 --paint 0,0,0,9,90 -o a.obj", output, sizeof output), 0);
    assert_non_null(strstr(output, "it holds"));
    assert_int_equal(Run("cook " KN_SOURCE_DIR
                         "/demos/assets/brick.obj -o held.knap --modes 12 --anchor below=0.001",
                         output, sizeof output),
                     0);
    assert_int_equal(Run("break held.knap --impulse 60 --json -o a.obj", output, sizeof output), 0);
    double held = NumberAfter(output, "\"held\": ");
    assert_true(held >= 1.0 && held < NumberAfter(output, "\"pieces\": "));
}

static void WrongArgumentsAreNamed(void** state)
{
    (void)state;
    const struct
    {
        const char* arguments;
        int code;
        const char* word;
    } cases[] = {
        {"brick.knap", 1, "-o"},
        {"brick.knap -o x.stl", 1, ".obj or .png"},
        {"brick.knap -o x.obj --material wood", 1, "ceramic"},
        {"brick.knap -o x.obj --pattern web", 1, "voronoi"},
        {"brick.knap -o x.obj --at 1,2", 1, "three numbers"},
        {"brick.knap -o x.obj --at 5,5,5", 1, "the nearest point"},
        {"brick.knap -o x.obj --dir 0,0,0", 1, "direction"},
        {"brick.knap -o x.obj --impulse -3", 1, "--impulse"},
        {"brick.knap -o x.obj --pieces 2.5", 1, "whole number"},
        {"brick.knap -o x.obj --energy 0", 1, "--energy"},
        {"brick.knap -o x.obj --paint 0,0,0,1", 1, "radius"},
        {"brick.knap -o x.obj --paint 0,0,0,1,500", 1, "(0, 100]"},
        {"nothing.knap -o x.obj", 2, "nothing.knap"},
        {"brick.knap -o nowhere/x.obj", 5, "nowhere"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); ++i)
    {
        char line[512];
        char output[4096];
        snprintf(line, sizeof line, "break %s", cases[i].arguments);
        assert_int_equal(Run(line, output, sizeof output), cases[i].code);
        if (!strstr(output, cases[i].word))
        {
            print_error("%s: %s\n", cases[i].arguments, output);
            fail();
        }
        assert_int_not_equal(access("x.obj", F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ObjHasAllPieces),
        cmocka_unit_test(SoftHitHoldsAndSaysWhatBreaks),
        cmocka_unit_test(SameSeedWritesTheSameBytes),
        cmocka_unit_test(PatternsAndPicturesAreWritten),
        cmocka_unit_test(EnergyPaintAndAnchorsCount),
        cmocka_unit_test(WrongArgumentsAreNamed),
    };
    return cmocka_run_group_tests(tests, CookBrick, NULL);
}
