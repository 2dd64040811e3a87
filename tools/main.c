// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // fcntl

#include "command.h"
#include "predicates.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct Command
{
    const char* name;
    int (*run)(int argc, char** argv);
    const char* purpose;
} Command;

static const Command commands[] = {
    {"cook", knCommandCook, "make a cooked asset from a mesh"},
    {"doctor", knCommandDoctor, "say what is wrong with a mesh and what cook would do about it"},
    {"info", knCommandInfo, "print what is in a cooked asset"},
    {"draw", knCommandDraw, "make a picture of a cooked asset"},
    {"field", knCommandField, "draw the distance field of a cooked asset beside the truth"},
    {"break", knCommandBreak, "hit a cooked asset and write its pieces"},
    {"selfcollide", knCommandSelfcollide, "find the triangles of a surface that meet"},
    {"config", knCommandConfig, "print a config file with every key, or check one"},
    {"plot", knCommandPlot, "draw columns of a CSV file as curves"},
    {"ccd", knCommandCcd, "run continuous collision tests from a file"},
};

static const int commandCount = (int)(sizeof commands / sizeof commands[0]);

static int PrintHelp(FILE* out)
{
    fprintf(out, "knap: brittle fracture for games\n\nusage: knap COMMAND [OPTION...]\n\n");
    for (int i = 0; i < commandCount; ++i)
    {
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].purpose);
    }
    fprintf(out, "\n'knap COMMAND --help' tells more.\n"
                 "This program links TetGen and is under the AGPL; the library that a game links "
                 "is not.\n");
    return out == stdout ? kn_exitOk : kn_exitUsage;
}

// What was printed must have arrived: a full disk is no success.
static int Finish(int code)
{
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (lost)
    {
        fprintf(stderr, "knap: the output could not be written\n");
    }
    return lost && code == kn_exitOk ? kn_exitUnwritable : code;
}

// A closed descriptor would be given to the first file opened; a full disk or a closed pipe is an
// error to report, not a signal to die of.
static void SetUpProcess(void)
{
    for (int fd = 0; fd < 3; ++fd)
    {
        if (fcntl(fd, F_GETFD) == -1)
        {
            (void)!open("/dev/null", O_RDWR);
        }
    }
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char** argv)
{
    SetUpProcess();
    knInitPredicates();
    const char* name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < commandCount; ++i)
    {
        if (strcmp(name, commands[i].name) == 0)
        {
            return Finish(commands[i].run(argc - 1, argv + 1));
        }
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0)
    {
        return PrintHelp(stdout);
    }
    if (strcmp(name, "--version") == 0)
    {
        printf("knap %s, cooked files version %d\n", KN_VERSION, KN_ASSET_VERSION);
        return kn_exitOk;
    }
    if (name[0])
    {
        fprintf(stderr, "knap: there is no command '%s'\n\n", name);
    }
    return PrintHelp(stderr);
}
