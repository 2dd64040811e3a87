// SPDX-License-Identifier: Zlib
#include "rational.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// A whole number, the lowest 32 bits first.
typedef struct Whole
{
    uint32_t* limb;
    size_t count, capacity;
} Whole;

static knResult Reserve(Whole* w, size_t count)
{
    knAllocator a = knDefaultAllocator();
    return knGrow(&a, (void**)&w->limb, &w->capacity, count, sizeof *w->limb);
}

static void Destroy(Whole* w)
{
    knAllocator a = knDefaultAllocator();
    knRelease(&a, w->limb, w->capacity, sizeof *w->limb);
}

// w = w * factor + addend; there is room for one limb more.
static void MultiplyAdd(Whole* w, uint32_t factor, uint32_t addend)
{
    uint64_t carry = addend;
    for (size_t i = 0; i < w->count; ++i)
    {
        carry += (uint64_t)w->limb[i] * factor;
        w->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
    {
        w->limb[w->count++] = (uint32_t)carry;
    }
}

static knResult Parse(Whole* w, const char* text, size_t length, bool* isNegative)
{
    size_t i = 0;
    *isNegative = length > 0 && text[0] == '-';
    if (length > 0 && (text[0] == '-' || text[0] == '+'))
    {
        i = 1;
    }
    if (i == length)
    {
        return knFail(kn_errorFormat, "a whole number has no digits");
    }
    // nine digits take less than 30 bits
    knResult result = Reserve(w, length / 9 + 4);
    for (; i < length && result == kn_success; ++i)
    {
        if (text[i] < '0' || text[i] > '9')
        {
            return knFail(kn_errorFormat, "'%.*s' is no whole number", (int)length, text);
        }
        MultiplyAdd(w, 10, (uint32_t)(text[i] - '0'));
    }
    return result;
}

static long BitLength(const Whole* w)
{
    if (w->count == 0)
    {
        return 0;
    }
    long bits = 32 * ((long)w->count - 1);
    for (uint32_t top = w->limb[w->count - 1]; top != 0; top >>= 1)
    {
        bits += 1;
    }
    return bits;
}

static void ShiftLeft(Whole* w, size_t bits)
{
    size_t limbs = bits / 32;
    memmove(w->limb + limbs, w->limb, w->count * sizeof *w->limb);
    memset(w->limb, 0, limbs * sizeof *w->limb);
    w->count = w->count > 0 ? w->count + limbs : 0;
    MultiplyAdd(w, 1u << (bits % 32), 0);
}

static int Compare(const Whole* a, const Whole* b)
{
    if (a->count != b->count)
    {
        return a->count < b->count ? -1 : 1;
    }
    for (size_t i = a->count; i-- > 0;)
    {
        if (a->limb[i] != b->limb[i])
        {
            return a->limb[i] < b->limb[i] ? -1 : 1;
        }
    }
    return 0;
}

// a -= b, which is not larger.
static void Subtract(Whole* a, const Whole* b)
{
    int64_t borrow = 0;
    for (size_t i = 0; i < a->count; ++i)
    {
        borrow += (int64_t)a->limb[i] - (i < b->count ? (int64_t)b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->count > 0 && a->limb[a->count - 1] == 0)
    {
        a->count -= 1;
    }
}

// Long division, bit by bit: the first 53 bits of the quotient and whether there are more.
static knResult Divide(Whole* n, Whole* d, double* value, double* error)
{
    long shift = BitLength(n) - BitLength(d); // n / d lies in (2^(shift - 1), 2^(shift + 1))
    size_t room = n->count + d->count + (size_t)(shift < 0 ? -shift : shift) / 32 + 6;
    knResult result = Reserve(n, room);
    result = result == kn_success ? Reserve(d, room) : result;
    if (result != kn_success)
    {
        return result;
    }
    ShiftLeft(shift > 0 ? d : n, (size_t)(shift > 0 ? shift : -shift));
    uint64_t quotient = 0;
    int bits = 0;
    long exponent = shift + 1;
    while (bits < 53 && n->count > 0 && exponent > -1074)
    {
        bool isOne = Compare(n, d) >= 0;
        quotient = quotient << 1 | isOne;
        bits += quotient != 0;
        if (isOne)
        {
            Subtract(n, d);
        }
        MultiplyAdd(n, 2, 0);
        exponent -= 1;
    }
    exponent = exponent < -5000 ? -5000 : exponent;
    if (exponent > 1023 - 52 + 53)
    {
        return knFail(kn_errorLimit, "a number is too large for a double");
    }
    *value = ldexp((double)quotient, (int)exponent);
    *error = n->count > 0 ? fmax(ldexp(1.0, (int)exponent), 0x1p-1074) : 0.0;
    return isfinite(*value) ? kn_success
                            : knFail(kn_errorLimit, "a number is too large for a double");
}

knResult knParseRational(const char* numerator, size_t numeratorLength, const char* denominator,
                         size_t denominatorLength, double* value, double* error)
{
    Whole n = {NULL, 0, 0}, d = {NULL, 0, 0};
    bool isNegative = false, isBelow = false;
    double size = 0.0, off = 0.0;
    knResult result = Parse(&n, numerator, numeratorLength, &isNegative);
    result = result == kn_success ? Parse(&d, denominator, denominatorLength, &isBelow) : result;
    if (result == kn_success && d.count == 0)
    {
        result = knFail(kn_errorFormat, "a denominator is 0");
    }
    if (result == kn_success && n.count > 0)
    {
        result = Divide(&n, &d, &size, &off);
    }
    Destroy(&n);
    Destroy(&d);
    if (result == kn_success)
    {
        *value = isNegative != isBelow ? -size : size;
        *error = off;
    }
    return result;
}
