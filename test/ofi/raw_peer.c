/* SPDX-License-Identifier: BSD-3-Clause */
/* A plain libfabric endpoint. */
#include "raw_peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_NS UINT64_C(20000000000)

static int
port_of(const struct node *node)
{
    char text[TEXT];
    int port = 0;

    self_string(node, text);
    ck_assert_int_eq(sscanf(strrchr(text, ':'), ":%d", &port), 1);
    return port;
}

static struct fi_info *
find(struct node *node)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;

    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->fabric_attr->prov_name = strdup(node_text(node, "provider"));
    ck_assert_int_eq(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE,
                         hints, &info),
        0);
    fi_freeinfo(hints);
    return info;
}

void
raw_peer_open(struct raw_peer *raw, struct node *node)
{
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_av_attr addresses = {.type = FI_AV_TABLE};
    struct sockaddr_in victim = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t) port_of(node)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    memset(raw, 0, sizeof(*raw));
    raw->info = find(node);
    ck_assert_int_eq(fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL), 0);
    ck_assert_int_eq(fi_domain(raw->fabric, raw->info, &raw->domain, NULL), 0);
    ck_assert_int_eq(fi_av_open(raw->domain, &addresses, &raw->av, NULL), 0);
    ck_assert_int_eq(fi_cq_open(raw->domain, &queue, &raw->cq, NULL), 0);
    ck_assert_int_eq(fi_endpoint(raw->domain, raw->info, &raw->ep, NULL), 0);
    ck_assert_int_eq(fi_ep_bind(raw->ep, &raw->av->fid, 0), 0);
    ck_assert_int_eq(
        fi_ep_bind(raw->ep, &raw->cq->fid, FI_TRANSMIT | FI_RECV), 0);
    ck_assert_int_eq(fi_enable(raw->ep), 0);
    ck_assert_int_eq(
        fi_av_insert(raw->av, &victim, 1, &raw->victim, 0, NULL), 1);
}

void
raw_peer_close(struct raw_peer *raw)
{
    fi_close(&raw->ep->fid);
    fi_close(&raw->cq->fid);
    fi_close(&raw->av->fid);
    fi_close(&raw->domain->fid);
    fi_close(&raw->fabric->fid);
    fi_freeinfo(raw->info);
}

/* The next completion, while the victim is polled. Returns its error, or 0. */
static int
await(struct raw_peer *raw, struct node *node)
{
    uint64_t end = now_ns() + WAIT_NS;
    struct fi_cq_err_entry failed = {0};
    struct fi_cq_entry entry;
    na_plugin_event event;

    for (;;) {
        ssize_t ret = fi_cq_read(raw->cq, &entry, 1);
        if (ret == 1)
            return 0;
        if (ret == -FI_EAVAIL && fi_cq_readerr(raw->cq, &failed, 0) == 1)
            return failed.err;
        ck_assert_msg(!poll_one(node, &event), "the victim has an event");
        ck_assert_msg(now_ns() < end, "no completion");
    }
}

/* Progresses both sides, since libfabric returned EAGAIN. */
static void
make_room(struct raw_peer *raw, struct node *node, uint64_t end)
{
    struct fi_cq_entry entry;
    na_plugin_event event;

    fi_cq_read(raw->cq, &entry, 1);
    ck_assert_msg(!poll_one(node, &event), "the victim has an event");
    ck_assert_msg(now_ns() < end, "the victim takes nothing");
}

void
raw_peer_send(struct raw_peer *raw, struct node *node,
    const unsigned char *bytes, size_t length)
{
    uint64_t end = now_ns() + WAIT_NS;
    struct fi_context2 context;

    while (fi_send(raw->ep, bytes, length, NULL, raw->victim, &context) ==
           -FI_EAGAIN)
        make_room(raw, node, end);
    ck_assert_int_eq(await(raw, node), 0);
}

int
raw_peer_transfer(struct raw_peer *raw, struct node *node, bool put,
    void *buffer, size_t length, uint64_t address, uint64_t key)
{
    uint64_t end = now_ns() + WAIT_NS;
    struct fi_context2 context;
    void *desc = NULL;
    const struct iovec iov = {.iov_base = buffer, .iov_len = length};
    const struct fi_rma_iov rma_iov = {
        .addr = address, .len = length, .key = key};
    const struct fi_msg_rma message = {.msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = raw->victim,
        .rma_iov = &rma_iov,
        .rma_iov_count = 1,
        .context = &context};
    ssize_t ret = 0;

    for (;;) {
        ret = put ? fi_writemsg(
                        raw->ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)
                  : fi_readmsg(raw->ep, &message, FI_COMPLETION);
        if (ret != -FI_EAGAIN)
            break;
        make_room(raw, node, end);
    }
    return ret != 0 ? (int) -ret : await(raw, node);
}
