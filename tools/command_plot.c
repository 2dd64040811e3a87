// SPDX-License-Identifier: Zlib
#include "command.h"
#include "picture_save.h"
#include "plot.h"

#include <getopt.h>
#include <string.h>

static void PrintHelp(void)
{
    printf("usage: knap plot FILE.csv -o OUT.png --y NAME[,NAME...] [OPTION...]\n\n"
           "Draws columns of a CSV file as curves. The first line names the columns.\n\n"
           "  -o, --output FILE    where to write\n"
           "  --x NAME             column along the bottom (the first)\n"
           "  --y NAMES            columns to draw, at most 6\n"
           "  --title TEXT         above it\n"
           "  --dots               a dot at every value\n"
           "  --size WxH           pixels (default 900x520)\n"
           "  --help               this text\n\n"
           "exit codes: 0 drawn, 1 wrong arguments, 2 not such a file, 5 cannot write,\n"
           "6 out of memory\n");
}

typedef struct Wish
{
    const char *input, *output, *x, *y;
    knPlotDef plot;
    bool help;
} Wish;

static bool ReadWish(Wish* w, int argc, char** argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"x", required_argument, NULL, 'x'},
        {"y", required_argument, NULL, 'y'},      {"title", required_argument, NULL, 't'},
        {"size", required_argument, NULL, 's'},   {"dots", no_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "o:", options, NULL)) != -1)
    {
        switch (option)
        {
        case 'o':
            w->output = optarg;
            break;
        case 'x':
            w->x = optarg;
            break;
        case 'y':
            w->y = optarg;
            break;
        case 't':
            w->plot.title = optarg;
            break;
        case 'd':
            w->plot.hasDots = true;
            break;
        case 's':
            if (!knParseSize("plot", optarg, 200, &w->plot.width, &w->plot.height))
            {
                return false;
            }
            break;
        case 'h':
            w->help = true;
            return true;
        default:
            (void)knUsageError("plot", "an option that it does not have");
            return false;
        }
    }
    w->input = optind < argc ? argv[optind] : NULL;
    if (!w->input || optind + 1 != argc || !w->output || !w->y)
    {
        (void)knUsageError("plot", "it takes one file, -o and --y");
        return false;
    }
    return true;
}

static bool ChooseColumns(Wish* w, const knColumns* columns)
{
    w->plot.x = w->x ? knColumns_Find(columns, w->x) : 0;
    if (w->plot.x == KN_NONE)
    {
        (void)knUsageError("plot", "%s has no column '%s'", w->input, w->x);
        return false;
    }
    for (const char* at = w->y; at;)
    {
        char name[32] = {0};
        size_t length = strcspn(at, ",");
        memcpy(name, at, length < sizeof name ? length : sizeof name - 1);
        uint32_t column = knColumns_Find(columns, name);
        if (column == KN_NONE || w->plot.curveCount == KN_MAX_CURVES)
        {
            (void)knUsageError("plot",
                               column == KN_NONE ? "%s has no column '%s'"
                                                 : "%s: '%s' is one curve too many",
                               w->input, name);
            return false;
        }
        w->plot.curves[w->plot.curveCount++] = column;
        at = at[length] ? at + length + 1 : NULL;
    }
    return true;
}

static int Draw(Wish* w, const knColumns* columns)
{
    knPicture picture;
    if (!ChooseColumns(w, columns))
    {
        return kn_exitUsage;
    }
    w->plot.columns = columns;
    if (knDrawPlot(&w->plot, &picture) != kn_success)
    {
        return knReportFailure(kn_exitInternal);
    }
    knResult result = knSavePicture(&picture, w->output);
    knDestroyPicture(&picture);
    return result == kn_success ? kn_exitOk : knReportFailure(kn_exitUnwritable);
}

int knCommandPlot(int argc, char** argv)
{
    Wish wish = {.plot = {.width = 900, .height = 520}};
    if (!ReadWish(&wish, argc, argv))
    {
        return kn_exitUsage;
    }
    if (wish.help)
    {
        PrintHelp();
        return kn_exitOk;
    }
    knColumns columns;
    if (knReadColumns(&columns, wish.input) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    int code = Draw(&wish, &columns);
    knDestroyColumns(&columns);
    return code;
}
