// SPDX-License-Identifier: Zlib
#include "ccd_oracle.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>

// A vertex and a face touch when the origin is in the triangle q_i = v - f_i; two edges when it is
// in the parallelogram of differences, that is in one of two triangles. With c_i = q_j x q_k the
// origin is in a triangle exactly when
//   det(q) = 0, all c_i . c_j >= 0, and some c_i is not zero or some q_i . q_j <= 0 (i = j counts).
// All of these are polynomials in time. The set of times of contact is closed, so if there are any,
// then one of them is 0 or 1 or a root of one of the polynomials that is not zero throughout.

#define DEGREE 4
#define POLYS  13 // det, six c . c, six q . q

typedef struct Poly
{
    mpq_t c[DEGREE + 1]; // the constant first
    int degree;          // -1: zero
} Poly;

static void InitPoly(Poly* p)
{
    for (int i = 0; i <= DEGREE; ++i)
    {
        mpq_init(p->c[i]);
    }
    p->degree = -1;
}

static void ClearPoly(Poly* p)
{
    for (int i = 0; i <= DEGREE; ++i)
    {
        mpq_clear(p->c[i]);
    }
}

static void SetDegree(Poly* p)
{
    p->degree = DEGREE;
    while (p->degree >= 0 && mpq_sgn(p->c[p->degree]) == 0)
    {
        p->degree -= 1;
    }
}

static void CopyPoly(Poly* to, const Poly* from)
{
    for (int i = 0; i <= DEGREE; ++i)
    {
        mpq_set(to->c[i], from->c[i]);
    }
    to->degree = from->degree;
}

// to += sign a b
static void AddProduct(Poly* to, const Poly* a, const Poly* b, int sign)
{
    mpq_t x;
    mpq_init(x);
    for (int i = 0; i <= a->degree; ++i)
    {
        for (int k = 0; k <= b->degree; ++k)
        {
            mpq_mul(x, a->c[i], b->c[k]);
            sign > 0 ? mpq_add(to->c[i + k], to->c[i + k], x)
                     : mpq_sub(to->c[i + k], to->c[i + k], x);
        }
    }
    mpq_clear(x);
    SetDegree(to);
}

static void ValueAt(mpq_t value, const Poly* p, const mpq_t t)
{
    mpq_set_ui(value, 0, 1);
    for (int i = p->degree; i >= 0; --i)
    {
        mpq_mul(value, value, t);
        mpq_add(value, value, p->c[i]);
    }
}

static int SignAt(const Poly* p, const mpq_t t)
{
    mpq_t value;
    mpq_init(value);
    ValueAt(value, p, t);
    int sign = mpq_sgn(value);
    mpq_clear(value);
    return sign;
}

static void Derive(Poly* to, const Poly* from)
{
    mpq_t n;
    mpq_init(n);
    for (int i = 0; i < DEGREE; ++i)
    {
        mpq_set_ui(n, (unsigned long)i + 1, 1);
        mpq_mul(to->c[i], from->c[i + 1], n);
    }
    mpq_set_ui(to->c[DEGREE], 0, 1);
    mpq_clear(n);
    SetDegree(to);
}

// Makes the coefficients whole numbers without a common factor: signs stay, numbers do not grow.
static void Normalize(Poly* p)
{
    mpz_t multiple, factor;
    mpz_inits(multiple, factor, NULL);
    mpz_set_ui(multiple, 1);
    for (int i = 0; i <= p->degree; ++i)
    {
        mpz_lcm(multiple, multiple, mpq_denref(p->c[i]));
    }
    for (int i = 0; i <= p->degree; ++i)
    {
        mpz_divexact(mpq_denref(p->c[i]), multiple, mpq_denref(p->c[i]));
        mpz_mul(mpq_numref(p->c[i]), mpq_numref(p->c[i]), mpq_denref(p->c[i]));
        mpz_set_ui(mpq_denref(p->c[i]), 1);
        mpz_gcd(factor, factor, mpq_numref(p->c[i]));
    }
    for (int i = 0; i <= p->degree && mpz_sgn(factor) != 0; ++i)
    {
        mpz_divexact(mpq_numref(p->c[i]), mpq_numref(p->c[i]), factor);
    }
    mpz_clears(multiple, factor, NULL);
}

