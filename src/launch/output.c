/*
 * output.c - streams of ranks. Nothing here may block: when the terminal (or | less) takes no more,
 * the pipe is not read, and the rank waits as it would without a launcher.
 */
#include "launch/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

void cr_say(cr_log_level level, const char *fmt, ...) {
    char text[2048]; /* less than PIPE_BUF, so a pipe with POLLOUT takes all of it */
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&p, 1, 0) == 0) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cr_log(level, "%s", text);
}

/* ---- the plan ---- */

cr_code cr_output_bits(const char *flag, const char *text, unsigned char *v, int n, cr_err *err) {
    memset(v, 0, (size_t)n);
    if (text[0] >= '0' && text[0] <= '3' && !text[1]) {
        memset(v, text[0] - '0', (size_t)n);
        return CR_OK;
    }
    for (const char *p = text;;) {
        size_t k = strcspn(p, ",");
        const char *colon = memchr(p, ':', k);
        int64_t local, bits;
        if (!colon || !cr_parse_i64(p, (size_t)(colon - p), &local) ||
            !cr_parse_i64(colon + 1, k - (size_t)(colon - p) - 1, &bits) || bits < 0 || bits > 3)
            return cr_fail(err, CR_EUSAGE,
                           "--%s is '%s' and must be 0, 1, 2 or 3 (nothing, stdout, stderr, both), "
                           "or such a number per local rank: 0:3,1:2",
                           flag, text);
        if (local < 0 || local >= n)
            return cr_fail(err, CR_EUSAGE, "--%s is '%s', but the local ranks are 0 to %d", flag,
                           text, n - 1);
        v[local] = (unsigned char)bits;
        if (!p[k]) return CR_OK;
        p += k + 1;
    }
}

cr_code cr_output_ranks(const char *text, unsigned char *v, int n, cr_err *err) {
    memset(v, 0, (size_t)n);
    for (const char *p = text;;) {
        size_t k = strcspn(p, ",");
        int64_t local;
        if (!cr_parse_i64(p, k, &local) || local < 0 || local >= n)
            return cr_fail(err, CR_EUSAGE,
                           "--local_ranks_filter is '%s' and must be local ranks from 0 to %d with "
                           "commas",
                           text, n - 1);
        v[local] = 3;
        if (!p[k]) return CR_OK;
        p += k + 1;
    }
}

/* ---- streams ---- */

static cr_code open_file(cr_outlet *s, const cr_output_plan *plan, int which, int rank, int attempt,
                         cr_err *err) {
    char path[1200];
    int n = snprintf(path, sizeof path, "%s/attempt_%d/%d", plan->log_dir, attempt, rank);
    if (n < 0 || (size_t)n + 16 > sizeof path)
        return cr_fail(err, CR_EUSAGE, "--log_dir is too long; choose a shorter path");
    CR_TRY(cr_mkdirs(path, err));
    snprintf(path + n, sizeof path - (size_t)n, which == 1 ? "/stdout.log" : "/stderr.log");
    s->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    cr_buf_str(&s->path, path);
    if (s->file >= 0) return CR_OK;
    return cr_fail(err, CR_EIO, "%s cannot be written: %s%s", path, strerror(errno),
                   cr_errno_cure(errno));
}

cr_code cr_outlet_open(cr_outlet *s, const cr_output_plan *plan, int which, int local, int rank,
                       int attempt, bool capture, int *child, cr_err *err) {
    int ends[2];
    unsigned bit = (unsigned)which;
    bool to_file = plan->redirect[local] & bit, tee = plan->tee[local] & bit;
    bool shown = plan->show[local] & bit && (!to_file || tee);
    *s = (cr_outlet){.fd = -1, .file = -1, .console = -1, .slot = -1, .shown = shown};
    cr_buf_init(&s->pending);
    cr_buf_init(&s->line);
    cr_buf_init(&s->path);
    *child = -1;
    s->direct = !to_file && !tee && !plan->log_dir && shown && !capture;
    if (s->direct) return CR_OK;
    if (plan->log_dir) CR_TRY(open_file(s, plan, which, rank, attempt, err));
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cr_fail(err, CR_ERUN, "no pipe for the output of rank %d: %s", rank,
                       strerror(errno));
    s->fd = ends[0];
    *child = ends[1];
    fcntl(s->fd, F_SETFL, O_NONBLOCK);
    if (shown) s->console = which;
    if (tee) snprintf(s->prefix, sizeof s->prefix, "[%.40s%d]:", plan->role, local);
    return CR_OK;
}

/* whoever read it has left; the file still gets everything */
static void lose_console(cr_outlet *s) {
    s->console = -1;
    cr_buf_reset(&s->pending);
}

