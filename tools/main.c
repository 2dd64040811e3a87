// SPDX-License-Identifier: Zlib
#include "command.h"
#include "predicates.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
};

static const int commandCount = (int)(sizeof commands / sizeof commands[0]);

static int PrintHelp(FILE* out)
{
    fprintf(out, "knap: brittle fracture for games\n\nusage: knap COMMAND [OPTION...]\n\n");
    for (int i = 0; i < commandCount; ++i)
    {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].purpose);
    }
    fprintf(out, "\n'knap COMMAND --help' tells more.\n"
                 "This program links TetGen and is under the AGPL; the library that a game links "
                 "is not.\n");
    return out == stdout ? kn_exitOk : kn_exitUsage;
}

int main(int argc, char** argv)
{
    knInitPredicates();
    const char* name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < commandCount; ++i)
    {
        if (strcmp(name, commands[i].name) == 0)
        {
            return commands[i].run(argc - 1, argv + 1);
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
