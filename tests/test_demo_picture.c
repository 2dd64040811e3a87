// SPDX-License-Identifier: Zlib
// The pictures of the demo against ones that were looked at. Drivers round differently: a few
// pixels may differ, none of it much.
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#include <stb/stb_image.h>

typedef struct Picture
{
    unsigned char* pixels;
    int width, height;
} Picture;

static Picture Load(const char* path)
{
    Picture p = {0};
    int channels;
    p.pixels = stbi_load(path, &p.width, &p.height, &channels, 3);
    if (!p.pixels)
    {
        fail_msg("%s: no picture", path);
    }
    return p;
}

typedef struct Difference
{
    double mean; // of a channel, of 255
    double far;  // share of the pixels that are off by more than 32
} Difference;

static Difference Compare(const Picture* a, const Picture* b)
{
    assert_true(a->width == b->width && a->height == b->height);
    Difference d = {0};
    int count = a->width * a->height;
    for (int i = 0; i < count; ++i)
    {
        int most = 0;
        for (int k = 0; k < 3; ++k)
        {
            int off = abs(a->pixels[3 * i + k] - b->pixels[3 * i + k]);
            d.mean += off;
            most = off > most ? off : most;
        }
        d.far += most > 32;
    }
    d.mean /= 3.0 * count;
    d.far /= count;
    return d;
}

static bool IsLike(Difference d)
{
    return d.mean < 1.0 && d.far < 0.01;
}

// A scene after so many steps: 0 for the start, which no simulation has changed yet. `options` are
// more of them for the demo.
static Picture Draw(const char* scene, int steps, const char* options)
{
    const char* folder = getenv("KN_TEST_MODELS");
    char line[2048], path[64];
    snprintf(path, sizeof path, "%s-%04d.png", scene, steps);
    remove(path);
    snprintf(line, sizeof line,
             KN_DEMO " %s --headless --steps %d --every 10000 --assets %s --size 480x300 "
                     "--png %s-%%04d.png --stats %s.json %s >%s.log 2>&1",
             scene, steps > 0 ? steps : 1, folder ? folder : "../models", scene, scene, options,
             scene);
    int status = system(line);
    if (status != 0)
    {
        fail_msg("%s: %d, see %s.log", scene, status, scene);
    }
    return Load(path);
}

static const char* const scenes[] = {"plates", "wall"};

static void PicturesAreAsTheyWere(void** state)
{
    (void)state;
    Picture golden[COUNT_OF(scenes)], drawn[COUNT_OF(scenes)];
    for (size_t i = 0; i < COUNT_OF(scenes); ++i)
    {
        char path[1024];
        snprintf(path, sizeof path, KN_SOURCE_DIR "/tests/golden/%s.png", scenes[i]);
        golden[i] = Load(path);
        drawn[i] = Draw(scenes[i], 0, "");
        Difference d = Compare(&golden[i], &drawn[i]);
        print_message("%s: %.3f of 255, %.4f of the pixels far off\n", scenes[i], d.mean, d.far);
        assert_true(IsLike(d));
    }
    // the same measure tells one scene from another
    assert_false(IsLike(Compare(&golden[0], &drawn[1])));
    for (size_t i = 0; i < COUNT_OF(scenes); ++i)
    {
        stbi_image_free(golden[i].pixels);
        stbi_image_free(drawn[i].pixels);
    }
}

static Picture DrawPiggy(int steps, const char* config)
{
    FILE* file = fopen("fade.ini", "w");
    assert_non_null(file);
    fprintf(file, "[break]\ndebrisShare = 1\n%s", config);
    fclose(file);
    return Draw("piggy", steps, "--config fade.ini");
}

// Half through the time that it fades, debris is half seen; then it is gone. The fall ends at
// step 33.
static void DebrisFades(void** state)
{
    (void)state;
    Picture whole = DrawPiggy(43, "");
    Picture waiting = DrawPiggy(43, "debrisLifetime = 0.3\ndebrisFade = 0\n");
    Picture fading = DrawPiggy(43, "debrisLifetime = 0.3\ndebrisFade = 0.3\n");
    Picture gone = DrawPiggy(120, "debrisLifetime = 0.3\ndebrisFade = 0.3\n");
    double all = Compare(&whole, &gone).mean, left = Compare(&fading, &gone).mean;
    print_message("of %.2f of 255 a share of %.2f is left\n", all, left / all);
    assert_true(Compare(&whole, &waiting).mean == 0.0);
    assert_true(all > 2.0 && left > 0.3 * all && left < 0.7 * all);
    stbi_image_free(whole.pixels);
    stbi_image_free(waiting.pixels);
    stbi_image_free(fading.pixels);
    stbi_image_free(gone.pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PicturesAreAsTheyWere),
        cmocka_unit_test(DebrisFades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
