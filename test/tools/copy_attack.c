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
