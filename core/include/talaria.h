/* SPDX-License-Identifier: BSD-3-Clause */
/* What Talaria adds to the Mercury interface: its version; registering and
 * finding plugins, and why one could not be opened; settings of one class;
 * deadlines of RPCs, and dropping requests; statistics.
 *
 * The library allocates the structs that a function returns; the function
 * declared after it frees them. Later versions may add fields at the end of a
 * struct: therefore no struct contains another, and lists contain pointers. */
#ifndef TALARIA_H
#define TALARIA_H

#include "mercury_types.h"
#include "na_types.h"
#include "talaria_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded library: "MAJOR.MINOR.PATCH", constant; and as a
 * number of TALARIA_VERSION_MAKE. [any thread] */
NA_PUBLIC const char *talaria_version(void);
NA_PUBLIC unsigned int talaria_version_number(void);

/* A transport plugin, see na_plugin.h. */
struct na_plugin;

/* The stage at which a candidate for opening was accepted or refused. A refused
 * one has a code, and a text with what was required and what was found. */
enum talaria_stage {
    TALARIA_STAGE_OK,            /* usable, or opened */
    TALARIA_STAGE_INFO_STRING,   /* malformed info string */
    TALARIA_STAGE_NOT_FOUND,     /* missing, or not the named plugin */
    TALARIA_STAGE_MANIFEST,      /* malformed, or contradicts the plugin */
    TALARIA_STAGE_PERMISSION,    /* file or folder is writable by others */
    TALARIA_STAGE_DLOPEN,        /* dlopen failed */
    TALARIA_STAGE_SYMBOL,        /* the shared object is not a plugin */
    TALARIA_STAGE_ABI,           /* incompatible ABI or invalid description */
    TALARIA_STAGE_NAME_MISMATCH, /* its name differs from the manifest's */
    TALARIA_STAGE_OPEN,          /* the plugin's open failed */
    TALARIA_STAGE_PROTOCOL,      /* it does not offer the protocol */
    TALARIA_STAGE_MAX
};

/* "ok", "info_string", "not_found", "manifest", "permission", "dlopen",
 * "symbol", "abi", "name_mismatch", "open", "protocol"; NULL for others.
 * Constant. [any thread] */
NA_PUBLIC const char *talaria_stage_to_string(enum talaria_stage stage);

/* Where a plugin was found, in the order of the search. */
enum talaria_source {
    TALARIA_SOURCE_REGISTERED,  /* talaria_plugin_register */
    TALARIA_SOURCE_API_PATH,    /* talaria_plugin_path_add */
    TALARIA_SOURCE_ENV_FILES,   /* TALARIA_PLUGIN_FILES; ends the search */
    TALARIA_SOURCE_ENV_PATH,    /* TALARIA_PLUGIN_PATH */
    TALARIA_SOURCE_SYSCONF,     /* SYSCONFDIR/talaria/plugins.d */
    TALARIA_SOURCE_BESIDE_CORE, /* talaria/plugins-1 beside libtalaria.so */
    TALARIA_SOURCE_LIBDIR,      /* where Talaria installs its plugins */
    TALARIA_SOURCE_MAX
};

/* "registered", "api_path", "env_files", "env_path", "sysconf",
 * "beside_core", "libdir"; NULL for others. Constant. [any thread] */
NA_PUBLIC const char *talaria_source_to_string(enum talaria_source source);

/* Registers a plugin that is linked into the program. It is first in the search
 * order and needs neither file nor manifest. Calls no function of the plugin.
 *
 * plugin: constant. It must remain valid until the last class that uses it is
 * finalized and NA_Cleanup or HG_Cleanup was called. FAULT: NULL;
 * PROTOCOL_ERROR: it violates the ABI; EXIST: a plugin of that name is
 * registered; NOMEM. The first three after a log line. [any thread] */
NA_PUBLIC na_return_t talaria_plugin_register(const struct na_plugin *plugin);

/* Adds a folder to search for manifests, after folders added before and before
 * those that the environment names. It need not exist yet. NA_Cleanup and
 * HG_Cleanup remove it.
 *
 * dir: copied; resolved relative to the current working directory. INVALID_ARG:
 * NULL, empty, or too long; NOMEM. [any thread] */
NA_PUBLIC na_return_t talaria_plugin_path_add(const char *dir);

/* One plugin, as its manifest describes it. Unknown strings are NULL. */
struct talaria_plugin_entry {
    enum talaria_source source;
    enum talaria_stage stage; /* OK, or the stage that refused it */
    na_return_t code;         /* SUCCESS if OK, else why */
    const char *text;         /* reason in words, "" if OK */
    bool shadowed;            /* a plugin of the same name precedes it */
    bool other_protocols;     /* may offer more than `protocols` */
    int32_t priority;         /* among plugins for one protocol: highest wins */
    const char *name;         /* before the '+' of info strings */
    const char *version;      /* of the plugin */
    const char *const *protocols; /* after the '+'; NULL-terminated */
    const char *manifest_path;    /* real path; or a refused folder */
    const char *library_path;     /* of the shared object */
    uint16_t abi_major;           /* of the ABI it was built for */
    uint16_t abi_minor;
    uint16_t min_host_minor; /* minimum ABI minor of the core */
};

