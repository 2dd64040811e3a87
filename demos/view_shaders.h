// SPDX-License-Identifier: Zlib
#pragma once

// The programs of the view, as text.

#define KN_GLSL "#version 330 core\n"

static const char* const knShadowVertex =
    KN_GLSL "layout(location = 0) in vec3 position;\n"
            "uniform mat4 lightFromModel;\n"
            "void main() { gl_Position = lightFromModel * vec4(position, 1.0); }\n";

// what fades lets some of the light through: of each square of 4 by 4 texels a share is left out,
// in an order that Shadow() evens out
static const char* const knShadowFragment =
    KN_GLSL "uniform float opacity;\n"
            "void main()\n"
            "{\n"
            "    ivec2 p = ivec2(gl_FragCoord.xy) & 3;\n"
            "    int mixed = p.x ^ p.y;\n"
            "    int order = (mixed & 2) << 2 | (p.y & 2) << 1 | (mixed & 1) << 1 | (p.y & 1);\n"
            "    if (float(order) + 0.5 > 16.0 * opacity) discard;\n"
            "}\n";

static const char* const knSolidVertex =
    KN_GLSL "layout(location = 0) in vec3 position;\n"
            "layout(location = 1) in vec3 normal;\n"
            "layout(location = 2) in float interior;\n"
            "uniform mat4 clipFromWorld;\n"
            "uniform mat4 worldFromModel;\n"
            "uniform mat4 lightFromWorld;\n"
            "out vec3 worldPosition;\n"
            "out vec3 worldNormal;\n"
            "out vec3 modelPosition;\n"
            "out vec4 lightPosition;\n"
            "flat out float inside;\n"
            "void main()\n"
            "{\n"
            "    vec4 world = worldFromModel * vec4(position, 1.0);\n"
            "    worldPosition = world.xyz;\n"
            "    worldNormal = normalize(mat3(worldFromModel) * normal);\n"
            "    modelPosition = position;\n"
            "    // a little along the normal, so that a face does not shade itself\n"
            "    lightPosition = lightFromWorld * vec4(world.xyz + 0.0015 * worldNormal, 1.0);\n"
            "    inside = interior;\n"
            "    gl_Position = clipFromWorld * world;\n"
            "}\n";

// shared by solids and floor: sun, sky, ground light, soft shadow
#define KN_LIGHT                                                                                   \
    "uniform sampler2DShadow shadowMap;\n"                                                         \
    "uniform vec3 sunDirection;\n"                                                                 \
    "float Shadow(vec4 place, float slope)\n"                                                      \
    "{\n"                                                                                          \
    "    vec3 p = 0.5 * place.xyz / place.w + 0.5;\n"                                              \
    "    if (any(lessThan(p, vec3(0.0))) || any(greaterThan(p, vec3(1.0)))) return 1.0;\n"         \
    "    p.z -= 0.0006 + 0.0012 * slope;\n"                                                        \
    "    float sum = 0.0;\n"                                                                       \
    "    vec2 texel = 1.0 / vec2(textureSize(shadowMap, 0));\n"                                    \
    "    // each sample is of two by two texels already; those two apart sum up to the whole\n"    \
    "    for (int y = -1; y <= 1; ++y)\n"                                                          \
    "        for (int x = -1; x <= 1; ++x)\n"                                                      \
    "            sum += float((2 - abs(x)) * (2 - abs(y))) *\n"                                    \
    "                   texture(shadowMap, vec3(p.xy + 2.0 * vec2(x, y) * texel, p.z));\n"         \
    "    return sum / 16.0;\n"                                                                     \
    "}\n"                                                                                          \
    "vec3 Tone(vec3 c)\n"                                                                          \
    "{\n"                                                                                          \
    "    // filmic curve, then the screen's own\n"                                                 \
    "    c = (c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14);\n"                          \
    "    return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2));\n"                                       \
    "}\n"                                                                                          \
    "vec3 Sky(float up) { return mix(vec3(0.34, 0.31, 0.28), vec3(0.62, 0.70, 0.82), 0.5 * up + "  \
    "0.5); }\n"