// r = the rest of a divided by b, which is not zero; q, if not null, the quotient.
static void Divide(Poly* r, Poly* q, const Poly* a, const Poly* b)
{
    mpq_t f, x;
    mpq_inits(f, x, NULL);
    CopyPoly(r, a);
    for (int i = 0; q && i <= DEGREE; ++i)
    {
        mpq_set_ui(q->c[i], 0, 1);
    }
    while (r->degree >= b->degree)
    {
        int shift = r->degree - b->degree;
        mpq_div(f, r->c[r->degree], b->c[b->degree]);
        if (q)
        {
            mpq_set(q->c[shift], f);
        }
        for (int i = 0; i <= b->degree; ++i)
        {
            mpq_mul(x, f, b->c[i]);
            mpq_sub(r->c[i + shift], r->c[i + shift], x);
        }
        SetDegree(r);
    }
    mpq_clears(f, x, NULL);
    Normalize(r);
    if (q)
    {
        SetDegree(q);
        Normalize(q);
    }
}

// The greatest common divisor of two polynomials that are not both zero.
static void FindDivisor(Poly* g, const Poly* a, const Poly* b)
{
    Poly x, y, r;
    InitPoly(&x);
    InitPoly(&y);
    InitPoly(&r);
    CopyPoly(&x, a);
    CopyPoly(&y, b);
    while (y.degree >= 0)
    {
        Divide(&r, NULL, &x, &y);
        CopyPoly(&x, &y);
        CopyPoly(&y, &r);
    }
    CopyPoly(g, &x);
    ClearPoly(&x);
    ClearPoly(&y);
    ClearPoly(&r);
}

// Sturm's sequence of a polynomial without double roots.
typedef struct Sturm
{
    Poly p[DEGREE + 2];
    int count;
} Sturm;

static void MakeSturm(Sturm* s, const Poly* p)
{
    for (int i = 0; i < DEGREE + 2; ++i)
    {
        InitPoly(&s->p[i]);
    }
    CopyPoly(&s->p[0], p);
    Derive(&s->p[1], p);
    s->count = s->p[1].degree >= 0 ? 2 : 1;
    while (s->count >= 2 && s->p[s->count - 1].degree > 0)
    {
        Poly* rest = &s->p[s->count];
        Divide(rest, NULL, &s->p[s->count - 2], &s->p[s->count - 1]);
        if (rest->degree < 0)
        {
            break;
        }
        for (int i = 0; i <= DEGREE; ++i)
        {
            mpq_neg(rest->c[i], rest->c[i]);
        }
        s->count += 1;
    }
}

static void ClearSturm(Sturm* s)
{
    for (int i = 0; i < DEGREE + 2; ++i)
    {
        ClearPoly(&s->p[i]);
    }
}

static int CountChanges(const Sturm* s, const mpq_t t)
{
    int changes = 0, last = 0;
    for (int i = 0; i < s->count; ++i)
    {
        int sign = SignAt(&s->p[i], t);
        changes += sign != 0 && last != 0 && sign != last;
        last = sign != 0 ? sign : last;
    }
    return changes;
}

// Roots in (a, b].
static int CountRoots(const Sturm* s, const mpq_t a, const mpq_t b)
{
    return CountChanges(s, a) - CountChanges(s, b);
}

// A time: a rational number (low = high), or the only root of `of` in (low, high).
typedef struct Time
{
    const Sturm* of;
    mpq_t low, high;
} Time;

static void Halve(Time* t)
{
    mpq_t middle, two;
    mpq_inits(middle, two, NULL);
    mpq_set_ui(two, 2, 1);
    mpq_add(middle, t->low, t->high);
    mpq_div(middle, middle, two);
    if (SignAt(&t->of->p[0], middle) == 0)
    {
        mpq_set(t->low, middle);
        mpq_set(t->high, middle);
    }
    else
    {
        CountRoots(t->of, t->low, middle) > 0 ? mpq_set(t->high, middle) : mpq_set(t->low, middle);
    }
    mpq_clears(middle, two, NULL);
}

// True when g, which divides t's polynomial, has its root.
static bool HasRootAt(const Poly* g, const Time* t)
{
    Sturm s;
    MakeSturm(&s, g);
    bool has = g->degree > 0 && CountRoots(&s, t->low, t->high) > 0;
    ClearSturm(&s);
    return has;
}

