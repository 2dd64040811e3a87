// SPDX-License-Identifier: Zlib
#pragma once

// Pictures as the commands write them: the target is replaced as a whole or not at all.

#include "picture.h"

knResult knSavePicture(const knPicture* picture, const char* path);