static const char* const knSolidFragment =
    KN_GLSL KN_LIGHT "in vec3 worldPosition;\n"
                     "in vec3 worldNormal;\n"
                     "in vec3 modelPosition;\n"
                     "in vec4 lightPosition;\n"
                     "flat in float inside;\n"
                     "uniform vec3 eye;\n"
                     "uniform vec3 outsideColor;\n"
                     "uniform vec3 insideColor;\n"
                     "uniform float gloss;\n"
                     "uniform float opacity;\n"
                     "out vec4 color;\n"
                     "float Hash(vec3 p) { return fract(sin(dot(floor(p), vec3(12.9898, 78.233, "
                     "37.719))) * 43758.5453); }\n"
                     "void main()\n"
                     "{\n"
                     "    vec3 n = normalize(worldNormal);\n"
                     "    vec3 v = normalize(eye - worldPosition);\n"
                     "    float sun = max(dot(n, sunDirection), 0.0);\n"
                     "    float lit = sun > 0.0 ? sun * Shadow(lightPosition, 1.0 - sun) : 0.0;\n"
                     "    // the raw inside has a grain of its own, fixed to the piece\n"
                     "    float grain = 0.94 + 0.06 * Hash(modelPosition * 900.0) + 0.04 * "
                     "Hash(modelPosition * 320.0);\n"
                     "    vec3 base = inside > 0.5 ? insideColor * grain : outsideColor;\n"
                     "    vec3 h = normalize(v + sunDirection);\n"
                     "    float shine = inside > 0.5 ? 0.0 : gloss;\n"
                     "    float spec = shine * pow(max(dot(n, h), 0.0), 90.0) * 1.6;\n"
                     "    float rim = shine * 0.28 * pow(1.0 - max(dot(n, v), 0.0), 5.0);\n"
                     "    // light from below falls off away from the floor\n"
                     "    vec3 ambient = Sky(n.y) * (n.y < 0.0 ? mix(0.55, 1.0, smoothstep(0.0, "
                     "0.12, worldPosition.y)) : 1.0);\n"
                     "    vec3 c = base * (0.42 * ambient + 1.45 * vec3(1.0, 0.95, 0.86) * lit);\n"
                     "    c += spec * lit / max(sun, 0.2) + rim * Sky(reflect(-v, n).y);\n"
                     "    color = vec4(Tone(c), opacity);\n"
                     "}\n";

static const char* const knFloorVertex =
    KN_GLSL "layout(location = 0) in vec2 corner;\n"
            "uniform mat4 clipFromWorld;\n"
            "uniform mat4 lightFromWorld;\n"
            "uniform vec3 focus;\n"
            "uniform float reach;\n"
            "out vec3 worldPosition;\n"
            "out vec4 lightPosition;\n"
            "void main()\n"
            "{\n"
            "    vec3 p = vec3(focus.x + corner.x * reach, 0.0, focus.z + corner.y * reach);\n"
            "    worldPosition = p;\n"
            "    lightPosition = lightFromWorld * vec4(p, 1.0);\n"
            "    gl_Position = clipFromWorld * vec4(p, 1.0);\n"
            "}\n";

static const char* const knFloorFragment = KN_GLSL KN_LIGHT
    "in vec3 worldPosition;\n"
    "in vec4 lightPosition;\n"
    "uniform vec3 eye;\n"
    "uniform vec3 focus;\n"
    "uniform float reach;\n"
    "uniform float tile;\n"
    "out vec4 color;\n"
    "float Line(vec2 p)\n"
    "{\n"
    "    vec2 w = fwidth(p) * 1.2;\n"
    "    vec2 d = abs(fract(p - 0.5) - 0.5);\n"
    "    vec2 a = 1.0 - smoothstep(vec2(0.0), w + 0.004, d);\n"
    "    return max(a.x, a.y) * (1.0 - smoothstep(0.1, 0.5, max(w.x, w.y)));\n"
    "}\n"
    "void main()\n"
    "{\n"
    "    float sun = sunDirection.y;\n"
    "    float lit = sun * Shadow(lightPosition, 0.0);\n"
    "    vec3 base = vec3(0.30, 0.31, 0.33) * (1.0 - 0.16 * Line(worldPosition.xz / tile));\n"
    "    vec3 c = base * (0.42 * Sky(1.0) + 1.2 * vec3(1.0, 0.95, 0.86) * lit);\n"
    "    // fades into the background, so that the floor has no end\n"
    "    float far = length(worldPosition.xz - focus.xz) / reach;\n"
    "    float fade = smoothstep(0.25, 0.95, far);\n"
    "    color = vec4(mix(Tone(c), vec3(0.80, 0.83, 0.86), fade), 1.0);\n"
    "}\n";

static const char* const knLineVertex =
    KN_GLSL "layout(location = 0) in vec3 position;\n"
            "layout(location = 1) in vec4 color;\n"
            "uniform mat4 clipFromWorld;\n"
            "out vec4 lineColor;\n"
            "void main()\n"
            "{\n"
            "    lineColor = color;\n"
            "    gl_Position = clipFromWorld * vec4(position, 1.0);\n"
            "}\n";

static const char* const knLineFragment = KN_GLSL "in vec4 lineColor;\n"
                                                  "out vec4 color;\n"
                                                  "void main() { color = lineColor; }\n";
