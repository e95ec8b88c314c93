/* SPDX-License-Identifier: BSD-3-Clause */
/* A stranger who speaks libfabric but not this plugin's language: what it sends
 * is dropped and counted, and harms nobody. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "harness.h"

#define SECOND UINT64_C(1000000000)
#define WAIT_NS (20 * SECOND)
#define LONGEST 4000U
#define MESSAGES 300U

/* An endpoint of the same provider. */
struct stranger {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    fi_addr_t victim;
};

static const char *
provider_of(struct node *node)
{
    const na_plugin_report *report =
        node->ops->extension(node->cls, NA_PLUGIN_REPORT_ID);
    na_plugin_report_entry entry;

    for (uint32_t i = 0; report->entries(node->cls, i, &entry, 1) == 1; i++)
        if (strcmp(entry.name, "provider") == 0)
            return entry.text;
    ck_abort_msg("no provider");
    return NULL;
}

static void
stranger_open(struct stranger *stranger, const char *provider, int port)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_av_attr addresses = {.type = FI_AV_TABLE};
    struct sockaddr_in victim = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t) port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    memset(stranger, 0, sizeof(*stranger));
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(provider);
    ck_assert_int_eq(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE,
                         hints, &stranger->info),
        0);
    fi_freeinfo(hints);
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
        fi_ep_bind(stranger->ep, &stranger->cq->fid, FI_SEND | FI_RECV), 0);
    ck_assert_int_eq(fi_enable(stranger->ep), 0);
    ck_assert_int_eq(
        fi_av_insert(stranger->av, &victim, 1, &stranger->victim, 0, NULL), 1);
}

static void
stranger_close(struct stranger *stranger)
{
    fi_close(&stranger->ep->fid);
    fi_close(&stranger->cq->fid);
    fi_close(&stranger->av->fid);
    fi_close(&stranger->domain->fid);
    fi_close(&stranger->fabric->fid);
    fi_freeinfo(stranger->info);
}

/* Sends, while the victim is polled and has nothing to report. */
static void
stranger_send(struct stranger *stranger, struct node *node,
    const unsigned char *bytes, size_t length)
{
    struct fi_cq_entry entry;
    struct fi_context2 context;
    na_plugin_event event;
    uint64_t end = now_ns() + WAIT_NS;

    while (fi_send(stranger->ep, bytes, length, NULL, stranger->victim,
               &context) == -FI_EAGAIN) {
        fi_cq_read(stranger->cq, &entry, 1);
        ck_assert(!poll_one(node, &event));
        ck_assert_msg(now_ns() < end, "the victim takes no connection");
    }
    while (fi_cq_read(stranger->cq, &entry, 1) != 1) {
        ck_assert(!poll_one(node, &event));
        ck_assert_msg(now_ns() < end, "a message is not taken");
    }
}

START_TEST(hostile_messages_are_dropped_and_counted)
{
    static unsigned char bytes[LONGEST];
    static unsigned char buffer[4096];
    struct stranger stranger;
    struct node node;
    char text[TEXT];
    na_plugin_event event;
    int port = 0;
    uint32_t sent = 0;

    node_open(&node, NULL);
    self_string(&node, text);
    ck_assert_int_eq(sscanf(strrchr(text, ':'), ":%d", &port), 1);
    stranger_open(&stranger, provider_of(&node), port);
    void *op = op_new(&node);
    ck_assert_int_eq(
        node.ops->recv_unexpected(node.ctx, op, buffer, sizeof(buffer), NULL),
        NA_PLUGIN_PENDING);

    srand(7);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        size_t length = 1 + (size_t) rand() % (i % 2 == 0 ? 64 : LONGEST);
        for (size_t j = 0; j < length; j++)
            bytes[j] = (unsigned char) rand();
        /* a good beginning, then nonsense: a version, a name's length */
        if (i % 3 == 0)
            bytes[0] = 1;
        if (i % 3 == 0 && length > 24)
            bytes[24] = (unsigned char) (i % 8 == 0 ? 6 : rand());
        /* never quite a message: its kind is one that does not exist */
        if (length > 1)
            bytes[1] = (unsigned char) (6 + rand() % 250);
        stranger_send(&stranger, &node, bytes, length);
        sent++;
    }
    for (uint64_t end = now_ns() + WAIT_NS;
         node_counter(&node, "malformed") < sent;) {
        ck_assert(!poll_one(&node, &event));
        ck_assert_msg(now_ns() < end, "%llu of %u were counted",
            (unsigned long long) node_counter(&node, "malformed"), sent);
    }
    ck_assert_uint_eq(node_counter(&node, "malformed"), sent);

    /* it lives: a message to itself */
    na_plugin_addr *self = lookup(&node, text);
    void *send = op_new(&node);
    ck_assert_int_ge(
        node.ops->send_unexpected(node.ctx, send, text, 5, NULL, self, 0, 3),
        0);
    for (uint64_t end = now_ns() + WAIT_NS; !poll_one(&node, &event);)
        ck_assert(now_ns() < end);
    ck_assert_ptr_eq(event.op, op);
    ck_assert_uint_eq(event.length, 5);
    node.ops->addr_free(node.cls, event.source);
    node.ops->addr_free(node.cls, self);
    stranger_close(&stranger);
    node_close(&node);
    free(op);
    free(send);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile");

    tcase_add_test(cases, hostile_messages_are_dropped_and_counted);
    return run_case("ofi hostile", cases);
}
