// SPDX-License-Identifier: Zlib
#include "demos/png.h"

#include "knap/memory.h"

#include <epoxy/gl.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

knResult knSavePng(const char* path, const uint8_t* rgb, int width, int height)
{
    return stbi_write_png(path, width, height, 3, rgb, 3 * width)
               ? kn_success
               : knFail(kn_errorFile, "%s: the picture could not be written", path);
}

static void ReadFramebuffer(uint8_t* rgb, int width, int height)
{
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    for (int y = 0; y < height; ++y)
    {
        glReadPixels(0, height - 1 - y, width, 1, GL_RGB, GL_UNSIGNED_BYTE,
                     rgb + (size_t)3 * (size_t)width * (size_t)y);
    }
}

// Of the view, or of the framebuffer when there is none.
static knResult Save(const char* path, knView* view, int width, int height)
{
    size_t size = (size_t)3 * (size_t)width * (size_t)height;
    uint8_t* rgb = knAllocate(NULL, size, 1);
    if (!rgb)
    {
        return kn_errorMemory;
    }
    if (view)
    {
        knView_ReadPixels(view, rgb);
    }
    else
    {
        ReadFramebuffer(rgb, width, height);
    }
    knResult result = knSavePng(path, rgb, width, height);
    knRelease(NULL, rgb, size, 1);
    return result;
}

knResult knSaveView(const char* path, knView* view, int width, int height)
{
    return Save(path, view, width, height);
}

knResult knSaveFramebuffer(const char* path, int width, int height)
{
    return Save(path, NULL, width, height);
}
