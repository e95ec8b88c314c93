/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics over HTTP on the loopback, by libmicrohttpd. */
#include "export/serve.h"

#include "common/tool.h"
#include "export/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef EXPORT_HAVE_MICROHTTPD

#include "export/http.h"

#define TYPE "text/plain; version=0.0.4; charset=utf-8"
#define CONNECTIONS_MAX 16U
#define IDLE_S 10U
/* Processes are searched for and asked again that often, seconds; longer than a
 * process publishes after it was asked once. */
#define SEARCH_S 1
#define LOOK_S 8U

struct server {
    struct reader *reader;
    pthread_mutex_t lock;
};

static enum MHD_Result
respond(struct MHD_Connection *connection, unsigned status, char *text,
    size_t size, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response =
        http.create_response_from_buffer(size, text, mode);
    enum MHD_Result result;

    if (!response) {
        if (mode == MHD_RESPMEM_MUST_FREE)
            free(text);
        return MHD_NO;
    }
    http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, TYPE);
    result = http.queue_response(connection, status, response);
    http.destroy_response(response);
    return result;
}

/* Whether a request names this machine: otherwise a page in a browser could
 * read it, by a name that it lets point here. */
static bool
is_local(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

    for (size_t i = 0; host && i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);

        if (strncmp(host, names[i], length) == 0 &&
            (host[length] == '\0' || host[length] == ':'))
            return true;
    }
    return false;
}

static enum MHD_Result
respond_metrics(struct server *server, struct MHD_Connection *connection)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return MHD_NO;
    pthread_mutex_lock(&server->lock);
    reader_take(server->reader);
    metrics_write(stream, server->reader);
    pthread_mutex_unlock(&server->lock);
    fclose(stream);
    return text ? respond(connection, MHD_HTTP_OK, text, size,
                      MHD_RESPMEM_MUST_FREE)
                : MHD_NO;
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload_data,
    size_t *upload_data_size, void **connection_arg)
{
    static char not_found[] = "The metrics are at /metrics.\n";
    static char not_allowed[] = "Only GET is served.\n";
    static char forbidden[] = "Only requests to 127.0.0.1 are served.\n";

    if (!is_local(http.lookup_connection_value(
            connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
        return respond(connection, MHD_HTTP_FORBIDDEN, forbidden,
            sizeof forbidden - 1, MHD_RESPMEM_PERSISTENT);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, not_allowed,
            sizeof not_allowed - 1, MHD_RESPMEM_PERSISTENT);
    if (strcmp(url, "/metrics") != 0)
        return respond(connection, MHD_HTTP_NOT_FOUND, not_found,
            sizeof not_found - 1, MHD_RESPMEM_PERSISTENT);
    return respond_metrics(arg, connection);
}

/* Searches until a signal arrives. */
static void
search(struct server *server, const sigset_t *signals)
{
    const struct timespec pause = {.tv_sec = SEARCH_S};

    do {
        pthread_mutex_lock(&server->lock);
        reader_search(server->reader);
        reader_look(server->reader, LOOK_S);
        pthread_mutex_unlock(&server->lock);
    } while (sigtimedwait(signals, NULL, &pause) < 0);
}

/* A socket that listens on a port of the loopback, by its own calls rather than
 * libmicrohttpd's, which keeps no errno. *port_p becomes the port that 0 stands
 * for. -1: errno says why. */
static int
listen_on(uint16_t *port_p)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
        .sin_port = htons(*port_p),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, (struct sockaddr *) &at, sizeof(at)) != 0 ||
        listen(fd, (int) CONNECTIONS_MAX) != 0 ||
        getsockname(fd, (struct sockaddr *) &at, &size) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *port_p = ntohs(at.sin_port);
    return fd;
}

int
serve_metrics(struct reader *reader, uint16_t port)
{
    struct server server = {
        .reader = reader, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct MHD_Daemon *daemon;
    sigset_t signals;
    const char *missing = http_load();
    int fd;

    if (missing) {
        fprintf(stderr,
            "talaria export: only --once works without libmicrohttpd: %s\n",
            missing);
        return TOOL_FAILED;
    }
    fd = listen_on(&port);
    if (fd < 0) {
        fprintf(stderr, "talaria export: port %u of 127.0.0.1: %s\n", port,
            strerror(errno));
        return TOOL_FAILED;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    /* owns the socket from here on */
    daemon = http.start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL,
        NULL, handle, &server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
    if (!daemon) {
        fputs("talaria export: libmicrohttpd cannot start\n", stderr);
        return TOOL_FAILED;
    }
    printf("http://127.0.0.1:%u/metrics\n", port);
    fflush(stdout);
    search(&server, &signals);
    http.stop_daemon(daemon);
    return TOOL_OK;
}

#else

int
serve_metrics(struct reader *reader, uint16_t port)
{
    fputs("talaria export: built without libmicrohttpd: only --once works\n",
        stderr);
    return TOOL_FAILED;
}

#endif
