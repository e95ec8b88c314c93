/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks of other libraries: splitting their commands, what each can
 * measure, and parsing their output. */
#include "perf/against_parse.h"
#include "perf/against_process.h"
#include "runner.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
    const char *command;
    const char *words; /* each followed by a bar; NULL: rejected */
} commands[] = {
    {"fi_pingpong", "fi_pingpong|"},
    {"  fi_pingpong  -e\trdm\n", "fi_pingpong|-e|rdm|"},
    {"a 'b c' \"d e\" f\\ g", "a|b c|d e|f g|"},
    {"a'b'\"c\"d ''", "abcd||"},
    {"$HOME `id` *", "$HOME|`id`|*|"},
    {"\"a\\\"b\\n\" 'c\\'", "a\"b\\n|c\\|"},
    {"a\\", "a\\|"},
    {"", NULL},
    {" \t", NULL},
    {"a 'b", NULL},
    {"a \"b'", NULL},
};

START_TEST(words_split_is_as_expected)
{
    char joined[256] = "";
    size_t length = 0;
    char **words;
    bool good = perf_args_split(commands[_i].command, &words);

    ck_assert(good == (commands[_i].words != NULL));
    if (!good)
        return;
    for (size_t i = 0; words[i]; i++)
        length += (size_t) snprintf(
            joined + length, sizeof joined - length, "%s|", words[i]);
    ck_assert_str_eq(joined, commands[_i].words);
    perf_args_free(words);
}
END_TEST

START_TEST(peer_is_identified_by_the_end_of_its_name)
{
    enum perf_peer peer;

    ck_assert(perf_peer_find("fi_pingpong", &peer));
    ck_assert_int_eq(peer, PERF_FI_PINGPONG);
    ck_assert(perf_peer_find("/opt/m/bin/hg_bw_write", &peer));
    ck_assert_int_eq(peer, PERF_HG_BW_WRITE);
    ck_assert(!perf_peer_find("hg_bw_write/", &peer));
    ck_assert(!perf_peer_find("hg_bw", &peer));
    ck_assert(!perf_peer_find("hg_bw_write2", &peer));
    ck_assert(!perf_peer_find("", &peer));
}
END_TEST

/* Which peers measure lat, rate, bw_read, bw_write, in this order; and how many
 * operations a duration is converted to. */
static const struct {
    const char *command;
    bool measures[PERF_TESTS];
    int trips;
} abilities[] = {
    {"fi_pingpong -e rdm", {true, false, false, false}, 2},
    {"ucx_perftest", {false, false, false, false}, 0},
    {"ucx_perftest -t", {false, false, false, false}, 0},
    {"ucx_perftest -t ucp_am_lat", {true, false, false, false}, 2},
    {"ucx_perftest -ttag_lat", {true, false, false, false}, 2},
    {"ucx_perftest -t tag_lat -t tag_bw", {false, true, false, true}, 0},
    {"ucx_perftest -t ucp_get", {true, true, true, false}, 1},
    {"ucx_perftest -t get", {true, true, true, false}, 1},
    {"ucx_perftest -t ucp_put_bw", {false, true, false, true}, 0},
    {"ucx_perftest -t ucp_fadd", {true, true, false, false}, 1},
    {"hg_rate", {true, true, false, false}, 1},
    {"hg_bw_read", {false, false, true, false}, 1},
    {"hg_bw_write", {false, false, false, true}, 1},
};

START_TEST(peer_supports_its_measures)
{
    enum perf_peer peer;
    char **words;

    ck_assert(perf_args_split(abilities[_i].command, &words));
    ck_assert(perf_peer_find(words[0], &peer));
    for (int test = 0; test < PERF_TESTS; test++)
        ck_assert_msg(
            !perf_peer_refuse(peer, words + 1, (enum perf_test) test) ==
                abilities[_i].measures[test],
            "%s: %d", abilities[_i].command, test);
    ck_assert_int_eq(perf_peer_trips(peer, words + 1), abilities[_i].trips);
    perf_args_free(words);
}
END_TEST

#define FI_HEAD                                                                \
    "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   "     \
    "Mxfers/sec\n"
#define UCX_HEAD                                                               \
    "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,"    \
    "avg_mr,overall_mr\n"
#define HG_START                                                               \
    "# Initializing NA in busy wait mode\n"                                    \
    "# Class 1 using info string: na+sm://\n"                                  \
    "# Reading config from ./port.cfg\n"                                       \
    "# 1 target name(s) read:\n"                                               \
    "# - 1/1: na+sm://27549-0\n"
