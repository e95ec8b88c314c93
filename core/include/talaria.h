/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Talaria offers beside the Mercury interface: its version; plugins that a
 * program brings along or finds elsewhere, which plugins there are, and why one
 * could not be opened; settings of one class; deadlines of calls, requests that
 * are not answered; statistics.
 *
 * The library allocates the structs that a function returns, and the function
 * named beside it frees them. Later versions may add fields at the end of a
 * struct: that is why no struct contains another, and lists hold pointers.
 */
#ifndef TALARIA_H
#define TALARIA_H

#include "mercury_types.h"
#include "na_types.h"
#include "talaria_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that the program runs with: "MAJOR.MINOR.PATCH",
 * constant; and as TALARIA_VERSION_MAKE makes it. [any thread] */
NA_PUBLIC const char *talaria_version(void);
NA_PUBLIC unsigned int talaria_version_number(void);

/* A transport plugin, see na_plugin.h. */
struct na_plugin;

/* How far a candidate for opening came. What is not OK has a code and a text
 * that say what was needed and what was found. */
enum talaria_stage {
    TALARIA_STAGE_OK,            /* usable, or: opened */
    TALARIA_STAGE_INFO_STRING,   /* the info string is not understood */
    TALARIA_STAGE_NOT_FOUND,     /* not there, or not the one that is named */
    TALARIA_STAGE_MANIFEST,      /* its manifest is broken, or contradicts it */
    TALARIA_STAGE_PERMISSION,    /* others may write the file or its folder */
    TALARIA_STAGE_DLOPEN,        /* the system cannot load the shared object */
    TALARIA_STAGE_SYMBOL,        /* the shared object is not a plugin */
    TALARIA_STAGE_ABI,           /* its ABI, or its description, is not ours */
    TALARIA_STAGE_NAME_MISMATCH, /* its name is not the manifest's */
    TALARIA_STAGE_OPEN,          /* the plugin itself refused to open */
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
    TALARIA_SOURCE_LIBDIR,      /* where Talaria's own are installed */
    TALARIA_SOURCE_MAX
};

/* "registered", "api_path", "env_files", "env_path", "sysconf",
 * "beside_core", "libdir"; NULL for others. Constant. [any thread] */
NA_PUBLIC const char *talaria_source_to_string(enum talaria_source source);

/* Registers a plugin that is linked into the program. It comes first in the
 * search and needs neither file nor manifest.
 *
 * plugin: constant, and mapped until the last class that uses it is finalized
 * and NA_Cleanup or HG_Cleanup has forgotten it. FAULT: NULL; PROTOCOL_ERROR:
 * it breaks the ABI; EXIST: one of that name is registered; NOMEM. The first
 * three after a log line. Calls none of its functions. [any thread] */
NA_PUBLIC na_return_t talaria_plugin_register(const struct na_plugin *plugin);

/* Adds a folder with manifests, searched after those added before and ahead of
 * what the environment names. It need not exist yet. NA_Cleanup and HG_Cleanup
 * forget it.
 *
 * dir: copied; relative to the working directory of this moment. INVALID_ARG:
 * NULL, empty, or too long; NOMEM. [any thread] */
NA_PUBLIC na_return_t talaria_plugin_path_add(const char *dir);

/* One plugin, as its manifest describes it. What is not known is NULL. */
struct talaria_plugin_entry {
    enum talaria_source source;
    enum talaria_stage stage;     /* OK, or where it was refused: */
    na_return_t code;             /* SUCCESS if OK */
    const char *text;             /* words to go with it, "" if OK */
    bool shadowed;                /* one of the same name comes before it */
    bool other_protocols;         /* may know more than protocols lists */
    int32_t priority;             /* of several with a protocol, highest wins */
    const char *name;             /* what stands before the '+' */
    const char *version;          /* the plugin's own */
    const char *const *protocols; /* after the '+'; a NULL ends them */
    const char *manifest_path;    /* real path; or a folder that is refused */
    const char *library_path;     /* the shared object's */
    uint16_t abi_major;           /* what it was built on */
    uint16_t abi_minor;
    uint16_t min_host_minor; /* oldest core it runs in */
};

struct talaria_plugin_list {
    size_t count;
    struct talaria_plugin_entry *const *entries; /* in search order */
};

/* Lists every plugin that the search finds, refused and shadowed ones included.
 * Reads manifests and loads nothing: a shared object named in
 * TALARIA_PLUGIN_FILES without a manifest has no name here. NOMEM.
 * [any thread] */
