// SPDX-License-Identifier: Zlib
#include "demos/offscreen.h"

#include "knap/memory.h"

#include <epoxy/egl.h>

struct knOffscreen
{
    EGLDisplay display;
    EGLContext context;
};

// The surfaceless platform needs neither X nor a card; elsewhere the default display has to do.
static EGLDisplay OpenDisplay(void)
{
    EGLDisplay display = EGL_NO_DISPLAY;
    if (epoxy_has_egl_extension(EGL_NO_DISPLAY, "EGL_MESA_platform_surfaceless"))
    {
        display =
            eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    }
    return display != EGL_NO_DISPLAY ? display : eglGetDisplay(EGL_DEFAULT_DISPLAY);
}

static EGLContext MakeContext(EGLDisplay display)
{
    static const EGLint configWish[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                        EGL_NONE};
    static const EGLint contextWish[] = {EGL_CONTEXT_MAJOR_VERSION,
                                         3,
                                         EGL_CONTEXT_MINOR_VERSION,
                                         3,
                                         EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                         EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                         EGL_NONE};
    EGLConfig config;
    EGLint count = 0;
    if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API) ||
        !eglChooseConfig(display, configWish, &config, 1, &count) || count < 1)
    {
        return EGL_NO_CONTEXT;
    }
    return eglCreateContext(display, config, EGL_NO_CONTEXT, contextWish);
}

knResult knCreateOffscreen(knOffscreen** offscreen)
{
    knOffscreen* o = knAllocate(NULL, 1, sizeof(knOffscreen));
    if (!o)
    {
        return kn_errorMemory;
    }
    *o = (knOffscreen){OpenDisplay(), EGL_NO_CONTEXT};
    o->context = o->display != EGL_NO_DISPLAY ? MakeContext(o->display) : EGL_NO_CONTEXT;
    if (o->context == EGL_NO_CONTEXT ||
        !eglMakeCurrent(o->display, EGL_NO_SURFACE, EGL_NO_SURFACE, o->context))
    {
        knDestroyOffscreen(o);
        return knFail(kn_errorProcess,
                      "no OpenGL 3.3 off screen; Debian has it in libegl-mesa0 and "
                      "libgl1-mesa-dri");
    }
    *offscreen = o;
    return kn_success;
}

void knDestroyOffscreen(knOffscreen* o)
{
    if (!o)
    {
        return;
    }
    if (o->display != EGL_NO_DISPLAY)
    {
        eglMakeCurrent(o->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        if (o->context != EGL_NO_CONTEXT)
        {
            eglDestroyContext(o->display, o->context);
        }
        eglTerminate(o->display);
    }
    knRelease(NULL, o, 1, sizeof(knOffscreen));
}
