/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint of libfabric's that is no class. */
#include "stranger.h"

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
stranger_open(struct stranger *stranger, struct node *node)
{
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_av_attr addresses = {.type = FI_AV_TABLE};
    struct sockaddr_in victim = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t) port_of(node)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    memset(stranger, 0, sizeof(*stranger));
    stranger->info = find(node);
    ck_assert_int_eq(
        fi_fabric(stranger->info->fabric_attr, &stranger->fabric, NULL), 0);
    ck_assert_int_eq(
        fi_domain(stranger->fabric, stranger->info, &stranger->domain, NULL),
        0);
    ck_assert_int_eq(
        fi_av_open(stranger->domain, &addresses, &stranger->av, NULL), 0);
    ck_assert_int_eq(
        fi_cq_open(stranger->domain, &queue, &stranger->cq, NULL), 0);
    ck_assert_int_eq(
        fi_endpoint(stranger->domain, stranger->info, &stranger->ep, NULL), 0);
    ck_assert_int_eq(fi_ep_bind(stranger->ep, &stranger->av->fid, 0), 0);
    ck_assert_int_eq(
        fi_ep_bind(stranger->ep, &stranger->cq->fid, FI_TRANSMIT | FI_RECV), 0);
    ck_assert_int_eq(fi_enable(stranger->ep), 0);
    ck_assert_int_eq(
        fi_av_insert(stranger->av, &victim, 1, &stranger->victim, 0, NULL), 1);
}

void
stranger_close(struct stranger *stranger)
{
    fi_close(&stranger->ep->fid);
    fi_close(&stranger->cq->fid);
    fi_close(&stranger->av->fid);
    fi_close(&stranger->domain->fid);
    fi_close(&stranger->fabric->fid);
    fi_freeinfo(stranger->info);
}

/* The next completion, while the victim is polled: its error, or 0. */
static int
await(struct stranger *stranger, struct node *node)
{
    uint64_t end = now_ns() + WAIT_NS;
    struct fi_cq_err_entry failed = {0};
    struct fi_cq_entry entry;
    na_plugin_event event;

    for (;;) {
        ssize_t ret = fi_cq_read(stranger->cq, &entry, 1);
        if (ret == 1)
            return 0;
        if (ret == -FI_EAVAIL && fi_cq_readerr(stranger->cq, &failed, 0) == 1)
            return failed.err;
        ck_assert_msg(!poll_one(node, &event), "the victim has an event");
        ck_assert_msg(now_ns() < end, "no completion");
    }
}

/* Lets both advance, as libfabric takes nothing now. */
static void
make_room(struct stranger *stranger, struct node *node, uint64_t end)
{
    struct fi_cq_entry entry;
    na_plugin_event event;

    fi_cq_read(stranger->cq, &entry, 1);
    ck_assert_msg(!poll_one(node, &event), "the victim has an event");
    ck_assert_msg(now_ns() < end, "the victim takes nothing");
}

void
stranger_send(struct stranger *stranger, struct node *node,
    const unsigned char *bytes, size_t length)
{
    uint64_t end = now_ns() + WAIT_NS;
    struct fi_context2 context;

    while (fi_send(stranger->ep, bytes, length, NULL, stranger->victim,
               &context) == -FI_EAGAIN)
        make_room(stranger, node, end);
    ck_assert_int_eq(await(stranger, node), 0);
}

int
stranger_transfer(struct stranger *stranger, struct node *node, bool put,
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
        .addr = stranger->victim,
        .rma_iov = &rma_iov,
        .rma_iov_count = 1,
        .context = &context};
    ssize_t ret = 0;

    for (;;) {
        ret = put ? fi_writemsg(stranger->ep, &message,
                        FI_COMPLETION | FI_DELIVERY_COMPLETE)
                  : fi_readmsg(stranger->ep, &message, FI_COMPLETION);
        if (ret != -FI_EAGAIN)
            break;
        make_room(stranger, node, end);
    }
    return ret != 0 ? (int) -ret : await(stranger, node);
}
