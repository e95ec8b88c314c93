/* SPDX-License-Identifier: BSD-3-Clause */
/* What a memory descriptor grants: nothing without its key, nothing beyond its
 * access and range, nothing on behalf of a third process, and nothing after
 * deregistration. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile_peer.h"
#include "registration.h"

#define REGION 4096U
#define REGIONS 8
#define LARGE 65536U
#define GUESSES 64U

/* Offsets in a serialized registration (README.md). */
enum { AT_ACCESS = 1, AT_KEY = 16, AT_BASE = 24, AT_SLOT = 40 };

static uint64_t
key_of(struct node *node, const na_plugin_mem *mem)
{
    struct form form = form_of(node, mem);
    uint64_t key;

    memcpy(&key, form.bytes + AT_KEY, sizeof(key));
    return key;
}

static void
ck_filled(const unsigned char *bytes, size_t length, unsigned char value)
{
    for (size_t i = 0; i < length; i++)
        ck_assert_msg(bytes[i] == value, "byte %zu is %u", i, bytes[i]);
}

/* The class's answer to a GET or PUT of 64 bytes with this key. */
static int32_t
ask(struct hostile_peer *peer, uint8_t verb, uint64_t key, uint64_t offset)
{
    static const unsigned char bytes[64] = {0xEE};
    const unsigned char *data;
    struct rma_record record = {.verb = verb,
        .last = 1,
        .number = 1,
        .mem = key,
        .offset = offset,
        .length = sizeof(bytes)};

    hostile_put_rma(peer, &record, bytes, verb == RMA_PUT ? sizeof(bytes) : 0);
    record = hostile_await_rma(peer, &data);
    ck_assert_int_eq(record.verb, verb == RMA_PUT ? RMA_DONE : RMA_DATA);
    return record.status;
}

/* One connection: its ring has room for some hundred records. */
static int32_t
ask_anew(uint8_t verb, uint64_t key, uint64_t offset)
{
    struct hostile_peer peer = hostile_open(&hostile_target);

    hostile_await_answer(&peer);
    int32_t status = ask(&peer, verb, key, offset);
    hostile_close(&peer);
    return status;
}

START_TEST(grant_guessed_keys_are_rejected)
{
    static unsigned char memory[REGIONS][REGION];
    na_plugin_mem *mems[REGIONS];
    struct hostile_peer peer;

    open_both();
    memset(memory, 0x11, sizeof(memory));
    for (int i = 0; i < REGIONS; i++)
        mems[i] = register_region(&hostile_target, memory[i], REGION, 3);
    uint64_t key = key_of(&hostile_target, mems[3]);
    peer = hostile_open(&hostile_target);
    hostile_await_answer(&peer);
    for (uint64_t guess = 0; guess <= GUESSES; guess++) {
        ck_assert_int_eq(
            ask(&peer, RMA_GET, guess, 0), NA_PLUGIN_E_INVALID_ARG);
        ck_assert_int_eq(
            ask(&peer, RMA_PUT, guess, 0), NA_PLUGIN_E_INVALID_ARG);
    }
    for (uint64_t i = 1; i <= REGIONS; i++) {
        ck_assert_int_eq(
            ask_anew(RMA_GET, key - i, 0), NA_PLUGIN_E_INVALID_ARG);
        ck_assert_int_eq(
            ask_anew(RMA_PUT, key + i, 0), NA_PLUGIN_E_INVALID_ARG);
    }
    ck_filled(memory[0], sizeof(memory), 0x11);
    hostile_close(&peer);
    for (int i = 0; i < REGIONS; i++)
        hostile_target.ops->mem_deregister(hostile_target.cls, mems[i]);
    close_both();
}
END_TEST

START_TEST(grant_keys_are_all_different)
{
    static unsigned char memory[REGION];
    static uint64_t keys[1000];

    open_both();
    for (size_t i = 0; i < 1000; i++) {
        na_plugin_mem *mem =
            register_region(&hostile_target, memory, REGION, 3);
        keys[i] = key_of(&hostile_target, mem);
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(keys[i], keys[j]);
        hostile_target.ops->mem_deregister(hostile_target.cls, mem);
    }
    /* all 64 bits are random */
    uint64_t ones = 0, zeros = 0;
    for (size_t i = 0; i < 1000; i++)
        ones |= keys[i], zeros |= ~keys[i];
    ck_assert(ones == UINT64_MAX && zeros == UINT64_MAX);
    close_both();
}
END_TEST

