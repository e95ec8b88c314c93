/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI can be initialized once in a process. If the plugin has done so, it
 * finalizes MPI when the process exits and not with the last class, since the
 * program may open another one. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drain.h"
#include "engine.h"
#include "runtime.h"

#define DESCRIPTORS 1024 /* MPI's are expected below */

struct tp_mutex nampi_lock;

/* Serializes nampi_runtime_open, which alone sets the variables below. Taken
 * before nampi_lock. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct tp_list engines; /* under nampi_lock */
/* The process in which the plugin initialized MPI; 0: it has not. */
static pid_t init_pid;
/* For classes without mpi.communicator: on MPI_COMM_WORLD if the plugin
 * initialized MPI, else on a duplicate of it. */
static struct nampi_engine *default_engine;

/* Called at exit: finalizes MPI if the plugin initialized it. Not in a forked
 * child, which is not part of the job. Not if the process fails: MPI_Finalize
 * could wait forever, and without it mpirun ends the job. Errors are made fatal
 * before: if MPI_Finalize failed and this process just exited, the others would
 * wait for it. */
static void
finalize(int status, void *arg)
{
    int finalized = 0;

    if (init_pid != getpid() || status != 0)
        return;
    if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized)
        return;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Finalize();
}

/* Called by MPI_Finalize: drains the default engine, and frees its communicator
 * if that is a duplicate. */
static int
drain_default(MPI_Comm self, int key, void *value, void *extra)
{
    nampi_drain_all(default_engine);
    return init_pid != 0 ? MPI_SUCCESS : MPI_Comm_free(&default_engine->comm);
}

/* Makes an engine the default one. It is drained by the delete callback of an
 * attribute of MPI_COMM_SELF, which MPI_Finalize calls before anything else.
 * Takes nampi_lock. */
static void
set_default_engine(struct nampi_engine *engine)
{
    int key;

    tp_mutex_take(&nampi_lock);
    tp_list_append(&engines, &engine->link);
    tp_mutex_drop(&nampi_lock);
    default_engine = engine;
    if (MPI_Comm_create_keyval(
            MPI_COMM_NULL_COPY_FN, drain_default, &key, NULL) == MPI_SUCCESS) {
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Comm_free_keyval(&key);
    }
}

/* Calls act for each descriptor that is open, above stderr and below
 * DESCRIPTORS, with its element of open. */
static void
each_descriptor(void (*act)(int fd, bool *open), bool open[DESCRIPTORS])
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd < DESCRIPTORS && fd != dirfd(folder))
            act(fd, &open[fd]);
    }
    if (folder != NULL)
        closedir(folder);
}

static void
mark_open(int fd, bool *open)
{
    *open = true;
}

/* Sets close-on-exec for a descriptor that is not marked open. */
static void
close_on_exec(int fd, bool *open)
{
    if (!*open)
        tp_close_on_exec(fd);
}

/* Initializes MPI and sets the default engine. Blocks until all processes of
 * the job do so. Programs that this process executes do not inherit MPI's
 * descriptors. NODEV, logged; NOMEM. */
static int32_t
init_mpi(const na_plugin_host *host)
{
    int provided = MPI_THREAD_SINGLE;
    bool open[DESCRIPTORS] = {false};
    struct nampi_engine *engine = nampi_engine_new(MPI_COMM_WORLD);

    if (engine == NULL)
        return NA_PLUGIN_E_NOMEM;
    each_descriptor(mark_open, open);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) !=
        MPI_SUCCESS) {
        TP_LOG(host, ERROR, "MPI_Init_thread failed");
        free(engine);
        return NA_PLUGIN_E_NODEV;
    }
    init_pid = getpid();
    each_descriptor(close_on_exec, open);
    on_exit(finalize, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    set_default_engine(engine);
    return NA_PLUGIN_OK;
}

/* Checks that the program initialized MPI with a thread level that the class's
 * threads need. OPNOTSUPPORTED, logged. */
