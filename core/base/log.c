/* SPDX-License-Identifier: BSD-3-Clause */
/* The log of the process: level, subsystems, outputs. */
#include "base/log.h"

#include "base/env.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOST_MAX 65U
#define ORIGIN_MAX 192U
#define DAY_SIZE 36U

static const char *const level_names[] = {
    "none", "error", "warning", "info", "debug"};
/* Mercury's other names of levels. */
static const struct {
    const char *name;
    int32_t level;
} level_aliases[] = {{"fatal", BASE_LOG_ERROR}, {"err", BASE_LOG_ERROR},
    {"warn", BASE_LOG_WARNING}, {"min_debug", BASE_LOG_INFO}};
static const char *const subsys_names[BASE_LOG_SUBSYS_MAX] = {
    "plugin", "transport", "na", "hg", "bulk", "proc"};

int32_t base_log_gate = BASE_LOG_ERROR;

static _Atomic(void (*)(void)) on_level;

/* A bit for each subsystem that logs more than errors. */
static _Atomic uint32_t subsys_mask = UINT32_MAX;

static pthread_mutex_t outlet_lock = PTHREAD_MUTEX_INITIALIZER;
static int (*outlet_func)(FILE *, const char *, ...);
static FILE *outlet_streams[BASE_LOG_DEBUG + 1];

static int32_t
level_parse(const char *name)
{
    for (int32_t i = BASE_LOG_NONE; name && i <= BASE_LOG_DEBUG; i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    for (size_t i = 0; name && i < sizeof level_aliases / sizeof *level_aliases;
         i++)
        if (strcmp(name, level_aliases[i].name) == 0)
            return level_aliases[i].level;
    return -1;
}

static void
init_once(void)
{
    const char *level = base_env_get("HG_LOG_LEVEL");
    const char *subsys = base_env_get("HG_LOG_SUBSYS");

    if (level && !base_log_set_level(level))
        base_log_write(BASE_LOG_NA, BASE_LOG_ERROR, __FILE__, __LINE__,
            "HG_LOG_LEVEL is \"%s\": expected none, error, warning, info or "
            "debug",
            level);
    if (subsys)
        base_log_set_subsys(subsys);
}

void
base_log_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init_once);
}

bool
base_log_set_level(const char *level)
{
    int32_t value = level_parse(level);
    void (*changed)(void);

    if (value < 0)
        return false;
    __atomic_store_n(&base_log_gate, value, __ATOMIC_RELAXED);
    changed = atomic_load_explicit(&on_level, memory_order_relaxed);
    if (changed)
        changed();
    return true;
}

void
base_log_on_level(void (*changed)(void))
{
    atomic_store_explicit(&on_level, changed, memory_order_relaxed);
}

static uint32_t
subsys_bits(const char *name, size_t length)
{
    if (length == 3 && memcmp(name, "all", 3) == 0)
        return UINT32_MAX;
    for (int i = 0; i < BASE_LOG_SUBSYS_MAX; i++)
        if (strlen(subsys_names[i]) == length &&
            memcmp(subsys_names[i], name, length) == 0)
            return 1U << i;
    return 0;
}

void
base_log_set_subsys(const char *names)
{
    uint32_t with = 0, without = 0;

    for (const char *p = names; p && *p;) {
        bool negated = *p == '~';
        size_t length;

        p += negated;
        length = strcspn(p, ",");
        if (negated)
            without |= subsys_bits(p, length);
        else
            with |= subsys_bits(p, length);
        p += length;
        p += *p == ',';
    }
    if (with == 0)
        with = UINT32_MAX;
    atomic_store_explicit(&subsys_mask, with & ~without, memory_order_relaxed);
}

void
base_log_set_func(int (*func)(FILE *stream, const char *format, ...))
{
    pthread_mutex_lock(&outlet_lock);
    outlet_func = func;
    pthread_mutex_unlock(&outlet_lock);
}

void
base_log_set_stream(const char *level, FILE *stream)
{
    int32_t value = level_parse(level);

    if (value < 0)
        return;
    pthread_mutex_lock(&outlet_lock);
    outlet_streams[value] = stream;
    pthread_mutex_unlock(&outlet_lock);
}

/* Writes the date of a number of days after 1 January 1970. gmtime_r allocates,
 * which must not happen in a line about missing memory. Years start in March
 * here, so that the leap day is the last. */
static void
describe_day(uint64_t days, char text[DAY_SIZE])
{
    uint64_t day = days + 719468; /* since 1 March of the year 0 */
    uint64_t of_era = day % 146097;
    uint64_t year =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * of_year + 2) / 153; /* March: 0 */

    snprintf(text, DAY_SIZE, "%04u-%02u-%02u",
        (unsigned) (day / 146097 * 400 + year + (month >= 10)) % 10000,
        (unsigned) (month < 10 ? month + 3 : month - 9),
        (unsigned) (of_year - (153 * month + 2) / 5 + 1));
}

/* Writes time and process, since the logs of several processes are often in one
 * file. UTC, in microseconds. */
static void
describe_origin(char origin[ORIGIN_MAX])
{
    struct timespec now = {0};
    char day[DAY_SIZE], host[HOST_MAX] = "?";
    unsigned second;

    clock_gettime(CLOCK_REALTIME, &now);
    describe_day((uint64_t) now.tv_sec / 86400, day);
    second = (unsigned) ((uint64_t) now.tv_sec % 86400);
    gethostname(host, sizeof host);
    host[sizeof host - 1] = '\0'; /* POSIX: a name that is cut may lack it */
    snprintf(origin, ORIGIN_MAX, "%sT%02u:%02u:%02u.%06ldZ %s %ld/%ld", day,
        second / 3600, second / 60 % 60, second % 60, now.tv_nsec / 1000, host,
        (long) getpid(), syscall(SYS_gettid));
}

void
base_log_text(enum base_log_subsys subsys, int32_t level, const char *file,
    unsigned line, const char *text)
{
    const char *name = strrchr(file, '/');
    uint32_t mask = atomic_load_explicit(&subsys_mask, memory_order_relaxed);
    char origin[ORIGIN_MAX];
    FILE *stream;

    if (level < BASE_LOG_ERROR || level > BASE_LOG_DEBUG ||
        (level > BASE_LOG_ERROR && !(mask & 1U << subsys)))
        return;
    name = name ? name + 1 : file;
    describe_origin(origin);
    pthread_mutex_lock(&outlet_lock);
    stream = outlet_streams[level] ? outlet_streams[level] : stderr;
    (outlet_func ? outlet_func : fprintf)(stream,
        "# talaria %s [%s] %s: %s:%u: %s\n", origin, level_names[level],
        subsys_names[subsys], name, line, text);
    pthread_mutex_unlock(&outlet_lock);
}

void
base_log_write(enum base_log_subsys subsys, int32_t level, const char *file,
    unsigned line, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    base_log_text(subsys, level, file, line, text);
}

bool
base_log_is_due(_Atomic uint64_t *count, char so_far[BASE_LOG_SO_FAR_MAX])
{
    uint64_t now =
        1 + atomic_fetch_add_explicit(count, 1, memory_order_relaxed);

    so_far[0] = '\0';
    if (now > 1)
        snprintf(so_far, BASE_LOG_SO_FAR_MAX, " (%" PRIu64 " so far)", now);
    return now <= BASE_LOG_FIRST || (now & (now - 1)) == 0;
}
