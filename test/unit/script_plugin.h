/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin "script" registered in this process, whose open behaves as a case
 * sets. */
#ifndef SCRIPT_PLUGIN_H
#define SCRIPT_PLUGIN_H

#include "na/class.h"

#include "log_watch.h"
#include "na.h"
#include "talaria.h"

struct script {
    na_plugin_opened opened; /* what open returns */
    int32_t code;            /* open's result */
    const char *errors[2];   /* lines that open logs */
    void (*look)(const na_plugin_host *host, const na_plugin_open_info *info);
    const void *(*extension)(na_plugin_class *cls, const char *id);
    unsigned open_count;
    unsigned close_count;
};
extern struct script script;
extern na_plugin_ops script_ops;

/* Fixtures: register the plugin and watch the log; check it and clean up. */
void script_begin(void);
void script_end(void);

/* Opens and closes a class successfully. */
void script_assert_opens(void);

/* Checks the report of the last open, which has one candidate. */
void script_assert_report(
    enum talaria_stage stage, na_return_t code, const char *text);

#endif /* SCRIPT_PLUGIN_H */
