/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of talaria perf: settings, points, rounds. It is printed in three
 * formats and read back from JSON. */
#ifndef PERF_RESULT_H
#define PERF_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum perf_test {
    PERF_LAT,      /* duration of one operation, ns; less is better */
    PERF_RATE,     /* operations per second */
    PERF_BW_READ,  /* bytes per second from the target */
    PERF_BW_WRITE, /* bytes per second to the target */
    PERF_TESTS
};

enum perf_level { PERF_NA, PERF_RPC, PERF_BULK, PERF_LEVELS };

/* Quantiles of the durations of single operations. */
enum perf_quantile {
    PERF_P50,
    PERF_P90,
    PERF_P99,
    PERF_P999,
    PERF_MAX,
    PERF_QUANTILES
};

/* One round, with the gauge measured before and after. */
struct perf_round {
    double value;                        /* in the unit of the test */
    double quantiles_ns[PERF_QUANTILES]; /* NaN: not measured */
    uint64_t operations;                 /* of all threads and clients */
    uint64_t elapsed_ns;
    uint64_t origin_cpu_ns; /* processor time of the measuring side */
    uint64_t target_cpu_ns; /* of the serving side, 0: same process */
    double gauge_ns;        /* one cache line there and back, the slower of
                               before and after; NaN: not gauged */
    bool slow;              /* the machine was slow: not counted */
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

/* The settings of a measurement. The result owns the strings. */
struct perf_settings {
    enum perf_level level;
    char *info;    /* info string, or address of the server */
    char *label;   /* name of this run in pictures and comparisons, or NULL */
    char *against; /* the peer's command, or NULL */
    bool local;    /* the server is our own */
    bool busy;     /* polls all the time */
    bool single;   /* NA_THREAD_MODE_SINGLE */
    bool verify;
    bool progress_thread; /* with a progress thread for each context */
    bool mem_alloc;       /* memory for RMA is allocated by Talaria */
    uint32_t inflight;    /* operations in flight of a thread */
    uint32_t threads;     /* of a class */
    uint32_t contexts;    /* of a class */
    uint32_t classes;     /* of a client */
    uint32_t clients;     /* processes */
    uint32_t segments; /* level bulk: of an operation's memory at the origin */
    uint32_t rounds;
    uint64_t warm_up;    /* operations before each point */
    uint64_t operations; /* of one round; 0: by round_ns */
    uint64_t round_ns;   /* duration of a round */
    int32_t origin_cpu;  /* -1: not pinned */
    int32_t target_cpu;
};

struct perf_result {
    struct perf_settings settings;
    char *version; /* of Talaria */
    char *host;    /* its name */
    char *cpu;     /* name of its processor */
    uint32_t cpus; /* processors online */
    char *kernel;  /* release */
    char *date;    /* UTC, ISO 8601 */
    struct perf_point *points;
    size_t count;
};

/* "lat", "rate", "bw_read", "bw_write"; "na", "rpc", "bulk". */
const char *perf_test_name(enum perf_test test);
const char *perf_level_name(enum perf_level level);

/* Sets machine, version and date; the caller sets the settings. false: out of
 * memory. */
bool perf_result_init(struct perf_result *result);
void perf_result_finish(struct perf_result *result);

/* Appends a point without rounds, valid until the next call. NULL: out of
 * memory. */
struct perf_point *perf_result_add(
    struct perf_result *result, enum perf_test test, uint64_t size);

/* Appends a copy of a round to a point. false: out of memory. */
bool perf_point_add(struct perf_point *point, const struct perf_round *round);

/* Marks slow rounds of all points: those with a gauge above twice the
 * median. */
void perf_result_mark_slow(struct perf_result *result);

/* Summary of the rounds that were not slow, or of all, if all were slow. */
struct perf_summary {
    size_t rounds; /* counted */
    size_t slow;   /* not counted */
    double median; /* of the rounds' values */
    double min;
    double max;
    double low; /* 95 % confidence interval of the median; NaN below 6 rounds */
    double high;
    double quantiles_ns[PERF_QUANTILES]; /* medians of the rounds' quantiles */
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

/* Print a result as a table, CSV or JSON (described in tools/perf/README.md).
 * They return the exit status. */
int perf_print_table(const struct perf_result *result, FILE *stream);
int perf_print_csv(const struct perf_result *result, FILE *stream);
int perf_print_json(const struct perf_result *result, FILE *stream);

/* Reads the JSON of a result. false: the error was printed. */
bool perf_read_json(const char *path, struct perf_result *result_p);

#endif /* PERF_RESULT_H */