// Sturm's sequence of the polynomial, whose roots are counted once each.
static void MakeSturmOf(Sturm* s, const Poly* p)
{
    Poly derived, g, single, rest;
    InitPoly(&derived);
    InitPoly(&g);
    InitPoly(&single);
    InitPoly(&rest);
    Derive(&derived, p);
    FindDivisor(&g, p, &derived);
    Divide(&rest, &single, p, &g);
    MakeSturm(s, &single);
    ClearPoly(&derived);
    ClearPoly(&g);
    ClearPoly(&single);
    ClearPoly(&rest);
}

static bool HasNoRootIn(const Sturm* s, const Time* t)
{
    return SignAt(&s->p[0], t->low) != 0 && CountRoots(s, t->low, t->high) == 0;
}

// The sign of a polynomial at the time, which gets narrower meanwhile.
static int SignAtTime(const Poly* p, Time* t)
{
    if (p->degree <= 0 || mpq_equal(t->low, t->high))
    {
        return SignAt(p, t->low);
    }
    Sturm s;
    MakeSturmOf(&s, p);
    bool isZero = false;
    if (!HasNoRootIn(&s, t))
    {
        Poly g;
        InitPoly(&g);
        FindDivisor(&g, &t->of->p[0], p);
        isZero = HasRootAt(&g, t);
        ClearPoly(&g);
    }
    while (!isZero && !mpq_equal(t->low, t->high) && !HasNoRootIn(&s, t))
    {
        Halve(t);
    }
    ClearSturm(&s);
    return isZero ? 0 : SignAt(p, t->low);
}

typedef struct Triangle
{
    Poly q[3][3]; // corner, axis
    Poly p[POLYS];
} Triangle;

static bool IsTouchAt(const Triangle* triangle, Time* t)
{
    const Poly* p = triangle->p;
    if (SignAtTime(&p[0], t) != 0)
    {
        return false;
    }
    // c0c0 c0c1 c0c2 c1c1 c1c2 c2c2, then q the same
    bool isNormal = false, isBetween = false;
    for (int i = 1; i <= 6; ++i)
    {
        int sign = SignAtTime(&p[i], t);
        if (sign < 0)
        {
            return false;
        }
        isNormal = isNormal || ((i == 1 || i == 4 || i == 6) && sign > 0);
    }
    for (int i = 7; i <= 12 && !isNormal && !isBetween; ++i)
    {
        isBetween = SignAtTime(&p[i], t) <= 0;
    }
    return isNormal || isBetween;
}

static void Cross(Poly out[3], const Poly a[3], const Poly b[3])
{
    for (int k = 0; k < 3; ++k)
    {
        AddProduct(&out[k], &a[(k + 1) % 3], &b[(k + 2) % 3], 1);
        AddProduct(&out[k], &a[(k + 2) % 3], &b[(k + 1) % 3], -1);
    }
}

static void SetPolys(Triangle* t)
{
    Poly c[3][3];
    for (int i = 0; i < 9; ++i)
    {
        InitPoly(&c[i / 3][i % 3]);
    }
    for (int i = 0; i < 3; ++i)
    {
        Cross(c[i], t->q[(i + 1) % 3], t->q[(i + 2) % 3]);
    }
    static const int first[6] = {0, 0, 0, 1, 1, 2}, second[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 3; ++k)
    {
        AddProduct(&t->p[0], &t->q[0][k], &c[0][k], 1);
        for (int i = 0; i < 6; ++i)
        {
            AddProduct(&t->p[1 + i], &c[first[i]][k], &c[second[i]][k], 1);
            AddProduct(&t->p[7 + i], &t->q[first[i]][k], &t->q[second[i]][k], 1);
        }
    }
    for (int i = 0; i < POLYS; ++i)
    {
        Normalize(&t->p[i]);
    }
    for (int i = 0; i < 9; ++i)
    {
        ClearPoly(&c[i / 3][i % 3]);
    }
}

// The power of two that makes all coordinates whole numbers; contacts do not depend on scale.
static int FindShift(const knCcdTest* test)
{
    int lowest = 2000;
    for (int i = 0; i < 24; ++i)
    {
        const knDVec3* p = i < 12 ? &test->start[i / 3] : &test->end[i / 3 - 4];
        double x = i % 3 == 0 ? p->x : (i % 3 == 1 ? p->y : p->z);
        int exponent;
        double mantissa = frexp(x, &exponent);
        for (; mantissa != floor(mantissa); --exponent)
        {
            mantissa *= 2.0;
        }
        lowest = x != 0.0 && exponent < lowest ? exponent : lowest;
    }
    return lowest;
}

