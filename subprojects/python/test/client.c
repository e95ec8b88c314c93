/* SPDX-License-Identifier: BSD-3-Clause */
/* A client in C of the RPCs of test/server.c, which may be served by Python:
 *
 *   client INFO ADDRESS               tries each
 *   client INFO ADDRESS sum COUNT     prints the nanoseconds of a call
 *   client INFO ADDRESS ends COUNT SIZE   as sum, calls that pull SIZE bytes
 *
 * Exit status 1, with a line, if something is not as it should be. */
#include "rpcs.h"

#include <stdio.h>
#include <time.h>

static hg_class_t *hg_class;
static hg_context_t *context;
static hg_addr_t server;

struct answer {
    hg_handle_t handle;
    hg_return_t ret;
    bool done;
};

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct answer *answer = info->arg;

    answer->ret = info->ret;
    answer->done = true;
    return HG_SUCCESS;
}

static void
fail(const char *what, hg_return_t ret)
{
    fprintf(stderr, "%s: %s\n", what, HG_Error_to_string(ret));
    exit(1);
}

/* Calls and waits; the caller frees the output, if ret is HG_SUCCESS, and
 * destroys the handle. */
static struct answer
call(const char *name, hg_id_t id, void *in, void *out)
{
    struct answer answer = {.handle = HG_HANDLE_NULL};
    hg_return_t ret = HG_Create(context, server, id, &answer.handle);

    if (ret == HG_SUCCESS)
        ret = HG_Forward(answer.handle, answered, &answer, in);
    if (ret != HG_SUCCESS)
        fail(name, ret);
    while (!answer.done) {
        if (HG_Progress(context, 1000) == HG_SUCCESS)
            HG_Trigger(context, 0, 1, NULL);
    }
    if (answer.ret == HG_SUCCESS && out)
        answer.ret = HG_Get_output(answer.handle, out);
    return answer;
}

static void
check(bool holds, const char *what)
{
    if (!holds)
        fail(what, HG_SUCCESS);
}

static void
try_sum(hg_id_t id)
{
    sum_in_t in = {20, 22};
    sum_out_t out;
    struct answer answer = call("sum", id, &in, &out);

    if (answer.ret != HG_SUCCESS)
        fail("sum", answer.ret);
    check(out.sum == 42, "the sum");
    HG_Free_output(answer.handle, &out);
    HG_Destroy(answer.handle);
}

static void
try_types(void)
{
    hg_id_t id = MERCURY_REGISTER(hg_class, "types", types_t, types_t, NULL);
    char text[] = "gr\xc3\xbc\xc3\x9f\xff", bytes[] = {1, 0, 2};
    types_t in = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, UINT8_MAX,
        UINT16_MAX, UINT32_MAX, UINT64_MAX, 1, text, NULL, {3, bytes}};
    types_t out;
    struct answer answer = call("types", id, &in, &out);

    if (answer.ret != HG_SUCCESS)
        fail("types", answer.ret);
    check(out.b == in.b && out.h == in.h && out.i == in.i && out.q == in.q,
        "signed integers");
    check(out.B == in.B && out.H == in.H && out.I == in.I && out.Q == in.Q,
        "unsigned integers");
    check(out.truth == 1 && strcmp(out.text, text) == 0 && !out.none &&
              out.bytes.size == 3 && memcmp(out.bytes.data, bytes, 3) == 0,
        "strings and bytes");
    HG_Free_output(answer.handle, &out);
    HG_Destroy(answer.handle);
}

