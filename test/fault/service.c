/* SPDX-License-Identifier: BSD-3-Clause */
/* The server, and code shared by all processes. */
#include "service.h"

#include "counts.h"
#include "entries.h"
#include "mercury_macros.h"
#include "talaria.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned char service_pattern[SERVICE_PATTERN];
const char *service_transport;
static struct service *own;
static hg_class_t *own_class;

struct fetching {
    hg_handle_t handle;
    fetch_t in;
    hg_bulk_t local;
    unsigned char *memory;
};

uint64_t
service_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void
service_pattern_make(void)
{
    uint64_t state = 1;

    for (size_t i = 0; i < SERVICE_PATTERN; i++)
        service_pattern[i] = (unsigned char) service_random(&state);
}

hg_return_t
hg_proc_ask_t(hg_proc_t proc, void *data)
{
    ask_t *ask = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &ask->seed);

    if (ret == HG_SUCCESS)
        ret = hg_proc_uint32_t(proc, &ask->size);
    return ret == HG_SUCCESS ? hg_proc_blob_t(proc, &ask->bytes) : ret;
}

hg_return_t
hg_proc_fetch_t(hg_proc_t proc, void *data)
{
    fetch_t *fetch = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &fetch->seed);

    if (ret == HG_SUCCESS)
        ret = hg_proc_uint32_t(proc, &fetch->size);
    return ret == HG_SUCCESS ? hg_proc_hg_bulk_t(proc, &fetch->bulk) : ret;
}

static bool
is_pattern(const void *bytes, uint32_t seed, uint32_t size)
{
    return seed <= SERVICE_PATTERN && size <= SERVICE_PATTERN - seed &&
           memcmp(bytes, service_pattern + seed, size) == 0;
}

static hg_return_t
on_responded(const struct hg_cb_info *info)
{
    atomic_fetch_add(&own->called, 1);
    if (info->ret != HG_SUCCESS)
        atomic_fetch_add(&own->failed, 1);
    HG_Destroy(info->info.respond.handle);
    return HG_SUCCESS;
}

static hg_return_t
respond(hg_handle_t handle, void *out)
{
    hg_return_t ret = HG_Respond(handle, on_responded, NULL, out);

    atomic_fetch_add(&own->handled, 1);
    if (ret == HG_SUCCESS)
        atomic_fetch_add(&own->accepted, 1);
    else
        HG_Destroy(handle);
    return ret;
}

static hg_return_t
on_ask(hg_handle_t handle)
{
    ask_t in;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS) {
        HG_Destroy(handle);
        return ret;
    }
    if (!is_pattern(in.bytes.data, in.seed, in.bytes.size) ||
        in.size > SERVICE_PATTERN - in.seed) {
        if (!own->lenient) {
            fprintf(stderr, "the bytes of a request differ\n");
            abort();
        }
        in.seed = in.size = 0;
    }
    blob_t out = {.size = in.size, .data = service_pattern + in.seed};
    ret = respond(handle, &out);
    HG_Free_input(handle, &in);
    return ret;
}

static hg_return_t
on_fetched(const struct hg_cb_info *info)
{
    struct fetching *f = info->arg;
    int32_t code = (int32_t) info->ret;

    atomic_fetch_add(&own->called, 1);
    if (info->ret == HG_SUCCESS && !own->lenient &&
        !is_pattern(f->memory, f->in.seed, f->in.size)) {
        fprintf(stderr, "the fetched bytes differ\n");
        abort();
    }
    HG_Bulk_free(f->local);
    HG_Free_input(f->handle, &f->in);
    respond(f->handle, &code);
    free(f->memory);
    free(f);
    return HG_SUCCESS;
}

static hg_return_t
fetch(struct fetching *f)
{
    hg_size_t size = f->in.size;
    void *memory;
    hg_return_t ret;

    if (size > SERVICE_PATTERN)
        return HG_INVALID_ARG;
    memory = f->memory = malloc(size + 1);
    if (!memory)
        return HG_NOMEM;
    ret = HG_Bulk_create(
        own_class, 1, &memory, &size, HG_BULK_WRITE_ONLY, &f->local);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_transfer(HG_Get_info(f->handle)->context, on_fetched, f,
            HG_BULK_PULL, HG_Get_info(f->handle)->addr, f->in.bulk, 0, f->local,
            0, size, HG_OP_ID_IGNORE);
    if (ret == HG_SUCCESS)
        atomic_fetch_add(&own->accepted, 1);
    return ret;
}

static hg_return_t
on_fetch(hg_handle_t handle)
{
    struct fetching *f = calloc(1, sizeof *f);
    hg_return_t ret = f ? HG_Get_input(handle, &f->in) : HG_NOMEM;

    if (ret == HG_SUCCESS) {
        f->handle = handle;
        ret = fetch(f);
        if (ret == HG_SUCCESS)
            return ret;
        HG_Bulk_free(f->local);
        HG_Free_input(handle, &f->in);
        free(f->memory);
    }
    free(f);
    HG_Destroy(handle);
    return ret;
}

bool
service_register(hg_class_t *hg_class, bool serves, struct service_ids *ids_p)
{
    ids_p->ask = MERCURY_REGISTER(
        hg_class, "ask", ask_t, blob_t, serves ? on_ask : NULL);
    ids_p->fetch = MERCURY_REGISTER(
        hg_class, "fetch", fetch_t, int32_t, serves ? on_fetch : NULL);
    return ids_p->ask != 0 && ids_p->fetch != 0;
}