START_TEST(grant_access_and_range_are_checked_by_the_owner)
{
    static unsigned char memory[2][REGION];

    open_both();
    memset(memory, 0x11, sizeof(memory));
    na_plugin_mem *readable =
        register_region(&hostile_target, memory[0], REGION, NA_PLUGIN_MEM_READ);
    na_plugin_mem *writable = register_region(
        &hostile_target, memory[1], REGION, NA_PLUGIN_MEM_WRITE);
    uint64_t read_key = key_of(&hostile_target, readable);
    uint64_t write_key = key_of(&hostile_target, writable);
    struct hostile_peer peer = hostile_open(&hostile_target);

    hostile_await_answer(&peer);
    ck_assert_int_eq(ask(&peer, RMA_GET, read_key, 0), NA_PLUGIN_OK);
    ck_assert_int_eq(ask(&peer, RMA_PUT, read_key, 0), NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(ask(&peer, RMA_GET, write_key, 0), NA_PLUGIN_E_PERMISSION);
    static const uint64_t beyond[] = {
        REGION - 63, REGION, UINT64_MAX, UINT64_MAX - 63};
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        ck_assert_int_eq(
            ask(&peer, RMA_GET, read_key, beyond[i]), NA_PLUGIN_E_INVALID_ARG);
        ck_assert_int_eq(
            ask(&peer, RMA_PUT, write_key, beyond[i]), NA_PLUGIN_E_INVALID_ARG);
    }
    ck_filled(memory[0], sizeof(memory), 0x11);
    hostile_target.ops->mem_deregister(hostile_target.cls, readable);
    ck_assert_int_eq(ask(&peer, RMA_GET, read_key, 0), NA_PLUGIN_E_INVALID_ARG);
    hostile_target.ops->mem_deregister(hostile_target.cls, writable);
    hostile_close(&peer);
    close_both();
}
END_TEST

/* Requests the shared segment of a registration. Returns its descriptor, or -1
 * if it was not sent, which the answer to the next request shows. */
static int
ask_segment(struct hostile_peer *peer, uint64_t key, bool write, uint64_t known)
{
    struct rma_record record = {.verb = RMA_MAP, .last = write, .mem = key};
    struct shared_packet packet;
    int fd = -1;

    hostile_put_rma(peer, &record, NULL, 0);
    ck_assert_int_eq(ask(peer, RMA_GET, known, 0), NA_PLUGIN_OK);
    ssize_t got = receive_with(
        peer->socket, &packet, sizeof(packet), MSG_DONTWAIT, &fd, 1);
    if (got < 0)
        return -1;
    ck_assert_int_eq(got, sizeof(packet));
    ck_assert_uint_eq(packet.magic, SHARED_MAGIC);
    return fd;
}

/* The protections with which a shared segment can be mapped; closes it. */
static uint32_t
mappable(int fd, uint64_t length)
{
    uint32_t access = 0;

    if (fd < 0)
        return 0;
    void *readable = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
    void *writable =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (readable != MAP_FAILED)
        access |= NA_PLUGIN_MEM_READ;
    if (writable != MAP_FAILED)
        access |= NA_PLUGIN_MEM_WRITE;
    munmap(readable, length);
    munmap(writable, length);
    close(fd);
    return access;
}