/* bytes of a size are echoed; none is a failure with a text. */
static void
try_echo(size_t size)
{
    hg_id_t id = MERCURY_REGISTER(hg_class, "echo", bytes_t, reply_t, NULL);
    bytes_t in = {size, calloc(1, size + 1)};
    reply_t out;
    struct answer answer = call("echo", id, &in, &out);

    if (answer.ret != HG_SUCCESS)
        fail("echo", answer.ret);
    if (size == 0)
        check(out.code == HG_NODEV && out.text &&
                  strcmp(out.text, "nothing to echo") == 0,
            "the failure of echo");
    else
        check(out.code == 0 && !out.text && out.bytes.size == size &&
                  memcmp(in.data, out.bytes.data, size) == 0,
            "the echo");
    HG_Free_output(answer.handle, &out);
    HG_Destroy(answer.handle);
    free(in.data);
}

static void
try_refuse(void)
{
    hg_id_t id =
        MERCURY_REGISTER(hg_class, "refuse", sum_in_t, sum_out_t, NULL);
    sum_in_t in = {0, 0};
    struct answer answer = call("refuse", id, &in, NULL);

    if (answer.ret != HG_PERMISSION)
        fail("refuse", answer.ret);
    HG_Destroy(answer.handle);
}

/* name: ends or fill. Repeats the call and returns the last answer. */
static uint64_t
move(const char *name, void *memory, hg_size_t size, unsigned long count)
{
    hg_id_t id = MERCURY_REGISTER(hg_class, name, memory_t, moved_t, NULL);
    memory_t in = {HG_BULK_NULL, 7};
    moved_t out = {0};
    hg_return_t ret = HG_Bulk_create(
        hg_class, 1, &memory, &size, HG_BULK_READWRITE, &in.bulk);

    if (ret != HG_SUCCESS)
        fail("HG_Bulk_create", ret);
    for (; count > 0; count--) {
        struct answer answer = call(name, id, &in, &out);

        if (answer.ret != HG_SUCCESS || out.ret != HG_SUCCESS)
            fail(name, answer.ret);
        HG_Free_output(answer.handle, &out);
        HG_Destroy(answer.handle);
    }
    HG_Bulk_free(in.bulk);
    return out.size;
}

static void
try_memory(void)
{
    static uint8_t memory[300000];

    memory[0] = 5;
    memory[sizeof memory - 1] = 6;
    check(move("ends", memory, sizeof memory, 1) == (5 << 8 | 6), "ends");
    check(move("fill", memory, sizeof memory, 1) == sizeof memory, "fill");
    for (size_t i = 0; i < sizeof memory; i++)
        check(memory[i] == 7, "what was pushed");
}

static double
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e9 + (double) time.tv_nsec;
}

static void
measure(const char *name, unsigned long count, size_t size, hg_id_t sum)
{
    void *memory = malloc(size + 1);
    double begin;

    if (!memory)
        fail("malloc", HG_NOMEM);
    memset(memory, 1, size); /* not one page of zeros */
    begin = now();

    if (strcmp(name, "ends") == 0)
        move(name, memory, size, count);
    else
        for (unsigned long i = 0; i < count; i++)
            try_sum(sum);
    printf("%.0f\n", (now() - begin) / (double) count);
    free(memory);
}

int
main(int argc, char **argv)
{
    hg_id_t sum;

    if (argc < 3)
        return 1;
    hg_class = HG_Init(argv[1], HG_FALSE);
    context = HG_Context_create(hg_class);
    if (!context || HG_Addr_lookup2(hg_class, argv[2], &server) != HG_SUCCESS)
        return 1;
    sum = MERCURY_REGISTER(hg_class, "sum", sum_in_t, sum_out_t, NULL);
    if (argc > 4) {
        measure(argv[3], strtoul(argv[4], NULL, 10),
            argc > 5 ? strtoul(argv[5], NULL, 10) : 0, sum);
    } else {
        try_sum(sum);
        try_types();
        try_echo(0);
        try_echo(100);
        try_echo(1000000);
        try_refuse();
        try_memory();
        printf("ok\n");
    }
    HG_Addr_free(hg_class, server);
    return HG_Context_destroy(context) != HG_SUCCESS ||
           HG_Finalize(hg_class) != HG_SUCCESS;
}
