// SPDX-License-Identifier: Zlib
#include "import.h"

#include "file.h"

#include <assimp/cimport.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <stdio.h>
#include <string.h>

#define MAX_SCENE_DEPTH 256
#define MIN_FAN_CORNERS 32

typedef struct Import
{
    const char* path;
    double scale;
    bool ignoreNormals; // the format has one per facet, which says nothing on smoothness
    knSoup soup;
    uint32_t sourceCount; // triangles met so far
    struct Fan* fans;
    size_t fanCount, fanCapacity;
} Import;

// A polygon with many corners, to be split from its middle: cut from corner to corner it would give
// needles that no tetrahedron can stand on.
typedef struct Fan
{
    const struct aiMesh* mesh;
    unsigned* corners; // Assimp's own array
    unsigned count;
} Fan;

typedef struct SoupHeader
{
    uint64_t positionCount;
    uint64_t triangleCount;
    uint64_t attributeCount;
    uint32_t hasUv;
    uint32_t hasNormals;
} SoupHeader;

static knVec3 TransformPoint(const struct aiMatrix4x4* m, struct aiVector3D p, double scale)
{
    double x = (double)m->a1 * (double)p.x + (double)m->a2 * (double)p.y +
               (double)m->a3 * (double)p.z + (double)m->a4;
    double y = (double)m->b1 * (double)p.x + (double)m->b2 * (double)p.y +
               (double)m->b3 * (double)p.z + (double)m->b4;
    double z = (double)m->c1 * (double)p.x + (double)m->c2 * (double)p.y +
               (double)m->c3 * (double)p.z + (double)m->c4;
    return knMakeVec3((float)(scale * x), (float)(scale * y), (float)(scale * z));
}

static bool IsMirror(const struct aiMatrix4x4* m)
{
    knVec3 a = {m->a1, m->b1, m->c1};
    knVec3 b = {m->a2, m->b2, m->c2};
    knVec3 c = {m->a3, m->b3, m->c3};
    return knDot(knCross(a, b), c) < 0.0f;
}

// The cofactor matrix turns normals as the inverse transpose does, up to the sign of a mirror, and
// needs no division.
static knVec3 TransformNormal(const struct aiMatrix4x4* m, struct aiVector3D n)
{
    knVec3 a = {m->a1, m->b1, m->c1};
    knVec3 b = {m->a2, m->b2, m->c2};
    knVec3 c = {m->a3, m->b3, m->c3};
    knVec3 sum = knAdd(knAdd(knScale(n.x, knCross(b, c)), knScale(n.y, knCross(c, a))),
                       knScale(n.z, knCross(a, b)));
    knVec3 unit = knNormalize(IsMirror(m) ? knNeg(sum) : sum);
    return knIsFinite(unit) ? unit : knMakeVec3(0.0f, 0.0f, 0.0f);
}

static knResult AddVertices(Import* import, const struct aiMesh* mesh, const struct aiMatrix4x4* m)
{
    knSoup* soup = &import->soup;
    bool normals = mesh->mNormals && !import->ignoreNormals;
    const struct aiVector3D* uv = mesh->mTextureCoords[0];
    soup->hasUv = soup->hasUv || uv;
    soup->hasNormals = soup->hasNormals || normals;
    for (unsigned i = 0; i < mesh->mNumVertices; ++i)
    {
        knCornerAttribute attribute = {0};
        if (normals)
        {
            attribute.normal = TransformNormal(m, mesh->mNormals[i]);
        }
        if (uv && isfinite(uv[i].x) && isfinite(uv[i].y))
        {
            attribute.u = uv[i].x;
            attribute.v = uv[i].y;
        }
        uint32_t index = 0;
        knVec3 position = TransformPoint(m, mesh->mVertices[i], import->scale);
        knResult result = knSoup_AddPosition(soup, position, &index);
        result = result == kn_success ? knSoup_AddAttribute(soup, attribute, &index) : result;
        if (result != kn_success)
        {
            return result;
        }
    }
    return kn_success;
}

static knVec3 FromAssimp(struct aiVector3D v)
{
    return knMakeVec3(v.x, v.y, v.z);
}

