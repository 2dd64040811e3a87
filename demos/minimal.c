// SPDX-License-Identifier: Zlib
// The least that a game in C needs: a floor, an object that falls on it and breaks, a ray.
//
//     cc minimal.c $(pkg-config --cflags --libs knap) -o minimal && ./minimal bunny.knap [knap.ini]

#include "knap/config.h"

#include <stdio.h>

static int Fail(const char* what)
{
    fprintf(stderr, "%s: %s\n", what, knLastError());
    return 1;
}

int main(int argc, char** argv)
{
    knAsset* asset = NULL;
    knModel* model = NULL;
    knWorld* world = NULL;
    knWorldDef worldDef = knDefaultWorldDef();
    if (argc < 2 || argc > 3 || knLoadAsset(&asset, argv[1], NULL) != kn_success)
    {
        return Fail("usage: minimal FILE.knap [knap.ini] (made by: knap cook MESH, knap config)");
    }
    if (knCreateModel(&model, asset, NULL) != kn_success ||
        knCreateWorld(&world, &worldDef, NULL) != kn_success)
    {
        return Fail("world");
    }
    // all that is tuned, from one file; what is wrong in it is told with its line
    if (argc == 3 && knWorld_LoadConfig(world, argv[2]) != kn_success)
    {
        return Fail("config");
    }
    knBodyDef floorDef = knDefaultBodyDef();
    knBodyId floor;
    knWorld_CreatePlane(world, &floorDef, knMakeVec3(0.0f, 1.0f, 0.0f), 0.0f, &floor);

    knBodyDef def = knDefaultBodyDef();
    def.transform.position.y = 2.0f;
    knFamilyDef familyDef = knDefaultFamilyDef();
    familyDef.model = model;
    knFamilyId family;
    knBodyId body;
    if (knWorld_CreateFamily(world, &def, &familyDef, &family, &body) != kn_success)
    {
        return Fail("object");
    }
    for (int i = 0; i < 240; ++i)
    {
        uint32_t count;
        knWorld_Step(world, 1.0f / 120.0f);
        const knFractureEvent* events = knWorld_Fractures(world, &count);
        for (uint32_t k = 0; k < count; ++k)
        {
            printf("a hit of %.2f N s broke a piece into %u\n", (double)events[k].impulse,
                   events[k].childCount);
        }
    }
    printf("%u pieces\n", knWorld_Counters(world).pieces);
    knRayHit hit;
    bool isHit;
    knWorld_CastRay(world, knMakeVec3(0.0f, 2.0f, 0.0f), knMakeVec3(0.0f, -1.0f, 0.0f), -1, &hit,
                    &isHit);
    printf("a ray from above %s at height %.3f\n", isHit ? "hits" : "misses", (double)hit.point.y);
    knDestroyWorld(world);
    knDestroyModel(model);
    knDestroyAsset(asset);
    return 0;
}
