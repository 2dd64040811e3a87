// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // uselocale

#include "knap/config.h"
#include "knap/memory.h"

#include <ini.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES  (1u << 20)
#define MAX_ROWS   64 // of a section
#define MAX_GROUPS (KN_CONFIG_MATERIALS + 8)

typedef struct Parser
{
    knConfig config; // what has been read so far
    const char* name;
    const char* text;
    size_t length, at;
    int line;
    char message[256]; // of the first error, empty while there is none
    int errorLine;
    uint64_t seen[MAX_GROUPS]; // a bit per row that was given
    int lastContactLine;
} Parser;

static int Refuse(Parser* p)
{
    if (!p->message[0])
    {
        snprintf(p->message, sizeof p->message, "%s", knLastError());
        p->errorLine = p->line;
    }
    return 0; // what the parser takes for an error
}

// Hands on one line, without blanks before it: an indented key is a key, not a longer value.
static char* ReadLine(char* out, int capacity, void* stream)
{
    Parser* p = stream;
    if (p->at >= p->length || p->message[0])
    {
        return NULL;
    }
    p->line += 1;
    const char* begin = p->text + p->at;
    const char* end = memchr(begin, '\n', p->length - p->at);
    p->at = end ? (size_t)(end - p->text) + 1 : p->length;
    end = end ? end : p->text + p->length;
    while (begin < end && (*begin == ' ' || *begin == '\t'))
    {
        ++begin;
    }
    size_t count = (size_t)(end - begin);
    if (count + 2 > (size_t)capacity || memchr(begin, 0, count))
    {
        (void)knFail(kn_errorArgument, "the line is too long, or no text");
        (void)Refuse(p);
        return NULL;
    }
    memcpy(out, begin, count);
    memcpy(out + count, "\n", 2);
    return out;
}

static bool ReadSwitch(const char* text, double* value)
{
    static const char* const words[2][4] = {{"0", "no", "off", "false"},
                                            {"1", "yes", "on", "true"}};
    for (int on = 0; on < 2; ++on)
    {
        for (int i = 0; i < 4; ++i)
        {
            if (strcmp(text, words[on][i]) == 0)
            {
                *value = on;
                return true;
            }
        }
    }
    return false;
}

static bool ReadNumber(const char* text, double* value)
{
    char* end;
    *value = strtod(text, &end);
    return end != text && *end == 0;
}

typedef struct Place
{
    const knSettingTable* table;
    void* object;
    uint32_t group; // into seen
} Place;

static bool FindMaterial(Parser* p, const char* name, Place* place)
{
    for (uint32_t i = 0; i < p->config.materialCount; ++i)
    {
        if (strcmp(p->config.materials[i].name, name) == 0)
        {
            *place =
                (Place){knMaterialSettings(), &p->config.materials[i], knConfigSectionCount() + i};
            return true;
        }
    }
    return false;
}

static bool FindSection(Parser* p, const char* section, Place* place)
{
    for (uint32_t i = 0; i < knConfigSectionCount(); ++i)
    {
        if (strcmp(knConfigSection(i)->name, section) == 0)
        {
            *place = (Place){knConfigSection(i), knConfig_Object(&p->config, i), i};
            return true;
        }
    }
    if (strncmp(section, "material ", 9) == 0 && FindMaterial(p, section + 9, place))
    {
        return true;
    }
    (void)knFail(kn_errorArgument,
                 section[0] ? "there is no section [%s]; 'knap config' prints all of them"
                            : "%sa key before the first section",
                 section);
    return false;
}

static bool IsNew(Parser* p, const Place* place, const knSetting* row)
{
    uint64_t bit = 1ull << (uint32_t)(row - place->table->rows);
    bool isNew = !(p->seen[place->group] & bit);
    p->seen[place->group] |= bit;
    if (!isNew)
    {
        (void)knFail(kn_errorArgument, "%s is given twice", row->key);
    }
    return isNew;
}

static int TakeValue(void* user, const char* section, const char* key, const char* text)
{
    Parser* p = user;
    Place place;
    if (p->message[0] || !FindSection(p, section, &place))
    {
        return Refuse(p);
    }
    const knSetting* row = knFindSetting(place.table, key);
    if (!row)
    {
        (void)knFail(kn_errorArgument, "[%s] has no key '%s'; 'knap config' prints all of them",
                     section, key);
        return Refuse(p);
    }
    double value = 0.0;
    bool isSwitch = row->type == kn_settingSwitch;
    if (!(isSwitch ? ReadSwitch(text, &value) : ReadNumber(text, &value)))
    {
        (void)knFail(kn_errorArgument, "%s is '%s': it takes %s", key, text,
                     isSwitch ? "yes or no" : "a number");
        return Refuse(p);
    }
    p->lastContactLine = place.table == knContactSettings() ? p->line : p->lastContactLine;
    return IsNew(p, &place, row) &&
                   knSetting_Set(place.table, place.object, key, value) == kn_success
               ? 1
               : Refuse(p);
}

static knResult Run(Parser* p)
{
    int line = ini_parse_stream(ReadLine, p, TakeValue, p);
    if (line > 0 && (!p->message[0] || line < p->errorLine))
    {
        // inih saw it, and went on: what it told us later is no longer the first error
        snprintf(p->message, sizeof p->message, "neither a [section], a key = value nor a comment");
        p->errorLine = line;
    }
    if (!p->message[0] && line < 0)
    {
        return knFail(kn_errorMemory, "%s: no memory to read it", p->name);
    }
    if (!p->message[0] && knValidateConfig(&p->config) != kn_success)
    {
        // each value was in range by itself: only contacts and maxContacts can disagree
        (void)Refuse(p);
        p->errorLine = p->lastContactLine;
    }
    return p->message[0] ? knFail(kn_errorArgument, "%s:%d: %s", p->name, p->errorLine, p->message)
                         : kn_success;
}

knResult knParseConfig(knConfig* config, const char* text, size_t length, const char* name)
{
    if (!config || config->size != sizeof(knConfig) || (!text && length > 0) || !name ||
        knConfigSectionCount() + config->materialCount > MAX_GROUPS)
    {
        return knFail(kn_errorArgument, "knParseConfig: null, or not of knDefaultConfig");
    }
    // a game may have set a locale in which 0.5 is written otherwise
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    Parser parser = {.config = *config, .name = name, .text = text, .length = length};
    knResult result = Run(&parser);
    if (plain)
    {
        uselocale(before);
        freelocale(plain);
    }
    if (result == kn_success)
    {
        *config = parser.config;
    }
    return result;
}

knResult knLoadConfig(knConfig* config, const char* path)
{
    FILE* file = path ? fopen(path, "rb") : NULL;
    if (!file)
    {
        return knFail(kn_errorFile, "%s: cannot be read", path ? path : "(null)");
    }
    char* text = knAllocate(NULL, MAX_BYTES + 1, 1);
    size_t length = text ? fread(text, 1, MAX_BYTES + 1, file) : 0;
    bool isBad = ferror(file) != 0;
    fclose(file);
    knResult result = !text                ? kn_errorMemory
                      : isBad              ? knFail(kn_errorFile, "%s: cannot be read", path)
                      : length > MAX_BYTES ? knFail(kn_errorFile, "%s: too long for a config", path)
                                           : knParseConfig(config, text, length, path);
    knRelease(NULL, text, MAX_BYTES + 1, 1);
    return result;
}
