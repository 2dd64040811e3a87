// SPDX-License-Identifier: Zlib
// A config in a running world: what it says holds for what is there and for what comes later.
#include "bullet_scene.h"
#include "knap/config.h"

#include <stdio.h>

static TestModel brick;

static int Open(void** state)
{
    (void)state;
    brick = OpenDemoModel("brick");
    return 0;
}

static int Close(void** state)
{
    (void)state;
    CloseModel(&brick);
    return 0;
}

static void WriteFile(const char* text)
{
    FILE* file = fopen("knap.ini", "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// Whether a brick that falls fast breaks; it is made before or after the config is loaded.
static bool Breaks(const char* config, bool isMadeBefore)
{
    knWorldDef worldDef = knDefaultWorldDef();
    knWorld* world;
    assert_int_equal(knCreateWorld(&world, &worldDef, NULL), kn_success);
    AddFloor(world, 0.6f);
    WriteFile(config);
    if (!isMadeBefore)
    {
        assert_int_equal(knWorld_LoadConfig(world, "knap.ini"), kn_success);
    }
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(0.0f, 0.2f, 0.0f);
    def.transform.rotation = knMakeQuat(knMakeVec3(0.6f, 0.0f, 0.8f), 0.7f);
    def.velocity = knMakeVec3(0.0f, -8.0f, 0.0f);
    AddObjectDef(world, &brick, &def);
    if (isMadeBefore)
    {
        assert_int_equal(knWorld_LoadConfig(world, "knap.ini"), kn_success);
    }
    Steps(world, 20, 0.005f);
    bool broke = knWorld_Counters(world).pieces > 1;
    knDestroyWorld(world);
    return broke;
}

static void MaterialsAreOverridden(void** state)
{
    (void)state;
    char strong[128];
    snprintf(strong, sizeof strong, "[material %s]\ntensileStrength = 1e12\n",
             knAsset_Info(knModel_Asset(brick.model))->material);
    assert_true(Breaks("", true));
    assert_false(Breaks(strong, true));
    assert_false(Breaks(strong, false));
}

static void BreakingIsSwitchedOff(void** state)
{
    (void)state;
    assert_false(Breaks("[break]\nisOff = yes\n", true));
}

static void AWrongFileChangesNothing(void** state)
{
    (void)state;
    knWorldDef worldDef = knDefaultWorldDef();
    knWorld* world;
    assert_int_equal(knCreateWorld(&world, &worldDef, NULL), kn_success);
    WriteFile("[contacts]\nfull = yes\n[break]\nisOff = yes\nseed = -4\n");
    assert_int_equal(knWorld_LoadConfig(world, "knap.ini"), kn_errorArgument);
    assert_non_null(strstr(knLastError(), "knap.ini:5: "));
    AddFloor(world, 0.6f);
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(0.0f, 0.2f, 0.0f);
    def.transform.rotation = knMakeQuat(knMakeVec3(0.6f, 0.0f, 0.8f), 0.7f);
    def.velocity = knMakeVec3(0.0f, -8.0f, 0.0f);
    AddObjectDef(world, &brick, &def);
    Steps(world, 20, 0.005f);
    assert_true(knWorld_Counters(world).pieces > 1);
    knDestroyWorld(world);
    assert_int_equal(knWorld_LoadConfig(NULL, "knap.ini"), kn_errorHandle);
}

static void AWorldIsMadeOfIt(void** state)
{
    (void)state;
    knConfig config = knDefaultConfig();
    config.world.slop = 0.25f;
    config.world.solverIterations = 30;
    config.contacts.contacts = 5;
    knWorldDef def = knDefaultWorldDef();
    knConfig_FillWorldDef(&config, &def);
    assert_true(def.slop == 0.25f && def.limits.contacts == 5 && def.solverIterations == 30);
    assert_int_equal(knValidateWorldDef(&def), kn_success);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MaterialsAreOverridden),
        cmocka_unit_test(BreakingIsSwitchedOff),
        cmocka_unit_test(AWrongFileChangesNothing),
        cmocka_unit_test(AWorldIsMadeOfIt),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
