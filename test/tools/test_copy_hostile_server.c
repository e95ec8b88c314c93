/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of `talaria copy` with a hostile server: nothing is written outside
 * the target, nothing invalid is kept, and the client ends with an error. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "copy/hash.h"
#include "copy/page.h"
#include "copy_peer.h"

#define WAIT_SECONDS 50.0

/* What the server sends. */
static struct lie {
    unsigned int chunk_size;
    const char *name; /* of the only entry of each listing */
    size_t name_length;
    uint8_t type;
    uint32_t more_bytes; /* more entries announced than in the page */
    uint32_t more_count;
    unsigned int pages;    /* of the listing */
    uint64_t size;         /* of each file */
    copy_sum_t sum;        /* of each file */
    unsigned int status;   /* of each read */
    uint32_t nanos;        /* of each file's time */
    uint32_t mode;         /* of each file, and of the folder */
    const char *target;    /* of each link */
    uint32_t stored;       /* files of which a store has a status */
    uint8_t store_status;  /* of each of them */
    uint64_t have;         /* of each partial file */
    unsigned int verified; /* status of each verify */
} lie;

static struct peer peer;
static char address[256];
static char page_memory[COPY_CHUNK_SIZE];
static hg_bulk_t page_bulk;
static unsigned int asked[COPY_RPC_COUNT];

static enum copy_rpc
rpc_of(hg_handle_t handle)
{
    int rpc = 0;

    while (peer.ids[rpc] != HG_Get_info(handle)->id)
        rpc++;
    return (enum copy_rpc) rpc;
}

struct push {
    hg_handle_t handle;
    union copy_in in;
    union copy_out out;
};

static hg_return_t
on_pushed(const struct hg_cb_info *info)
{
    struct push *push = info->arg;

    HG_Respond(push->handle, NULL, NULL, &push->out);
    HG_Free_input(push->handle, &push->in);
    HG_Destroy(push->handle);
    free(push);
    return HG_SUCCESS;
}

/* Pushes `size` bytes of the page, then responds. Takes ownership of the
 * handle. */
static void
push_page(hg_handle_t handle, const union copy_out *out, hg_size_t size)
{
    struct push *push = calloc(1, sizeof(*push));
    hg_bulk_t to;

    push->handle = handle;
    push->out = *out;
    ck_assert_int_eq(HG_Get_input(handle, &push->in), HG_SUCCESS);
    to = rpc_of(handle) == COPY_LIST ? push->in.list.bulk : push->in.chunk.bulk;
    ck_assert_int_eq(
        HG_Bulk_transfer(peer.context, on_pushed, push, HG_BULK_PUSH,
            HG_Get_info(handle)->addr, to, 0, page_bulk, 0, size, NULL),
        HG_SUCCESS);
}

/* The entry is encoded by hand: its name may be invalid. */
static void
answer_list(hg_handle_t handle)
{
    union copy_out out = {.list = {.status = COPY_OK, .count = 1}};
    copy_meta_t meta = {.type = lie.type, .mode = 0755, .size = lie.size};
    uint16_t length = (uint16_t) lie.name_length;
    hg_proc_t proc;

    ck_assert_int_eq(hg_proc_create_set(peer.hg_class, page_memory,
                         sizeof(page_memory), HG_ENCODE, HG_NOHASH, &proc),
        HG_SUCCESS);
    hg_proc_copy_meta_t(proc, &meta);
    hg_proc_uint16_t(proc, &length);
    memcpy(hg_proc_save_ptr(proc, length), lie.name, length);
    out.list.bytes = (uint32_t) hg_proc_get_size_used(proc) + lie.more_bytes;
    hg_proc_free(proc);
    out.list.count += lie.more_count;
    out.list.id = asked[COPY_LIST] < lie.pages ? 7 : 0;
    push_page(handle, &out, 4096);
}