struct talaria_plugin_list {
    size_t count;
    struct talaria_plugin_entry *const *entries; /* in search order */
};

/* Lists every plugin that the search finds, including refused and shadowed
 * ones. Reads manifests and loads nothing: a shared object named in
 * TALARIA_PLUGIN_FILES without a manifest has no name here. NOMEM. [any thread]
 */
NA_PUBLIC na_return_t talaria_plugin_list(struct talaria_plugin_list **list_p);
NA_PUBLIC void talaria_plugin_list_free(struct talaria_plugin_list *list);

/* NA_Initialize_opt2 and HG_Init_opt2 with settings for this class, and with a
 * return code.
 *
 * settings: strings "key=value" with full keys, such as "sm.ring_size=64K", for
 * the plugin of the class; for an HG class also for the core, such as
 * "hg.overflow_max=16M", and with auto_sm for the second plugin.
 * NULL-terminated, or NULL. Read during the call only. Settings not given here
 * are taken from the environment, such as TALARIA_SM_RING_SIZE.
 * talaria_class_report shows the resulting values.
 *
 * INVALID_ARG, after a log line that names the key: a string without '=', a
 * duplicate key, an unknown key (the log suggests the nearest one), an invalid
 * value, no info string, or an option out of range. NOMEM. Otherwise the code
 * of the search for the plugin, or of its open. [any thread] */
NA_PUBLIC na_return_t talaria_na_initialize(const char *info_string,
    bool listen, unsigned int version, const struct na_init_info *na_init_info,
    const char *const *settings, na_class_t **na_class_p);
HG_PUBLIC hg_return_t talaria_hg_init(const char *info_string, bool listen,
    unsigned int version, const struct hg_init_info *hg_init_info,
    const char *const *settings, hg_class_t **hg_class_p);

/* One plugin that was examined to open an info string. */
struct talaria_candidate {
    enum talaria_stage stage; /* OK: usable; the last one was opened */
    na_return_t code;
    const char *text;   /* what was required, what was found */
    const char *path;   /* manifest, shared object or folder, or NULL */
    const char *plugin; /* its name if known, or NULL */
};

struct talaria_open_result {
    const char *info_string;
    na_return_t code; /* outcome */
    const char *text; /* reason: the text of the last candidate */
    size_t dropped;   /* candidates not listed: out of memory */
    size_t count;
    struct talaria_candidate *const
        *candidates; /* the last one decided the outcome */
};

/* Returns the candidates that the last NA_Initialize or HG_Init (or a variant)
 * of this thread examined, whether it failed or not. An entry with neither path
 * nor plugin summarizes the entries before it. NOENTRY: this thread opened
 * nothing, or more than 256 other threads have opened something since; NOMEM.
 * [any thread] */
NA_PUBLIC na_return_t talaria_open_report(
    struct talaria_open_result **result_p);
NA_PUBLIC void talaria_open_report_free(struct talaria_open_result *result);

/* Makes the manifest of a shared object, for a file in the same folder. Loads
 * and unloads the object without calling its functions, but its constructors
 * run. Does not check the permissions of the file.
 *
 * json_p: set to JSON text that ends in a newline, which the caller frees with
 * free(). NOENTRY: no such file, or not a plugin; FAULT: it cannot be loaded;
 * PROTOCOL_ERROR: it violates the ABI; NOMEM. Each after a log line.
 * INVALID_ARG: an argument is NULL. [any thread] */
NA_PUBLIC na_return_t talaria_plugin_describe(const char *path, char **json_p);

/* Allocates memory that the class's transport transfers fastest. Peers map
 * memory of na+sm, and copy it without system calls; the owner may copy a part of
 * what is large. A transport without such
 * memory returns ordinary memory. Register it, or ranges of it, with
 * HG_Bulk_create or NA_Mem_register before transfers.
 *
 * size: bytes, at least 1. memory_p: set to zeroed memory, aligned to at least
 * 64 bytes. Free it with talaria_mem_free after deregistering it and before the
 * class is finalized. INVALID_ARG: NULL, or size 0; NOMEM. Each allocation may
 * use a file descriptor: prefer few large ones. [any thread] */
NA_PUBLIC na_return_t talaria_mem_alloc(
    na_class_t *na_class, size_t size, void **memory_p);
NA_PUBLIC void talaria_mem_free(na_class_t *na_class, void *memory);

/* A limit, feature, choice or counter of a class. */
struct talaria_report_entry {
    const char *name;
    const char *text; /* NULL: see `value` */
    uint64_t value;
};

struct talaria_report {
    size_t count;
    struct talaria_report_entry *const *entries;
};

/* Returns what the core and the plugin report about a class. Names and texts
 * are valid until the class is finalized, the rest until the report is freed.
 * INVALID_ARG: NULL; PROTOCOL_ERROR: the plugin's entries violate the ABI;
 * NOMEM. [any thread] */
NA_PUBLIC na_return_t talaria_class_report(
    na_class_t *na_class, struct talaria_report **report_p);
