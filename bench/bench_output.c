// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // fsync and process ids

#include "bench/bench.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

// Bytes of the UTF-8 sequence at `s`; 0 when there is none: overlong, surrogate or cut.
static int Utf8Length(const unsigned char* s)
{
    static const struct
    {
        unsigned char mask, lead;
        unsigned long least;
    } forms[4] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    for (int length = 1; length <= 4; ++length)
    {
        if ((s[0] & forms[length - 1].mask) != forms[length - 1].lead)
        {
            continue;
        }
        unsigned long code = s[0] & (unsigned char)~forms[length - 1].mask;
        for (int i = 1; i < length; ++i)
        {
            // the terminating zero ends up here as well, so nothing behind it is read
            if ((s[i] & 0xC0) != 0x80)
            {
                return 0;
            }
            code = code << 6 | (s[i] & 0x3F);
        }
        bool good = code >= forms[length - 1].least && code <= 0x10FFFF &&
                    !(code >= 0xD800 && code <= 0xDFFF);
        return good ? length : 0;
    }
    return 0;
}

void knWriteJsonString(FILE* file, const char* text)
{
    fputc('"', file);
    for (const unsigned char* s = (const unsigned char*)text; *s;)
    {
        int length = Utf8Length(s);
        if (length == 0)
        {
            fputs("\\ufffd", file);
            length = 1;
        }
        else if (*s < 0x20 || *s == 0x7F)
        {
            fprintf(file, "\\u%04x", (unsigned)*s);
        }
        else
        {
            if (*s == '"' || *s == '\\')
            {
                fputc('\\', file);
            }
            fwrite(s, 1, (size_t)length, file);
        }
        s += length;
    }
    fputc('"', file);
}

static void WriteJsonNumber(FILE* file, const char* key, double value)
{
    fprintf(file, isfinite(value) ? ", \"%s\": %.9g" : ", \"%s\": null", key, value);
}

static void WriteJsonText(FILE* file, const char* key, const char* text)
{
    fprintf(file, ", \"%s\": ", key);
    if (text[0])
    {
        knWriteJsonString(file, text);
    }
    else
    {
        fputs("null", file);
    }
}

void knWriteJson(FILE* file, const knBenchRow* rows, size_t count)
{
    fputs("[", file);
    for (size_t i = 0; i < count; ++i)
    {
        const knBenchRow* r = &rows[i];
        fprintf(file, "%s\n  {\"bench\": ", i > 0 ? "," : "");
        knWriteJsonString(file, r->bench);
        WriteJsonText(file, "case", r->caseName);
        WriteJsonText(file, "metric", r->metric);
        WriteJsonNumber(file, "ours", r->ours);
        WriteJsonNumber(file, "peer", r->peer);
        WriteJsonNumber(file, "ratio", r->ratio);
        WriteJsonNumber(file, "paper", r->paper);
        WriteJsonText(file, "unit", r->unit);
        WriteJsonNumber(file, "worst", r->worst);
        WriteJsonNumber(file, "peerWorst", r->peerWorst);
        WriteJsonText(file, "peerName", r->peerName);
        WriteJsonText(file, "note", r->note);
        WriteJsonNumber(file, "foreignLoad", r->foreignLoad);
        fputc('}', file);
    }
    fputs("\n]\n", file);
}