static hg_return_t
on_request(hg_handle_t handle)
{
    enum copy_rpc rpc = rpc_of(handle);
    union copy_out out;

    memset(&out, 0, sizeof(out));
    asked[rpc]++;
    switch (rpc) {
    case COPY_HELLO:
        out.hello.version = COPY_PROTOCOL_VERSION;
        out.hello.session = 1;
        out.hello.terms.chunk_size = lie.chunk_size;
        out.hello.terms.open_max = 4;
        break;
    case COPY_STAT:
        out.stat.meta.type = COPY_DIRECTORY;
        out.stat.meta.mode = lie.mode;
        break;
    case COPY_OPEN:
        out.open.id = 9;
        out.open.meta.size = lie.size;
        out.open.meta.mode = lie.mode;
        out.open.meta.mtime.nanos = lie.nanos;
        break;
    case COPY_STORE:
        out.status = lie.status;
        out.store.results.count = lie.stored;
        memset(out.store.results.status, lie.store_status,
            sizeof(out.store.results.status));
        break;
    case COPY_CREATE:
        out.create.id = 9;
        out.create.have = lie.have;
        break;
    case COPY_VERIFY:
        out.status = lie.verified;
        break;
    case COPY_LINK_READ:
        copy_proto_path(&out.link.target, lie.target);
        break;
    case COPY_CLOSE:
        out.close.sum = lie.sum;
        break;
    case COPY_LIST:
        answer_list(handle);
        return HG_SUCCESS;
    case COPY_READ:
        out.status = lie.status;
        push_page(handle, &out, 1);
        return HG_SUCCESS;
    default:
        break;
    }
    HG_Respond(handle, NULL, NULL, &out);
    HG_Destroy(handle);
    return HG_SUCCESS;
}

static void
setup(void)
{
    hg_size_t size = sizeof(page_memory);
    hg_size_t address_size = sizeof(address);
    void *memory = page_memory;

    peer_folder_create();
    peer_open(&peer, NULL, on_request);
    ck_assert_int_eq(HG_Bulk_create(peer.hg_class, 1, &memory, &size,
                         HG_BULK_READ_ONLY, &page_bulk),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_self(peer.hg_class, &peer.addr), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(peer.hg_class, address, &address_size, peer.addr),
        HG_SUCCESS);
    memset(asked, 0, sizeof(asked));
    lie = (struct lie){.chunk_size = COPY_CHUNK_SIZE,
        .name = "file",
        .name_length = 4,
        .size = 1,
        .mode = 0755,
        .pages = 1};
}

static void
teardown(void)
{
    HG_Bulk_free(page_bulk);
    peer_close(&peer);
    peer_folder_remove();
}

/* Serves a client until it ends. Returns its exit code. */
static int
serve(pid_t client)
{
    double deadline = peer_clock() + WAIT_SECONDS;
    int status;

    while (!peer_ended(client, &status)) {
        if (peer_clock() > deadline) {
            kill(client, SIGKILL);
            ck_abort_msg("the client does not end");
        }
        peer_progress(&peer);
    }
    return status;
}

/* Gets everything from the hostile server, into "exported/target". */
static int
get(void)
{
    char target[256];

    snprintf(target, sizeof(target), "%s", peer_path("exported/target"));
    return serve(peer_start("get", address, ".", target, (char *) NULL));
}

static size_t
count_entries(const char *name)
{
    DIR *dir = opendir(peer_path(name));
    size_t count = 0;

    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

/* Expected content of the folder: exported, with the target only, and what the
 * client printed. */
static void
assert_nothing_outside(void)
{
    ck_assert_uint_eq(count_entries("exported"), 1);
    ck_assert_uint_eq(count_entries("."), 3);
}

static bool
printed(const char *text)
{
    char line[512];
    bool found = false;
    FILE *stream = fopen(peer_path("err"), "r");

    ck_assert_ptr_nonnull(stream);
    while (!found && fgets(line, sizeof(line), stream) != NULL)
        found = strstr(line, text) != NULL;
    fclose(stream);
    return found;
}

/* Without any lie, for comparison. */
START_TEST(correct_server_is_copied_from)
{
    struct stat st;

    copy_hash_add(&lie.sum, 0, page_memory, 1);
    ck_assert_int_eq(get(), 0);
    ck_assert_int_eq(stat(peer_path("exported/target/file"), &st), 0);
    ck_assert_int_eq(st.st_size, 1);
    assert_nothing_outside();
}
END_TEST

START_TEST(name_with_parent_folder_refused)
{
    static const struct {
        const char *name;
        size_t length;
    } names[] = {{"..", 2}, {".", 1}, {"", 0}, {"../evil", 7}, {"/evil", 5},
        {"a/b", 3}, {"/", 1}, {"a\0b", 3}};
    static const uint8_t types[] = {COPY_FILE, COPY_DIRECTORY};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t t = 0; t < sizeof(types); t++) {
            lie.name = names[i].name;
            lie.name_length = names[i].length;
            lie.type = types[t];
            ck_assert_int_eq(get(), 1);
            assert_nothing_outside();
            ck_assert_uint_eq(count_entries("exported/target"), 0);
            ck_assert_uint_eq(asked[COPY_OPEN], 0);
        }
    }
}
END_TEST

