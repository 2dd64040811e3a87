// SPDX-License-Identifier: Zlib
#include "knap/setting.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double knSetting_Value(const knSetting* setting, const void* object)
{
    const char* at = (const char*)object + setting->offset;
    bool isOn = false;
    uint32_t count = 0;
    uint64_t whole = 0;
    float single = 0.0f;
    double value = 0.0;
    switch (setting->type)
    {
    case kn_settingSwitch:
        memcpy(&isOn, at, sizeof isOn);
        return isOn ? 1.0 : 0.0;
    case kn_settingCount:
        memcpy(&count, at, sizeof count);
        return (double)count;
    case kn_settingWhole:
        memcpy(&whole, at, sizeof whole);
        return (double)whole;
    case kn_settingFloat:
        memcpy(&single, at, sizeof single);
        return (double)single;
    default:
        memcpy(&value, at, sizeof value);
        return value;
    }
}

static void Write(const knSetting* setting, void* object, double value)
{
    char* at = (char*)object + setting->offset;
    bool isOn = value != 0.0;
    uint32_t count = setting->type == kn_settingCount ? (uint32_t)value : 0;
    uint64_t whole = setting->type == kn_settingWhole ? (uint64_t)value : 0;
    float single = (float)value;
    switch (setting->type)
    {
    case kn_settingSwitch:
        memcpy(at, &isOn, sizeof isOn);
        return;
    case kn_settingCount:
        memcpy(at, &count, sizeof count);
        return;
    case kn_settingWhole:
        memcpy(at, &whole, sizeof whole);
        return;
    case kn_settingFloat:
        memcpy(at, &single, sizeof single);
        return;
    default:
        memcpy(at, &value, sizeof value);
        return;
    }
}

const knSetting* knFindSetting(const knSettingTable* table, const char* key)
{
    for (uint32_t i = 0; table && key && i < table->count; ++i)
    {
        if (strcmp(table->rows[i].key, key) == 0)
        {
            return &table->rows[i];
        }
    }
    return NULL;
}

static knResult CheckValue(const knSetting* setting, double value)
{
    if (!(value >= setting->lowest && value <= setting->highest))
    {
        return knFail(kn_errorArgument, "%s is %g, from %g to %g makes sense", setting->key, value,
                      setting->lowest, setting->highest);
    }
    bool isWhole = setting->type == kn_settingSwitch || setting->type == kn_settingCount ||
                   setting->type == kn_settingWhole;
    if (isWhole && value != floor(value))
    {
        return knFail(kn_errorArgument, "%s is %g, it must be a whole number", setting->key, value);
    }
    return kn_success;
}

knResult knSetting_Set(const knSettingTable* table, void* object, const char* key, double value)
{
    const knSetting* setting = knFindSetting(table, key);
    if (!setting || !object)
    {
        return knFail(kn_errorArgument, "%s has no setting '%s'", table ? table->name : "no table",
                      key ? key : "");
    }
    knResult result = CheckValue(setting, value);
    if (result == kn_success)
    {
        Write(setting, object, value);
    }
    return result;
}

void knSettings_Reset(const knSettingTable* table, void* object)
{
    for (uint32_t i = 0; i < table->count; ++i)
    {
        Write(&table->rows[i], object, table->rows[i].standard);
    }
}

knResult knValidateSettings(const knSettingTable* table, const void* object)
{
    for (uint32_t i = 0; i < table->count; ++i)
    {
        knResult result = CheckValue(&table->rows[i], knSetting_Value(&table->rows[i], object));
        if (result != kn_success)
        {
            return result;
        }
    }
    return kn_success;
}
