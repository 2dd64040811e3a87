// SPDX-License-Identifier: Zlib
#include "command.h"
#include "knap/config.h"

#include <getopt.h>

static void PrintHelp(void)
{
    printf("usage: knap config [FILE.ini] [--markdown]\n\n"
           "Prints a config file with every key at its default; with a file, checks that.\n\n"
           "  --markdown   prints the tables of docs/config.md\n"
           "  --help       this text\n\n"
           "exit codes: 0 good, 1 wrong arguments, 2 the file cannot be read or is wrong\n");
}

static void FormatValue(const knSetting* row, double value, char text[32])
{
    bool isSwitch = row->type == kn_settingSwitch;
    if (isSwitch)
    {
        snprintf(text, 32, "%s", value != 0.0 ? "yes" : "no");
        return;
    }
    // a float has seven digits that mean something, and 2^53 is sixteen of them
    snprintf(text, 32, row->type == kn_settingWhole ? "%.0f" : "%.7g", value);
}

static void PrintRows(const char* section, const knSettingTable* table, const void* object)
{
    printf("\n[%s]\n", section);
    for (uint32_t i = 0; i < table->count; ++i)
    {
        const knSetting* row = &table->rows[i];
        char value[32], low[32], high[32], line[80];
        FormatValue(row, knSetting_Value(row, object), value);
        FormatValue(row, row->lowest, low);
        FormatValue(row, row->highest, high);
        snprintf(line, sizeof line, "%s = %s", row->key, value);
        printf("%-28s ; %s%s(%s %s %s) %s\n", line, row->unit, row->unit[0] ? " " : "", low,
               row->type == kn_settingSwitch ? "or" : "to", high, row->meaning);
    }
}

static void PrintFile(void)
{
    knConfig config = knDefaultConfig();
    printf("; Every key of a Knap config at its default: value ; unit (range) meaning.\n"
           "; What is left out keeps its default; what is wrong is refused with file and line.\n");
    for (uint32_t i = 0; i < knConfigSectionCount(); ++i)
    {
        PrintRows(knConfigSection(i)->name, knConfigSection(i), knConfig_Object(&config, i));
    }
    for (uint32_t i = 0; i < config.materialCount; ++i)
    {
        char section[64];
        snprintf(section, sizeof section, "material %s", config.materials[i].name);
        PrintRows(section, knMaterialSettings(), &config.materials[i]);
    }
}

static void PrintTable(const char* section, const knSettingTable* table, const char* standard)
{
    printf("\n## [%s]\n\n| key | default | unit | range | meaning |\n|---|---|---|---|---|\n",
           section);
    for (uint32_t i = 0; i < table->count; ++i)
    {
        const knSetting* row = &table->rows[i];
        char value[32], low[32], high[32];
        FormatValue(row, row->standard, value);
        FormatValue(row, row->lowest, low);
        FormatValue(row, row->highest, high);
        bool isSwitch = row->type == kn_settingSwitch;
        printf("| `%s` | %s | %s | %s%s%s | %s |\n", row->key, standard ? standard : value,
               row->unit, low, isSwitch ? ", " : " to ", high, row->meaning);
    }
}

static void PrintMarkdown(void)
{
    printf("# The config file\n\n"
           "One text file holds everything that a game tunes. `knap config` prints it with every "
           "key at its\ndefault; `knap config FILE` checks a file; a game loads one with "
           "`knWorld_LoadConfig` (`knap/config.h`),\n`knap-demo --config FILE` takes it too and "
           "reads it again whenever it changes.\n\n"
           "A line is a `[section]`, a `key = value`, or a comment after `;` or `#`. Switches take "
           "`yes` and `no`.\nA key that does not exist, a value that is no number or out of its "
           "range, and a key given twice are\nerrors with file and line; then nothing of the file "
           "counts and the old values stay.\n\n"
           "What the limits trade is in [tuning](tuning.md). This page is made by "
           "`knap config --markdown`, from the\ntables that the library checks with.\n");
    for (uint32_t i = 0; i < knConfigSectionCount(); ++i)
    {
        PrintTable(knConfigSection(i)->name, knConfigSection(i), NULL);
    }
    PrintTable("material NAME", knMaterialSettings(), "the preset's");
    printf("\nNAME is a preset:");
    for (int i = 0; i < knMaterialPresetCount(); ++i)
    {
        printf("%s `%s`", i ? "," : "", knMaterialPreset(i)->name);
    }
    printf(". [Materials](materials.md) has their values.\n");
}

static int Check(const char* path)
{
    knConfig config = knDefaultConfig();
    if (knLoadConfig(&config, path) != kn_success)
    {
        return knReportFailure(kn_exitUnreadable);
    }
    printf("%s: good\n", path);
    return kn_exitOk;
}

int knCommandConfig(int argc, char** argv)
{
    static const struct option options[] = {
        {"markdown", no_argument, NULL, 'm'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool markdown = false;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
    {
        if (option == 'h')
        {
            PrintHelp();
            return kn_exitOk;
        }
        if (option != 'm')
        {
            return knUsageError("config", "an option that it does not have");
        }
        markdown = true;
    }
    if (optind + 1 < argc || (markdown && optind < argc))
    {
        return knUsageError("config", "one file at most, and none with --markdown");
    }
    if (optind < argc)
    {
        return Check(argv[optind]);
    }
    (markdown ? PrintMarkdown : PrintFile)();
    return kn_exitOk;
}
