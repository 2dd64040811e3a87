// SPDX-License-Identifier: Zlib
#include "bvh/bvh_predicates_internal.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

// An expansion is a sum of doubles that do not overlap, smallest first; its sign is that of the
// last. A difference has 2 terms, a product of m and n terms 2 m n; so a minor has 16 and a
// determinant three times 64.
#define MAX_TERMS 192

typedef struct Difference
{
    int count;
    double term[2];
} Difference;

typedef struct Expansion
{
    int count;
    double term[MAX_TERMS];
} Expansion;

// a + b as a rounded sum and its error, whatever their order.
static double TwoSum(double a, double b, double* error)
{
    double sum = a + b;
    double bPart = sum - a;
    double aPart = sum - bPart;
    *error = (a - aPart) + (b - bPart);
    return sum;
}

// Halves of 26 bits whose products are exact.
static void Split(double a, double* high, double* low)
{
    double c = 134217729.0 * a; // 2^27 + 1
    *high = c - (c - a);
    *low = a - *high;
}

static double TwoProduct(double a, double b, double* error)
{
    double product = a * b, aHigh, aLow, bHigh, bLow;
    Split(a, &aHigh, &aLow);
    Split(b, &bHigh, &bLow);
    *error = aLow * bLow - (((product - aHigh * bHigh) - aLow * bHigh) - aHigh * bLow);
    return product;
}

static void AddTerm(Expansion* e, double b)
{
    int count = 0;
    for (int i = 0; i < e->count; ++i)
    {
        double error;
        b = TwoSum(b, e->term[i], &error);
        if (error != 0.0)
        {
            e->term[count++] = error;
        }
    }
    if (b != 0.0)
    {
        e->term[count++] = b;
    }
    e->count = count;
}

// sum += factor * d
static void AddScaled(Expansion* sum, double factor, const Difference* d)
{
    for (int i = 0; i < d->count; ++i)
    {
        double error, product = TwoProduct(factor, d->term[i], &error);
        AddTerm(sum, error);
        AddTerm(sum, product);
    }
}

// sum += sign * d * e
static void AddProduct(Expansion* sum, const Difference* d, const Difference* e, double sign)
{
    for (int i = 0; i < d->count; ++i)
    {
        AddScaled(sum, sign * d->term[i], e);
    }
}

static Difference Subtract(double a, double b)
{
    Difference d = {0, {0.0, 0.0}};
    double error, difference = TwoSum(a, -b, &error);
    if (error != 0.0)
    {
        d.term[d.count++] = error;
    }
    if (difference != 0.0)
    {
        d.term[d.count++] = difference;
    }
    return d;
}

static int Sign(const Expansion* e)
{
    double last = e->count > 0 ? e->term[e->count - 1] : 0.0;
    return (last > 0.0) - (last < 0.0);
}

static double Coordinate(const knDVec3* p, int axis)
{
    return axis == 0 ? p->x : (axis == 1 ? p->y : p->z);
}

int knExactOrient3(const knDVec3 p[4])
{
    Difference d[3][3]; // edge, axis
    for (int edge = 0; edge < 3; ++edge)
    {
        for (int axis = 0; axis < 3; ++axis)
        {
            d[edge][axis] = Subtract(Coordinate(&p[edge + 1], axis), Coordinate(&p[0], axis));
        }
    }
    Expansion sum, minor;
    sum.count = 0;
    for (int axis = 0; axis < 3; ++axis)
    {
        int y = (axis + 1) % 3, z = (axis + 2) % 3;
        minor.count = 0;
        AddProduct(&minor, &d[0][y], &d[1][z], 1.0);
        AddProduct(&minor, &d[0][z], &d[1][y], -1.0);
        for (int i = 0; i < minor.count; ++i)
        {
            AddScaled(&sum, minor.term[i], &d[2][axis]);
        }
    }
    return Sign(&sum);
}

int knExactCross(const knDVec3 p[4], int axis)
{
    int x = (axis + 1) % 3, y = (axis + 2) % 3;
    Difference ux = Subtract(Coordinate(&p[1], x), Coordinate(&p[0], x));
    Difference uy = Subtract(Coordinate(&p[1], y), Coordinate(&p[0], y));
    Difference vx = Subtract(Coordinate(&p[3], x), Coordinate(&p[2], x));
    Difference vy = Subtract(Coordinate(&p[3], y), Coordinate(&p[2], y));
    Expansion sum;
    sum.count = 0;
    AddProduct(&sum, &ux, &vy, 1.0);
    AddProduct(&sum, &uy, &vx, -1.0);
    return Sign(&sum);
}

#if defined(__SSE2__)

#define DEFAULT_MODE 0x1F80u // nearest, denormals kept, no exception unmasked

uint32_t knBeginExact(void)
{
    uint32_t mode = _mm_getcsr();
    if (mode != DEFAULT_MODE)
    {
        _mm_setcsr(DEFAULT_MODE);
    }
    return mode;
}

void knEndExact(uint32_t mode)
{
    _mm_setcsr(mode);
}

#else

uint32_t knBeginExact(void)
{
    return 0;
}

void knEndExact(uint32_t mode)
{
    (void)mode;
}

#endif
