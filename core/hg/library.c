/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the whole library: names of codes, the log. */
#include "mercury.h"

#include "base/error.h"
#include "base/log.h"
#include "na.h"

_Static_assert((int) HG_HOSTFIREWALL == (int) NA_HOSTFIREWALL &&
                   (int) HG_CANCELED == (int) NA_CANCELED,
    "codes of NA and HG agree");

hg_return_t
HG_Version_get(
    unsigned int *major_p, unsigned int *minor_p, unsigned int *patch_p)
{
    if (major_p)
        *major_p = HG_VERSION_MAJOR;
    if (minor_p)
        *minor_p = HG_VERSION_MINOR;
    if (patch_p)
        *patch_p = HG_VERSION_PATCH;
    return HG_SUCCESS;
}

/* Names of the NA codes with HG. */
#define NAME(code)                                                             \
    case HG_##code:                                                            \
        return "HG_" #code

const char *
HG_Error_to_string(hg_return_t errnum)
{
    switch (errnum) {
        NAME(SUCCESS);
        NAME(PERMISSION);
        NAME(NOENTRY);
        NAME(INTERRUPT);
        NAME(AGAIN);
        NAME(NOMEM);
        NAME(ACCESS);
        NAME(FAULT);
        NAME(BUSY);
        NAME(EXIST);
        NAME(NODEV);
        NAME(INVALID_ARG);
        NAME(PROTOCOL_ERROR);
        NAME(OVERFLOW);
        NAME(MSGSIZE);
        NAME(PROTONOSUPPORT);
        NAME(OPNOTSUPPORTED);
        NAME(ADDRINUSE);
        NAME(ADDRNOTAVAIL);
        NAME(HOSTUNREACH);
        NAME(TIMEOUT);
        NAME(CANCELED);
        NAME(IO_ERROR);
        NAME(HOSTFIREWALL);
        NAME(CHECKSUM_ERROR);
        NAME(NA_ERROR);
        NAME(OTHER_ERROR);
    case HG_RETURN_MAX:
        break;
    }
    return "HG_UNKNOWN";
}

hg_return_t
HG_Get_na_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p)
{
    return (hg_return_t) NA_Get_protocol_info(info_string, na_protocol_info_p);
}

void
HG_Free_na_protocol_info(struct na_protocol_info *na_protocol_info)
{
    NA_Free_protocol_info(na_protocol_info);
}

void
HG_Cleanup(void)
{
    NA_Cleanup();
}

void
HG_Set_log_level(const char *level)
{
    NA_Set_log_level(level);
}

void
HG_Set_log_subsys(const char *subsys)
{
    base_log_init();
    base_log_set_subsys(subsys);
}

void
HG_Set_log_func(int (*log_func)(FILE *stream, const char *format, ...))
{
    base_log_set_func(log_func);
}

void
HG_Set_log_stream(const char *level, FILE *stream)
{
    base_log_set_stream(level, stream);
}
