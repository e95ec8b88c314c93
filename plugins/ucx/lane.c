/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports of an endpoint: newer versions of UCX tell their names, older ones
 * print them with what each is used for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"

#define TEXT_MAX 256U

static void
add(char text[TEXT_MAX], const char *name)
{
    size_t used = strlen(text);

    if (strstr(text, name) == NULL && used + strlen(name) + 2 < TEXT_MAX)
        snprintf(
            text + used, TEXT_MAX - used, "%s%s", used != 0 ? " " : "", name);
}

/* Whether a transport is one of devices that read and write what is registered
 * with them, wherever it lies. */
static bool
is_device(const char *name)
{
    return strncmp(name, "rc_", 3) == 0 || strncmp(name, "dc_", 3) == 0 ||
           strncmp(name, "ugni_rdma", 9) == 0;
}

#ifdef UCX_HAVE_TRANSPORTS

#define TRANSPORTS_MOST 32U

/* Names, and whether one of them has remote memory access by itself. */
static bool
look(struct ucx_conn *conn, char text[TEXT_MAX])
{
    static const char *const native[] = {"rc_", "dc_", "posix", "sysv", "xpmem",
        "cma", "knem", "ugni_rdma", "cuda_ipc", "rocm_ipc", "self"};
    ucp_transport_entry_t entries[TRANSPORTS_MOST];
    ucp_ep_attr_t attr = {.field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS,
        .transports = {.entries = entries,
            .num_entries = TRANSPORTS_MOST,
            .entry_size = sizeof(entries[0])}};
    bool found = false;

    if (ucp_ep_query(conn->ep, &attr) != UCS_OK)
        return false;
    for (unsigned i = 0; i < attr.transports.num_entries; i++) {
        add(text, entries[i].transport_name);
        conn->rma_reach =
            conn->rma_reach || is_device(entries[i].transport_name);
        for (size_t j = 0; j < sizeof(native) / sizeof(native[0]); j++)
            found = found || strncmp(entries[i].transport_name, native[j],
                                 strlen(native[j])) == 0;
    }
    return found;
}

#else

#define LANES 32U
#define NAME_MAX 32U

/* What has been read of UCX's print so far: "lane[2]: 4:posix/memory.0 …" names
 * the lanes, "put[2]: 0..<short>…" says which have remote memory access. */
struct reading {
    struct ucx_conn *conn;
    char *text;
    char names[LANES][NAME_MAX];
    bool has_rma;
};

/* The number of a line that begins with word "[number]:", -1 if it does not. */
static long
number_after(const char *line, const char *word, const char **rest_p)
{
    const char *at = line + strspn(line, "# ");
    char *end;

    if (strncmp(at, word, strlen(word)) != 0 || at[strlen(word)] != '[')
        return -1;
    unsigned long number = strtoul(at + strlen(word) + 1, &end, 10);
    if (end[0] != ']' || end[1] != ':' || number >= LANES)
        return -1;
    *rest_p = end + 2;
    return (long) number;
}

/* Notes the transport of a line "lane[N]", or remote access from a line "put[N]"
 * of a lane that was named before. */
static void
parse_line(struct reading *reading, const char *line)
{
    const char *rest;
    long lane = number_after(line, "lane", &rest);
    const char *colon = lane >= 0 ? strchr(rest, ':') : NULL;

    if (colon != NULL) {
        size_t length = strcspn(colon + 1, "/ ");
        if (length != 0 && length < NAME_MAX) {
            memcpy(reading->names[lane], colon + 1, length);
            reading->names[lane][length] = '\0';
            add(reading->text, reading->names[lane]);
        }
        return;
    }
    lane = number_after(line, "put", &rest);
    if (lane < 0)
        return;
    reading->has_rma = true;
    if (is_device(reading->names[lane]))
        reading->conn->rma_reach = true;
}

static bool
look(struct ucx_conn *conn, char text[TEXT_MAX])
{
    struct reading reading = {.conn = conn, .text = text};
    char *all = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&all, &length);

    if (stream == NULL)
        return false;
    ucp_ep_print_info(conn->ep, stream);
    /* It is closed with success, and no text, when memory is short. */
    if (fclose(stream) == 0 && all != NULL) {
        char *rest = NULL;
        for (char *line = strtok_r(all, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest))
            parse_line(&reading, line);
    }
    free(all);
    return reading.has_rma;
}

#endif

void
ucx_lane_look(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    char text[TEXT_MAX] = "";

    conn->rma_known = true;
    conn->rma_native = look(conn, text);
    TP_LOG(cls->host, INFO, "puts and gets with %s go by %s (UCX: %s)",
        conn->peer_name,
        conn->rma_native ? "UCX where memory permits, else by messages"
                         : "messages",
        text);
}
