/* SPDX-License-Identifier: BSD-3-Clause */
/* What of the clock needs a call, and the version. */
#include "mercury_time.h"
#include "mercury_util.h"

int
hg_time_get_current(hg_time_t *tv)
{
    return clock_gettime(CLOCK_MONOTONIC, tv) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

int
hg_time_get_current_ms(hg_time_t *tv)
{
    return clock_gettime(CLOCK_MONOTONIC_COARSE, tv) ? HG_UTIL_FAIL
                                                     : HG_UTIL_SUCCESS;
}

int
hg_time_sleep(const hg_time_t rqt)
{
    return nanosleep(&rqt, NULL) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

char *
hg_time_stamp(void)
{
    static _Thread_local char stamp[HG_UTIL_STAMP_MAX];
    time_t now = time(NULL);
    struct tm parts;

    if (!localtime_r(&now, &parts) ||
        strftime(stamp, sizeof stamp, "%a, %d %b %Y %H:%M:%S %Z", &parts) == 0)
        return NULL;
    return stamp;
}

void
HG_Util_version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch)
{
    if (major)
        *major = HG_UTIL_VERSION_MAJOR;
    if (minor)
        *minor = HG_UTIL_VERSION_MINOR;
    if (patch)
        *patch = HG_UTIL_VERSION_PATCH;
}
