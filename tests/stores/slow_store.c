/*
 * slow_store.c - serves a folder as a bucket of S3, with the latency and the speed of a link that
 * is far away; for tests/bench/remote.sh.
 *
 *   slow_store FOLDER LATENCY_MS MB_PER_SECOND
 *
 * It prints "port N" when it listens on loopback, and on standard output at SIGTERM what it was
 * asked for. It reads only: listings, HEAD, and GET with a range. Signatures are not checked,
 * because object_server.py does that; this one must be so cheap that it does not slow the training
 * beside it down. An answer begins LATENCY_MS after its request, and a new connection costs as much
 * again. The bytes of one connection come at the given speed; connections do not share it.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STEP ((int64_t)256 << 10) /* bytes between two looks at the clock */

static const char *folder;
static double latency_s, bytes_per_s;
static atomic_long n_connections, n_lists, n_heads, n_gets, n_bytes;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double t) {
    struct timespec at = {(time_t)t, (long)(1e9 * (t - (double)(time_t)t))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

static int send_all(int fd, const char *text, size_t n) {
    while (n > 0) {
        ssize_t k = send(fd, text, n, MSG_NOSIGNAL);
        if (k <= 0) return -1;
        text += k;
        n -= (size_t)k;
    }
    return 0;
}

/* send_text sends an answer whose body is text. */
static int send_text(int fd, int status, const char *body) {
    char head[256];
    int n =
        snprintf(head, sizeof head,
                 "HTTP/1.1 %d x\r\nContent-Type: application/xml\r\nContent-Length: %zu\r\n\r\n",
                 status, strlen(body));
    return send_all(fd, head, (size_t)n) || send_all(fd, body, strlen(body)) ? -1 : 0;
}

static void etag_of(char out[64], const struct stat *st) {
    snprintf(out, 64, "%llx-%llx", (unsigned long long)st->st_size,
             (unsigned long long)st->st_mtim.tv_sec * 1000000000u +
                 (unsigned long long)st->st_mtim.tv_nsec);
}

/* ---- listings ---- */

typedef struct text {
    char *data;
    size_t n, cap;
} text;

static void add(text *t, const char *s) {
    size_t k = strlen(s);
    if (t->n + k + 1 > t->cap) {
        t->cap = 2 * (t->n + k + 1);
        t->data = realloc(t->data, t->cap);
        if (!t->data) abort();
    }
    memcpy(t->data + t->n, s, k + 1);
    t->n += k;
}

/* list_below adds what lies in folder/prefix, one level; the names of a benchmark need no escaping.
 */
static void list_below(text *out, const char *prefix) {
    char path[2048], item[4096], etag[64];
    snprintf(path, sizeof path, "%s/%s", folder, prefix);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s%s", folder, prefix, e->d_name);
        if (stat(path, &st) != 0) continue;
        etag_of(etag, &st);
        if (S_ISDIR(st.st_mode))
            snprintf(item, sizeof item, "<CommonPrefixes><Prefix>%s%s/</Prefix></CommonPrefixes>",
                     prefix, e->d_name);
        else
            snprintf(
                item, sizeof item,
                "<Contents><Key>%s%s</Key><LastModified>2025-01-01T00:00:00.000Z</LastModified>"
                "<ETag>\"%s\"</ETag><Size>%lld</Size></Contents>",
                prefix, e->d_name, etag, (long long)st.st_size);
        add(out, item);
    }
    if (d) closedir(d);
}

/* decode turns %XX back, in place. */
static void decode(char *s) {
    char *out = s;
    for (; *s; s++) {
        unsigned c;
        if (*s == '%' && sscanf(s + 1, "%2x", &c) == 1) {
            *out++ = (char)c;
            s += 2;
        } else {
            *out++ = *s;
        }
    }
    *out = 0;
}

static int answer_list(int fd, const char *query) {
    char prefix[1024] = "";
    const char *p = query ? strstr(query, "prefix=") : NULL;
    if (p) snprintf(prefix, sizeof prefix, "%.*s", (int)strcspn(p + 7, "&"), p + 7);
    decode(prefix);
    text t = {0};
    add(&t, "<ListBucketResult><IsTruncated>false</IsTruncated>");
    list_below(&t, prefix);
    add(&t, "</ListBucketResult>");
    n_lists++;
    int e = send_text(fd, 200, t.data);
    free(t.data);
    return e;
}

/* ---- objects ---- */

static int send_range(int fd, int file, int64_t at, int64_t n) {
    double began = now();
    for (int64_t sent = 0; sent < n;) {
        off_t from = (off_t)(at + sent);
        ssize_t k = sendfile(fd, file, &from, (size_t)(n - sent < STEP ? n - sent : STEP));
        if (k <= 0) return -1;
        sent += k;
        n_bytes += k;
        sleep_until(began + (double)sent / bytes_per_s);
    }
    return 0;
}

static int answer_object(int fd, const char *key, const char *request, int is_get) {
    char path[2048], head[512], etag[64];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, key);
    int file = strstr(key, "..") ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (file >= 0) close(file);
        return send_text(fd, 404, is_get ? "<Error><Code>NoSuchKey</Code></Error>" : "");
    }
    etag_of(etag, &st);
    long long from = 0, last = (long long)st.st_size - 1;
    const char *r = strcasestr(request, "\r\nrange: bytes=");
    int part = is_get && r && sscanf(r + 15, "%lld-%lld", &from, &last) == 2;
    if (last >= (long long)st.st_size) last = (long long)st.st_size - 1;
    int n = snprintf(head, sizeof head, "HTTP/1.1 %d x\r\nETag: \"%s\"\r\nContent-Length: %lld\r\n",
                     part ? 206 : 200, etag, last - from + 1);
    if (part)
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes %lld-%lld/%lld\r\n",
                      from, last, (long long)st.st_size);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    int e = send_all(fd, head, (size_t)n);
    *(is_get ? &n_gets : &n_heads) += 1;
    if (e == 0 && is_get) e = send_range(fd, file, from, last - from + 1);
    close(file);
    return e;
}