NA_PUBLIC na_return_t talaria_plugin_list(struct talaria_plugin_list **list_p);
NA_PUBLIC void talaria_plugin_list_free(struct talaria_plugin_list *list);

/* NA_Initialize_opt2 and HG_Init_opt2, with settings for this class alone, and
 * with the code of what fails.
 *
 * settings: texts "key=value" with whole keys, "sm.ring_size=64K", of the
 * class's plugin; for a HG class also of the core, "hg.overflow_max=16M", and
 * with auto_sm of the second plugin. NULL-terminated, or NULL. Read during the
 * call only. What is not set here is taken from the environment:
 * TALARIA_SM_RING_SIZE. talaria_class_report shows the resulting values.
 *
 * INVALID_ARG, after a log line that names the key: a text without '=', a key
 * given twice, an unknown key (the log names the nearest one), a value of the
 * wrong kind or out of range; no info string; an option out of range. NOMEM.
 * Otherwise the code of the search for the plugin, or of its open.
 * [any thread] */
NA_PUBLIC na_return_t talaria_na_initialize(const char *info_string,
    bool listen, unsigned int version, const struct na_init_info *na_init_info,
    const char *const *settings, na_class_t **na_class_p);
HG_PUBLIC hg_return_t talaria_hg_init(const char *info_string, bool listen,
    unsigned int version, const struct hg_init_info *hg_init_info,
    const char *const *settings, hg_class_t **hg_class_p);

/* One plugin that was looked at to open an info string. */
struct talaria_candidate {
    enum talaria_stage stage; /* OK: could be opened, and the last one was */
    na_return_t code;
    const char *text;   /* what was needed, what was found */
    const char *path;   /* manifest, shared object or folder, or NULL */
    const char *plugin; /* its name if known, or NULL */
};

struct talaria_open_result {
    const char *info_string;
    na_return_t code; /* how it ended */
    const char *text; /* why: the text of the last candidate */
    size_t dropped;   /* candidates lost for want of memory */
    size_t count;
    struct talaria_candidate *const *candidates; /* the last one decided */
};

/* The candidates that this thread's last NA_Initialize or HG_Init (or one of
 * their variants) examined, whether it failed or not. An entry with neither
 * path nor plugin sums up the entries before it. NOENTRY: this thread opened
 * nothing, or more than 256 other threads have opened something since; NOMEM.
 * [any thread] */
NA_PUBLIC na_return_t talaria_open_report(
    struct talaria_open_result **result_p);
NA_PUBLIC void talaria_open_report_free(struct talaria_open_result *result);

/* Makes the manifest of a shared object: JSON text that ends in a newline, to
 * be freed with free(), for a file in the same folder. Loads and unloads the
 * object; calls none of its functions, but the system runs its constructors.
 * Does not check the permissions of the file.
 *
 * NOENTRY: no such file, or not a plugin; FAULT: it cannot be loaded;
 * PROTOCOL_ERROR: it breaks the ABI; NOMEM. Each after a log line.
 * INVALID_ARG: an argument is NULL. [any thread] */
NA_PUBLIC na_return_t talaria_plugin_describe(const char *path, char **json_p);

/* Allocates memory that the class's transport transfers fastest: peers map
 * that of na+sm and copy without the kernel. A transport without such memory
 * returns ordinary memory. Register it, whole or in parts, with HG_Bulk_create
 * or NA_Mem_register before transfers.
 *
 * size: bytes, at least 1. *memory_p: zeroed, aligned to 64 bytes at least, to
 * be freed with talaria_mem_free after its registrations are gone and before
 * the class is finalized. INVALID_ARG: NULL, or size 0; NOMEM. Each allocation
 * may use a file descriptor: make few, large ones. [any thread] */
NA_PUBLIC na_return_t talaria_mem_alloc(
    na_class_t *na_class, size_t size, void **memory_p);
NA_PUBLIC void talaria_mem_free(na_class_t *na_class, void *memory);

/* A limit, feature, choice or counter of a class. */
struct talaria_report_entry {
    const char *name;
    const char *text; /* NULL: value is meant */
    uint64_t value;
};

struct talaria_report {
    size_t count;
    struct talaria_report_entry *const *entries;
};

/* Returns what the core and the plugin report about a class now. Names and
 * texts are valid until the class is finalized, the rest until the report is
 * freed. INVALID_ARG: NULL; PROTOCOL_ERROR: the plugin's entries break the
 * ABI; NOMEM. [any thread] */
NA_PUBLIC na_return_t talaria_class_report(
    na_class_t *na_class, struct talaria_report **report_p);