START_TEST(name_too_long_refused)
{
    static char name[COPY_NAME_MAX + 1];

    memset(name, 'x', sizeof(name));
    lie.name = name;
    lie.name_length = sizeof(name);
    ck_assert_int_eq(get(), 1);
    assert_nothing_outside();
}
END_TEST

START_TEST(type_unknown_refused)
{
    lie.type = 200;
    ck_assert_int_eq(get(), 1);
    ck_assert_uint_eq(count_entries("exported/target"), 0);
}
END_TEST

START_TEST(page_larger_than_memory_refused)
{
    lie.more_bytes = COPY_CHUNK_SIZE;
    ck_assert_int_eq(get(), 1);
    lie.more_bytes = UINT32_MAX - 64;
    ck_assert_int_eq(get(), 1);
    ck_assert_uint_eq(count_entries("exported/target"), 0);
}
END_TEST

START_TEST(page_with_fewer_entries_than_announced_refused)
{
    lie.more_count = UINT32_MAX - 1;
    lie.name = "dir";
    lie.name_length = 3;
    lie.type = COPY_DIRECTORY;
    lie.pages = 0;
    ck_assert_int_eq(get(), 1);
    assert_nothing_outside();
    /* The valid entry before is not used either. */
    ck_assert_uint_eq(count_entries("exported/target"), 0);
    ck_assert_uint_eq(asked[COPY_LIST], 1);
}
END_TEST

/* An endless tree: the path length ends it. */
START_TEST(endless_tree_ends)
{
    static char name[200];

    memset(name, 'd', sizeof(name));
    lie.name = name;
    lie.name_length = sizeof(name);
    lie.type = COPY_DIRECTORY;
    ck_assert_int_eq(get(), 1);
    ck_assert(printed("name too long"));
    assert_nothing_outside();
}
END_TEST

START_TEST(hello_answer_invalid_refused)
{
    static const unsigned int sizes[] = {
        0, 1, COPY_CHUNK_MIN - 1, COPY_CHUNK_MAX + 1, UINT32_MAX};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        lie.chunk_size = sizes[i];
        ck_assert_int_eq(get(), 1);
        ck_assert(printed("invalid answer to hello"));
    }
    ck_assert_uint_eq(count_entries("exported"), 0);
}
END_TEST

START_TEST(checksum_wrong_keeps_no_file)
{
    lie.sum.low = 1;
    ck_assert_int_eq(get(), 1);
    ck_assert(printed("the checksums differ"));
    ck_assert_uint_eq(count_entries("exported/target"), 0);
}
END_TEST

START_TEST(size_invalid_refused)
{
    lie.size = UINT64_MAX;
    ck_assert_int_eq(get(), 1);
    ck_assert(printed("file too large"));
    ck_assert_uint_eq(count_entries("exported/target"), 0);
}
END_TEST

START_TEST(link_with_parent_folder_refused)
{
    static const char *const targets[] = {
        "", "/", "/etc", "..", "../evil", "a/../..", "./../x"};

    lie.type = COPY_LINK;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        lie.target = targets[i];
        ck_assert_int_eq(get(), 1);
        ck_assert(printed("symbolic link that may leave the tree"));
        assert_nothing_outside();
        ck_assert_uint_eq(count_entries("exported/target"), 0);
    }
    lie.target = "beside";
    ck_assert_int_eq(get(), 0);
    ck_assert_uint_eq(count_entries("exported/target"), 1);
}
END_TEST

START_TEST(time_invalid_keeps_no_file)
{
    copy_hash_add(&lie.sum, 0, page_memory, 1);
    lie.nanos = 1000000000;
    ck_assert_int_eq(get(), 1);
    ck_assert_uint_eq(count_entries("exported/target"), 0);
}
END_TEST

/* No file gets the set-user-ID or set-group-ID bit. */
START_TEST(mode_bits_of_privileges_are_removed)
{
    static const char *const names[] = {
        "exported/target", "exported/target/file"};
    struct stat st;

    copy_hash_add(&lie.sum, 0, page_memory, 1);
    lie.mode = 07755;
    ck_assert_int_eq(get(), 0);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(stat(peer_path(names[i]), &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0755);
    }
}
END_TEST

START_TEST(status_unknown_fails)
{
    lie.status = 123456;
    ck_assert_int_eq(get(), 1);
    ck_assert_uint_eq(count_entries("exported/target"), 0);
    ck_assert_uint_eq(asked[COPY_CLOSE], 1);
}
END_TEST

/* Puts two small files. Returns the exit code. */
static int
put(void)
{
    char source[256];

    snprintf(source, sizeof(source), "%s", peer_path("exported/."));
    return serve(peer_start("put", source, address, (char *) NULL));
}

