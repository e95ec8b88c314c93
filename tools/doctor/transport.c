/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a transport, shows libraries and devices, and calls a server, which is
 * another class of this process or elsewhere. */
#include "doctor/doctor.h"

#include "common/device.h"
#include "common/listen.h"
#include "na.h"
#include "ping/caller.h"
#include "ping/ping.h"
#include "talaria.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_TIMEOUT 10 /* s */
#define CALLS 5
#define PROGRESS_MS 20
#define ADDRESS_SIZE 512

/* A server in a thread of this process. */
struct server {
    hg_class_t *hg_class;
    hg_context_t *context;
    char address[ADDRESS_SIZE];
    pthread_t thread;
    bool running;
    atomic_bool stop;
};

/* The reason why this thread's last class did not open, to be freed. */
static char *
open_fault(void)
{
    struct talaria_open_result *result;
    char *text = NULL;

    if (talaria_open_report(&result) != NA_SUCCESS)
        return NULL;
    if (asprintf(&text, "%s: %s", NA_Error_to_string(result->code),
            result->text) < 0)
        text = NULL;
    talaria_open_report_free(result);
    return text;
}

/* Writes versions, and what the report has of a library: entries named after
 * it, with a version as their text. */
static void
say_libraries(struct doctor *doctor, const char *check,
    const struct talaria_report *report)
{
    const char *version = "", *library = NULL, *name = "";

    for (size_t i = 0; i < report->count; i++) {
        const struct talaria_report_entry *entry = report->entries[i];

        if (!entry->text)
            continue;
        if (strcmp(entry->name, "version") == 0)
            version = entry->text;
        if (strcmp(entry->name, "libfabric") == 0 ||
            strcmp(entry->name, "ucx_version") == 0) {
            name = entry->name[0] == 'l' ? ", libfabric " : ", UCX ";
            library = entry->text;
        }
    }
    doctor_report(doctor, DOCTOR_OK, check, NULL, "opens, plugin %s%s%s",
        version, name, library ? library : "");
}

static void
say_devices(struct doctor *doctor, const char *check, const char *protocol)
{
    struct na_protocol_info *devices = NULL;
    const char *before = "";

    if (NA_Get_protocol_info(protocol, &devices) != NA_SUCCESS || !devices)
        doctor_report(doctor, DOCTOR_WARNING, check,
            "type: ip link, to see the interfaces", "it lists no device");
    for (const struct na_protocol_info *p = devices; p; p = p->next) {
        const char *name = p->device_name ? p->device_name : "";
        char *addresses;

        if (strcmp(name, before) == 0)
            continue;
        before = name;
        addresses = device_addresses(name);
        doctor_report(doctor, DOCTOR_OK, check, NULL, "device %s%s%s", name,
            addresses && *addresses ? ", addresses " : "",
            addresses ? addresses : "");
        free(addresses);
    }
    NA_Free_protocol_info(devices);
}

static bool
check_open(struct doctor *doctor, const char *info_string)
{
    na_class_t *na_class = NA_Initialize(info_string, false);
    struct talaria_report *report;
    char protocol[128];

    if (!na_class) {
        char *fault = open_fault();

        doctor_report(doctor, DOCTOR_FAILED, info_string,
            "\"talaria info INFO\" has all candidates; on Debian plugins are "
            "packages, such as talaria-plugin-ofi",
            "%s", fault ? fault : "it does not open");
        free(fault);
        return false;
    }
    if (talaria_class_report(na_class, &report) == NA_SUCCESS) {
        say_libraries(doctor, info_string, report);
        talaria_class_report_free(report);
    }
    snprintf(protocol, sizeof protocol, "%s+%s", NA_Get_class_name(na_class),
        NA_Get_class_protocol(na_class));
    say_devices(doctor, info_string, protocol);
    NA_Finalize(na_class);
    return true;
}

static void *
serve(void *arg)
{
    struct server *server = arg;

    while (!atomic_load(&server->stop))
        caller_progress(server->context, PROGRESS_MS);
    return NULL;
}

/* Listens on the loopback address unless another one is named. Returns NULL, or
 * what failed. */
static const char *
server_start(struct server *server, const char *info_string)
{
    struct listen listen;
    const char *refusal = listen_decide(info_string, true, false, &listen);

    if (refusal)
        return refusal;
    server->hg_class = HG_Init(listen.info, HG_TRUE);
    free(listen.info);
    if (!server->hg_class)
        return "a listening class does not open";
    server->context = HG_Context_create(server->hg_class);
    if (!server->context || ping_register(server->hg_class) != 0 ||
        listen_address(server->hg_class, server->address,
            sizeof server->address) != HG_SUCCESS)
        return "a listening class has no context or address";
    server->running = pthread_create(&server->thread, NULL, serve, server) == 0;
    return server->running ? NULL : "a thread cannot be started";
}

static void
server_stop(struct server *server)
{
    if (server->running) {
        atomic_store(&server->stop, true);
        pthread_join(server->thread, NULL);
    }
    if (server->context)
        HG_Context_destroy(server->context);
    if (server->hg_class)
        HG_Finalize(server->hg_class);
}

/* What to do about a step that failed. */
static const char *
advice_for(const char *step)
{
    if (strcmp(step, "address") == 0 || strcmp(step, "lookup") == 0)
        return "give the address that the server prints, such as "
               "ofi+tcp://10.0.0.1:5000";
    if (strcmp(step, "connection") == 0)
        return "check that the server runs, prints this address, and has the "
               "same version of Talaria";
    if (strcmp(step, "answer") == 0)
        return "check firewalls (type on the server: nft list ruleset) and "
               "that the server is not stopped";
    return NULL;
}

static void
check_call(struct doctor *doctor, const char *check, const char *address,
    unsigned int timeout)
{
    struct caller caller;
    double seconds, shortest = timeout;
    bool answers = caller_open(&caller, address);

    /* The first call connects. */
    for (unsigned int i = 0; i < CALLS && answers; i++) {
        answers = caller_call(&caller, timeout, &seconds);
        if (answers && seconds < shortest)
            shortest = seconds;
    }
    if (answers)
        doctor_report(doctor, DOCTOR_OK, check, NULL, "round trip in %.1f µs",
            shortest * 1e6);
    else
        doctor_report(doctor, DOCTOR_FAILED, check, advice_for(caller.step),
            "no round trip: %s: %s", caller.step, caller.reason);
    caller_close(&caller);
}

void
doctor_check_transport(struct doctor *doctor, const char *info_string)
{
    struct server server = {.hg_class = NULL};
    const char *fault;

    if (!check_open(doctor, info_string))
        return;
    atomic_init(&server.stop, false);
    fault = server_start(&server, info_string);
    if (fault)
        doctor_report(doctor, DOCTOR_FAILED, info_string, NULL,
            "no round trip: %s", fault);
    else
        check_call(doctor, info_string, server.address, LOCAL_TIMEOUT);
    server_stop(&server);
}

void
doctor_check_address(
    struct doctor *doctor, const char *address, unsigned int timeout)
{
    check_call(doctor, address, address, timeout);
}
