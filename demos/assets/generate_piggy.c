// SPDX-License-Identifier: Zlib

// A hollow piggy bank with a coin slot, as a smooth union of simple solids. The pig looks along +X.

#include "generate.h"

enum
{
    TAIL_POINTS = 19
};

static const double wallThickness = 0.0065;
static const double tailRadius = 0.0036;

// polynomial smooth minimum: blends over the width k, and is the plain minimum beyond it
static double SmoothUnion(double a, double b, double k)
{
    double h = fmax(k - fabs(a - b), 0.0) / k;
    return fmin(a, b) - 0.25 * h * h * k;
}

static double SmoothCut(double solid, double tool, double k)
{
    return -SmoothUnion(-solid, tool, k);
}

// close to the distance near the surface, which is where it is used
static double Ellipsoid(Vec3 p, Vec3 centre, Vec3 radii)
{
    Vec3 q = Sub(p, centre);
    Vec3 once = {q.x / radii.x, q.y / radii.y, q.z / radii.z};
    Vec3 twice = {once.x / radii.x, once.y / radii.y, once.z / radii.z};
    double k0 = Length(once), k1 = Length(twice);
    return k1 > 0.0 ? k0 * (k0 - 1.0) / k1 : -fmin(radii.x, fmin(radii.y, radii.z));
}

// a capsule whose radius changes from a to b
static double Capsule(Vec3 p, Vec3 a, Vec3 b, double radiusA, double radiusB)
{
    Vec3 ab = Sub(b, a);
    double t = Clamp(Dot(Sub(p, a), ab) / Dot(ab, ab), 0.0, 1.0);
    return Distance(p, Add(a, Scale(t, ab))) - (radiusA + t * (radiusB - radiusA));
}

// a disc on end, with its axis along x
static double Disc(Vec3 p, Vec3 centre, double radius, double halfLength, double rounding)
{
    Vec3 q = Sub(p, centre);
    double across = sqrt(q.y * q.y + q.z * q.z) - radius + rounding;
    double along = fabs(q.x) - halfLength + rounding;
    double outside = Length((Vec3){fmax(across, 0.0), fmax(along, 0.0), 0.0});
    return outside + fmin(fmax(across, along), 0.0) - rounding;
}

// body and head: all that the wall encloses
static double Trunk(Vec3 p)
{
    double body = Ellipsoid(p, (Vec3){-0.008, 0.060, 0.0}, (Vec3){0.066, 0.049, 0.052});
    double head = Ellipsoid(p, (Vec3){0.050, 0.072, 0.0}, (Vec3){0.035, 0.036, 0.038});
    return SmoothUnion(body, head, 0.018);
}

static double Snout(Vec3 p)
{
    double snout = Disc(p, (Vec3){0.086, 0.066, 0.0}, 0.0170, 0.0100, 0.0035);
    Vec3 nostril = {0.0970, 0.0675, 0.0062};
    return SmoothCut(snout, Ellipsoid(p, nostril, (Vec3){0.0045, 0.0050, 0.0030}), 0.0020);
}

// a thick leaf that leans forward and out, cupped in front
static double Ear(Vec3 p)
{
    const Vec3 root = {0.042, 0.094, 0.022};
    const Vec3 forward = {0.883, -0.420, 0.210}; // across the leaf
    const Vec3 up = {0.351, 0.884, 0.309};       // towards the tip
    const double thickness = 0.0042;             // half of it, which is also the radius of the rim
    Vec3 d = Sub(p, root);
    double height = Dot(d, up), side = Dot(d, Cross(forward, up));
    double across = Dot(d, forward) - 22.0 * side * side;
    // the outline narrows towards the tip; scaling back keeps the rim as round there
    double narrow = 1.0 - 0.65 * Clamp(height / 0.032, -0.3, 1.0);
    Vec3 outline = {0.0, height, side / narrow};
    double leaf = narrow * Ellipsoid(outline, (Vec3){0.0, 0.008, 0.0}, (Vec3){1.0, 0.0225, 0.0150});
    // bending and narrowing stretch space: a little less than the distance is safe to step by
    return 0.9 * (Length((Vec3){fmax(leaf, 0.0), across, 0.0}) - thickness);
}

