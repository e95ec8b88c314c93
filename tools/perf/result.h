/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one run of talaria perf measured: settings, points, rounds. It is filled
 * in while measuring, printed in three forms, and read back from JSON.
 */
#ifndef PERF_RESULT_H
#define PERF_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum perf_test {
    PERF_LAT,      /* duration of one operation, ns; less is better */
    PERF_RATE,     /* operations a second */
    PERF_BW_READ,  /* bytes a second that come from the target */
    PERF_BW_WRITE, /* bytes a second that go to it */
    PERF_TESTS
};

enum perf_level { PERF_NA, PERF_RPC, PERF_BULK, PERF_LEVELS };

/* Of the durations of single operations. */
enum perf_quantile {
    PERF_P50,
    PERF_P90,
    PERF_P99,
    PERF_P999,
    PERF_MAX,
    PERF_QUANTILES
};

/* One round: so many operations, with the machine gauged before and after. */
struct perf_round {
    double value;                        /* in the unit of the test */
    double quantiles_ns[PERF_QUANTILES]; /* NaN: not measured */
    uint64_t operations;                 /* of all threads and clients */
    uint64_t elapsed_ns;
    uint64_t origin_cpu_ns; /* processor time of the measuring side */
    uint64_t target_cpu_ns; /* and of the serving one, 0 if they are one */
    double gauge_ns;        /* one cache line there and back, the slower of
                               before and after; NaN: not gauged */
    bool slow;              /* the machine was: left out of the summary */
    double peer_value;      /* --against: the peer's, NaN if there is none */
};

/* One test at one size. */
struct perf_point {
    enum perf_test test;
    uint64_t size;       /* bytes of one operation */
    double instructions; /* of one operation, both sides; NaN: not counted */
    struct perf_round *rounds;
    size_t count;
};

/* What was asked for. Strings are the result's own. */
struct perf_settings {
    enum perf_level level;
    char *info;    /* info string, or address of the server */
    char *label;   /* name of this run in pictures and comparisons, or NULL */
    char *against; /* the peer's command, or NULL */
    bool local;    /* both sides are this command's */
    bool busy;     /* polls all the time */
    bool single;   /* NA_THREAD_MODE_SINGLE */
    bool verify;
    bool progress_thread; /* beside the threads of each context */
    uint32_t inflight;    /* operations at once, of one thread */
    uint32_t threads;     /* of a class */
    uint32_t contexts;    /* of a class */
    uint32_t classes;     /* of a client */
    uint32_t clients;     /* processes */
    uint32_t rounds;
    uint64_t warm_up;    /* operations before each point */
    uint64_t operations; /* of one round; 0: by round_ns */
    uint64_t round_ns;   /* wanted duration of a round */
    int32_t origin_cpu;  /* pinned to, -1: not */
    int32_t target_cpu;
};

struct perf_result {
    struct perf_settings settings;
    char *version; /* of Talaria */
    char *host;    /* its name, */
    char *cpu;     /* its processor's, */
    uint32_t cpus; /* how many it has online */
    char *kernel;  /* release */
    char *date;    /* UTC, ISO 8601 */
    struct perf_point *points;
    size_t count;
};

/* "lat", "rate", "bw_read", "bw_write"; "na", "rpc", "bulk". */
const char *perf_test_name(enum perf_test test);
const char *perf_level_name(enum perf_level level);

/* Machine, version and date; settings are zero and for the caller to set.
 * false: out of memory. */
bool perf_result_init(struct perf_result *result);
void perf_result_finish(struct perf_result *result);

/* A point without rounds at the end; valid until the next one. NULL: no
 * memory. */
struct perf_point *perf_result_add(
    struct perf_result *result, enum perf_test test, uint64_t size);

/* Copies a round to the end of a point. false: out of memory. */
bool perf_point_add(struct perf_point *point, const struct perf_round *round);

/* Marks the rounds of all points in which the machine was slow: whose gauge is
 * more than twice the median of all. */
void perf_result_mark_slow(struct perf_result *result);

/* Of the rounds that were not slow (of all, if all were). */
struct perf_summary {
    size_t rounds; /* that count */
    size_t slow;   /* that do not */
    double median; /* of the rounds' values */
    double min;
    double max;
    double low; /* 95 % confidence interval of the median; NaN below 6 rounds */
    double high;
    double quantiles_ns[PERF_QUANTILES]; /* medians of the rounds' */
    double origin_cpu_ns;                /* of one operation */
    double target_cpu_ns;
    double gauge_ns;  /* median */
    double ratio;     /* median of the pairs' ratios to the peer, value by */
    double ratio_low; /* peer value, with its interval; NaN: no peer */
    double ratio_high;
    double peer_median;
};
void perf_point_summarize(
    const struct perf_point *point, struct perf_summary *summary);

/* For people; in the forms of --csv and --json (tools/perf/README.md tells
 * them). They return what a subcommand does. */
int perf_print_table(const struct perf_result *result, FILE *stream);
int perf_print_csv(const struct perf_result *result, FILE *stream);
int perf_print_json(const struct perf_result *result, FILE *stream);

/* Reads what perf_print_json wrote; says on standard error what is wrong with
 * the file, and returns false. */
bool perf_read_json(const char *path, struct perf_result *result_p);

#endif /* PERF_RESULT_H */