static void WriteCsvText(FILE* file, const char* text)
{
    if (!strpbrk(text, ",\"\r\n"))
    {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; ++text)
    {
        fputs(*text == '"' ? "\"" : "", file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void WriteCsvNumbers(FILE* file, const double* numbers, int count)
{
    for (int i = 0; i < count; ++i)
    {
        fputc(',', file);
        if (isfinite(numbers[i]))
        {
            fprintf(file, "%.9g", numbers[i]);
        }
    }
}

static void WriteCsvTexts(FILE* file, const char* const* texts, int count)
{
    for (int i = 0; i < count; ++i)
    {
        fputc(',', file);
        WriteCsvText(file, texts[i]);
    }
}

void knWriteCsv(FILE* file, const knBenchRow* rows, size_t count)
{
    fputs("bench,case,metric,ours,peer,ratio,paper,unit,worst,peerWorst,peerName,note,"
          "foreignLoad\n",
          file);
    for (size_t i = 0; i < count; ++i)
    {
        const knBenchRow* r = &rows[i];
        WriteCsvText(file, r->bench);
        WriteCsvTexts(file, (const char*[]){r->caseName, r->metric}, 2);
        WriteCsvNumbers(file, (double[]){r->ours, r->peer, r->ratio, r->paper}, 4);
        WriteCsvTexts(file, (const char*[]){r->unit}, 1);
        WriteCsvNumbers(file, (double[]){r->worst, r->peerWorst}, 2);
        WriteCsvTexts(file, (const char*[]){r->peerName, r->note}, 2);
        WriteCsvNumbers(file, &r->foreignLoad, 1);
        fputc('\n', file);
    }
}

#define COLUMN_COUNT 11
#define CELL_SIZE    80

static void NumberCell(char* cell, double value)
{
    // counts in full, measured numbers to four digits
    bool isCount = isfinite(value) && value == rint(value) && fabs(value) < 1e9;
    snprintf(cell, CELL_SIZE, !isfinite(value) ? "-" : isCount ? "%.0f" : "%.4g", value);
}

static void FillCells(const knBenchRow* r, char cells[COLUMN_COUNT][CELL_SIZE])
{
    const char* texts[] = {r->bench, r->caseName, r->metric, r->unit};
    double numbers[] = {r->ours, r->worst, r->peer, r->peerWorst, r->ratio, r->paper};
    for (int i = 0; i < 4; ++i)
    {
        snprintf(cells[i], CELL_SIZE, "%s", texts[i]);
    }
    for (int i = 0; i < 6; ++i)
    {
        NumberCell(cells[4 + i], numbers[i]);
    }
    snprintf(cells[10], CELL_SIZE, "%s", r->peerName[0] ? r->peerName : "-");
}

static void PrintLine(FILE* file, char cells[COLUMN_COUNT][CELL_SIZE], const int* widths)
{
    for (int i = 0; i < COLUMN_COUNT; ++i)
    {
        bool isNumber = i >= 4 && i < 10;
        fprintf(file, i == 0 ? "%*s" : "  %*s", isNumber ? widths[i] : -widths[i], cells[i]);
    }
    fputc('\n', file);
}

void knPrintRows(FILE* file, const knBenchRow* rows, size_t count)
{
    char titles[COLUMN_COUNT][CELL_SIZE] = {"bench", "case",  "metric", "unit",  "ours",   "worst",
                                            "peer",  "worst", "ratio",  "paper", "peer is"};
    char cells[COLUMN_COUNT][CELL_SIZE];
    int widths[COLUMN_COUNT] = {0};
    for (size_t line = 0; line <= count; ++line)
    {
        if (line > 0)
        {
            FillCells(&rows[line - 1], cells);
        }
        for (int i = 0; i < COLUMN_COUNT; ++i)
        {
            int width = (int)strlen(line == 0 ? titles[i] : cells[i]);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    PrintLine(file, titles, widths);
    for (size_t i = 0; i < count; ++i)
    {
        FillCells(&rows[i], cells);
        PrintLine(file, cells, widths);
    }
}

knResult knWriteRowsFile(const char* path, knRowWriterFcn* write, const knBenchRow* rows,
                         size_t count)
{
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s.tmp%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary)
    {
        return knFail(kn_errorFile, "%s: the path is too long", path);
    }
    FILE* file = fopen(temporary, "wx");
    if (!file)
    {
        return knFail(kn_errorFile, "%s: %s", temporary, strerror(errno));
    }
    write(file, rows, count);
    bool good = !ferror(file) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    good = fclose(file) == 0 && good;
    if (!good || rename(temporary, path) != 0)
    {
        knResult result = knFail(kn_errorFile, "%s: %s", path, strerror(errno));
        remove(temporary);
        return result;
    }
    return kn_success;
}