static knVec3 FanMiddle(const Fan* fan)
{
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    for (unsigned i = 0; i < fan->count; ++i)
    {
        sum = knAdd(sum, FromAssimp(fan->mesh->mVertices[fan->corners[i]]));
    }
    return knScale(1.0f / (float)fan->count, sum);
}

// The middle sees every side, all turning the same way.
static bool IsStar(const Fan* fan)
{
    knVec3 middle = FanMiddle(fan);
    knVec3 normal = {0.0f, 0.0f, 0.0f};
    for (int pass = 0; pass < 2; ++pass)
    {
        for (unsigned i = 0; i < fan->count; ++i)
        {
            unsigned a = fan->corners[i], b = fan->corners[(i + 1) % fan->count];
            if (a >= fan->mesh->mNumVertices || b >= fan->mesh->mNumVertices)
            {
                return false;
            }
            knVec3 turn = knCross(knSub(FromAssimp(fan->mesh->mVertices[a]), middle),
                                  knSub(FromAssimp(fan->mesh->mVertices[b]), middle));
            if (pass == 1 && !(knDot(turn, normal) > 0.0f))
            {
                return false;
            }
            normal = pass == 0 ? knAdd(normal, turn) : normal;
        }
    }
    return true;
}

// Takes large star-shaped polygons out of the scene before Assimp splits the rest.
static knResult TakeFans(Import* import, const struct aiMesh* mesh)
{
    for (unsigned i = 0; i < mesh->mNumFaces; ++i)
    {
        struct aiFace* face = &mesh->mFaces[i];
        Fan fan = {mesh, face->mIndices, face->mNumIndices};
        if (face->mNumIndices < MIN_FAN_CORNERS || !IsStar(&fan))
        {
            continue;
        }
        void* fans = import->fans;
        knResult result =
            knGrow(NULL, &fans, &import->fanCapacity, import->fanCount + 1, sizeof(Fan));
        import->fans = fans;
        if (result != kn_success)
        {
            return result;
        }
        import->fans[import->fanCount++] = fan;
        // a face of one corner is a point, which nobody splits
        face->mNumIndices = 1;
    }
    return kn_success;
}

static knResult AddFan(Import* import, const Fan* fan, const struct aiMatrix4x4* m, uint32_t first,
                       uint32_t firstAttribute)
{
    knSoup* soup = &import->soup;
    knVec3 middle = FanMiddle(fan);
    knCornerAttribute sum = {0};
    for (unsigned i = 0; i < fan->count; ++i)
    {
        const knCornerAttribute* a = &soup->attributes[firstAttribute + fan->corners[i]];
        sum.normal = knAdd(sum.normal, a->normal);
        sum.u += a->u / (float)fan->count;
        sum.v += a->v / (float)fan->count;
    }
    sum.normal = knNormalize(sum.normal);
    uint32_t center = 0, attribute = 0;
    struct aiVector3D point = {middle.x, middle.y, middle.z};
    knResult result = knSoup_AddPosition(soup, TransformPoint(m, point, import->scale), &center);
    result = result == kn_success ? knSoup_AddAttribute(soup, sum, &attribute) : result;
    bool mirror = IsMirror(m);
    for (unsigned i = 0; result == kn_success && i < fan->count; ++i)
    {
        uint32_t a = fan->corners[mirror ? (i + 1) % fan->count : i];
        uint32_t b = fan->corners[mirror ? i : (i + 1) % fan->count];
        result =
            knSoup_AddTriangle(soup, (knTriangle){{center, first + a, first + b}},
                               (knTriangle){{attribute, firstAttribute + a, firstAttribute + b}},
                               import->sourceCount++);
    }
    return result;
}

