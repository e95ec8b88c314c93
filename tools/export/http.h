/* SPDX-License-Identifier: BSD-3-Clause */
/* libmicrohttpd, loaded where metrics are served. Were it linked, the constructors of
 * the libraries that it needs, GnuTLS among them, would run in every subcommand: half
 * of the time in which one starts. */
#ifndef EXPORT_HTTP_H
#define EXPORT_HTTP_H

#include <microhttpd.h>
#include <stdbool.h>

struct http {
    __typeof__(MHD_add_response_header) *add_response_header;
    __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
    __typeof__(MHD_destroy_response) *destroy_response;
    __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
    __typeof__(MHD_queue_response) *queue_response;
    __typeof__(MHD_start_daemon) *start_daemon;
    __typeof__(MHD_stop_daemon) *stop_daemon;
};

/* Set by http_load. */
extern struct http http;

/* Returns NULL, or why the library cannot be loaded. */
const char *http_load(void);

#endif /* EXPORT_HTTP_H */