void *
service_shared(size_t size)
{
    void *memory = mmap(
        NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    return memory;
}

pid_t
service_start(void (*body)(void *arg), void *arg)
{
    pid_t parent = getpid(), child;

    fflush(NULL);
    child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    body(arg);
    _exit(0);
}

void
service_end(pid_t child, int signal)
{
    uint64_t end = session_now_ms() + test_count(TEST_WAIT_MS);
    int status = 0;

    if (signal != 0)
        kill(child, signal);
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (session_now_ms() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            ck_abort_msg("process %d did not end", (int) child);
        }
        usleep(1000);
    }
    if (signal == 0)
        ck_assert_msg(
            status == 0, "a process ended with status %#x", (unsigned) status);
}

/* SAMPLES */

static uint64_t
count_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        abort();
    fclose(file);
    return (uint64_t) pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

static uint64_t
count_active(void)
{
    struct talaria_class_stats *stats;
    uint64_t count;

    if (talaria_class_stats(own_class, &stats) != HG_SUCCESS)
        abort();
    count = stats->counters->rpc_req_recv_active_count;
    talaria_class_stats_free(stats);
    return count;
}

static void
answer_sample(struct service *service)
{
    uint32_t asked = atomic_load(&service->asked);
    struct mallinfo2 info;

    if (asked == atomic_load(&service->answered))
        return;
    malloc_trim(0);
    info = mallinfo2();
    service->sample =
        (struct service_sample){.heap = info.uordblks + info.hblkhd,
            .resident = count_resident(),
            .descriptors = count_descriptors(),
            .active = count_active()};
    atomic_store(&service->answered, asked);
}

static struct service_sample
ask(struct service *service, uint64_t end)
{
    uint32_t asked = atomic_fetch_add(&service->asked, 1) + 1;

    while (atomic_load(&service->answered) != asked) {
        ck_assert_msg(session_now_ms() < end, "the server does not answer");
        usleep(1000);
    }
    return service->sample;
}

struct service_sample
service_sample(struct service *service)
{
    return ask(service, session_now_ms() + test_count(TEST_WAIT_MS));
}

struct service_sample
service_measure(struct service *service, uint64_t descriptors)
{
    uint64_t end = session_now_ms() + test_count(TEST_WAIT_MS);
    struct service_sample last = {0};
    unsigned same = 0;

    while (same < 3) {
        struct service_sample now = ask(service, 2 * end);

        same = now.descriptors == last.descriptors ? same + 1 : 0;
        if ((now.descriptors > descriptors ||
                atomic_load(&service->accepted) !=
                    atomic_load(&service->called)) &&
            session_now_ms() < end)
            same = 0;
        last = now;
        usleep(50000);
    }
    return last;
}

/* THE SERVER */

static void
publish(struct service *service)
{
    hg_size_t size = sizeof service->address;
    hg_addr_t self;

    if (HG_Addr_self(own_class, &self) != HG_SUCCESS ||
        HG_Addr_to_string(own_class, service->address, &size, self) !=
            HG_SUCCESS)
        abort();
    HG_Addr_free(own_class, self);
    atomic_fetch_add(&service->generation, 1);
}

/* Operations with dead peers end by themselves; their callbacks have to run
 * before the context is destroyed. */
static void
end(hg_context_t *context, const struct service *service)
{
    uint64_t end = session_now_ms() + test_count(TEST_WAIT_MS);

    while (atomic_load(&service->accepted) != atomic_load(&service->called) &&
           session_now_ms() < end) {
        HG_Progress(context, 10);
        session_drain(context);
    }
    session_drain(context);
}

void
service_run(void *arg)
{
    struct service *service = arg;
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    struct service_ids ids;
    hg_context_t *context;
    hg_return_t ret;

    own = service;
    /* an earlier process may have been killed with some active */
    atomic_store(&service->accepted, 0);
    atomic_store(&service->called, 0);
    atomic_store(&service->failed, 0);
    info.stats = HG_TRUE;
    own_class =
        HG_Init_opt2(service_transport, HG_TRUE, HG_VERSION(2, 4), &info);
    if (!own_class || !service_register(own_class, true, &ids))
        abort();
    context = HG_Context_create(own_class);
    if (!context)
        abort();
    publish(service);
    while (!atomic_load(&service->stop)) {
        HG_Progress(context, 10);
        while (HG_Trigger(context, 0, 64, NULL) == HG_SUCCESS)
            ;
        answer_sample(service);
    }
    end(context, service);
    ret = HG_Context_destroy(context);
    if (ret == HG_SUCCESS)
        ret = HG_Finalize(own_class);
    if (ret != HG_SUCCESS)
        fprintf(
            stderr, "the server does not end: %s\n", HG_Error_to_string(ret));
    if (ret != HG_SUCCESS ||
        atomic_load(&service->accepted) != atomic_load(&service->called)) {
        fprintf(stderr, "the server started %llu operations, %llu have ended\n",
            (unsigned long long) atomic_load(&service->accepted),
            (unsigned long long) atomic_load(&service->called));
        _exit(3);
    }
}

void
service_await(struct service *service, uint32_t generation)
{
    uint64_t end = session_now_ms() + test_count(TEST_WAIT_MS);

    while (atomic_load(&service->generation) < generation) {
        ck_assert_msg(session_now_ms() < end, "a server does not start");
        usleep(1000);
    }
}
