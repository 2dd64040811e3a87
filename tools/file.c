// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // stat, fsync, mkstemp

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PATH 4096

bool knHasEnding(const char* path, const char* ending)
{
    size_t length = strlen(path);
    size_t endingLength = strlen(ending);
    return length >= endingLength && strcasecmp(path + length - endingLength, ending) == 0;
}

const char* knFileName(const char* path)
{
    const char* slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

knResult knCheckReadable(const char* path)
{
    struct stat s;
    if (stat(path, &s) != 0)
    {
        return knFail(kn_errorFile, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(s.st_mode))
    {
        return knFail(kn_errorFile, "%s: not a plain file", path);
    }
    if (s.st_size == 0)
    {
        return knFail(kn_errorFormat, "%s: the file is empty", path);
    }
    return access(path, R_OK) == 0 ? kn_success
                                   : knFail(kn_errorFile, "%s: %s", path, strerror(errno));
}

knResult knReadText(const char* path, const knAllocator* allocator, char** text, size_t* size)
{
    knResult result = knCheckReadable(path);
    FILE* file = result == kn_success ? fopen(path, "rb") : NULL;
    struct stat s;
    if (!file || fstat(fileno(file), &s) != 0)
    {
        return result != kn_success ? result
                                    : knFail(kn_errorFile, "%s: %s", path, strerror(errno));
    }
    size_t count = (size_t)s.st_size;
    char* bytes = knAllocate(allocator, count + 1, 1);
    result = bytes ? kn_success : kn_errorMemory;
    if (bytes && fread(bytes, 1, count, file) != count)
    {
        knRelease(allocator, bytes, count + 1, 1);
        result = knFail(kn_errorFile, "%s: could not be read to its end", path);
    }
    fclose(file);
    if (result == kn_success)
    {
        bytes[count] = 0;
        *text = bytes;
        *size = count;
    }
    return result;
}

static bool WriteAll(int fd, const unsigned char* bytes, size_t size)
{
    while (size > 0)
    {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
        {
            continue;
        }
        if (written <= 0)
        {
            return false;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

knResult knWriteFile(const char* path, const void* bytes, size_t size)
{
    char temporary[MAX_PATH];
    int length = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof temporary)
    {
        return knFail(kn_errorFile, "%s: the name is too long", path);
    }
    int fd = mkstemp(temporary);
    if (fd < 0)
    {
        return knFail(kn_errorFile, "%s: cannot be written: %s", path, strerror(errno));
    }
    // mkstemp makes it private; a cooked file is as readable as any other
    mode_t mask = umask(0);
    umask(mask);
    bool good = WriteAll(fd, bytes, size) && fchmod(fd, 0666 & ~mask) == 0 && fsync(fd) == 0;
    good = (close(fd) == 0) && good;
    good = good && rename(temporary, path) == 0;
    if (!good)
    {
        int reason = errno;
        unlink(temporary);
        return knFail(kn_errorFile, "%s: cannot be written: %s", path, strerror(reason));
    }
    return kn_success;
}