NA_PUBLIC void talaria_class_report_free(struct talaria_report *report);

/* Sets how long each forward of a handle may take, from HG_Forward on. When
 * the time has passed the forward is cancelled, as by HG_Cancel, and its
 * callback gets HG_TIMEOUT, within some 10 ms also if the transport cannot
 * cancel. The target, if it can be reached, is told: it stops moving large
 * data for the call, but its handler is not interrupted. A later answer is
 * dropped. Deadlines are checked in HG_Progress and HG_Event_progress, and
 * wake a sleeper on the context's descriptor.
 *
 * handle: an origin's. timeout_ms: milliseconds; 0: no limit, the value in a
 * new handle. HG_INVALID_ARG: NULL, or a target's; HG_BUSY: it is being
 * forwarded. HG_Forward may then return HG_NOMEM. [any thread] */
HG_PUBLIC hg_return_t talaria_handle_set_deadline(
    hg_handle_t handle, unsigned int timeout_ms);

/* Why RPCs fail, in classes of codes. */
enum talaria_failure {
    TALARIA_FAILURE_CANCELED,    /* HG_CANCELED */
    TALARIA_FAILURE_TIMEOUT,     /* HG_TIMEOUT */
    TALARIA_FAILURE_UNREACHABLE, /* HG_HOSTUNREACH, HG_IO_ERROR … */
    TALARIA_FAILURE_MESSAGE,     /* HG_PROTOCOL_ERROR, HG_CHECKSUM_ERROR,
                                    HG_MSGSIZE, HG_OVERFLOW */
    TALARIA_FAILURE_UNKNOWN_RPC, /* HG_NOENTRY */
    TALARIA_FAILURE_OTHER,       /* what handlers return, and all others */
    TALARIA_FAILURE_MAX
};

/* "canceled", "timeout", "unreachable", "message", "unknown_rpc", "other"; NULL
 * for others. Constant. [any thread] */
HG_PUBLIC const char *talaria_failure_to_string(enum talaria_failure failure);

/* Counts of RPCs: at the origin forwards, their callbacks and the time between;
 * at the target received requests, sent answers and the time between. Bytes are
 * those of payloads. */
struct talaria_call_stats {
    uint64_t requests;
    uint64_t request_bytes;
    uint64_t answers; /* origin: callbacks with HG_SUCCESS; target: also those
                         with a code, but not those that could not be sent */
    uint64_t answer_bytes;
    uint64_t dropped;    /* talaria_handle_drop */
    uint64_t latency_ns; /* sum over those answered */
    size_t failure_count;
    const uint64_t *failures; /* by enum talaria_failure; at the target: answers
                                 with a code, and those not sent */
    size_t latency_count;
    const uint64_t *latency; /* [i]: how many took at least 2^i and less than
                                2^(i+1) ns; the last one: or longer */
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
    uint64_t requests_unknown; /* requests of RPCs that are not registered */
    uint64_t answers_late;     /* to forwards that had ended before */
    uint64_t payloads_refused; /* beyond hg.overflow_max or _total: HG_MSGSIZE,
                                  HG_AGAIN */
    const struct hg_diag_counters *counters;
    size_t count;
    struct talaria_rpc_stats *const *rpcs;
};

/* Returns the statistics of a class since it was opened, with the option stats.
 * Deregistered RPCs are not listed, but the sums include their counts. Calls in
 * progress may be counted in one place and not yet in another.
 * Names are valid as long as the class. HG_OPNOTSUPPORTED: opened without;
 * HG_INVALID_ARG; HG_NOMEM. [any thread] */
HG_PUBLIC hg_return_t talaria_class_stats(
    hg_class_t *hg_class, struct talaria_class_stats **stats_p);
HG_PUBLIC void talaria_class_stats_free(struct talaria_class_stats *stats);

/* The same as one line of JSON, to be freed with free. Ids are strings, a
 * histogram ends with its last bucket that is not 0. Errors as above. */
HG_PUBLIC hg_return_t talaria_class_stats_json(
    hg_class_t *hg_class, char **json_p);

/* Drops a request without an answer: nothing is sent, even if the handler
 * returns an error, and HG_Respond returns HG_BUSY from now on. Destroy the
 * handle as usual, unless the handler returns an error. The origin waits until
 * its deadline, or until it cancels.
 *
 * handle: a target's. HG_INVALID_ARG: NULL, or an origin's; HG_BUSY: answered
 * or dropped before. [any thread] */
HG_PUBLIC hg_return_t talaria_handle_drop(hg_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif /* TALARIA_H */