START_TEST(grant_shared_segment_is_mapped_with_registered_access)
{
    static unsigned char memory[REGION];
    uint64_t length = 2 * (uint64_t) PAGE;
    void *shared;

    open_both();
    const na_plugin_mem_alloc *alloc = hostile_target.ops->extension(
        hostile_target.cls, NA_PLUGIN_MEM_ALLOC_ID);
    ck_assert_int_eq(
        alloc->alloc(hostile_target.cls, length, &shared), NA_PLUGIN_OK);
    na_plugin_mem *other = register_region(&hostile_target, memory, REGION, 1);
    uint64_t known = key_of(&hostile_target, other);
    const struct {
        uint64_t length;
        uint32_t access;
        uint32_t read; /* what can be mapped after requesting read access */
        uint32_t write;
    } cases[] = {
        {length, NA_PLUGIN_MEM_READ, NA_PLUGIN_MEM_READ, 0},
        {length, NA_PLUGIN_MEM_WRITE, 0, 0},
        {length, 3, NA_PLUGIN_MEM_READ, 3},
        /* mapping it would expose the rest of the segment */
        {length - 1, 3, 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        na_plugin_mem *mem = register_region(
            &hostile_target, shared, cases[i].length, cases[i].access);
        uint64_t key = key_of(&hostile_target, mem);
        struct hostile_peer peer = hostile_open(&hostile_target);

        hostile_await_answer(&peer);
        for (uint64_t guess = 0; guess < 8; guess++)
            ck_assert_int_eq(ask_segment(&peer, guess, guess % 2, known), -1);
        ck_assert_int_eq(ask_segment(&peer, key + 1, false, known), -1);
        ck_assert_uint_eq(
            mappable(ask_segment(&peer, key, false, known), length),
            cases[i].read);
        ck_assert_uint_eq(
            mappable(ask_segment(&peer, key, true, known), length),
            cases[i].write);
        hostile_target.ops->mem_deregister(hostile_target.cls, mem);
        ck_assert_int_eq(ask_segment(&peer, key, false, known), -1);
        hostile_close(&peer);
    }
    hostile_target.ops->mem_deregister(hostile_target.cls, other);
    alloc->free(hostile_target.cls, shared);
    close_both();
}
END_TEST

/* The registry is read-only: a peer cannot write to it. */
START_TEST(grant_registry_is_read_only)
{
    open_both();
    struct hostile_peer peer = hostile_open(&hostile_target);

    hostile_await_answer(&peer);
    ck_assert_int_ge(peer.registry, 0);
    ck_assert_ptr_eq(
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, peer.registry, 0),
        MAP_FAILED);
    ck_assert_int_lt(pwrite(peer.registry, "x", 1, 64), 0);
    ck_assert_int_ne(ftruncate(peer.registry, 0), 0);
    hostile_close(&peer);
    close_both();
}
END_TEST

/* Two classes of this user: the friend is a service that gets descriptors of
 * the target's memory, forged by a client. */
struct deputy {
    unsigned char given[REGION]; /* registered for reading */
    unsigned char secret[REGION];
    na_plugin_mem *mem;
    struct form form;
    unsigned char bytes[REGION]; /* the friend's */
    na_plugin_mem *local;
};

static void
deputy_open(struct deputy *deputy)
{
    open_both();
    memset(deputy->given, 0x22, REGION);
    memset(deputy->secret, 0x11, REGION);
    memset(deputy->bytes, 0xEE, REGION);
    deputy->mem = register_region(
        &hostile_target, deputy->given, REGION, NA_PLUGIN_MEM_READ);
    deputy->form = form_of(&hostile_target, deputy->mem);
    deputy->local = register_region(&hostile_friend, deputy->bytes, REGION, 3);
}

/* The friend is asked to write with a descriptor: it fails, nothing is
 * written. */
static void
ck_refused(struct deputy *deputy, const struct form *form, int32_t code)
{
    na_plugin_mem *remote = unpack(&hostile_friend, form);

    ck_assert_int_eq(transfer(&hostile_friend, true, deputy->local, remote,
                         REGION, hostile_friend_to_target),
        code);
    hostile_friend.ops->mem_remote_free(hostile_friend.cls, remote);
    ck_filled(deputy->given, REGION, 0x22);
    ck_filled(deputy->secret, REGION, 0x11);
}

static void
deputy_close(struct deputy *deputy)
{
    hostile_friend.ops->mem_deregister(hostile_friend.cls, deputy->local);
    node_warnings(&hostile_friend);
    close_both();
}

static struct form
forge(const struct deputy *deputy, size_t at, const void *bytes, size_t size)
{
    struct form form = deputy->form;

    form.bytes[AT_ACCESS] = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE;
    memcpy(form.bytes + at, bytes, size);
    return form;
}

/* The friend is asked to read with a descriptor that has the right key and
 * access, but other segments. */
static void
ck_not_read(struct deputy *deputy)
{
    const void *secret = deputy->secret;
    struct form form = deputy->form;

    memcpy(form.bytes + AT_BASE, &secret, sizeof(secret));
    na_plugin_mem *remote = unpack(&hostile_friend, &form);
    ck_assert_int_eq(transfer(&hostile_friend, false, deputy->local, remote,
                         REGION, hostile_friend_to_target),
        NA_PLUGIN_E_INVALID_ARG);
    hostile_friend.ops->mem_remote_free(hostile_friend.cls, remote);
    ck_filled(deputy->bytes, REGION, 0xEE);
}