/* A server that doesn't report the result of each file. */
START_TEST(store_answer_invalid_fails)
{
    static const char *const names[] = {"exported/a", "exported/b"};

    for (size_t i = 0; i < 2; i++) {
        FILE *stream = fopen(peer_path(names[i]), "w");
        ck_assert_ptr_nonnull(stream);
        fclose(stream);
    }
    lie.stored = 2;
    ck_assert_int_eq(put(), 0);
    ck_assert_uint_eq(asked[COPY_STORE], 1);
    for (lie.stored = 0; lie.stored <= COPY_STORE_MAX; lie.stored++)
        if (lie.stored < 4 || lie.stored == COPY_STORE_MAX)
            ck_assert_int_eq(put(), lie.stored == 2 ? 0 : 1);
    lie.stored = 2;
    lie.store_status = 200;
    ck_assert_int_eq(put(), 1);
    lie.store_status = COPY_NO_SPACE;
    ck_assert_int_eq(put(), 1);
    ck_assert(printed("exported/./a: no space left"));
    ck_assert(printed("exported/./b: no space left"));
    lie.store_status = COPY_OK;
    lie.status = COPY_NO_MEMORY;
    ck_assert_int_eq(put(), 1);
    ck_assert_uint_eq(asked[COPY_CREATE], 0);
}
END_TEST

/* A server that claims to have more than there is; what it has not verified is
 * sent, once. */
START_TEST(partial_file_of_any_size_is_verified)
{
    char source[256];
    FILE *stream;

    snprintf(source, sizeof(source), "%s", peer_path("source"));
    stream = fopen(source, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(ftruncate(fileno(stream), 2 * COPY_CHUNK_SIZE + 1), 0);
    fclose(stream);
    lie.have = UINT64_MAX;
    lie.verified = COPY_CHECKSUM;
    ck_assert_int_eq(
        serve(peer_start("put", "--resume", source, address, (char *) NULL)),
        0);
    ck_assert_uint_eq(asked[COPY_VERIFY], 3);
    ck_assert_uint_eq(asked[COPY_WRITE], 3);
    lie.verified = 200;
    ck_assert_int_eq(
        serve(peer_start("put", "--resume", source, address, (char *) NULL)),
        1);
    ck_assert_uint_eq(asked[COPY_WRITE], 3);
    lie.verified = COPY_OK;
    ck_assert_int_eq(
        serve(peer_start("put", source, address, (char *) NULL)), 0);
    ck_assert_uint_eq(asked[COPY_WRITE], 6);
}
END_TEST

START_TEST(list_with_control_bytes_escaped)
{
    char text[256] = "";
    FILE *stream;

    lie.name = "\x1b[2J\xc2\x9b\xff\xe2\x80\xae\xc3\xa4";
    lie.name_length = strlen(lie.name);
    ck_assert_int_eq(serve(peer_start("ls", address, ".", (char *) NULL)), 0);
    stream = fopen(peer_path("out"), "r");
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), stream));
    fclose(stream);
    ck_assert_ptr_nonnull(
        strstr(text, " \\x1b[2J\\xc2\\x9b\\xff\\xe2\\x80\\xae\xc3\xa4\n"));
}
END_TEST

static Suite *
copy_hostile_server_suite(void)
{
    Suite *suite = suite_create("copy_hostile_server");
    TCase *tcase = tcase_create("client");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, correct_server_is_copied_from);
    tcase_add_test(tcase, name_with_parent_folder_refused);
    tcase_add_test(tcase, name_too_long_refused);
    tcase_add_test(tcase, type_unknown_refused);
    tcase_add_test(tcase, page_larger_than_memory_refused);
    tcase_add_test(tcase, page_with_fewer_entries_than_announced_refused);
    tcase_add_test(tcase, endless_tree_ends);
    tcase_add_test(tcase, hello_answer_invalid_refused);
    tcase_add_test(tcase, checksum_wrong_keeps_no_file);
    tcase_add_test(tcase, size_invalid_refused);
    tcase_add_test(tcase, link_with_parent_folder_refused);
    tcase_add_test(tcase, time_invalid_keeps_no_file);
    tcase_add_test(tcase, mode_bits_of_privileges_are_removed);
    tcase_add_test(tcase, status_unknown_fails);
    tcase_add_test(tcase, store_answer_invalid_fails);
    tcase_add_test(tcase, partial_file_of_any_size_is_verified);
    tcase_add_test(tcase, list_with_control_bytes_escaped);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return peer_run(copy_hostile_server_suite());
}
