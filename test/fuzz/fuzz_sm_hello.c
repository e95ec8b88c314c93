/* SPDX-License-Identifier: BSD-3-Clause */
/* What a caller sends to an sm class by its socket: a hello with descriptors,
 * then other packets. Nothing that it passed is kept open once it has hung up.
 *
 *   u8 how, u8 for each descriptor, patches of a good hello or a packet's bytes;
 *   then packets: u8 with a descriptor or without, u8 bytes, they */
#include "entries.h"
#include "sm_peer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKETS 8U
#define POLLS 4U
#define COUNT 0x3U   /* descriptors of the hello */
#define RAW 0x4U     /* it is the input's */
#define OURSELF 0x8U /* it has the class's own name */

extern const na_plugin NA_PLUGIN_SYMBOL(sm);

static struct fuzz_class cls;

static void
send_hello(struct fuzz_input *input, struct sm_peer *peer)
{
    unsigned how = fuzz_u8(input), count = how & COUNT;
    struct sm_hello hello = sm_peer_hello();
    uint8_t *raw = NULL;
    size_t size = sizeof hello;
    int fds[3];

    for (unsigned i = 0; i < count; i++)
        fds[i] = sm_peer_descriptor(peer, fuzz_u8(input));
    if (how & RAW)
        raw = fuzz_bytes(input, fuzz_u8(input), &size);
    if (how & OURSELF) {
        memset(hello.name, 0, sizeof hello.name);
        hello.name_length = (uint32_t) strlen(cls.address + 5);
        memcpy(hello.name, cls.address + 5, hello.name_length);
    }
    fuzz_patch(input, &hello, sizeof hello);
    sm_peer_send(peer, raw ? raw : (const void *) &hello, size, fds, count);
    while (count > 0)
        close(fds[--count]);
    free(raw);
}

static void
send_packet(struct fuzz_input *input, struct sm_peer *peer)
{
    unsigned kind = fuzz_u8(input);
    int fd = kind & 0x80 ? sm_peer_descriptor(peer, kind) : -1;
    size_t size;
    uint8_t *bytes = fuzz_bytes(input, fuzz_u8(input), &size);

    sm_peer_send(peer, bytes, size, &fd, fd >= 0);
    if (fd >= 0)
        close(fd);
    free(bytes);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_class_open(&cls, &NA_PLUGIN_SYMBOL(sm), "sm", NULL, true);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t open_before = count_descriptors();
    struct fuzz_input input = {data, size};
    struct sm_peer peer;

    sm_peer_open(&peer, &cls);
    send_hello(&input, &peer);
    for (unsigned i = 0; i < POLLS; i++)
        sm_peer_poll(&peer);
    sm_peer_hear(&peer);
    for (unsigned i = 0; i < PACKETS && input.left > 0; i++) {
        send_packet(&input, &peer);
        sm_peer_poll(&peer);
    }
    sm_peer_close(&peer);
    for (unsigned i = 0; cls.cls->conns; i++) {
        fuzz_require(i < 1000);
        sm_peer_poll(&peer);
    }
    fuzz_require(count_descriptors() <= open_before);
    return 0;
}