static void
ck_all_refused(struct deputy *deputy)
{
    const void *secret = deputy->secret;
    uint16_t none = 0, far = UINT16_MAX;
    uint64_t key = 0;
    struct form form = forge(deputy, AT_BASE, &secret, sizeof(secret));

    ck_refused(deputy, &form, NA_PLUGIN_E_INVALID_ARG);
    /* without a registry entry the owner decides, by the key */
    memcpy(form.bytes + AT_SLOT, &none, sizeof(none));
    ck_refused(deputy, &form, NA_PLUGIN_E_PERMISSION);
    memcpy(form.bytes + AT_KEY, &key, sizeof(key));
    ck_refused(deputy, &form, NA_PLUGIN_E_INVALID_ARG);
    form = forge(deputy, AT_SLOT, &far, sizeof(far));
    ck_refused(deputy, &form, NA_PLUGIN_E_INVALID_ARG);
    form = forge(deputy, AT_ACCESS, "\3", 1);
    ck_refused(deputy, &form, NA_PLUGIN_E_INVALID_ARG);
    ck_not_read(deputy);
}

START_TEST(grant_forged_descriptor_of_a_third_process_is_rejected)
{
    static struct deputy deputy;
    const void *secret = deputy.secret;

    deputy_open(&deputy);
    /* the first operation of a connection, when the registry is not known
     * yet */
    struct form form = forge(&deputy, AT_BASE, &secret, sizeof(secret));
    ck_refused(&deputy, &form, NA_PLUGIN_E_INVALID_ARG);
    ck_all_refused(&deputy);
    check_friend();
    ck_all_refused(&deputy);
    hostile_target.ops->mem_deregister(hostile_target.cls, deputy.mem);
    deputy_close(&deputy);
}
END_TEST

START_TEST(grant_ends_with_deregistration)
{
    static struct deputy deputy;

    deputy_open(&deputy);
    na_plugin_mem *remote = unpack(&hostile_friend, &deputy.form);
    ck_assert_int_eq(transfer(&hostile_friend, false, deputy.local, remote,
                         REGION, hostile_friend_to_target),
        NA_PLUGIN_OK);
    ck_filled(deputy.bytes, REGION, 0x22);
    memset(deputy.bytes, 0xEE, REGION);
    hostile_target.ops->mem_deregister(hostile_target.cls, deputy.mem);
    ck_assert_int_eq(transfer(&hostile_friend, false, deputy.local, remote,
                         REGION, hostile_friend_to_target),
        NA_PLUGIN_E_INVALID_ARG);
    /* nor through the registry slot, which another registration has now */
    deputy.mem = register_region(&hostile_target, deputy.given, REGION, 3);
    ck_assert_int_eq(transfer(&hostile_friend, false, deputy.local, remote,
                         REGION, hostile_friend_to_target),
        NA_PLUGIN_E_INVALID_ARG);
    ck_filled(deputy.bytes, REGION, 0xEE);
    ck_assert_uint_eq(
        node_counter(&hostile_friend, "registrations_refused"), 2);
    hostile_friend.ops->mem_remote_free(hostile_friend.cls, remote);
    hostile_target.ops->mem_deregister(hostile_target.cls, deputy.mem);
    deputy_close(&deputy);
}
END_TEST

/* More registrations than the registry has slots: the owner copies. */
START_TEST(grant_beyond_the_registry_is_copied_by_the_owner)
{
    static struct deputy deputy;
    enum { MANY = 70000 };
    na_plugin_mem **mems = calloc(MANY, sizeof(*mems));

    deputy_open(&deputy);
    for (size_t i = 0; i < MANY; i++)
        mems[i] = register_region(&hostile_target, deputy.given, REGION, 3);
    struct form form = form_of(&hostile_target, mems[MANY - 1]);
    na_plugin_mem *remote = unpack(&hostile_friend, &form);
    ck_assert_int_eq(transfer(&hostile_friend, true, deputy.local, remote,
                         REGION, hostile_friend_to_target),
        NA_PLUGIN_OK);
    ck_filled(deputy.given, REGION, 0xEE);
    ck_assert_uint_eq(node_counter(&hostile_target, "emulated_bytes"), REGION);
    hostile_friend.ops->mem_remote_free(hostile_friend.cls, remote);
    for (size_t i = 0; i < MANY; i++)
        hostile_target.ops->mem_deregister(hostile_target.cls, mems[i]);
    /* a slot is free again */
    mems[0] = register_region(&hostile_target, deputy.given, REGION, 3);
    form = form_of(&hostile_target, mems[0]);
    remote = unpack(&hostile_friend, &form);
    ck_assert_int_eq(transfer(&hostile_friend, true, deputy.local, remote,
                         REGION, hostile_friend_to_target),
        NA_PLUGIN_OK);
    ck_assert_uint_eq(node_counter(&hostile_target, "emulated_bytes"),
        kernel_copies() ? REGION : 2 * REGION);
    hostile_friend.ops->mem_remote_free(hostile_friend.cls, remote);
    hostile_target.ops->mem_deregister(hostile_target.cls, mems[0]);
    hostile_target.ops->mem_deregister(hostile_target.cls, deputy.mem);
    free(mems);
    deputy_close(&deputy);
}
END_TEST

