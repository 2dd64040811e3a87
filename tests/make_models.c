// SPDX-License-Identifier: Zlib

// Cooks the demo objects once, without modes, for all the tests that break or touch them:
//
//     make_models FOLDER

#include "cook.h"
#include "predicates.h"

#include "knap/result.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int CookOne(const char* folder, const char* name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/demos/assets/%s.obj", KN_SOURCE_DIR, name);
    knCookOptions options = knDefaultCookOptions();
    options.modes.count = 0;
    // the wall is held by its foot, as demos/run cooks it
    if (strcmp(name, "wall") == 0)
    {
        options.modes.rules[0] = (knAnchorRule){kn_anchorBelow, {0.03f}};
        options.modes.ruleCount = 1;
    }
    knCooked cooked;
    if (knCook(path, &options, NULL, &cooked) != kn_success)
    {
        fprintf(stderr, "%s: %s\n", path, knLastError());
        return 1;
    }
    snprintf(path, sizeof path, "%s/%s.knap", folder, name);
    FILE* out = fopen(path, "wb");
    bool isWritten = out && fwrite(cooked.bytes, 1, cooked.size, out) == cooked.size;
    isWritten = out && fclose(out) == 0 && isWritten;
    knDestroyCooked(&cooked);
    return isWritten ? 0 : 1;
}

int main(int argc, char** argv)
{
    static const char* const names[] = {"bunny", "plate", "brick", "piggy",
                                        "ball",  "shelf", "wall"};
    int failures = argc == 2 ? 0 : 1;
    knInitPredicates();
    for (size_t i = 0; failures == 0 && i < sizeof names / sizeof names[0]; ++i)
    {
        failures += CookOne(argv[1], names[i]);
    }
    return failures;
}