static void SetScaled(mpq_t to, double x, int shift)
{
    mpq_set_d(to, x);
    shift > 0 ? mpq_div_2exp(to, to, (mp_bitcnt_t)shift)
              : mpq_mul_2exp(to, to, (mp_bitcnt_t)-shift);
}

// a - b, linear from its start to its end
static void SetCorner(Poly q[3], const knCcdTest* test, int a, int b, int shift)
{
    const double s[2][3] = {{test->start[a].x, test->start[a].y, test->start[a].z},
                            {test->start[b].x, test->start[b].y, test->start[b].z}};
    const double e[2][3] = {{test->end[a].x, test->end[a].y, test->end[a].z},
                            {test->end[b].x, test->end[b].y, test->end[b].z}};
    mpq_t x;
    mpq_init(x);
    for (int k = 0; k < 3; ++k)
    {
        SetScaled(q[k].c[0], s[0][k], shift);
        SetScaled(x, s[1][k], shift);
        mpq_sub(q[k].c[0], q[k].c[0], x);
        SetScaled(q[k].c[1], e[0][k], shift);
        SetScaled(x, e[1][k], shift);
        mpq_sub(q[k].c[1], q[k].c[1], x);
        mpq_sub(q[k].c[1], q[k].c[1], q[k].c[0]);
        SetDegree(&q[k]);
    }
    mpq_clear(x);
}

// An axis along which all corners are on one side at both ends, and so always.
static bool AreOnOneSide(const Triangle* t)
{
    mpq_t end;
    mpq_init(end);
    bool isApart = false;
    for (int k = 0; k < 3 && !isApart; ++k)
    {
        int ahead = 0, behind = 0;
        for (int i = 0; i < 3; ++i)
        {
            mpq_add(end, t->q[i][k].c[0], t->q[i][k].c[1]);
            int first = mpq_sgn(t->q[i][k].c[0]), last = mpq_sgn(end);
            ahead += first > 0 && last > 0;
            behind += first < 0 && last < 0;
        }
        isApart = ahead == 3 || behind == 3;
    }
    mpq_clear(end);
    return isApart;
}

// The volume's Bernstein coefficients are all above or all below zero.
static bool IsVolumeNeverZero(const Poly* p)
{
    mpq_t b[4], f;
    mpq_inits(b[0], b[1], b[2], b[3], f, NULL);
    // c0, c0 + c1 / 3, c0 + 2 c1 / 3 + c2 / 3, c0 + c1 + c2 + c3
    static const unsigned long thirds[4][4] = {
        {3, 0, 0, 0}, {3, 1, 0, 0}, {3, 2, 1, 0}, {3, 3, 3, 3}};
    int sum = 0;
    for (int i = 0; i < 4; ++i)
    {
        for (int k = 0; k < 4; ++k)
        {
            mpq_set_ui(f, thirds[i][k], 1);
            mpq_mul(f, f, p->c[k]);
            mpq_add(b[i], b[i], f);
        }
        sum += mpq_sgn(b[i]);
    }
    mpq_clears(b[0], b[1], b[2], b[3], f, NULL);
    return sum == 4 || sum == -4;
}

static bool IsTouchIn(const Triangle* triangle, Time* t, int rootCount)
{
    if (rootCount == 0)
    {
        return false;
    }
    if (rootCount == 1)
    {
        // (low, high] holds it: at high, or between
        if (SignAt(&t->of->p[0], t->high) == 0)
        {
            mpq_set(t->low, t->high);
        }
        return IsTouchAt(triangle, t);
    }
    mpq_t middle, two;
    mpq_inits(middle, two, NULL);
    mpq_set_ui(two, 2, 1);
    mpq_add(middle, t->low, t->high);
    mpq_div(middle, middle, two);
    Time left = {.of = t->of}, right = {.of = t->of};
    mpq_inits(left.low, left.high, right.low, right.high, NULL);
    mpq_set(left.low, t->low);
    mpq_set(left.high, middle);
    mpq_set(right.low, middle);
    mpq_set(right.high, t->high);
    bool isTouch = IsTouchIn(triangle, &left, CountRoots(t->of, left.low, left.high)) ||
                   IsTouchIn(triangle, &right, CountRoots(t->of, right.low, right.high));
    mpq_clears(left.low, left.high, right.low, right.high, middle, two, NULL);
    return isTouch;
}

