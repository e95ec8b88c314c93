/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer of `talaria copy` for hostile-peer tests. */
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "copy_peer.h"
#include "runner.h"

#define WAIT_SECONDS 50.0

/* Folder of all cases, and of the case in this process. */
static char suite_folder[] = "/var/tmp/talaria-test-XXXXXX";
static char folder[64];

double
peer_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

void
peer_folder_create(void)
{
    snprintf(folder, sizeof(folder), "%s/%d", suite_folder, (int) getpid());
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    ck_assert_int_eq(mkdir(peer_path("exported"), 0755), 0);
}

static int
remove_one(
    const char *path, const struct stat *st, int type, struct FTW *position)
{
    (void) st;
    (void) type;
    (void) position;
    return remove(path);
}

void
peer_folder_remove(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int
peer_run(Suite *suite)
{
    int result;

    if (mkdtemp(suite_folder) == NULL) {
        perror(suite_folder);
        return EXIT_FAILURE;
    }
    result = run_suite(suite);
    nftw(suite_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return result;
}

const char *
peer_path(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

void
peer_open(struct peer *peer, const char *address, hg_rpc_cb_t handler)
{
    void *memory = &peer->light;
    hg_size_t size = sizeof(peer->light);

    *peer = (struct peer){.light = 0x1234567890abcdef};
    peer->hg_class = HG_Init("na+sm", address == NULL);
    ck_assert_ptr_nonnull(peer->hg_class);
    HG_Class_set_data(peer->hg_class, peer, NULL);
    ck_assert_int_eq(
        copy_proto_register(peer->hg_class, handler, peer->ids), HG_SUCCESS);
    peer->context = HG_Context_create(peer->hg_class);
    ck_assert_ptr_nonnull(peer->context);
    ck_assert_int_eq(HG_Bulk_create(peer->hg_class, 1, &memory, &size,
                         HG_BULK_READWRITE, &peer->beacon),
        HG_SUCCESS);
    if (address != NULL)
        ck_assert_int_eq(
            HG_Addr_lookup2(peer->hg_class, address, &peer->addr), HG_SUCCESS);
}

void
peer_close(struct peer *peer)
{
    HG_Bulk_free(peer->beacon);
    HG_Addr_free(peer->hg_class, peer->addr);
    ck_assert_int_eq(HG_Context_destroy(peer->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(peer->hg_class), HG_SUCCESS);
}

void
peer_progress(struct peer *peer)
{
    unsigned int count;

    HG_Progress(peer->context, 10);
    do {
        count = 0;
        HG_Trigger(peer->context, 0, 16, &count);
    } while (count > 0);
}

struct answer {
    bool came;
    hg_return_t ret;
};

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    struct answer *answer = info->arg;

    answer->came = true;
    answer->ret = info->ret;
    return HG_SUCCESS;
}

static hg_return_t
call(struct peer *peer, hg_id_t id, void *in, union copy_out *out_p)
{
    struct answer answer = {0};
    double deadline = peer_clock() + WAIT_SECONDS;
    hg_handle_t handle;

    ck_assert_int_eq(
        HG_Create(peer->context, peer->addr, id, &handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, on_answer, &answer, in), HG_SUCCESS);
    while (!answer.came) {
        ck_assert_msg(peer_clock() < deadline, "no answer");
        peer_progress(peer);
    }
    if (answer.ret == HG_SUCCESS) {
        ck_assert_int_eq(HG_Get_output(handle, out_p), HG_SUCCESS);
        HG_Free_output(handle, out_p);
    }
    HG_Destroy(handle);
    return answer.ret;
}

hg_return_t
peer_call(struct peer *peer, enum copy_rpc rpc, union copy_in *in,
    union copy_out *out_p)
{
    return call(peer, peer->ids[rpc], in, out_p);
}

unsigned int
peer_status(struct peer *peer, enum copy_rpc rpc, union copy_in *in,
    union copy_out *out_p)
{
    if (rpc != COPY_HELLO)
        in->session = peer->session;
    ck_assert_int_eq(peer_call(peer, rpc, in, out_p), HG_SUCCESS);
    return out_p->status;
}

struct raw {
    const void *bytes;
    size_t size;
};

static hg_return_t
proc_raw(hg_proc_t proc, void *data)
{
    struct raw *raw = data;
    void *place;

    if (hg_proc_get_op(proc) != HG_ENCODE)
        return HG_SUCCESS;
    place = hg_proc_save_ptr(proc, raw->size);
    memcpy(place, raw->bytes, raw->size);
    return hg_proc_restore_ptr(proc, place, raw->size);
}

unsigned int
peer_raw(struct peer *peer, enum copy_rpc rpc, const void *bytes, size_t size)
{
    struct raw raw = {bytes, size};
    hg_id_t ids[COPY_RPC_COUNT];
    union copy_out out;

    ck_assert_int_eq(HG_Register(peer->hg_class, peer->ids[rpc], proc_raw,
                         hg_proc_copy_status_out_t, NULL),
        HG_SUCCESS);
    ck_assert_int_eq(call(peer, peer->ids[rpc], &raw, &out), HG_SUCCESS);
    copy_proto_register(peer->hg_class, NULL, ids);
    return out.status;
}

void
peer_hello(struct peer *peer, union copy_out *out_p)
{
    union copy_in in = {.hello = {.version = COPY_PROTOCOL_VERSION,
                            .beacon_value = peer->light,
                            .beacon = peer->beacon}};
    union copy_out out;

    ck_assert_uint_eq(peer_status(peer, COPY_HELLO, &in, &out), COPY_OK);
    ck_assert_uint_eq(out.hello.version, COPY_PROTOCOL_VERSION);
    ck_assert_uint_ne(out.hello.session, 0);
    peer->session = out.hello.session;
    if (out_p != NULL)
        *out_p = out;
}

static void
redirect(const char *name, int to)
{
    int fd = open(peer_path(name), O_CREAT | O_TRUNC | O_WRONLY, 0644);

    if (fd < 0 || dup2(fd, to) < 0)
        _exit(126);
    close(fd);
}

pid_t
peer_start(const char *argument, ...)
{
    char *argv[16] = {getenv("TALARIA"), "copy"};
    va_list arguments;
    pid_t pid;
    size_t i = 2;

    ck_assert_msg(argv[0] != NULL, "TALARIA names no command");
    va_start(arguments, argument);
    for (; argument != NULL; argument = va_arg(arguments, const char *)) {
        ck_assert_uint_lt(i, 15);
        argv[i++] = strdup(argument);
    }
    va_end(arguments);
    pid = peer_start_program(argv);
    while (i > 2)
        free(argv[--i]);
    return pid;
}

pid_t
peer_start_program(char *const argv[])
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        /* Findings of a sanitizer have another exit code than expected
         * failures. */
        setenv("ASAN_OPTIONS", "exitcode=99", 0);
        setenv("UBSAN_OPTIONS", "halt_on_error=1:exitcode=99", 0);
        redirect("out", STDOUT_FILENO);
        redirect("err", STDERR_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

bool
peer_ended(pid_t pid, int *status_p)
{
    int status;

    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    *status_p = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
}

pid_t
peer_start_server(const char *token_file, char *address_p, size_t size)
{
    double deadline = peer_clock() + WAIT_SECONDS;
    char exported[256];
    char file[256];
    char token[256];
    FILE *stream;
    pid_t pid;

    snprintf(exported, sizeof(exported), "%s", peer_path("exported"));
    snprintf(file, sizeof(file), "%s", peer_path("address"));
    snprintf(token, sizeof(token), "%s",
        peer_path(token_file == NULL ? "" : token_file));
    pid = peer_start("serve", "na+sm", exported, "--address-file", file,
        token_file == NULL ? (char *) NULL : "--token-file", token,
        (char *) NULL);
    while ((stream = fopen(file, "r")) == NULL) {
        struct timespec nap = {.tv_nsec = 10000000};
        ck_assert_msg(peer_clock() < deadline, "no server");
        nanosleep(&nap, NULL);
    }
    ck_assert_ptr_nonnull(fgets(address_p, (int) size, stream));
    fclose(stream);
    address_p[strcspn(address_p, "\n")] = 0;
    return pid;
}
