/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libmicrohttpd. */
#include "export/http.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SONAME "libmicrohttpd.so.12" /* of 0.9.53 to 1.0 */

struct http http;

const char *
http_load(void)
{
    static const struct {
        const char *name;
        void *function_p;
    } symbols[] = {
        {"MHD_add_response_header", &http.add_response_header},
        {"MHD_create_response_from_buffer", &http.create_response_from_buffer},
        {"MHD_destroy_response", &http.destroy_response},
        {"MHD_lookup_connection_value", &http.lookup_connection_value},
        {"MHD_queue_response", &http.queue_response},
        {"MHD_start_daemon", &http.start_daemon},
        {"MHD_stop_daemon", &http.stop_daemon},
    };
    static char missing[128];
    void *object = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

    if (!object)
        return dlerror();
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(object, symbols[i].name);

        if (!address) {
            snprintf(missing, sizeof missing, "%s has no %s", SONAME,
                symbols[i].name);
            dlclose(object);
            return missing;
        }
        memcpy(symbols[i].function_p, &address, sizeof address);
    }
    return NULL;
}
