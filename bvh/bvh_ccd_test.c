// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// The elementary test. A direction d parts the features at time t when all corners q_i(t) of their
// difference have q_i(t) . d > 0. Each of these is linear in t, so one direction proves a whole
// interval free, found in closed form; what is left is looked at again with other directions, the
// earliest part first. How a direction was found does not matter to the proof.

#define UNIT    0x1p-53
#define BOUND   8.0       // roundings in a corner's product with a direction: docs/ccd.md
#define FLOOR   0x1p-1060 // more than all that underflow can take from it
#define NO_TIME 0x1p-500  // shorter times are not told from 0

#define ADVANCES 8    // from zero to zero of the volume
#define AT_ZERO  1e-8 // a time that holds the zero

typedef struct Interval
{
    double begin, end;
    bool isLeft; // to be tried at its begin, not in its middle
} Interval;

typedef struct Corner
{
    double q[4][3];
} Corner;

static void CornersAt(const knCcdCorners* c, double t, Corner* at)
{
    for (uint32_t i = 0; i < c->count; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            at->q[i][k] = c->start[i][k] + t * (c->end[i][k] - c->start[i][k]);
        }
    }
}

static double Dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void Cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void Sub(const double a[3], const double b[3], double out[3])
{
    out[0] = a[0] - b[0];
    out[1] = a[1] - b[1];
    out[2] = a[2] - b[2];
}

static double Clamp01(double x)
{
    return x < 0.0 ? 0.0 : (x > 1.0 ? 1.0 : x);
}

// From the origin to the nearest point of the segment p, p + e.
static double NearestOnSegment(const double p[3], const double q[3], double out[3])
{
    double e[3];
    Sub(q, p, e);
    double length = Dot(e, e);
    double s = length > 0.0 ? Clamp01(-Dot(p, e) / length) : 0.0;
    for (int k = 0; k < 3; ++k)
    {
        out[k] = p[k] + s * e[k];
    }
    return Dot(out, out);
}

// The face normal where the origin lies over the triangle, else towards the nearest edge.
static void DirectionToTriangle(const Corner* c, double d[3])
{
    double u[3], v[3], n[3], side[3];
    Sub(c->q[1], c->q[0], u);
    Sub(c->q[2], c->q[0], v);
    Cross(u, v, n);
    bool isInside = true;
    for (int i = 0; i < 3 && isInside; ++i)
    {
        Cross(c->q[i], c->q[(i + 1) % 3], side);
        isInside = Dot(side, n) > 0.0;
    }
    if (isInside)
    {
        double sign = Dot(n, c->q[0]) < 0.0 ? -1.0 : 1.0;
        d[0] = sign * n[0];
        d[1] = sign * n[1];
        d[2] = sign * n[2];
        return;
    }
    double best = INFINITY;
    for (int i = 0; i < 3; ++i)
    {
        double out[3];
        double distance = NearestOnSegment(c->q[i], c->q[(i + 1) % 3], out);
        if (distance < best)
        {
            best = distance;
            memcpy(d, out, sizeof out);
        }
    }
}

