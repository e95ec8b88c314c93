/* SPDX-License-Identifier: BSD-3-Clause */
/* The reason why a plugin is refused: stage, code and text. */
#include "plugin/fault.h"

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

na_return_t
plugin_fault_set(struct plugin_fault *fault, enum talaria_stage stage,
    na_return_t code, const char *format, ...)
{
    va_list args;

    fault->stage = stage;
    fault->code = code;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return code;
}

/* strerror_r of glibc returns the text, that of POSIX writes it to `words`. */
static const char *
describe(int err, char *words, size_t size)
{
#ifdef __GLIBC__
    return strerror_r(err, words, size);
#else
    return strerror_r(err, words, size) == 0 ? words : "an unknown error";
#endif
}

na_return_t
plugin_fault_errno(struct plugin_fault *fault, enum talaria_stage stage,
    int err, const char *what)
{
    /* NOMEM would end the search; too few file descriptors are an error of this
     * file only. */
    int code = err == EMFILE || err == ENFILE ? NA_IO_ERROR
                                              : base_error_from_errno(err);
    char words[128];

    return plugin_fault_set(fault, stage,
        code == NA_SUCCESS ? NA_IO_ERROR : (na_return_t) code, "%s: %s", what,
        describe(err, words, sizeof words));
}

static const char *const stage_names[] = {
    [TALARIA_STAGE_OK] = "ok",
    [TALARIA_STAGE_INFO_STRING] = "info_string",
    [TALARIA_STAGE_NOT_FOUND] = "not_found",
    [TALARIA_STAGE_MANIFEST] = "manifest",
    [TALARIA_STAGE_PERMISSION] = "permission",
    [TALARIA_STAGE_DLOPEN] = "dlopen",
    [TALARIA_STAGE_SYMBOL] = "symbol",
    [TALARIA_STAGE_ABI] = "abi",
    [TALARIA_STAGE_NAME_MISMATCH] = "name_mismatch",
    [TALARIA_STAGE_OPEN] = "open",
    [TALARIA_STAGE_PROTOCOL] = "protocol",
};

_Static_assert(sizeof stage_names / sizeof stage_names[0] == TALARIA_STAGE_MAX,
    "every stage has a name");

const char *
talaria_stage_to_string(enum talaria_stage stage)
{
    if ((unsigned) stage >= TALARIA_STAGE_MAX)
        return NULL;
    return stage_names[stage];
}