static double Legs(Vec3 p)
{
    const Vec3 frontHip = {0.030, 0.036, 0.025}, frontFoot = {0.034, -0.010, 0.029};
    const Vec3 backHip = {-0.046, 0.036, 0.025}, backFoot = {-0.050, -0.010, 0.029};
    double front = Capsule(p, frontHip, frontFoot, 0.0170, 0.0150);
    double back = Capsule(p, backHip, backFoot, 0.0180, 0.0150);
    return fmin(front, back);
}

// one and a half turns of a helix, wound out from the rump
static Vec3 TailPoint(int i)
{
    Uv t = Turn(i - 4, 12);
    double reach = (double)i / (TAIL_POINTS - 1);
    double radius = 0.0085 * fmin(1.0, 3.5 * reach);
    return (Vec3){-0.068 - 0.023 * reach, 0.076 + radius * t.v, radius * t.u};
}

static double Tail(Vec3 p)
{
    double nearest = 1.0;
    for (int i = 1; i < TAIL_POINTS; ++i)
    {
        nearest = fmin(nearest, Capsule(p, TailPoint(i - 1), TailPoint(i), tailRadius, tailRadius));
    }
    return nearest;
}

// upright and with round ends, through the back only
static double Slot(Vec3 p)
{
    Vec3 q = {fmax(fabs(p.x + 0.012) - 0.0150, 0.0), 0.0, p.z};
    return fmax(Length(q) - 0.0026, 0.080 - p.y);
}

static double PiggyDistance(Vec3 p)
{
    const Vec3 eye = {0.0745, 0.0870, 0.0195}, eyeRadii = {0.0044, 0.0044, 0.0044};
    Vec3 half = {p.x, p.y, fabs(p.z)}; // all but the tail is made for one side and mirrored
    double trunk = Trunk(p);
    double pig = SmoothUnion(trunk, Snout(half), 0.0060);
    pig = SmoothUnion(pig, Ear(half), 0.0060);
    pig = SmoothUnion(pig, Legs(half), 0.0120);
    if (p.x < -0.05)
    {
        pig = SmoothUnion(pig, Tail(p), 0.0040);
    }
    pig = SmoothUnion(pig, Ellipsoid(half, eye, eyeRadii), 0.0012);
    pig = SmoothCut(pig, p.y, 0.0050); // flat soles
    pig = SmoothCut(pig, trunk + wallThickness, 0.0020);
    return SmoothCut(pig, Slot(p), 0.0030);
}

typedef struct Detail
{
    Vec3 centre;
    double radius; // metres
    double edge;   // wanted edge length inside
} Detail;

static double PiggyEdge(Vec3 p)
{
    static const Detail details[] = {
        {{0.0970, 0.0675, 0.0062}, 0.006, 0.0024}, // nostrils
        {{0.0765, 0.0885, 0.0205}, 0.006, 0.0022}, // eyes
        {{0.0860, 0.0660, 0.0}, 0.020, 0.0034},    // snout
        {{0.0500, 0.1140, 0.0270}, 0.018, 0.0028}, // ears
        {{-0.0800, 0.0760, 0.0}, 0.016, 0.0026},   // tail
        {{-0.0020, 0.1060, 0.0}, 0.010, 0.0026},   // slot
        {{-0.0220, 0.1060, 0.0}, 0.010, 0.0026},
    };
    Vec3 half = {p.x, p.y, fabs(p.z)};
    // the legs are solid and carry the weight: fine at the sole, coarser upwards
    double edge = fmin(0.0056, 0.0028 + 0.07 * fmax(p.y - 0.004, 0.0));
    for (size_t i = 0; i < sizeof(details) / sizeof(details[0]); ++i)
    {
        double away = fmax(Distance(half, details[i].centre) - details[i].radius, 0.0);
        edge = fmin(edge, details[i].edge + 0.3 * away);
    }
    return edge;
}

void MakePiggy(Mesh* mesh)
{
    const Surface surface = {.distance = PiggyDistance,
                             .edgeLength = PiggyEdge,
                             .lower = {-0.1031, -0.0073, -0.0663},
                             .upper = {0.1100, 0.1450, 0.0663},
                             .cell = 0.0016,
                             .tolerance = 0.0003};
    Polygonize(mesh, &surface);
    Remesh(mesh, &surface);
    SettleOnGround(mesh);
    MapBox(mesh, 0.1);
}