static void flush_console(cr_outlet *s) {
    while (s->pending.n > 0 && s->console >= 0) {
        struct pollfd p = {.fd = s->console, .events = POLLOUT};
        if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT)) {
            if (p.revents & (POLLERR | POLLHUP | POLLNVAL)) lose_console(s);
            return;
        }
        size_t k = s->pending.n < 4096 ? s->pending.n : 4096; /* fits when POLLOUT is there */
        ssize_t n = write(s->console, s->pending.data, k);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            lose_console(s);
            return;
        }
        memmove(s->pending.data, s->pending.data + n, s->pending.n - (size_t)n);
        s->pending.n -= (size_t)n;
    }
}

/* log lines that are no errors are not what a failed rank wanted to say, and MPICH's line about the
 * abort that follows an error is not either */
static bool is_chatter(const char *line, size_t n) {
    static const char *const levels[] = {"][INFO] ", "][DEBUG] ", "][WARNING] "};
    static const char aborts[] = "application called MPI_Abort(";
    if (memmem(line, n, aborts, sizeof aborts - 1)) return true;
    for (size_t i = 0; i < 3; i++)
        if (n > 40 && memmem(line, 40, levels[i], strlen(levels[i]))) return true;
    return n == 0;
}

static void end_line(cr_outlet *s) {
    size_t n = s->line.n;
    if (!is_chatter(s->line.data, n)) {
        if (n >= sizeof s->last) n = sizeof s->last - 1;
        memcpy(s->last, s->line.data, n);
        s->last[n] = 0;
    }
    cr_buf_reset(&s->line);
}

/* A full disk does not end the job, but it is told once per file. */
static void write_file(cr_outlet *s, const char *p, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t k = write(s->file, p + at, n - at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            if (!s->torn)
                cr_say(CR_LOG_WARN,
                       "%s cannot be written: %s; until that is put right, lines of this rank's "
                       "output are %s",
                       s->path.data, k < 0 ? strerror(errno) : "no byte was taken",
                       s->console >= 0 ? "on the terminal only" : "lost");
            s->torn = true;
            return;
        }
        at += (size_t)k;
    }
}

static void take(cr_outlet *s, const char *p, size_t n) {
    if (s->file >= 0) write_file(s, p, n);
    for (size_t i = 0; i < n; i++) {
        if (s->console >= 0) {
            if (!s->in_line) cr_buf_str(&s->pending, s->prefix);
            cr_buf_char(&s->pending, p[i]);
        }
        s->in_line = p[i] != '\n';
        if (p[i] == '\n')
            end_line(s);
        else if (s->line.n < sizeof s->last)
            cr_buf_char(&s->line, p[i]);
    }
}

bool cr_outlet_waits(const cr_outlet *s) {
    return s->pending.n > 0 && s->console >= 0;
}

bool cr_outlet_wants(const cr_outlet *s) {
    return s->fd >= 0 && s->pending.n == 0;
}

void cr_outlet_read(cr_outlet *s, bool ready) {
    char some[4096];
    flush_console(s);
    if (!ready || !cr_outlet_wants(s)) return;
    ssize_t n = read(s->fd, some, sizeof some);
    if (n > 0) {
        take(s, some, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(s->fd);
        s->fd = -1;
    }
    flush_console(s);
}

/* Writes what is left. The reader of the terminal or pipe may be slow; it gets its bytes as long as
 * it takes some of them now and then. */
static void drain_console(cr_outlet *s, int *patience_ms) {
    flush_console(s);
    while (s->pending.n > 0 && s->console >= 0) {
        struct pollfd p = {.fd = s->console, .events = POLLOUT};
        if (poll(&p, 1, *patience_ms) == 0) {
            *patience_ms = 0;
            cr_say(CR_LOG_ERROR,
                   "%zu bytes of a rank's output are lost, because nothing reads them; see the "
                   "files of --log_dir, or write to a file",
                   s->pending.n);
            return;
        }
        flush_console(s);
    }
}

void cr_outlet_catch_up(cr_outlet *s) {
    /* a pipe holds 64 KiB, and whoever still writes is not waited for */
    for (int i = 0; i < 64 && s->fd >= 0; i++) {
        char some[4096];
        ssize_t n = read(s->fd, some, sizeof some);
        if (n <= 0) break;
        take(s, some, (size_t)n);
    }
}

void cr_outlet_close(cr_outlet *s, int *patience_ms) {
    /* what the rank wrote before it ended is in the pipe; a child of it may hold the pipe open */
    cr_outlet_catch_up(s);
    if (s->in_line && s->line.n) end_line(s);
    drain_console(s, patience_ms);
    if (s->fd >= 0) close(s->fd);
    if (s->file >= 0) close(s->file);
    s->fd = s->file = -1;
    cr_buf_clear(&s->pending);
    cr_buf_clear(&s->line);
    cr_buf_clear(&s->path);
}
