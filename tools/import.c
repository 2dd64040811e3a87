// SPDX-License-Identifier: Zlib
#include "import.h"

#include "file.h"

#include <assimp/cimport.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <stdio.h>
#include <string.h>

#define MAX_SCENE_DEPTH 256

typedef struct Import
{
    const char* path;
    double scale;
    bool ignoreNormals; // the format has one per facet, which says nothing on smoothness
    knSoup soup;
    uint32_t sourceCount; // triangles met so far
} Import;

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

static knResult ImportContained(void* context, knBuffer* answer)
{
    Import* import = context;
    const struct aiScene* scene = aiImportFile(import->path, aiProcess_Triangulate);
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