static knResult AddMesh(Import* import, const struct aiMesh* mesh, const struct aiMatrix4x4* m)
{
    uint32_t first = (uint32_t)import->soup.positionCount;
    uint32_t firstAttribute = (uint32_t)import->soup.attributeCount;
    if (import->soup.positionCount + mesh->mNumVertices > KN_MAX_MESH_SIZE ||
        import->soup.triangleCount + mesh->mNumFaces > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "more than %u vertices or triangles", KN_MAX_MESH_SIZE);
    }
    knResult result = AddVertices(import, mesh, m);
    bool mirror = IsMirror(m);
    for (unsigned i = 0; result == kn_success && i < mesh->mNumFaces; ++i)
    {
        const struct aiFace* face = &mesh->mFaces[i];
        if (face->mNumIndices != 3)
        {
            // points and lines enclose nothing
            continue;
        }
        uint32_t a = face->mIndices[0];
        uint32_t b = face->mIndices[mirror ? 2 : 1];
        uint32_t c = face->mIndices[mirror ? 1 : 2];
        knTriangle triangle = {{first + a, first + b, first + c}};
        knTriangle corners = {{firstAttribute + a, firstAttribute + b, firstAttribute + c}};
        bool inRange = a < mesh->mNumVertices && b < mesh->mNumVertices && c < mesh->mNumVertices;
        result = inRange
                     ? knSoup_AddTriangle(&import->soup, triangle, corners, import->sourceCount++)
                     : knFail(kn_errorFormat, "face %u names a vertex that is not there", i);
    }
    for (size_t i = 0; result == kn_success && i < import->fanCount; ++i)
    {
        if (import->fans[i].mesh == mesh)
        {
            result = AddFan(import, &import->fans[i], m, first, firstAttribute);
        }
    }
    return result;
}

static knResult AddNode(Import* import, const struct aiScene* scene, const struct aiNode* node,
                        struct aiMatrix4x4 parent, int depth)
{
    if (depth > MAX_SCENE_DEPTH)
    {
        return knFail(kn_errorLimit, "the scene is nested more than %d deep", MAX_SCENE_DEPTH);
    }
    struct aiMatrix4x4 m = parent;
    aiMultiplyMatrix4(&m, &node->mTransformation);
    knResult result = kn_success;
    for (unsigned i = 0; result == kn_success && i < node->mNumMeshes; ++i)
    {
        result = AddMesh(import, scene->mMeshes[node->mMeshes[i]], &m);
    }
    for (unsigned i = 0; result == kn_success && i < node->mNumChildren; ++i)
    {
        result = AddNode(import, scene, node->mChildren[i], m, depth + 1);
    }
    return result;
}

static knResult SendSoup(const knSoup* soup, knBuffer* answer)
{
    SoupHeader header = {soup->positionCount, soup->triangleCount, soup->attributeCount,
                         soup->hasUv, soup->hasNormals};
    knResult result = knBuffer_Append(answer, &header, sizeof header);
    const struct
    {
        const void* items;
        size_t size;
    } arrays[] = {
        {soup->positions, soup->positionCount * sizeof(knVec3)},
        {soup->vertexSources, soup->positionCount * sizeof(uint32_t)},
        {soup->triangles, soup->triangleCount * sizeof(knTriangle)},
        {soup->corners, soup->triangleCount * sizeof(knTriangle)},
        {soup->sources, soup->triangleCount * sizeof(uint32_t)},
        {soup->attributes, soup->attributeCount * sizeof(knCornerAttribute)},
    };
    for (size_t i = 0; result == kn_success && i < sizeof arrays / sizeof arrays[0]; ++i)
    {
        result = knBuffer_Append(answer, arrays[i].items, arrays[i].size);
    }
    return result;
}

static bool CornersInRange(const knSoup* soup)
{
    for (size_t i = 0; i < soup->triangleCount; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            if (soup->triangles[i].v[k] >= soup->positionCount ||
                soup->corners[i].v[k] >= soup->attributeCount)
            {
                return false;
            }
        }
    }
    return true;
}

