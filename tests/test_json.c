// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L

#include "json.h"
#include "kit.h"

#include <math.h>

// What the writer makes of a few calls, as text.
static char* Written(void (*write)(knJson*))
{
    char* text = NULL;
    size_t size = 0;
    FILE* out = open_memstream(&text, &size);
    assert_non_null(out);
    knJson json = knMakeJson(out);
    write(&json);
    fclose(out);
    return text;
}

static void Nested(knJson* json)
{
    const double numbers[3] = {1.0, 0.5, -2.0};
    knJson_BeginObject(json, NULL);
    knJson_Count(json, "count", 3);
    knJson_BeginArray(json, "list");
    knJson_BeginObject(json, NULL);
    knJson_Bool(json, "yes", true);
    knJson_EndObject(json);
    knJson_String(json, NULL, "two");
    knJson_EndArray(json);
    knJson_BeginArray(json, "none");
    knJson_EndArray(json);
    knJson_Numbers(json, "numbers", numbers, 3);
    knJson_EndObject(json);
}

static void StructureIsValid(void** state)
{
    (void)state;
    char* text = Written(Nested);
    assert_string_equal(text,
                        "{\n  \"count\": 3,\n  \"list\": [\n    {\n      \"yes\": true\n    },\n"
                        "    \"two\"\n  ],\n  \"none\": [],\n  \"numbers\": [1, 0.5, -2]\n}\n");
    free(text);
}

static void Nasty(knJson* json)
{
    knJson_BeginArray(json, NULL);
    knJson_String(json, NULL, "a\"b\\c\n\x01\xC3\xC3\xB6");
    knJson_Number(json, NULL, NAN);
    knJson_Number(json, NULL, INFINITY);
    knJson_EndArray(json);
}

static void NastyValuesStayValid(void** state)
{
    (void)state;
    char* text = Written(Nasty);
    assert_string_equal(text,
                        "[\n  \"a\\\"b\\\\c\\u000a\\u0001\\u00c3\xC3\xB6\",\n  null,\n  null\n]\n");
    free(text);
}

static double current;

static void One(knJson* json)
{
    knJson_Number(json, NULL, current);
}

static void NumbersReadBackToTheSameBits(void** state)
{
    (void)state;
    const double values[] = {0.0,           1.0 / 3.0,    1e-300, 1.7976931348623157e308,
                             6.02214076e23, -0.125,       5e-324, 1e16,
                             0.1,           123456789.123};
    for (size_t i = 0; i < COUNT_OF(values); ++i)
    {
        current = values[i];
        char* text = Written(One);
        assert_true(strtod(text, NULL) == values[i]);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(StructureIsValid),
        cmocka_unit_test(NastyValuesStayValid),
        cmocka_unit_test(NumbersReadBackToTheSameBits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
