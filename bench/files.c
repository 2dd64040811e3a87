// SPDX-License-Identifier: Zlib
#define _DEFAULT_SOURCE // POSIX and mkdtemp

#include "bench/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESS_SECONDS 600

knResult knJoinPath(char path[PATH_MAX], const char* folder, const char* name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    bool fits = length >= 0 && length < PATH_MAX;
    return fits ? kn_success : knFail(kn_errorFile, "%s: the path is too long", name);
}

bool knPathExists(const char* path)
{
    return access(path, F_OK) == 0;
}

knResult knProgramFolder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
    {
        return knFail(kn_errorFile, "cannot tell where the program lies: %s", strerror(errno));
    }
    folder[length] = 0;
    char* slash = strrchr(folder, '/');
    *(slash ? slash : folder) = 0;
    return kn_success;
}

knResult knFindUpwards(char path[PATH_MAX], const char* name)
{
    char folder[PATH_MAX];
    knResult result = knProgramFolder(folder);
    while (result == kn_success)
    {
        result = knJoinPath(path, folder, name);
        if (result == kn_success && knPathExists(path))
        {
            return kn_success;
        }
        char* slash = strrchr(folder, '/');
        if (!slash)
        {
            break;
        }
        *slash = 0;
    }
    return knFail(kn_errorFile, "%s is not beside or above the program", name);
}

knResult knFindMesh(char path[PATH_MAX], const char* folder, const char* name)
{
    char found[PATH_MAX];
    knResult result = folder ? kn_success : knFindUpwards(found, "demos/assets");
    return result == kn_success ? knJoinPath(path, folder ? folder : found, name) : result;
}

knResult knMakeScratchFolder(char folder[PATH_MAX])
{
    const char* parent = getenv("TMPDIR");
    knResult result =
        knJoinPath(folder, parent && parent[0] ? parent : "/tmp", "knap-bench-XXXXXX");
    if (result == kn_success && !mkdtemp(folder))
    {
        result = knFail(kn_errorFile, "%s: %s", folder, strerror(errno));
    }
    return result;
}

void knRemoveScratchFolder(const char* folder)
{
    DIR* dir = opendir(folder);
    char path[PATH_MAX];
    for (struct dirent* entry = NULL; dir && (entry = readdir(dir)) != NULL;)
    {
        // unlink refuses the dots and other folders
        if (knJoinPath(path, folder, entry->d_name) == kn_success)
        {
            unlink(path);
        }
    }
    if (dir)
    {
        closedir(dir);
    }
    rmdir(folder);
}