static knResult ReceiveSoup(const knBuffer* answer, knSoup* soup)
{
    SoupHeader header;
    knReader reader = {answer->bytes, answer->size, false};
    if (!knReader_Take(&reader, &header, sizeof header))
    {
        return knFail(kn_errorProcess, "the importer sent a mesh that is not whole");
    }
    const knAllocator* a = &soup->allocator;
    soup->positions = knReader_TakeArray(&reader, header.positionCount, sizeof(knVec3), a);
    soup->vertexSources = knReader_TakeArray(&reader, header.positionCount, sizeof(uint32_t), a);
    soup->positionCapacity = header.positionCount;
    soup->triangles = knReader_TakeArray(&reader, header.triangleCount, sizeof(knTriangle), a);
    soup->corners = knReader_TakeArray(&reader, header.triangleCount, sizeof(knTriangle), a);
    soup->sources = knReader_TakeArray(&reader, header.triangleCount, sizeof(uint32_t), a);
    soup->triangleCapacity = header.triangleCount;
    soup->attributes =
        knReader_TakeArray(&reader, header.attributeCount, sizeof(knCornerAttribute), a);
    soup->attributeCapacity = soup->attributes ? header.attributeCount : 0;
    if (!soup->positions || !soup->vertexSources || !soup->triangles || !soup->corners ||
        !soup->sources || !soup->attributes || reader.left != 0)
    {
        bool whole = !reader.isShort && header.triangleCount > 0 && header.attributeCount > 0;
        return whole ? kn_errorMemory
                     : knFail(kn_errorProcess, "the importer sent a mesh that is not whole");
    }
    soup->positionCount = header.positionCount;
    soup->triangleCount = header.triangleCount;
    soup->attributeCount = header.attributeCount;
    soup->hasUv = header.hasUv != 0;
    soup->hasNormals = header.hasNormals != 0;
    return CornersInRange(soup)
               ? kn_success
               : knFail(kn_errorProcess, "the importer sent triangles without vertices");
}

// Assimp takes the mark that some editors put before text for a part of the first line.
static const struct aiScene* ReadScene(const char* path)
{
    char* text = NULL;
    size_t size = 0;
    bool isText = knHasEnding(path, ".obj") || knHasEnding(path, ".ply") ||
                  knHasEnding(path, ".off") || knHasEnding(path, ".stl");
    if (!isText || knReadText(path, NULL, &text, &size) != kn_success || size < 4 ||
        memcmp(text, "\xEF\xBB\xBF", 3) != 0)
    {
        return aiImportFile(path, 0);
    }
    return aiImportFileFromMemory(text + 3, (unsigned)(size - 3), 0, strrchr(path, '.') + 1);
}

static knResult ImportContained(void* context, knBuffer* answer)
{
    Import* import = context;
    const struct aiScene* scene = ReadScene(import->path);
    for (unsigned i = 0; scene && i < scene->mNumMeshes; ++i)
    {
        knResult taken = TakeFans(import, scene->mMeshes[i]);
        if (taken != kn_success)
        {
            return taken;
        }
    }
    scene = scene ? aiApplyPostProcessing(scene, aiProcess_Triangulate) : NULL;
    if (!scene || !scene->mRootNode)
    {
        return knFail(kn_errorFormat, "%s", aiGetErrorString());
    }
    struct aiMatrix4x4 identity;
    aiIdentityMatrix4(&identity);
    knResult result = AddNode(import, scene, scene->mRootNode, identity, 0);
    if (result == kn_success && import->soup.triangleCount == 0)
    {
        result = knFail(kn_errorMesh, "there is no triangle in it");
    }
    return result == kn_success ? SendSoup(&import->soup, answer) : result;
}

knResult knImportSurface(const char* path, const knImportOptions* options, knSoup* soup)
{
    knResult result = knCheckReadable(path);
    if (result != kn_success)
    {
        return result;
    }
    Import import = {.path = path,
                     .scale = options->scale,
                     .ignoreNormals = knHasEnding(path, ".stl"),
                     .soup = knMakeSoup(NULL)};
    knSoup received = knMakeSoup(&soup->allocator);
    knBuffer answer = knMakeBuffer(&soup->allocator);
    knContainReport report;
    result = knRunContained(ImportContained, &import, options->limits, &answer, &report);
    result = result == kn_success ? ReceiveSoup(&answer, &received) : result;
    knDestroyBuffer(&answer);
    if (result == kn_success)
    {
        knDestroySoup(soup);
        *soup = received;
        return kn_success;
    }
    knDestroySoup(&received);
    char reason[KN_MAX_MESSAGE];
    snprintf(reason, sizeof reason, "%s", knLastError());
    return knFail(result, "%s: import failed: %s", path, reason);
}