// Tries every root of a polynomial in [0, last] at which a contact may be.
static bool IsTouchAtRoots(const Triangle* triangle, const Poly* p, const mpq_t last)
{
    Sturm s;
    MakeSturmOf(&s, p);
    Time t = {.of = &s};
    mpq_inits(t.low, t.high, NULL);
    mpq_set(t.high, last);
    bool isTouch = IsTouchIn(triangle, &t, CountRoots(&s, t.low, t.high));
    mpq_clears(t.low, t.high, NULL);
    ClearSturm(&s);
    return isTouch;
}

static bool IsTouchAtNumber(const Triangle* triangle, const mpq_t number)
{
    Time t = {0};
    mpq_inits(t.low, t.high, NULL);
    mpq_set(t.low, number);
    mpq_set(t.high, number);
    bool isTouch = IsTouchAt(triangle, &t);
    mpq_clears(t.low, t.high, NULL);
    return isTouch;
}

static bool DoesTriangleTouch(Triangle* triangle, const mpq_t last)
{
    mpq_t zero;
    mpq_init(zero);
    bool isTouch = IsTouchAtNumber(triangle, zero) || IsTouchAtNumber(triangle, last);
    mpq_clear(zero);
    // where the volume is not zero throughout, its roots are all there is to try
    int count = triangle->p[0].degree >= 0 ? 1 : POLYS;
    for (int i = 0; i < count && !isTouch; ++i)
    {
        isTouch = triangle->p[i].degree > 0 && IsTouchAtRoots(triangle, &triangle->p[i], last);
    }
    return isTouch;
}

static bool DoCornersTouch(const knCcdTest* test, const int pairs[3][2], const mpq_t last)
{
    Triangle* t = malloc(sizeof *t);
    if (!t)
    {
        abort();
    }
    for (int i = 0; i < 9; ++i)
    {
        InitPoly(&t->q[i / 3][i % 3]);
    }
    for (int i = 0; i < POLYS; ++i)
    {
        InitPoly(&t->p[i]);
    }
    int shift = FindShift(test);
    for (int i = 0; i < 3; ++i)
    {
        SetCorner(t->q[i], test, pairs[i][0], pairs[i][1], shift);
    }
    bool isTouch = false;
    if (!AreOnOneSide(t))
    {
        SetPolys(t);
        isTouch = !IsVolumeNeverZero(&t->p[0]) && DoesTriangleTouch(t, last);
    }
    for (int i = 0; i < 9; ++i)
    {
        ClearPoly(&t->q[i / 3][i % 3]);
    }
    for (int i = 0; i < POLYS; ++i)
    {
        ClearPoly(&t->p[i]);
    }
    free(t);
    return isTouch;
}

static bool DoTouchUntil(const knCcdTest* test, const mpq_t last)
{
    static const int face[3][2] = {{0, 1}, {0, 2}, {0, 3}};
    static const int edges[2][3][2] = {{{0, 2}, {1, 2}, {1, 3}}, {{0, 2}, {1, 3}, {0, 3}}};
    return test->kind == kn_ccdVertexFace
               ? DoCornersTouch(test, face, last)
               : DoCornersTouch(test, edges[0], last) || DoCornersTouch(test, edges[1], last);
}

bool DoFeaturesTouch(const knCcdTest* test)
{
    mpq_t one;
    mpq_init(one);
    mpq_set_ui(one, 1, 1);
    bool isTouch = DoTouchUntil(test, one);
    mpq_clear(one);
    return isTouch;
}

bool DoFeaturesTouchBefore(const knCcdTest* test, double time)
{
    if (time <= 0.0)
    {
        return false;
    }
    // up to the double below: what is between does not matter to anybody
    mpq_t last, shrink;
    mpq_inits(last, shrink, NULL);
    mpq_set_d(last, time);
    mpq_set_d(shrink, 1.0 - 0x1p-52);
    mpq_mul(last, last, shrink);
    bool isTouch = DoTouchUntil(test, last);
    mpq_clears(last, shrink, NULL);
    return isTouch;
}
