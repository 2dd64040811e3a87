// SPDX-License-Identifier: Zlib
#pragma once

// Fractions of whole numbers of any length, as text, to doubles.

#include "knap/memory.h"

#include <stdbool.h>

// numerator / denominator, towards zero. *error bounds what was cut off; 0 when nothing was.
// Numbers are decimal digits with an optional sign; anything else, a denominator of 0, or a value
// beyond doubles fails.
knResult knParseRational(const char* numerator, size_t numeratorLength, const char* denominator,
                         size_t denominatorLength, double* value, double* error);
