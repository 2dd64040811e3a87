// SPDX-License-Identifier: Zlib
#include "command.h"

#include "picture.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int knReportFailure(knExit code)
{
    fprintf(stderr, "knap: %s\n", knLastError());
    return code;
}

int knUsageError(const char* command, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "knap %s: ", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n'knap %s --help' tells how to use it\n", command);
    va_end(arguments);
    return kn_exitUsage;
}

bool knParseNumber(const char* command, const char* option, const char* text, double low,
                   double high, double* number)
{
    char* end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != 0 || !(value >= low && value <= high))
    {
        knUsageError(command, "%s wants a number from %g to %g, got '%s'", option, low, high, text);
        return false;
    }
    *number = value;
    return true;
}

bool knParseWhole(const char* command, const char* option, const char* text, double low,
                  double high, double* number)
{
    double value;
    if (!knParseNumber(command, option, text, low, high, &value))
    {
        return false;
    }
    if (value != floor(value))
    {
        knUsageError(command, "%s wants a whole number, got '%s'", option, text);
        return false;
    }
    *number = value;
    return true;
}

bool knParseSize(const char* command, const char* text, int least, int* width, int* height)
{
    if (sscanf(text, "%5dx%5d", width, height) != 2 || *width < least || *height < least ||
        *width > KN_MAX_PICTURE_SIZE || *height > KN_MAX_PICTURE_SIZE)
    {
        knUsageError(command, "--size wants WIDTHxHEIGHT from %d to %d, got '%s'", least,
                     KN_MAX_PICTURE_SIZE, text);
        return false;
    }
    return true;
}

static bool TakeUnits(const char* command, const char* name, double* scale)
{
    static const struct
    {
        const char* name;
        double metres;
    } units[] = {{"m", 1.0}, {"cm", 0.01}, {"mm", 0.001}, {"in", 0.0254}, {"ft", 0.3048}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; ++i)
    {
        if (strcmp(name, units[i].name) == 0)
        {
            *scale = units[i].metres;
            return true;
        }
    }
    knUsageError(command, "--units wants m, cm, mm, in or ft, got '%s'", name);
    return false;
}

static bool TakeComponents(const char* command, const char* argument, knDoctorOptions* doctor)
{
    bool one = strcmp(argument, "one") == 0;
    if (!one && strcmp(argument, "refuse") != 0)
    {
        knUsageError(command, "--components wants one or refuse, got '%s'", argument);
        return false;
    }
    doctor->severalComponents = one;
    return true;
}

bool knTakeMeshOption(const char* command, int option, const char* argument, knMeshOptions* options,
                      bool* good)
{
    double number = 0.0;
    *good = true;
    switch (option)
    {
    case 's':
        *good = knParseNumber(command, "--scale", argument, 1e-12, 1e12, &options->import->scale);
        return true;
    case 'u':
        *good = TakeUnits(command, argument, &options->import->scale);
        return true;
    case 'n':
        options->doctor->repair = false;
        return true;
    case 'f':
        options->doctor->fillHoles = false;
        return true;
    case 'c':
        *good = TakeComponents(command, argument, options->doctor);
        return true;
    case 'w':
        *good = knParseNumber(command, "--weld", argument, 0.0, 0.1, &number);
        options->doctor->weldTolerance = (float)number;
        return true;
    case 't':
        *good = knParseNumber(command, "--time-limit", argument, 0.01, 86400.0,
                              &options->import->limits.seconds);
        return true;
    case 'm':
        *good = knParseNumber(command, "--memory-limit", argument, 64.0, 1e6, &number);
        options->import->limits.megabytes = (size_t)number;
        return true;
    default:
        return false;
    }
}

static const char* ActionName(knDefectAction action)
{
    static const char* const names[] = {"none", "repair", "refuse"};
    return names[action];
}

void knJsonReport(knJson* json, const knDoctorReport* report)
{
    knJson_BeginArray(json, "defects");
    for (int kind = 0; kind < kn_defectCount; ++kind)
    {
        const knDefect* d = &report->defects[kind];
        if (d->count == 0)
        {
            continue;
        }
        knJson_BeginObject(json, NULL);
        knJson_String(json, "defect", knDefectName((knDefectKind)kind));
        knJson_Count(json, "count", d->count);
        knJson_String(json, "action", ActionName(d->action));
        knJson_String(json, "note", d->note);
        knJson_BeginArray(json, "places");
        for (int i = 0; i < d->placeCount; ++i)
        {
            knVec3 p = d->places[i].position;
            double at[3] = {(double)p.x, (double)p.y, (double)p.z};
            knJson_BeginObject(json, NULL);
            if (d->places[i].index != KN_NONE)
            {
                knJson_Count(json, d->isVertex ? "vertex" : "triangle", d->places[i].index);
            }
            knJson_Numbers(json, "at", at, 3);
            knJson_EndObject(json);
        }
        knJson_EndArray(json);
        knJson_EndObject(json);
    }
    knJson_EndArray(json);
}

void knPrintReport(FILE* out, const knDoctorReport* report, knDefectAction least)
{
    for (int kind = 0; kind < kn_defectCount; ++kind)
    {
        const knDefect* d = &report->defects[kind];
        if (d->count == 0 || d->action < least)
        {
            continue;
        }
        fprintf(out, "  %-22s %8zu  %s: %s\n", knDefectName((knDefectKind)kind), d->count,
                d->action == kn_actionNone ? "harmless" : ActionName(d->action), d->note);
        for (int i = 0; i < d->placeCount && i < 3; ++i)
        {
            knVec3 p = d->places[i].position;
            fprintf(out, "  %-22s           %s ", "", d->isVertex ? "vertex" : "triangle");
            if (d->places[i].index != KN_NONE)
            {
                fprintf(out, "%u ", d->places[i].index);
            }
            fprintf(out, "at (%g, %g, %g)\n", (double)p.x, (double)p.y, (double)p.z);
        }
    }
}
