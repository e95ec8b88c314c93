/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning and ending a case with the plugin that violates the ABI. */
#include "wrong_case.h"

#include "na.h"
#include "talaria.h"

#include <check.h>
#include <stdlib.h>

extern const na_plugin na_plugin_v1_wrong;

void
wrong_begin(const struct way *way)
{
    unsetenv("TALARIA_PLUGIN_FILES");
    unsetenv("TALARIA_PLUGIN_PATH");
    setenv("TALARIA_WRONG_WAY", way->name, 1);
    log_watch_begin();
    log_watch_install();
    if (way->text)
        log_expect(way->text, 1, 1);
    ck_assert_int_eq(talaria_plugin_register(&na_plugin_v1_wrong), NA_SUCCESS);
}

void
wrong_allow(const char *text)
{
    log_expect(text, 0, UINT32_MAX);
}

void
wrong_end(void)
{
    log_watch_check();
    NA_Cleanup();
}