bool knProgramIsInPath(const char* name)
{
    const char* path = getenv("PATH");
    while (path && *path)
    {
        size_t length = strcspn(path, ":");
        char candidate[PATH_MAX];
        int written = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, path, name);
        if (written > 0 && written < PATH_MAX && access(candidate, X_OK) == 0)
        {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

// Only calls that are safe between fork and exec in a process with threads.
static void BecomeProgram(const char* const* arguments, const char* outputPath)
{
    int output = open(outputPath ? outputPath : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (output < 0 || dup2(output, STDOUT_FILENO) < 0)
    {
        _exit(126);
    }
    // survives exec, so a program that hangs ends itself
    alarm(MAX_PROCESS_SECONDS);
    execvp(arguments[0], (char* const*)(uintptr_t)arguments);
    _exit(127);
}

knResult knRunProgram(const char* const* arguments, const char* outputPath)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
    {
        return knFail(kn_errorProcess, "%s: %s", arguments[0], strerror(errno));
    }
    if (pid == 0)
    {
        BecomeProgram(arguments, outputPath);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
    {
        if (errno != EINTR)
        {
            return knFail(kn_errorProcess, "%s: %s", arguments[0], strerror(errno));
        }
    }
    if (WIFSIGNALED(status))
    {
        return knFail(kn_errorProcess, "%s: ended by signal %d", arguments[0], WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0
               ? kn_success
               : knFail(kn_errorProcess, "%s: exit code %d", arguments[0], WEXITSTATUS(status));
}

static knResult FailFile(const char* path)
{
    return knFail(kn_errorFile, "%s: %s", path, strerror(errno));
}

knResult knReadWholeFile(const char* path, void** bytes, size_t* size)
{
    FILE* file = fopen(path, "rb");
    if (!file)
    {
        return FailFile(path);
    }
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    void* memory = length > 0 ? knAllocate(NULL, (size_t)length, 1) : NULL;
    rewind(file);
    if (!memory || fread(memory, 1, (size_t)length, file) != (size_t)length)
    {
        knRelease(NULL, memory, (size_t)(length > 0 ? length : 0), 1);
        fclose(file);
        return knFail(kn_errorFile, "%s: empty or not readable", path);
    }
    fclose(file);
    *bytes = memory;
    *size = (size_t)length;
    return kn_success;
}

knResult knWriteWholeFile(const char* path, const void* bytes, size_t size)
{
    FILE* file = fopen(path, "wb");
    bool good = file && fwrite(bytes, 1, size, file) == size;
    good = file && fclose(file) == 0 && good;
    return good ? kn_success : FailFile(path);
}

knResult knWriteObj(const char* path, const knSurfaceMesh* surface)
{
    FILE* file = fopen(path, "w");
    if (!file)
    {
        return FailFile(path);
    }
    for (uint32_t i = 0; i < surface->positionCount; ++i)
    {
        knDVec3 p = knToDouble(surface->positions[i]);
        fprintf(file, "v %.9g %.9g %.9g\n", p.x, p.y, p.z);
    }
    for (uint32_t i = 0; i < surface->attributeCount; ++i)
    {
        const knCornerAttribute* a = &surface->attributes[i];
        knDVec3 n = knToDouble(a->normal);
        fprintf(file, "vt %.9g %.9g\nvn %.9g %.9g %.9g\n", (double)a->u, (double)a->v, n.x, n.y,
                n.z);
    }
    for (uint32_t i = 0; i < surface->triangleCount; ++i)
    {
        const uint32_t* v = surface->triangles[i].v;
        const uint32_t* a = surface->cornerAttributes[i].v;
        fprintf(file, "f %u/%u/%u %u/%u/%u %u/%u/%u\n", v[0] + 1, a[0] + 1, a[0] + 1, v[1] + 1,
                a[1] + 1, a[1] + 1, v[2] + 1, a[2] + 1, a[2] + 1);
    }
    bool good = !ferror(file);
    good = fclose(file) == 0 && good;
    return good ? kn_success : FailFile(path);
}

// "f 1/2/3 ..." as "3 0 ..."; false for what is no polygon of positive indices.
static bool WriteOffFace(FILE* off, const char* line)
{
    long corners[64];
    int count = 0;
    for (const char* s = line + 1; count < 64; ++count)
    {
        char* end = NULL;
        corners[count] = strtol(s, &end, 10);
        if (end == s)
        {
            break;
        }
        if (corners[count] < 1)
        {
            return false;
        }
        s = end + strcspn(end, " \t\r\n");
    }
    fprintf(off, "%d", count);
    for (int i = 0; i < count; ++i)
    {
        fprintf(off, " %ld", corners[i] - 1);
    }
    fputc('\n', off);
    return count >= 3 && count < 64;
}

// Both kinds of line in one pass each: OFF wants the counts first and the vertices before the
// faces.
static bool CopyObjToOff(FILE* obj, FILE* off)
{
    char line[1024];
    unsigned long counts[2] = {0, 0};
    while (fgets(line, sizeof line, obj))
    {
        counts[0] += strncmp(line, "v ", 2) == 0;
        counts[1] += strncmp(line, "f ", 2) == 0;
    }
    fprintf(off, "OFF\n%lu %lu 0\n", counts[0], counts[1]);
    bool good = counts[0] > 0 && counts[1] > 0;
    for (int pass = 0; pass < 2; ++pass)
    {
        rewind(obj);
        while (good && fgets(line, sizeof line, obj))
        {
            if (pass == 0 && strncmp(line, "v ", 2) == 0)
            {
                fputs(line + 2, off);
            }
            if (pass == 1 && strncmp(line, "f ", 2) == 0)
            {
                good = WriteOffFace(off, line);
            }
        }
    }
    return good && !ferror(obj) && !ferror(off);
}

knResult knConvertObjToOff(const char* objPath, const char* offPath)
{
    FILE* obj = fopen(objPath, "r");
    FILE* off = obj ? fopen(offPath, "w") : NULL;
    bool good = off && CopyObjToOff(obj, off);
    if (obj)
    {
        fclose(obj);
    }
    if (off)
    {
        good = fclose(off) == 0 && good;
    }
    return good ? kn_success : knFail(kn_errorFile, "%s: cannot be turned into OFF", objPath);
}
