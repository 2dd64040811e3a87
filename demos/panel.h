// SPDX-License-Identifier: Zlib
#pragma once

// The panel over the picture: graphs, counters, sliders for every limit of the config, help.

#include "demos/painter.h"
#include "demos/stats.h"

#ifdef __cplusplus
extern "C"
{
#endif

    struct GLFWwindow;

    // What the user asked for and can change; the window and the keys change it too.
    typedef struct knControls
    {
        knOverlays overlays;
        knConfig config;
        bool isPaused;
        bool stepOnce;
        bool reset;
        bool throwBall;
        bool takePicture;
        bool showPanel;
        bool showHelp;
        float speed; // 1 as fast as the clock, less for slow motion
    } knControls;

    typedef struct knPanelInfo
    {
        const char* title;
        const knStats* stats;
        uint32_t pieces, contacts;
        double framesPerSecond;
        const char* message; // of a file that was read or written; may be empty
        bool isBad;          // the message is an error
    } knPanelInfo;

    // Where the slider of a contact limit was drawn last, in pixels of the window; all zero when it
    // was not.
    typedef struct knSliderPlace
    {
        float x, y, width, height;
    } knSliderPlace;

    knSliderPlace knPanel_Slider(uint32_t row);

    knResult knCreatePanel(struct GLFWwindow* window);
    void knDestroyPanel(void);

    // Draws the panel over what the framebuffer holds. True when the config was changed.
    bool knDrawPanel(const knPanelInfo* info, knControls* controls);

    // The mouse is over the panel: the scene must not take it.
    bool knPanel_HasMouse(void);

    // A number is being typed into the panel: keys are not for the scene.
    bool knPanel_HasKeys(void);

    // Pixels of the window from its left edge that the panel covers.
    float knPanel_Right(void);

#ifdef __cplusplus
}
#endif