static int32_t
check_threads(const na_plugin_host *host, const na_plugin_open_info *info)
{
    int level = MPI_THREAD_SINGLE;
    bool single = (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0;

    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED || single)
        return NA_PLUGIN_OK;
    TP_LOG(host, ERROR,
        "MPI was initialized without MPI_THREAD_SERIALIZED, which a class for "
        "several threads needs");
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

/* Initializes MPI if the program has not. ADDRNOTAVAIL: it is finalized
 * already; NODEV, OPNOTSUPPORTED, logged; NOMEM. */
static int32_t
ensure_mpi(const na_plugin_host *host, const na_plugin_open_info *info)
{
    int initialized = 0, finalized = 0;

    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (finalized) {
        TP_LOG(
            host, ERROR, "MPI is finalized, and cannot be initialized again");
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    if (!initialized)
        return init_mpi(host);
    return init_pid != 0 ? NA_PLUGIN_OK : check_threads(host, info);
}

/* Converts the number of a communicator (MPI_Comm_c2f) back to its handle.
 * Returns false if it is not a number, or that of MPI_COMM_NULL. */
static bool
parse_handle(const char *text, MPI_Comm *comm_p)
{
    char *end;

    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || value > INT32_MAX ||
        value < INT32_MIN)
        return false;
    *comm_p = MPI_Comm_f2c((MPI_Fint) value);
    return *comm_p != MPI_COMM_NULL;
}

/* Whether a handle is that of an intracommunicator. For an invalid handle MPI
 * calls the error handler of MPI_COMM_WORLD, which may end the program, so that
 * handler is replaced meanwhile. */
static bool
is_intracommunicator(MPI_Comm comm)
{
    MPI_Errhandler before;
    int inter = 1;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int ret = MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    return ret == MPI_SUCCESS && !inter;
}

/* Returns the communicator in mpi.communicator, whose errors MPI then returns.
 * INVALID_ARG, logged. */
static int32_t
get_program_comm(const na_plugin_host *host, const char *text, MPI_Comm *comm_p)
{
    if (!parse_handle(text, comm_p) || !is_intracommunicator(*comm_p)) {
        TP_LOG(host, ERROR,
            "mpi.communicator \"%.40s\" is not an intracommunicator of this "
            "process",
            text);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    MPI_Comm_set_errhandler(*comm_p, MPI_ERRORS_RETURN);
    return NA_PLUGIN_OK;
}

/* Sets the default engine to one on a duplicate of MPI_COMM_WORLD, so that it
 * gets no messages of the program. Collective. NODEV, logged; NOMEM. */
static int32_t
duplicate_world(const na_plugin_host *host)
{
    struct nampi_engine *engine = nampi_engine_new(MPI_COMM_NULL);

    if (engine == NULL)
        return NA_PLUGIN_E_NOMEM;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &engine->comm) != MPI_SUCCESS) {
        TP_LOG(host, ERROR, "MPI_Comm_dup of MPI_COMM_WORLD failed");
        free(engine);
        return NA_PLUGIN_E_NODEV;
    }
    MPI_Comm_set_errhandler(engine->comm, MPI_ERRORS_RETURN);
    set_default_engine(engine);
    return NA_PLUGIN_OK;
}

/* Returns the communicator for a class: the one in mpi.communicator, or the
 * default engine's. INVALID_ARG, NODEV, logged; NOMEM. */
static int32_t
get_comm(const na_plugin_host *host, MPI_Comm *comm_p)
{
    const char *text = host->text(host, "mpi.communicator");
    int32_t ret = NA_PLUGIN_OK;

    if (text[0] != '\0')
        return get_program_comm(host, text, comm_p);
    if (default_engine == NULL)
        ret = duplicate_world(host);
    if (ret == NA_PLUGIN_OK)
        *comm_p = default_engine->comm;
    return ret;
}

/* Called when the program frees its communicator, or by MPI_Finalize. */
static int
drain_program_comm(MPI_Comm comm, int key, void *engine, void *extra)
{
    nampi_drain_arrived(engine);
    return MPI_SUCCESS;
}

/* Makes MPI drain a communicator of the program when it is freed, and
 * MPI_COMM_WORLD, which is never freed, in MPI_Finalize. If MPI fails it is not
 * drained. */
static void
drain_when_freed(struct nampi_engine *engine)
{
    static int key = MPI_KEYVAL_INVALID;
    MPI_Comm at = engine->comm == MPI_COMM_WORLD ? MPI_COMM_SELF : engine->comm;
    void *value;
    int found = 0;

    if (engine == default_engine)
        return;
    if (key == MPI_KEYVAL_INVALID &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drain_program_comm, &key,
            NULL) != MPI_SUCCESS)
        return;
    if (MPI_Comm_get_attr(at, key, &value, &found) == MPI_SUCCESS && !found)
        MPI_Comm_set_attr(at, key, engine);
}

/* Returns the engine of a communicator, created if there is none, and counts
 * one more user. Engines are never freed: sends may be incomplete when the last
 * class is closed, and another class may be opened. NOMEM. Under nampi_lock. */
static int32_t
get_engine(MPI_Comm comm, struct nampi_engine **engine_p)
{
    struct nampi_engine *engine;

    for (struct tp_link *link = engines.head; link != NULL; link = link->next) {
        engine = TP_OBJECT(link, struct nampi_engine, link);
        if (engine->comm == comm)
            goto use;
    }
    engine = nampi_engine_new(comm);
    if (engine == NULL)
        return NA_PLUGIN_E_NOMEM;
    tp_list_append(&engines, &engine->link);
use:
    if (engine->users++ == 0) {
        /* it may be a new communicator that has the handle of a freed one */
        MPI_Comm_rank(comm, &engine->rank);
        MPI_Comm_size(comm, &engine->size);
    }
    *engine_p = engine;
    return NA_PLUGIN_OK;
}

int32_t
nampi_runtime_open(const na_plugin_host *host, const na_plugin_open_info *info,
    struct nampi_engine **engine_p)
{
    MPI_Comm comm;

    pthread_mutex_lock(&opening);
    int32_t ret = ensure_mpi(host, info);
    if (ret == NA_PLUGIN_OK)
        ret = get_comm(host, &comm);
    if (ret == NA_PLUGIN_OK) {
        tp_mutex_take(&nampi_lock);
        ret = get_engine(comm, engine_p);
        tp_mutex_drop(&nampi_lock);
    }
    if (ret == NA_PLUGIN_OK)
        drain_when_freed(*engine_p);
    pthread_mutex_unlock(&opening);
    return ret;
}
