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

// The start of a scene, which no simulation has changed yet.
static Picture Draw(const char* scene)
{
    const char* folder = getenv("KN_TEST_MODELS");
    char line[2048], path[64];
    snprintf(path, sizeof path, "%s-0000.png", scene);
    remove(path);
    snprintf(line, sizeof line,
             KN_DEMO " %s --headless --steps 1 --every 2 --assets %s --size 480x300 "
                     "--png %s-%%04d.png >%s.log 2>&1",
             scene, folder ? folder : "../models", scene, scene);
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
        drawn[i] = Draw(scenes[i]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PicturesAreAsTheyWere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
