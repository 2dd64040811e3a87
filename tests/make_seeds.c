// SPDX-License-Identifier: Zlib
// Writes tiny cooked files into a folder: what the fuzzer starts from.
//
//     make_seeds FOLDER

#include "cooked.h"

#include <stdio.h>
#include <stdlib.h>

static int WriteSeed(const char* folder, const char* name, TetShape shape)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s.knap", folder, name);
    FILE* file = length > 0 && (size_t)length < sizeof path ? fopen(path, "wb") : NULL;
    if (!file)
    {
        fprintf(stderr, "make_seeds: cannot write %s/%s.knap\n", folder, name);
        return 1;
    }
    Cooked cooked = CookShape(&shape);
    size_t written = fwrite(cooked.bytes, 1, cooked.size, file);
    int failed = (fclose(file) != 0) | (written != cooked.size);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
    return failed;
}

int main(int argumentCount, char** arguments)
{
    if (argumentCount != 2)
    {
        fprintf(stderr, "usage: make_seeds FOLDER\n");
        return 2;
    }
    const int one[3] = {1, 1, 1};
    const int row[3] = {1, 1, 3};
    const int two[3] = {2, 2, 2};
    knVec3 low = {0.0f, 0.0f, 0.0f};
    knVec3 high = {1.0f, 1.0f, 1.0f};
    const char* folder = arguments[1];
    int failed = WriteSeed(folder, "tet", MakeSingleTet());
    failed |= WriteSeed(folder, "cube", MakeLatticeBox(one, low, high));
    failed |= WriteSeed(folder, "row", MakeLatticeBox(row, low, high));
    failed |= WriteSeed(folder, "lattice", MakeLatticeBox(two, low, high));
    failed |= WriteSeed(folder, "ball", MakeBall(2, 1.0f, low));
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