// The common normal where both nearest points are inside their edges, else between them. Corners:
// a0 - b0, a1 - b0, a0 - b1, a1 - b1.
static void DirectionToEdges(const Corner* c, double d[3])
{
    double u[3], v[3], n[3];
    const double* r = c->q[0];
    Sub(c->q[1], c->q[0], u);
    Sub(c->q[0], c->q[2], v);
    Cross(u, v, n);
    double uu = Dot(u, u), vv = Dot(v, v), uv = Dot(u, v), ur = Dot(u, r), vr = Dot(v, r);
    double determinant = Dot(n, n);
    double s = determinant > 0.0 ? (uv * vr - ur * vv) / determinant : 0.0;
    double t = determinant > 0.0 ? (uu * vr - uv * ur) / determinant : 0.0;
    if (determinant > 0.0 && s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0)
    {
        double sign = Dot(n, r) < 0.0 ? -1.0 : 1.0;
        d[0] = sign * n[0];
        d[1] = sign * n[1];
        d[2] = sign * n[2];
        return;
    }
    // the nearest points lie on the rim of the parallelogram of differences
    static const uint8_t rim[4][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    double best = INFINITY;
    for (int i = 0; i < 4; ++i)
    {
        double out[3];
        double distance = NearestOnSegment(c->q[rim[i][0]], c->q[rim[i][1]], out);
        if (distance < best)
        {
            best = distance;
            memcpy(d, out, sizeof out);
        }
    }
}

// False when there is none.
static bool FindDirection(const knCcdCorners* c, double t, double d[3])
{
    Corner at;
    CornersAt(c, t, &at);
    d[0] = d[1] = d[2] = 0.0;
    c->count == 3 ? DirectionToTriangle(&at, d) : DirectionToEdges(&at, d);
    double size = fmax(fabs(d[0]), fmax(fabs(d[1]), fabs(d[2])));
    if (!(size > 0x1p-1000 && size < 0x1p1000))
    {
        return false;
    }
    double scale = 1.0 / size;
    for (int k = 0; k < 3; ++k)
    {
        d[k] *= scale;
    }
    return true;
}

// A lower bound of q . d - margin, in exact arithmetic.
static double LowerProduct(const double q[3], const double d[3], double margin, double bound)
{
    double x = q[0] * d[0], y = q[1] * d[1], z = q[2] * d[2];
    double size = fabs(x) + fabs(y) + fabs(z);
    return ((x + y) + z) - (bound * size + margin);
}

// Shrinks [lower, upper] to the times at which a value is surely positive that is at least `begin`
// at 0 and `end` at 1, linear between.
static bool ClipTimes(double begin, double end, double* lower, double* upper)
{
    if (!(begin > 0.0) && !(end > 0.0))
    {
        return false;
    }
    if (!(end > 0.0))
    {
        double t = begin / (begin - end) * (1.0 - 4.0 * UNIT);
        t = t > NO_TIME ? t : 0.0;
        *upper = t < *upper ? t : *upper;
    }
    else if (!(begin > 0.0))
    {
        double t = -begin / (end - begin) * (1.0 + 4.0 * UNIT);
        t = t > NO_TIME ? t : NO_TIME;
        *lower = t > *lower ? t : *lower;
    }
    return *lower <= *upper;
}

// The times, within [0, 1], that the direction proves to be free.
static bool FreeTimes(const knCcdCorners* c, const double d[3], double* lower, double* upper)
{
    double margin = FLOOR;
    if (c->separation > 0.0 || c->slack > 0.0)
    {
        margin +=
            (c->separation * sqrt(Dot(d, d)) + c->slack * (fabs(d[0]) + fabs(d[1]) + fabs(d[2]))) *
            (1.0 + 16.0 * UNIT);
    }
    double bound = BOUND * UNIT;
    if ((c->sabotage & kn_sabotageCcdBound) != 0)
    {
        bound = 0.0;
        margin = 0.0;
    }
    *lower = 0.0;
    *upper = 1.0;
    bool isFree = true;
    for (uint32_t i = 0; i < c->count && isFree; ++i)
    {
        isFree = ClipTimes(LowerProduct(c->start[i], d, margin, bound),
                           LowerProduct(c->end[i], d, margin, bound), lower, upper);
    }
    return isFree;
}

typedef struct Search
{
    Interval stack[KN_CCD_STEPS + 4]; // a step takes one and leaves two at most
    uint32_t count;
} Search;

static void Push(Search* s, double begin, double end, bool isLeft)
{
    if (begin <= end)
    {
        s->stack[s->count++] = (Interval){begin, end, isLeft};
    }
}

// What is left of the interval after a direction from its middle, or that there was none.
static void SplitMiddle(Search* s, Interval i, bool isFree, double lower, double upper)
{
    if (isFree)
    {
        if (upper < i.end)
        {
            Push(s, upper, i.end, false);
        }
        if (lower > i.begin)
        {
            Push(s, i.begin, lower, false);
        }
        return;
    }
    double middle = 0.5 * (i.begin + i.end);
    Push(s, middle, i.end, false);
    Push(s, i.begin, middle, true);
}

// The same from the begin: an advance, or a contact that the next short interval will report.
static void SplitLeft(Search* s, Interval i, bool isFree, double upper)
{
    if (!isFree || upper < i.begin + KN_CCD_TOLERANCE)
    {
        double next = i.begin + KN_CCD_TOLERANCE;
        Push(s, next, i.end, false);
        Push(s, i.begin, next < i.end ? next : i.end, false);
    }
    else if (upper < i.end)
    {
        Push(s, upper, i.end, upper - i.begin > 0.25 * (i.end - i.begin));
    }
}

static bool FindFree(const knCcdCorners* c, double t, double* lower, double* upper)
{
    double d[3];
    // a direction that does not even prove its own time free brings nothing
    return FindDirection(c, t, d) && FreeTimes(c, d, lower, upper) && *lower <= t && *upper >= t;
}

static void SetContact(knCcdAnswer* answer, double time)
{
    answer->isContact = true;
    answer->isAtStart = time == 0.0;
    answer->time = time;
}

// From one zero of the volume to the next, as at no other time there is a contact. Returns the time
// from which on nothing is known; at a contact the answer has it.
static double AdvanceByVolume(const knCcdCorners* c, double until, knCcdAnswer* answer)
{
    knCcdVolume volume = knFindCcdVolume(c);
    double begin = 0.0;
    for (int i = 0; i < ADVANCES && begin < until; ++i)
    {
        double next = knVolumeFreeUntil(&volume, begin, until), lower, upper;
        bool isStuck = next <= begin;
        begin = next;
        if (begin >= until)
        {
            break;
        }
        double end = begin + AT_ZERO < until ? begin + AT_ZERO : until;
        answer->stepCount += 1;
        bool isFree = FindFree(c, 0.5 * (begin + end), &lower, &upper);
        if (!isFree || lower > begin || upper < end)
        {
            // a volume that is zero for long says nothing of where a contact is
            isStuck ? (void)0 : SetContact(answer, begin);
            return begin;
        }
        begin = upper < until ? upper : until;
    }
    return begin;
}

static void RunSearch(const knCcdCorners* c, double begin, double until, knCcdAnswer* answer)
{
    Search s;
    s.count = 0;
    Push(&s, begin, until, false);
    while (s.count > 0)
    {
        Interval i = s.stack[--s.count];
        double lower = 0.0, upper = 0.0;
        double t = i.isLeft ? i.begin : 0.5 * (i.begin + i.end);
        answer->stepCount += 1;
        bool isFree = FindFree(c, t, &lower, &upper);
        bool isShort = i.end - i.begin <= KN_CCD_TOLERANCE;
        bool isDone = isFree && lower <= i.begin && upper >= i.end;
        answer->isCapped = answer->stepCount >= KN_CCD_STEPS && !isDone;
        if (answer->isCapped || (isShort && !isDone))
        {
            SetContact(answer, i.begin);
            return;
        }
        if (!isDone)
        {
            i.isLeft ? SplitLeft(&s, i, isFree, upper) : SplitMiddle(&s, i, isFree, lower, upper);
        }
    }
}

knCcdAnswer knMeetCorners(const knCcdCorners* c, double until)
{
    knCcdAnswer answer = {.time = 1.0};
    bool isExact = !(c->separation > 0.0) && !(c->slack > 0.0);
    double begin = isExact ? AdvanceByVolume(c, until, &answer) : 0.0;
    if (!answer.isContact && (begin < until || !isExact))
    {
        RunSearch(c, begin, until, &answer);
    }
    return answer;
}

static double LargestCoordinate(const knCcdTest* test)
{
    double largest = 0.0;
    for (int i = 0; i < 4; ++i)
    {
        const knDVec3* p[2] = {&test->start[i], &test->end[i]};
        for (int k = 0; k < 2; ++k)
        {
            double size = fmax(fabs(p[k]->x), fmax(fabs(p[k]->y), fabs(p[k]->z)));
            largest = size >= largest ? size : largest;
        }
    }
    return largest;
}

static bool IsFinite(const knCcdTest* test)
{
    bool isFinite = isfinite(test->separation) && test->separation >= 0.0 &&
                    isfinite(test->slack) && test->slack >= 0.0;
    for (int i = 0; i < 4; ++i)
    {
        const knDVec3 *p = &test->start[i], *q = &test->end[i];
        isFinite = isFinite && isfinite(p->x) && isfinite(p->y) && isfinite(p->z) &&
                   isfinite(q->x) && isfinite(q->y) && isfinite(q->z);
    }
    return isFinite;
}

static knDVec3 ScaledPoint(knDVec3 p, int exponent)
{
    return knMakeDVec3(ldexp(p.x, exponent), ldexp(p.y, exponent), ldexp(p.z, exponent));
}

// Brings coordinates of any size near one, exactly but for what underflows, which FLOOR covers.
static knCcdTest ScaledTest(const knCcdTest* test)
{
    knCcdTest scaled = *test;
    int exponent;
    frexp(LargestCoordinate(test), &exponent);
    if (exponent > -250 && exponent < 250)
    {
        return scaled;
    }
    for (int i = 0; i < 4; ++i)
    {
        scaled.start[i] = ScaledPoint(test->start[i], -exponent);
        scaled.end[i] = ScaledPoint(test->end[i], -exponent);
    }
    // upwards: what underflows must not get lost
    scaled.separation =
        test->separation > 0.0 ? nextafter(ldexp(test->separation, -exponent), INFINITY) : 0.0;
    scaled.slack = test->slack > 0.0 ? nextafter(ldexp(test->slack, -exponent), INFINITY) : 0.0;
    return scaled;
}

static void SetCorner(double out[3], knDVec3 a, knDVec3 b)
{
    out[0] = a.x - b.x;
    out[1] = a.y - b.y;
    out[2] = a.z - b.z;
}

static void SetCorners(knCcdCorners* c, const knCcdTest* test)
{
    c->separation = test->separation;
    c->slack = 2.0 * test->slack;
    c->sabotage = 0;
    c->count = test->kind == kn_ccdVertexFace ? 3 : 4;
    for (uint32_t i = 0; i < c->count; ++i)
    {
        uint32_t a = test->kind == kn_ccdVertexFace ? 0 : i % 2;
        uint32_t b = test->kind == kn_ccdVertexFace ? i + 1 : 2 + i / 2;
        SetCorner(c->start[i], test->start[a], test->start[b]);
        SetCorner(c->end[i], test->end[a], test->end[b]);
    }
}

knResult knRunCcdTest(const knCcdTest* test, knCcdSolver solver, knCcdAnswer* answer)
{
    if (!test || !answer || (unsigned)solver >= kn_ccdSolverCount ||
        (unsigned)test->kind > kn_ccdEdgeEdge)
    {
        return knFail(kn_errorArgument, "a test needs its points, a kind and a solver");
    }
    if (!IsFinite(test))
    {
        return knFail(kn_errorArgument,
                      "coordinates, separation and slack must be finite, the latter not negative");
    }
    uint32_t mode = knBeginExact();
    knCcdTest scaled = ScaledTest(test);
    if (solver == kn_ccdConservative)
    {
        knCcdCorners corners;
        SetCorners(&corners, &scaled);
        *answer = knMeetCorners(&corners, 1.0);
    }
    else
    {
        *answer = knMeetCubic(&scaled, solver == kn_ccdFiltered);
    }
    knEndExact(mode);
    return kn_success;
}