#define HG_RATE_HEAD                                                           \
    HG_START "# RPC rate v2.4.1\n"                                             \
             "# 1 client process(es)\n"                                        \
             "# Loop 1 times from size 0 to 16777216 byte(s) with 1 "          \
             "handle(s) in-flight\n"                                           \
             "# Size               \"Rate (ops/s)\"              "             \
             "\"Time (us)\"\n"
#define HG_BW_HEAD(unit)                                                       \
    HG_START "# Read BW (server bulk push) v2.4.1\n"                           \
             "# 1 client process(es)\n"                                        \
             "# Loop 1 times from size 65536 to 65536 byte(s) with 1 "         \
             "handle(s) in-flight\n"                                           \
             "# - 64 bulk transfer(s) per handle\n"                            \
             "# Size          \"Bandwidth (" unit                              \
             ")\"              \"Time (us)\"\n"

/* Output of the tools and the value in it; 0: none. */
static const struct {
    enum perf_peer peer;
    int trips;
    enum perf_test test;
    uint64_t size;
    double value;
    const char *output;
} outputs[] = {
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 14406200,
        FI_HEAD "64      10      =10      1.2k        0.14s      0.01    "
                "7203.10       0.00\n"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 0, 266640,
        FI_HEAD "0       100     =100     0           0.03s      0.00     "
                "133.32       0.01\n"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 1536, 21220,
        "[debug] util/pingpong.c:855 : Stopped test chrono\n" FI_HEAD
        "1.5k    100     =100     300k        0.00s    144.77      10.61       "
        "0.09\n[debug] util/pingpong.c:1919: Terminating test\n"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 0, FI_HEAD},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 0,
        FI_HEAD "64      10      =10      1.2k        0.14s      0.01    "
                "7203.10       0.0"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 0,
        FI_HEAD "64      10      =10      1.2k        0.14s      0.01    "
                "7203.10\n"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 0,
        FI_HEAD "64      10      =10      1.2k        0.14s      0.01    "
                "-nan       0.00\n"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 0,
        "64      10      =10      1.2k        0.14s      0.01    7203.10"
        "       0.00\n"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 0,
        "fi_getinfo(): util/pingpong.c:1489, ret=-61 (No data available)\n"},
    {PERF_FI_PINGPONG, 2, PERF_LAT, 64, 0,
        "[error] util/pingpong.c:568 : ctrl/read: no data or remote "
        "connection closed\n"},
    {PERF_UCX_PERFTEST, 2, PERF_LAT, 64, 1304,
        UCX_HEAD "100000,0.135,0.652,0.652,93.55,93.55,1532684,1532684\n"},
    {PERF_UCX_PERFTEST, 1, PERF_LAT, 65536, 1461,
        UCX_HEAD "10000,1.302,1.461,1.461,42773.18,42773.18,684371,684371\n"},
    {PERF_UCX_PERFTEST, 0, PERF_RATE, 65536, 55890,
        UCX_HEAD "10000,6.171,17.892,17.892,3493.12,3493.12,55890,55890\n"},
    {PERF_UCX_PERFTEST, 0, PERF_BW_WRITE, 65536, 3493.12 * 1048576,
        UCX_HEAD "10000,6.171,17.892,17.892,3493.12,3493.12,55890,55890\n"},
    /* The last line is the result; earlier lines are intermediate, and may
     * start with a thread id. */
    {PERF_UCX_PERFTEST, 2, PERF_LAT, 64, 1058482,
        UCX_HEAD "[thread 0]199093,7.100,178.090,527.311,0.34,0.12,5615,1896\n"
                 "[thread 0]199924,7.471,601.665,527.620,0.10,0.12,1662,1895\n"
                 "200000,7.396,4794.593,529.241,0.01,0.12,209,1889\n"},
    {PERF_UCX_PERFTEST, 2, PERF_LAT, 64, 1304,
        "[1795203805.259212] [vm:24697:0]     ucp_context.c:1014 UCX  WARN  "
        "transport 'nope' is not available, please use one or more of: cma, "
        "mm, posix, self, shm, sm, sysv, tcp\n" UCX_HEAD
        "100000,0.135,0.652,0.652,93.55,93.55,1532684,1532684\n"},
    {PERF_UCX_PERFTEST, 2, PERF_LAT, 64, 0,
        UCX_HEAD
        "[1795203805.259222] [vm:24697:0]     ucp_context.c:1276 UCX  ERROR no "
        "usable transports/devices (asked nope on all devices)\n"},
    {PERF_UCX_PERFTEST, 2, PERF_LAT, 64, 0,
        UCX_HEAD "100000,0.135,0.652,0.652,93.55,93.55,1532684,1532"},
    {PERF_UCX_PERFTEST, 2, PERF_LAT, 64, 0,
        "[1795201258.729101] [vm:27725:0]        perftest.c:405  UCX  ERROR "
        "client failed. connect() failed: Connection refused\n"},
    {PERF_UCX_PERFTEST, 2, PERF_LAT, 64, 0, ""},
    {PERF_HG_RATE, 1, PERF_LAT, 64, 800,
        HG_RATE_HEAD
        "0                           1018329                     0.98\n"
        "32                          1050420                     0.95\n"
        "64                          1246882                     0.80\n"
        "128                          950570                     1.05\n"},
    {PERF_HG_RATE, 1, PERF_RATE, 64, 1246882,
        HG_RATE_HEAD
        "64                          1246882                     0.80\n"},
    {PERF_HG_RATE, 1, PERF_RATE, 0, 1018329,
        HG_RATE_HEAD
        "0                           1018329                     0.98\n"
        "1                            577034                     1.73\n"},
    /* With 32 in flight each one takes 32 times as long. */
    {PERF_HG_RATE, 1, PERF_LAT, 64, 17600,
        "# Loop 1000 times from size 64 to 64 byte(s) with 32 handle(s) "
        "in-flight\n# Size               \"Rate (ops/s)\"              "
        "\"Time (us)\"\n"
        "64                          1807342                     0.55\n"},
    {PERF_HG_RATE, 1, PERF_LAT, 65, 0,
        HG_RATE_HEAD
        "64                          1246882                     0.80\n"},
    {PERF_HG_RATE, 1, PERF_LAT, 64, 0,
        HG_RATE_HEAD "64                          1246882"},
    {PERF_HG_RATE, 1, PERF_RATE, 64, 0, HG_START},
    {PERF_HG_RATE, 1, PERF_RATE, 64, 0,
        "# [27725.4] mercury->cls [error] HG_Init() failed\n"},
    {PERF_HG_BW_READ, 1, PERF_BW_READ, 65536, 6617.64 * 1048576,
        HG_BW_HEAD("MiB/s") "65536                       6617.64               "
                            "      9.44\n"},
    {PERF_HG_BW_WRITE, 1, PERF_BW_WRITE, 65536, 3751.99e6,
        HG_BW_HEAD("MB/s") "65536                       3751.99                "
                           "    17.47\n"},
    {PERF_HG_BW_WRITE, 1, PERF_BW_WRITE, 65536, 0,
        HG_BW_HEAD("GB/s") "65536                       3751.99                "
                           "    17.47\n"},
};

