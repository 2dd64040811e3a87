// SPDX-License-Identifier: Zlib
#include "fracture/crack_internal.h"

// Newton from above: the characteristic polynomial is convex beyond its largest root, so the steps
// fall towards it and never pass it.
static double LargestRoot(const StressTensor* s)
{
    double xx = (double)s->xx, yy = (double)s->yy, zz = (double)s->zz;
    double xy = (double)s->xy, xz = (double)s->xz, yz = (double)s->yz;
    double trace = xx + yy + zz;
    double minors = xx * yy + yy * zz + zz * xx - xy * xy - xz * xz - yz * yz;
    double det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    double rowX = xx + fabs(xy) + fabs(xz);
    double rowY = yy + fabs(xy) + fabs(yz);
    double rowZ = zz + fabs(xz) + fabs(yz);
    double root = fmax(rowX, fmax(rowY, rowZ));
    double size = fmax(fabs(rowX), fmax(fabs(rowY), fabs(rowZ)));
    for (int i = 0; i < 40; ++i)
    {
        double value = ((root - trace) * root + minors) * root - det;
        double slope = (3.0 * root - 2.0 * trace) * root + minors;
        if (!(slope > 0.0))
        {
            break;
        }
        double step = value / slope;
        root -= step;
        if (!(step > 1e-9 * size))
        {
            break;
        }
    }
    return root;
}

static knDVec3 Longest(knDVec3 a, knDVec3 b, knDVec3 c)
{
    double aa = knDDot(a, a);
    double bb = knDDot(b, b);
    double cc = knDDot(c, c);
    return aa >= bb && aa >= cc ? a : bb >= cc ? b : c;
}

double knCrack_Principal(const StressTensor* s, knVec3 fallback, knVec3* direction)
{
    double root = LargestRoot(s);
    // rows of s - root: the direction is across all of them
    knDVec3 x = {(double)s->xx - root, (double)s->xy, (double)s->xz};
    knDVec3 y = {(double)s->xy, (double)s->yy - root, (double)s->yz};
    knDVec3 z = {(double)s->xz, (double)s->yz, (double)s->zz - root};
    knDVec3 d = Longest(knDCross(x, y), knDCross(y, z), knDCross(z, x));
    knDVec3 row = Longest(x, y, z);
    double size = knDDot(row, row);
    if (!(knDLength(d) > 1e-5 * size))
    {
        // two equal values: any direction across the row will do, so the one nearest to `fallback`
        knDVec3 f = knToDouble(fallback);
        d = size > 0.0 ? knDSub(f, knDScale(knDDot(f, row) / size, row)) : f;
    }
    double length = knDLength(d);
    *direction = length > 0.0 ? knToFloat(knDScale(1.0 / length, d)) : fallback;
    return root;
}

void knCrack_Relieve(StressTensor* s, knVec3 n, float weight)
{
    knVec3 t = {s->xx * n.x + s->xy * n.y + s->xz * n.z, s->xy * n.x + s->yy * n.y + s->yz * n.z,
                s->xz * n.x + s->yz * n.y + s->zz * n.z};
    // (1 - w n n) s (1 - w n n): a contraction, so no principal value grows above the largest
    float nn = weight * weight * knDot(n, t);
    s->xx += nn * n.x * n.x - 2.0f * weight * t.x * n.x;
    s->yy += nn * n.y * n.y - 2.0f * weight * t.y * n.y;
    s->zz += nn * n.z * n.z - 2.0f * weight * t.z * n.z;
    s->xy += nn * n.x * n.y - weight * (t.x * n.y + t.y * n.x);
    s->xz += nn * n.x * n.z - weight * (t.x * n.z + t.z * n.x);
    s->yz += nn * n.y * n.z - weight * (t.y * n.z + t.z * n.y);
}
