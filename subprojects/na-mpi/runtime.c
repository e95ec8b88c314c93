/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI begins once in a process and never again. What was begun here ends when the
 * process exits, not with the last class, since another may be opened. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drain.h"
#include "engine.h"
#include "runtime.h"

#define DESCRIPTORS 1024 /* MPI's are among them */

struct tp_lock nampi_lock;

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct tp_list engines; /* under nampi_lock */
static pid_t begun_by;         /* 0: not begun here */
/* Of MPI_COMM_WORLD if MPI was begun here, else of a duplicate of it. */
static struct nampi_engine *own;

/* When the process exits. Not in a child, which has no MPI; nor in a process that
 * fails: the others may never come to an end, and mpirun then ends the job. If
 * MPI_Finalize fails, for which the others would wait, MPI ends the job. */
static void
finalize(int status, void *arg)
{
    int finalized = 0;

    if (begun_by != getpid() || status != 0)
        return;
    if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized)
        return;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Finalize();
}

static int
end_own(MPI_Comm self, int key, void *value, void *extra)
{
    nampi_drain_all(own);
    return begun_by != 0 ? MPI_SUCCESS : MPI_Comm_free(&own->comm);
}

/* Keeps the engine of the communicator that classes use if they name none.
 * MPI_Finalize deletes what is attached to MPI_COMM_SELF before it does anything
 * else, which is when that communicator is drained. */
static void
keep_own(struct nampi_engine *engine)
{
    int key;

    tp_lock_take(&nampi_lock);
    tp_list_append(&engines, &engine->link);
    tp_lock_drop(&nampi_lock);
    own = engine;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_own, &key, NULL) ==
        MPI_SUCCESS) {
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Comm_free_keyval(&key);
    }
}

/* Calls an act for the number of each open descriptor. */
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
note(int fd, bool *open)
{
    *open = true;
}

/* One that was not there before. */
static void
close_on_exec(int fd, bool *open)
{
    if (!*open)
        tp_close_on_exec(fd);
}

static int32_t
begin(const na_plugin_host *host)
{
    int provided = MPI_THREAD_SINGLE;
    bool open[DESCRIPTORS] = {false};
    struct nampi_engine *engine = nampi_engine_new(MPI_COMM_WORLD);

    if (engine == NULL)
        return NA_PLUGIN_E_NOMEM;
    each_descriptor(note, open);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) !=
        MPI_SUCCESS) {
        TP_LOG(host, ERROR, "MPI_Init_thread fails");
        free(engine);
        return NA_PLUGIN_E_NODEV;
    }
    begun_by = getpid();
    each_descriptor(close_on_exec, open);
    on_exit(finalize, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    keep_own(engine);
    return NA_PLUGIN_OK;
}

/* Whether the threads of a class may call MPI as it was begun. */
static int32_t
check_threads(const na_plugin_host *host, const na_plugin_open_info *info)
{
    int level = MPI_THREAD_SINGLE;
    bool single = (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0;

    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED || single)
        return NA_PLUGIN_OK;
    TP_LOG(host, ERROR,
        "MPI was initialized without MPI_THREAD_SERIALIZED, and the class is "
        "not for a single thread");
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static int32_t
ensure_begun(const na_plugin_host *host, const na_plugin_open_info *info)
{
    int begun = 0, ended = 0;

    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (ended) {
        TP_LOG(host, ERROR, "MPI has been finalized, and cannot begin again");
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    if (!begun)
        return begin(host);
    return begun_by != 0 ? NA_PLUGIN_OK : check_threads(host, info);
}

/* The handle that a program has given as a number (MPI_Comm_c2f). */
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

/* Whether it is a communicator of one group. MPI reports what it does not know to
 * the handler of MPI_COMM_WORLD, which may end the program: not meanwhile. */
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

static int32_t
given(const na_plugin_host *host, const char *text, MPI_Comm *comm_p)
{
    if (!parse_handle(text, comm_p) || !is_intracommunicator(*comm_p)) {
        TP_LOG(host, ERROR,
            "mpi.communicator \"%.40s\" is no intracommunicator of this "
            "process",
            text);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    MPI_Comm_set_errhandler(*comm_p, MPI_ERRORS_RETURN);
    return NA_PLUGIN_OK;
}

/* The program's messages in MPI_COMM_WORLD are not ours. */
static int32_t
duplicate(const na_plugin_host *host)
{
    struct nampi_engine *engine = nampi_engine_new(MPI_COMM_NULL);

    if (engine == NULL)
        return NA_PLUGIN_E_NOMEM;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &engine->comm) != MPI_SUCCESS) {
        TP_LOG(host, ERROR, "MPI_Comm_dup of MPI_COMM_WORLD fails");
        free(engine);
        return NA_PLUGIN_E_NODEV;
    }
    MPI_Comm_set_errhandler(engine->comm, MPI_ERRORS_RETURN);
    keep_own(engine);
    return NA_PLUGIN_OK;
}

static int32_t
communicator(const na_plugin_host *host, MPI_Comm *comm_p)
{
    const char *text = host->text(host, "mpi.communicator");
    int32_t ret = NA_PLUGIN_OK;

    if (text[0] != '\0')
        return given(host, text, comm_p);
    if (own == NULL)
        ret = duplicate(host);
    if (ret == NA_PLUGIN_OK)
        *comm_p = own->comm;
    return ret;
}

static int
end_given(MPI_Comm comm, int key, void *engine, void *extra)
{
    nampi_drain_arrived(engine);
    return MPI_SUCCESS;
}

/* Drains a communicator of the program when that frees it, or ends MPI where it
 * is MPI_COMM_WORLD. */
static void
watch_given(struct nampi_engine *engine)
{
    static int key = MPI_KEYVAL_INVALID;
    MPI_Comm at = engine->comm == MPI_COMM_WORLD ? MPI_COMM_SELF : engine->comm;
    void *value;
    int there = 0;

    if (engine == own)
        return;
    if (key == MPI_KEYVAL_INVALID &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_given, &key, NULL) !=
            MPI_SUCCESS)
        return;
    if (MPI_Comm_get_attr(at, key, &value, &there) == MPI_SUCCESS && !there)
        MPI_Comm_set_attr(at, key, engine);
}

/* The engine of a communicator. It stays: MPI may still have messages of it when
 * the last class is closed, and another class may follow. NOMEM. */
static int32_t
engine_of(MPI_Comm comm, struct nampi_engine **engine_p)
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
        /* A later communicator may have the handle of one that was freed. */
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
    int32_t ret = ensure_begun(host, info);
    if (ret == NA_PLUGIN_OK)
        ret = communicator(host, &comm);
    if (ret == NA_PLUGIN_OK) {
        tp_lock_take(&nampi_lock);
        ret = engine_of(comm, engine_p);
        tp_lock_drop(&nampi_lock);
    }
    if (ret == NA_PLUGIN_OK)
        watch_given(*engine_p);
    pthread_mutex_unlock(&opening);
    return ret;
}
