// SPDX-License-Identifier: Zlib
#include "demos/panel.h"

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <cfloat>
#include <cstdio>

knResult knCreatePanel(struct GLFWwindow* window)
{
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr; // no file appears where the demo was started
    ImGui::StyleColorsLight();
    ImGuiStyle& style = ImGui::GetStyle();
    style.WindowRounding = 6.0f;
    style.FrameRounding = 4.0f;
    style.WindowBorderSize = 0.0f;
    style.Colors[ImGuiCol_WindowBg].w = 0.82f;
    bool good =
        ImGui_ImplGlfw_InitForOpenGL(window, true) && ImGui_ImplOpenGL3_Init("#version 330");
    return good ? kn_success : knFail(kn_errorProcess, "the panel could not be made");
}

void knDestroyPanel(void)
{
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
}

bool knPanel_HasMouse(void)
{
    return ImGui::GetCurrentContext() && ImGui::GetIO().WantCaptureMouse;
}

static void Graph(const char* name, const knStats* stats, int row, double now, const char* unit)
{
    char text[64];
    snprintf(text, sizeof text, "%.3g %s", now, unit);
    ImGui::PlotLines(name, stats->history[row], KN_STATS_HISTORY, (int)stats->historyAt, text, 0.0f,
                     FLT_MAX, ImVec2(190, 36));
}

static bool SlideCount(const char* name, uint32_t* value, int low, int high)
{
    int v = (int)*value;
    bool changed = ImGui::SliderInt(name, &v, low, high);
    *value = (uint32_t)v;
    return changed;
}

static bool DrawLimits(knContactLimits* limits)
{
    bool changed = SlideCount("contacts", &limits->contacts, 1, 64);
    changed = SlideCount("most contacts", &limits->maxContacts, 1, 256) || changed;
    changed = SlideCount("growth", &limits->growth, 0, 8) || changed;
    changed = SlideCount("decay", &limits->decay, 1, 120) || changed;
    changed = SlideCount("edge contacts", &limits->edgeContacts, 0, 16) || changed;
    changed = ImGui::SliderFloat("epsilon", &limits->epsilon, 0.0f, 0.02f, "%.4f") || changed;
    changed = ImGui::SliderFloat("margin", &limits->margin, 0.0f, 0.05f, "%.4f") || changed;
    changed = ImGui::Checkbox("full detection", &limits->full) || changed;
    if (limits->maxContacts < limits->contacts)
    {
        limits->maxContacts = limits->contacts;
    }
    return changed;
}

static void DrawOverlays(knOverlays* overlays)
{
    ImGui::Checkbox("contacts (c)", &overlays->contacts);
    ImGui::SameLine();
    ImGui::Checkbox("wireframe (w)", &overlays->isWireframe);
    ImGui::Checkbox("sphere tree (t)", &overlays->spheres);
    ImGui::SameLine();
    ImGui::Checkbox("field (d)", &overlays->field);
    ImGui::Checkbox("x-ray (x)", &overlays->isXray);
    SlideCount("tree level", &overlays->level, 0, 12);
    ImGui::SliderFloat("slice", &overlays->slice, 0.0f, 1.0f);
}

static void DrawHelp(knControls* controls)
{
    ImGui::SetNextWindowPos(ImVec2(320, 40), ImGuiCond_FirstUseEver);
    if (ImGui::Begin("Help", &controls->showHelp, ImGuiWindowFlags_AlwaysAutoResize))
    {
        ImGui::TextUnformatted("left mouse     pick a piece and drag it; beside it, turn the view\n"
                               "right mouse    turn the view\n"
                               "middle mouse   move the view\n"
                               "wheel          nearer, further\n"
                               "space          throw a ball where the mouse points\n"
                               "p / n          pause / one step\n"
                               "s              slow motion\n"
                               "r              start again\n"
                               "w / x          wireframe / x-ray\n"
                               "c / t / d      contacts / sphere tree / distance field\n"
                               "tab            this panel on and off\n"
                               "h, F1          this help\n"
                               "q, escape      end");
    }
    ImGui::End();
}

static bool DrawMain(const knPanelInfo* info, knControls* controls)
{
    bool changed = false;
    ImGui::SetNextWindowPos(ImVec2(10, 10), ImGuiCond_FirstUseEver);
    if (ImGui::Begin("Knap", nullptr, ImGuiWindowFlags_AlwaysAutoResize))
    {
        const knStepStats* last = &info->stats->last;
        ImGui::TextUnformatted(info->title);
        ImGui::Text("%u pieces, %u contacts, %.0f frames/s", info->pieces, info->contacts,
                    info->framesPerSecond);
        Graph("step", info->stats, 0, last->total, "ms");
        Graph("collision", info->stats, 1, last->collision, "ms");
        Graph("physics", info->stats, 2, last->physics, "ms");
        Graph("contacts", info->stats, 3, last->contacts, "");
        Graph("pieces", info->stats, 4, last->pieces, "");
        if (ImGui::CollapsingHeader("Contact limits", ImGuiTreeNodeFlags_DefaultOpen))
        {
            changed = DrawLimits(&controls->limits);
        }
        if (ImGui::CollapsingHeader("Overlays"))
        {
            DrawOverlays(&controls->overlays);
        }
        ImGui::Checkbox("pause (p)", &controls->isPaused);
        ImGui::SameLine();
        controls->stepOnce = ImGui::Button("step (n)") || controls->stepOnce;
        ImGui::SameLine();
        controls->reset = ImGui::Button("reset (r)") || controls->reset;
        ImGui::SliderFloat("speed", &controls->speed, 0.05f, 1.0f);
        ImGui::TextDisabled("h for help");
    }
    ImGui::End();
    return changed;
}

bool knDrawPanel(const knPanelInfo* info, knControls* controls)
{
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    bool changed = controls->showPanel && DrawMain(info, controls);
    if (controls->showHelp)
    {
        DrawHelp(controls);
    }
    ImGui::Render();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    return changed;
}
