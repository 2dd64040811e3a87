// SPDX-License-Identifier: Zlib

// PNG files.

#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#endif
#include <stb/stb_image_write.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

typedef struct PngSink
{
    FILE* file;
    bool isWritten;
} PngSink;

static void WriteBytes(void* user, void* data, int size)
{
    PngSink* sink = user;
    sink->isWritten = size > 0 && fwrite(data, 1, (size_t)size, sink->file) == (size_t)size;
}

knResult knSavePng(const knPicture* picture, const char* path)
{
    if (!picture || !picture->pixels || !path || picture->width < 1 || picture->height < 1)
    {
        return knFail(kn_errorArgument, "picture: there is no picture or no path to save it to");
    }
    FILE* file = fopen(path, "wb");
    if (!file)
    {
        return knFail(kn_errorFile, "%s: cannot be written: %s", path, strerror(errno));
    }
    PngSink sink = {file, false};
    int made = stbi_write_png_to_func(WriteBytes, &sink, picture->width, picture->height, 3,
                                      picture->pixels, 3 * picture->width);
    bool isClosed = fclose(file) == 0;
    if (!made)
    {
        return knFail(kn_errorMemory, "%s: out of memory while packing the picture", path);
    }
    if (!sink.isWritten || !isClosed)
    {
        return knFail(kn_errorFile, "%s: the picture could not be written: %s", path,
                      strerror(errno));
    }
    return kn_success;
}