/* A class opened as root that switches to another user once it is connected. */
static int
user_changing_owner(const struct parent *parent)
{
    static struct node node;
    static unsigned char memory[LARGE];
    char text[TEXT];

    node_open(&node, NULL);
    na_plugin_mem *mem = register_region(&node, memory, LARGE, 3);
    struct form form = form_of(&node, mem);
    self_string(&node, text);
    send_line(parent->out, text);
    ck_assert_int_eq(write(parent->out, &form, sizeof(form)), sizeof(form));
    while (node_counter(&node, "put_bytes") == 0 &&
           node_counter(&node, "peers_connected") == 0)
        pump();
    expect_line(parent->in, "change");
    if (setresgid(65534, 65534, 65534) != 0 ||
        setresuid(65534, 65534, 65534) != 0)
        return 1;
    send_line(parent->out, "changed");
    for (uint64_t end = now_ns() + UINT64_C(20000000000);
         node_counter(&node, "emulated_bytes") < LARGE && now_ns() < end;)
        pump();
    snprintf(
        text, sizeof(text), "%d", (int) node_counter(&node, "emulated_bytes"));
    send_line(parent->out, text);
    expect_line(parent->in, "end");
    node.ops->mem_deregister(node.cls, mem);
    node_close(&node);
    return 0;
}

/* The kernel checks the credentials at the time of the copy: a peer with other
 * credentials by then has to copy itself. */
START_TEST(grant_credentials_are_checked_at_each_use)
{
    static struct node node;
    static unsigned char memory[LARGE];
    struct child child = child_start(user_changing_owner, NULL);
    struct form form;
    char text[TEXT];

    recv_line(child.in, text);
    ck_assert_int_eq(read(child.in, &form, sizeof(form)), sizeof(form));
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    na_plugin_mem *remote = unpack(&node, &form);
    na_plugin_mem *local = register_region(&node, memory, LARGE, 3);
    ck_assert_int_eq(transfer(&node, true, local, remote, 1, peer), 0);
    send_line(child.out, "change");
    expect_line(child.in, "changed");
    ck_assert_int_eq(transfer(&node, true, local, remote, LARGE, peer), 0);
    expect_line(child.in, "65536");
    send_line(child.out, "end");
    node.ops->mem_deregister(node.cls, local);
    node.ops->mem_remote_free(node.cls, remote);
    node.ops->addr_free(node.cls, peer);
    child_join(&child);
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("grant");

    tcase_add_test(cases, grant_guessed_keys_are_rejected);
    tcase_add_test(cases, grant_keys_are_all_different);
    tcase_add_test(cases, grant_access_and_range_are_checked_by_the_owner);
    tcase_add_test(
        cases, grant_shared_segment_is_mapped_with_registered_access);
    tcase_add_test(cases, grant_registry_is_read_only);
    tcase_add_test(
        cases, grant_forged_descriptor_of_a_third_process_is_rejected);
    tcase_add_test(cases, grant_ends_with_deregistration);
    tcase_add_test(cases, grant_beyond_the_registry_is_copied_by_the_owner);
    if (geteuid() != 0)
        puts("skipped: credentials need root, to give them up");
    else if (!kernel_copies())
        puts("skipped: credentials need process_vm_readv, which is refused");
    else
        tcase_add_test(cases, grant_credentials_are_checked_at_each_use);
    return run_cases("grant", &cases, 1);
}
