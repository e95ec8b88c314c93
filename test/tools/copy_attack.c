/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy_attack.h"

#include <signal.h>
#include <sys/wait.h>

struct attack attack;

void
attack_setup(void)
{
    hg_size_t size = COPY_CHUNK_SIZE;
    void *memory;

    peer_folder_create();
    attack.server =
        peer_start_server(NULL, attack.address, sizeof(attack.address));
    peer_open(&attack.peer, attack.address, NULL);
    peer_hello(&attack.peer, NULL);
    attack.chunk = calloc(1, COPY_CHUNK_SIZE);
    memory = attack.chunk;
    ck_assert_int_eq(HG_Bulk_create(attack.peer.hg_class, 1, &memory, &size,
                         HG_BULK_READWRITE, &attack.bulk),
        HG_SUCCESS);
}

void
attack_teardown(void)
{
    int status;

    HG_Bulk_free(attack.bulk);
    free(attack.chunk);
    peer_close(&attack.peer);
    ck_assert_int_eq(kill(attack.server, SIGTERM), 0);
    ck_assert_int_eq(waitpid(attack.server, &status, 0), attack.server);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    peer_folder_remove();
}

unsigned int
attack_path(enum copy_rpc rpc, const char *path)
{
    union copy_in in;
    union copy_out out;

    memset(&in, 0, sizeof(in));
    switch (rpc) {
    case COPY_LIST:
        in.list.bulk = attack.bulk;
        copy_proto_path(&in.list.path, path);
        break;
    case COPY_MKDIR:
    case COPY_ATTR:
        in.mode.mode = 0755;
        copy_proto_path(&in.mode.path, path);
        break;
    case COPY_CREATE:
        copy_proto_path(&in.create.path, path);
        break;
    case COPY_LINK_MAKE:
        copy_proto_path(&in.link.path, path);
        copy_proto_path(&in.link.target, "a");
        break;
    case COPY_REMOVE:
        copy_proto_path(&in.remove.path, path);
        break;
    default:
        copy_proto_path(&in.path.path, path);
        break;
    }
    return peer_status(&attack.peer, rpc, &in, &out);
}

uint64_t
attack_create(const char *path, uint64_t size)
{
    union copy_in in = {.create = {.size = size}};
    union copy_out out;

    copy_proto_path(&in.create.path, path);
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_CREATE, &in, &out), COPY_OK);
    return out.create.id;
}

unsigned int
attack_move(enum copy_rpc rpc, uint64_t id, uint64_t offset, uint32_t size,
    hg_bulk_t memory)
{
    union copy_in in = {
        .chunk = {.id = id, .offset = offset, .size = size, .bulk = memory}};
    union copy_out out;

    return peer_status(&attack.peer, rpc, &in, &out);
}

unsigned int
attack_commit(uint64_t id, copy_sum_t sum)
{
    union copy_in in = {.commit = {.id = id, .mode = 0644, .sum = sum}};
    union copy_out out;

    return peer_status(&attack.peer, COPY_COMMIT, &in, &out);
}

unsigned int
attack_close(uint64_t id)
{
    union copy_in in = {.close = {.id = id}};
    union copy_out out;

    return peer_status(&attack.peer, COPY_CLOSE, &in, &out);
}