NA_PUBLIC void talaria_class_report_free(struct talaria_report *report);

/* Sets the maximum time of later forwards of a handle, counted from HG_Forward.
 * When it has passed, the forward is cancelled as by HG_Cancel, and its
 * callback gets HG_TIMEOUT, within some 10 ms even if the transport cannot
 * cancel. A target that can be reached is notified: it stops transferring large
 * data for the RPC, but its handler is not interrupted. A later response is
 * dropped. HG_Progress and HG_Event_progress check deadlines; a deadline also
 * makes the context's descriptor readable.
 *
 * handle: an origin's. timeout_ms: milliseconds; 0, the default: no limit.
 * HG_INVALID_ARG: NULL, or a target's handle; HG_BUSY: a forward is in
 * progress. With a deadline HG_Forward can also return HG_NOMEM. [any thread]
 */
HG_PUBLIC hg_return_t talaria_handle_set_deadline(
    hg_handle_t handle, unsigned int timeout_ms);

/* Reasons why RPCs fail: groups of return codes. */
enum talaria_failure {
    TALARIA_FAILURE_CANCELED,    /* HG_CANCELED */
    TALARIA_FAILURE_TIMEOUT,     /* HG_TIMEOUT */
    TALARIA_FAILURE_UNREACHABLE, /* HG_HOSTUNREACH, HG_IO_ERROR … */
    TALARIA_FAILURE_MESSAGE,     /* HG_PROTOCOL_ERROR, HG_CHECKSUM_ERROR,
                                    HG_MSGSIZE, HG_OVERFLOW */
    TALARIA_FAILURE_UNKNOWN_RPC, /* HG_NOENTRY */
    TALARIA_FAILURE_OTHER,       /* errors of handlers, and all others */
    TALARIA_FAILURE_MAX
};

/* "canceled", "timeout", "unreachable", "message", "unknown_rpc", "other"; NULL
 * for others. Constant. [any thread] */
HG_PUBLIC const char *talaria_failure_to_string(enum talaria_failure failure);

/* Counts of RPCs. At the origin: forwards, their callbacks, and the time
 * between them. At the target: received requests, sent responses, and the time
 * between them. Bytes are those of payloads. */
struct talaria_call_stats {
    uint64_t requests;
    uint64_t request_bytes;
    uint64_t answers; /* origin: callbacks with HG_SUCCESS; target: responses,
                         also with an error code, that were sent */
    uint64_t answer_bytes;
    uint64_t dropped;    /* talaria_handle_drop */
    uint64_t latency_ns; /* sum over `answers` */
    size_t failure_count;
    const uint64_t *failures; /* by enum talaria_failure; target: responses
                                 with an error code, and those not sent */
    size_t latency_count;
    const uint64_t *latency; /* [i]: count of those from 2^i ns to below
                                2^(i+1) ns; the last one: and longer */
};

struct talaria_rpc_stats {
    hg_id_t id;
    const char *name; /* NULL: registered by id */
    const struct talaria_call_stats *origin;
    const struct talaria_call_stats *target;
};

struct talaria_class_stats {
    const char *plugin;
    const char *protocol;
    const struct talaria_call_stats *origin; /* sums over the RPCs */
    const struct talaria_call_stats *target;
    uint64_t messages_dropped; /* malformed */
    uint64_t requests_unknown; /* for RPCs that are not registered */
    uint64_t answers_late;     /* for forwards that had completed before */
    uint64_t payloads_refused; /* larger than hg.overflow_max or _total allow:
                                  HG_MSGSIZE, HG_AGAIN */
    const struct hg_diag_counters *counters;
    size_t count;
    struct talaria_rpc_stats *const *rpcs;
};

/* Returns the statistics of a class since it was opened. Deregistered RPCs are
 * not listed, but the sums include them. RPCs in progress may be counted in
 * some fields only. Names are valid until the class is finalized.
 * HG_OPNOTSUPPORTED: the class was opened without the option stats;
 * HG_INVALID_ARG; HG_NOMEM. [any thread] */
HG_PUBLIC hg_return_t talaria_class_stats(
    hg_class_t *hg_class, struct talaria_class_stats **stats_p);
HG_PUBLIC void talaria_class_stats_free(struct talaria_class_stats *stats);

/* Returns the statistics of talaria_class_stats as one line of JSON, which the
 * caller frees with free(). Ids are strings; a histogram ends with its last
 * bucket that is not 0. Errors as of talaria_class_stats. [any thread] */
HG_PUBLIC hg_return_t talaria_class_stats_json(
    hg_class_t *hg_class, char **json_p);

/* Drops a request without responding: nothing is sent, even if the handler
 * returns an error, and HG_Respond returns HG_BUSY from now on. Destroy the
 * handle as usual, unless the handler returns an error. The forward at the
 * origin ends by its deadline, or by HG_Cancel.
 *
 * handle: a target's. HG_INVALID_ARG: NULL, or an origin's handle; HG_BUSY:
 * already responded or dropped. [any thread] */
HG_PUBLIC hg_return_t talaria_handle_drop(hg_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif /* TALARIA_H */
