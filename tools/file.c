// SPDX-License-Identifier: Zlib
#define _XOPEN_SOURCE 700 // stat, fsync, mkstemp, realpath

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

bool knIsSameFile(const char* a, const char* b)
{
    struct stat s, t;
    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

bool knWriteAll(int fd, const void* data, size_t size)
{
    const unsigned char* bytes = data;
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

// The file that a name leads to, whether it exists or not.
static knResult ResolveTarget(const char* path, char target[MAX_PATH])
{
    struct stat s;
    bool exists = stat(path, &s) == 0;
    if (exists && !S_ISREG(s.st_mode))
    {
        return knFail(kn_errorFile, "%s: cannot be written: it is not a plain file", path);
    }
    bool isLink = lstat(path, &s) == 0 && S_ISLNK(s.st_mode);
    char* real = exists && isLink ? realpath(path, NULL) : NULL;
    int length = snprintf(target, MAX_PATH, "%s", real ? real : path);
    free(real);
    if (length < 0 || length >= MAX_PATH || (isLink && !exists))
    {
        return knFail(kn_errorFile,
                      "%s: cannot be written: the name is too long or a link to "
                      "nowhere",
                      path);
    }
    return kn_success;
}

// A short name of its own in the folder of the target: its name may be as long as names can be.
static int OpenBeside(const char* target, char temporary[MAX_PATH])
{
    int folder = (int)(knFileName(target) - target);
    int length = snprintf(temporary, MAX_PATH, "%.*s.knap-XXXXXX", folder, target);
    errno = ENAMETOOLONG;
    return length < 0 || length >= MAX_PATH ? -1 : mkstemp(temporary);
}

knResult knWriteFile(const char* path, const void* bytes, size_t size)
{
    char target[MAX_PATH], temporary[MAX_PATH];
    knResult result = ResolveTarget(path, target);
    if (result != kn_success)
    {
        return result;
    }
    int fd = OpenBeside(target, temporary);
    if (fd < 0)
    {
        return knFail(kn_errorFile, "%s: cannot be written: %s", path, strerror(errno));
    }
    // mkstemp makes it private; a cooked file is as readable as any other
    mode_t mask = umask(0);
    umask(mask);
    bool good = knWriteAll(fd, bytes, size) && fchmod(fd, 0666 & ~mask) == 0 && fsync(fd) == 0;
    int reason = errno;
    good = (close(fd) == 0) && good;
    if (good && rename(temporary, target) != 0)
    {
        good = false;
        reason = errno;
    }
    if (!good)
    {
        unlink(temporary);
        return knFail(kn_errorFile, "%s: cannot be written: %s", path, strerror(reason));
    }
    return kn_success;
}