START_TEST(peer_output_is_parsed)
{
    double value = 0;
    bool good = perf_peer_parse(outputs[_i].peer, outputs[_i].trips,
        outputs[_i].test, outputs[_i].size, outputs[_i].output, &value);

    ck_assert(good == (outputs[_i].value > 0));
    if (good)
        ck_assert_double_eq_tol(
            value, outputs[_i].value, outputs[_i].value * 1e-9);
}
END_TEST

/* The value is found in any line of the output. */
START_TEST(peer_output_of_long_lines_is_parsed)
{
    size_t length = 100000;
    char *output = malloc(length + 1);
    double value;

    ck_assert_ptr_nonnull(output);
    for (int peer = 0; peer < PERF_PEERS; peer++)
        for (size_t each = 0; each < 3; each++) {
            memset(output, " ,x"[each], length);
            memcpy(output, "# bytes,", 8);
            output[length - 1] = '\n';
            output[length] = '\0';
            ck_assert(!perf_peer_parse(
                (enum perf_peer) peer, 1, PERF_LAT, 64, output, &value));
        }
    free(output);
}
END_TEST

START_TEST(port_listens_is_true_once_bound)
{
    uint16_t port = perf_port_choose();
    struct sockaddr_in address = {.sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_uint_ne(port, 0);
    ck_assert(!perf_port_listens(port));
    ck_assert_int_eq(
        bind(fd, (const struct sockaddr *) &address, sizeof address), 0);
    ck_assert(!perf_port_listens(port));
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert(perf_port_listens(port));
    close(fd);
    ck_assert(!perf_port_listens(port));
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("perf_against");

    tcase_add_loop_test(tcase, words_split_is_as_expected, 0,
        sizeof commands / sizeof commands[0]);
    tcase_add_test(tcase, peer_is_identified_by_the_end_of_its_name);
    tcase_add_loop_test(tcase, peer_supports_its_measures, 0,
        sizeof abilities / sizeof abilities[0]);
    tcase_add_loop_test(
        tcase, peer_output_is_parsed, 0, sizeof outputs / sizeof outputs[0]);
    tcase_add_test(tcase, peer_output_of_long_lines_is_parsed);
    tcase_add_test(tcase, port_listens_is_true_once_bound);
    return run_tcase("perf_against", tcase);
}
