// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // mkstemp

#include "picture_save.h"

#include "file.h"

#include <stdlib.h>
#include <unistd.h>

// Aside first: stb writes to a name, and what it leaves behind on failure must not be the target.
knResult knSavePicture(const knPicture* picture, const char* path)
{
    char aside[] = "/tmp/knap-XXXXXX";
    int fd = mkstemp(aside);
    if (fd < 0)
    {
        return knFail(kn_errorFile, "no temporary file can be had in /tmp");
    }
    close(fd);
    char* bytes = NULL;
    size_t size = 0;
    knResult result = knSavePng(picture, aside);
    result = result == kn_success ? knReadText(aside, NULL, &bytes, &size) : result;
    if (result == kn_success)
    {
        result = knWriteFile(path, bytes, size);
        knRelease(NULL, bytes, size + 1, 1);
    }
    unlink(aside);
    return result;
}
