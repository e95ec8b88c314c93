/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts libtalaria-watch. */
#include "hg/watch.h"

#include "base/env.h"
#include "base/log.h"
#include "hg/watch_layout.h"
#include "mercury.h"
#include "na.h"
#include "setting/setting.h"

#include <dlfcn.h>

static void
log_error(const char *text)
{
    LOG_ERROR(HG, "%s", text);
}

/* Keeps this copy of the core mapped: the library has pointers into it, and a
 * thread. The main program, which this fails for, is never unmapped. */
static void
stay_mapped(const void *own)
{
    Dl_info object;

    if (dladdr(own, &object) != 0 && object.dli_fname)
        dlopen(object.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static bool
publishes(void)
{
    const char *value = base_env_get("TALARIA_PUBLISH");
    bool on = false;

    if (value && !setting_parse_boolean(value, &on))
        LOG_ERROR(
            HG, "TALARIA_PUBLISH is \"%s\", expected " SETTING_BOOLEANS, value);
    return on;
}

void
hg_watch_start(void)
{
    static bool started;
    const struct hg_watch_core core = {.publish = publishes(),
        .trace = base_env_get("TALARIA_TRACE"),
        .observers = &base_observers,
        .watch = &base_watch,
        .address_text = na_addr_to_string,
        .address_form = NA_Addr_serialize,
        .own_address = NA_Addr_self,
        .free_address = NA_Addr_free,
        .error_to_string = HG_Error_to_string,
        .log = log_error};
    const struct hg_watch_library *library;
    void *object;

    if (started || !(core.publish || core.trace))
        return;
    started = true;
    object = dlopen(HG_WATCH_LIBRARY, RTLD_NOW);
    library = object ? dlsym(object, HG_WATCH_SYMBOL) : NULL;
    if (!library) {
        log_error(dlerror());
    } else if (library->layout != HG_WATCH_LAYOUT) {
        log_error(HG_WATCH_LIBRARY " is of another version");
    } else if (library->start(&core)) {
        stay_mapped(&started);
    }
}