/* answer gives the answer to one request; -1 ends the connection. */
static int answer(int fd, char *request) {
    char method[8], target[3000];
    if (sscanf(request, "%7s %2999s", method, target) != 2) return -1;
    char *query = strchr(target, '?');
    if (query) *query++ = 0;
    decode(target);
    const char *key = strchr(target + 1, '/'); /* behind the name of the bucket */
    key = key ? key + 1 : "";
    int is_get = strcmp(method, "GET") == 0;
    if (!is_get && strcmp(method, "HEAD") != 0) return send_text(fd, 405, "");
    return *key ? answer_object(fd, key, request, is_get) : answer_list(fd, query);
}

static void *serve(void *ctx) {
    int fd = (int)(intptr_t)ctx;
    char request[8192];
    size_t n = 0;
    n_connections++;
    double due = now() + latency_s; /* the round trip that opening a connection takes */
    for (;;) {
        ssize_t k = recv(fd, request + n, sizeof request - 1 - n, 0);
        if (k <= 0) break;
        n += (size_t)k;
        request[n] = 0;
        if (!strstr(request, "\r\n\r\n")) continue;
        double t = now();
        sleep_until((due > t ? due : t) + latency_s);
        due = 0;
        n = 0;
        if (answer(fd, request) != 0) break;
    }
    close(fd);
    return NULL;
}

static int listener;
static void on_term(int sig) {
    (void)sig;
    shutdown(listener, SHUT_RDWR);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: slow_store FOLDER LATENCY_MS MB_PER_SECOND\n");
        return 2;
    }
    folder = argv[1];
    latency_s = atof(argv[2]) / 1000;
    bytes_per_s = atof(argv[3]) * 1e6;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    if (listener < 0 || bytes_per_s <= 0 || bind(listener, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(listener, 128) != 0 || getsockname(listener, (struct sockaddr *)&a, &n) != 0) {
        perror("slow_store: cannot listen on loopback");
        return 1;
    }
    signal(SIGTERM, on_term);
    printf("port %d\n", ntohs(a.sin_port));
    fflush(stdout);
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), on = 1;
        if (fd < 0) break;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t t;
        if (pthread_create(&t, NULL, serve, (void *)(intptr_t)fd) != 0)
            close(fd);
        else
            pthread_detach(t);
    }
    printf("connections %ld lists %ld heads %ld gets %ld bytes %ld\n", atomic_load(&n_connections),
           atomic_load(&n_lists), atomic_load(&n_heads), atomic_load(&n_gets),
           atomic_load(&n_bytes));
    return 0;
}
