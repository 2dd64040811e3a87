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

bool knPanel_HasKeys(void)
{
    return ImGui::GetCurrentContext() && ImGui::GetIO().WantTextInput;
}

static float panelRight;

float knPanel_Right(void)
{
    return panelRight;
}

static void Graph(const char* name, const knStats* stats, int row, double now, const char* unit)
{
    char text[64];
    snprintf(text, sizeof text, unit[0] ? "%.3g %s" : "%.0f", now, unit);
    ImGui::PlotLines(name, stats->history[row], KN_STATS_HISTORY, (int)stats->historyAt, text, 0.0f,
                     FLT_MAX, ImVec2(190, 26));
}

static bool SlideCount(const char* name, uint32_t* value, int low, int high)
{
    int v = (int)*value;
    bool changed = ImGui::SliderInt(name, &v, low, high);
    *value = (uint32_t)v;
    return changed;
}

static const uint32_t maxRows = 64;
static knSliderPlace places[maxRows];

knSliderPlace knPanel_Slider(uint32_t row)
{
    return row < maxRows ? places[row] : knSliderPlace{0.0f, 0.0f, 0.0f, 0.0f};
}

// The range of a slider: that of the table, cut to what is worth trying. A number that is typed
// (control and click) may be any that the table takes.
static double SliderEnd(const knSetting* row)
{
    double wide = row->standard > 0.0 ? 16.0 * row->standard : 16.0;
    return wide < row->highest ? wide : row->highest;
}

static bool DrawSetting(const knSettingTable* table, const knSetting* row, void* object)
{
    double value = knSetting_Value(row, object), before = value;
    bool isWhole = row->type == kn_settingCount || row->type == kn_settingWhole;
    if (row->type == kn_settingSwitch)
    {
        bool on = value != 0.0;
        ImGui::Checkbox(row->key, &on);
        value = on ? 1.0 : 0.0;
    }
    else if (isWhole)
    {
        int v = (int)value;
        ImGui::SliderInt(row->key, &v, (int)row->lowest, (int)SliderEnd(row), "%d");
        value = v;
    }
    else
    {
        float v = (float)value;
        ImGui::SliderFloat(row->key, &v, (float)row->lowest, (float)SliderEnd(row), "%.4g",
                           ImGuiSliderFlags_Logarithmic);
        value = (double)v == (double)(float)before ? before : (double)v;
    }
    if (ImGui::IsItemHovered())
    {
        ImGui::SetTooltip("%s%s%s", row->meaning, row->unit[0] ? ", " : "", row->unit);
    }
    return value != before && knSetting_Set(table, object, row->key, value) == kn_success;
}

static bool DrawTable(const knSettingTable* table, void* object, knSliderPlace* rects)
{
    bool changed = false;
    ImGui::PushID(table->name);
    for (uint32_t i = 0; i < table->count; ++i)
    {
        changed = DrawSetting(table, &table->rows[i], object) || changed;
        if (rects && i < maxRows)
        {
            ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
            float width = ImGui::CalcItemWidth(); // of the slider, without its name
            rects[i] = {low.x, low.y, width, high.y - low.y};
        }
    }
    ImGui::PopID();
    return changed;
}

static bool DrawLimits(knConfig* config)
{
    knContactLimits* limits = &config->contacts;
    uint32_t before = limits->contacts;
    bool changed = DrawTable(knContactSettings(), limits, places);
    // one slider pushes the other
    if (limits->contacts > limits->maxContacts && limits->contacts != before)
    {
        limits->maxContacts = limits->contacts;
    }
    else if (limits->contacts > limits->maxContacts)
    {
        limits->contacts = limits->maxContacts;
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
    ImGui::SameLine();
    ImGui::Checkbox("crack faces (k)", &overlays->cracks);
    if (overlays->contacts)
    {
        ImGui::TextColored(ImVec4(0.13f, 0.63f, 0.25f, 1.0f), "touching");
        ImGui::SameLine();
        ImGui::TextColored(ImVec4(0.88f, 0.19f, 0.13f, 1.0f), "deeper than 1 mm");
        ImGui::SameLine();
        ImGui::TextColored(ImVec4(0.19f, 0.38f, 0.88f, 1.0f), "apart");
        ImGui::SameLine();
        ImGui::TextColored(ImVec4(0.80f, 0.48f, 0.08f, 1.0f), "left out");
    }
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
                               "w / x / k      wireframe / x-ray / crack faces\n"
                               "c              contacts: kept, and those left out in orange\n"
                               "t / d          sphere tree / slice of the distance field\n"
                               "[ / ]          level of the tree, height of the slice\n"
                               "tab            this panel on and off\n"
                               "F12            a picture of the scene into SCENE-0001.png\n"
                               "h, F1          this help\n"
                               "control+click  on a slider: type a number\n"
                               "q, escape      end");
    }
    ImGui::End();
}

static bool DrawMain(const knPanelInfo* info, knControls* controls)
{
    bool changed = false;
    ImGui::SetNextWindowPos(ImVec2(10, 10), ImGuiCond_FirstUseEver);
    ImGui::SetNextWindowSizeConstraints(ImVec2(0, 0),
                                        ImVec2(FLT_MAX, ImGui::GetIO().DisplaySize.y - 20.0f));
    if (ImGui::Begin("Knap", nullptr, ImGuiWindowFlags_AlwaysAutoResize))
    {
        const knStepStats* last = &info->stats->last;
        ImGui::TextUnformatted(info->title);
        ImGui::Text("%u pieces, %u contacts, %.0f frames/s", info->pieces, info->contacts,
                    info->framesPerSecond);
        Graph("step", info->stats, kn_graphTotal, last->total, "ms");
        Graph("collision", info->stats, kn_graphCollision, last->collision, "ms");
        Graph("physics", info->stats, kn_graphPhysics, last->physics, "ms");
        Graph("fracture", info->stats, kn_graphFracture, last->fracture, "ms");
        Graph("update", info->stats, kn_graphUpdate, last->update, "ms");
        Graph("contacts", info->stats, kn_graphContacts, last->contacts, "");
        Graph("pairs", info->stats, kn_graphPairs, last->pairs, "");
        Graph("pieces", info->stats, kn_graphPieces, last->pieces, "");
        if (ImGui::CollapsingHeader("Contact limits", ImGuiTreeNodeFlags_DefaultOpen))
        {
            changed = DrawLimits(&controls->config);
        }
        if (ImGui::CollapsingHeader("Breaking"))
        {
            changed = DrawTable(knBreakSettings(), &controls->config.breaking, nullptr) || changed;
        }
        if (ImGui::CollapsingHeader("World, from the next reset"))
        {
            changed = DrawTable(knWorldSettings(), &controls->config.world, nullptr) || changed;
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
        if (info->message[0])
        {
            ImGui::PushTextWrapPos(280.0f);
            ImGui::TextColored(info->isBad ? ImVec4(0.8f, 0.1f, 0.05f, 1.0f)
                                           : ImVec4(0.1f, 0.45f, 0.15f, 1.0f),
                               "%s", info->message);
            ImGui::PopTextWrapPos();
        }
    }
    ImVec2 place = ImGui::GetWindowPos();
    // pushed aside, it is out of the way
    bool isAtLeft = place.x < 40.0f && !ImGui::IsWindowCollapsed();
    panelRight = isAtLeft ? place.x + ImGui::GetWindowWidth() : 0.0f;
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
