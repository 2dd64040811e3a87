// SPDX-License-Identifier: Zlib
#include "family_internal.h"

// Nothing of the field, the trees and the edges knows of a draft: they follow when it comes forth.

knResult knFamily_OpenDraft(knFamily* f)
{
    if (f->hasOther)
    {
        return kn_success;
    }
    knResult result = knCopyCutStore(&f->otherCuts, &f->cuts);
    if (result != kn_success)
    {
        return result;
    }
    result = knCopyFragmentSet(&f->otherFragments, &f->fragments, &f->otherCuts);
    if (result != kn_success)
    {
        knDestroyCutStore(&f->otherCuts);
        return result;
    }
    f->hasOther = true;
    return kn_success;
}

// Whoever has a pointer to either keeps it: only what is in them changes places.
static void ChangePlaces(knFamily* f)
{
    knCutStore cuts = f->cuts;
    knFragmentSet fragments = f->fragments;
    f->cuts = f->otherCuts;
    f->fragments = f->otherFragments;
    f->fragments.store = &f->cuts;
    f->otherCuts = cuts;
    f->otherFragments = fragments;
    f->otherFragments.store = &f->otherCuts;
}

void knFamily_KeepBack(knFamily* f)
{
    if (f->hasOther && !f->isKeptBack)
    {
        ChangePlaces(f);
        f->isKeptBack = true;
        f->isBehind = false;
    }
}

void knFamily_BringForth(knFamily* f)
{
    if (f->isKeptBack)
    {
        ChangePlaces(f);
        f->isKeptBack = false;
        f->isBehind = true;
        knFamily_DropDraft(f);
    }
}

void knFamily_DropDraft(knFamily* f)
{
    if (f->hasOther)
    {
        knDestroyFragmentSet(&f->otherFragments);
        knDestroyCutStore(&f->otherCuts);
        f->hasOther = false;
        f->isKeptBack = false;
    }
}

const knFragmentSet* knFamily_Coming(const knFamily* f)
{
    return f->isKeptBack ? &f->otherFragments : &f->fragments;
}
