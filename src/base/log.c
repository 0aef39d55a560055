/*
 * log.c - log lines and the one progress line, on stderr.
 *
 * A line is put together first and written with one call, so that lines of several threads and
 * processes do not mix. The progress line has no newline; the next line wipes it. A second copy of
 * the lines may go to a file, with a level of its own.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/shown.h"
#include "base/utf8.h"

#define WIPE         "\r\033[K"
#define MAX_PROGRESS 500 /* columns of the progress line */

static atomic_int min_level = CR_LOG_INFO;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool progress_shown; /* under lock */
static int file = -1;       /* set before any thread */
static atomic_int file_level = CR_LOG_OFF;

void cr_log_set_level(cr_log_level level) {
    atomic_store(&min_level, (int)level);
}

bool cr_log_level_from(const char *name, cr_log_level *out) {
    static const struct {
        const char *name;
        cr_log_level level;
    } names[] = {{"DEBUG", CR_LOG_DEBUG}, {"INFO", CR_LOG_INFO},   {"WARNING", CR_LOG_WARN},
                 {"WARN", CR_LOG_WARN},   {"ERROR", CR_LOG_ERROR}, {"CRITICAL", CR_LOG_ERROR}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(name, names[i].name) == 0) {
            *out = names[i].level;
            return true;
        }
    }
    return false;
}

static void write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return; /* there is no other place to complain */
        p += k;
        n -= (size_t)k;
    }
}

void cr_log(cr_log_level level, const char *fmt, ...) {
    static const char *const names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
    bool shown = (int)level >= atomic_load_explicit(&min_level, memory_order_relaxed);
    bool filed = (int)level >= atomic_load_explicit(&file_level, memory_order_relaxed);
    if (!shown && !filed) return;
    if (level < CR_LOG_DEBUG || level >= CR_LOG_OFF) return;
    int saved = errno;
    char few[1024], raw[512], *text = raw, *line = few;
    struct timeval now;
    struct tm tm;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &tm);
    /* leave room in front for the wipe, which is sent only when a progress line is shown */
    size_t wipe = strlen(WIPE), head = wipe;
    memcpy(few, WIPE, wipe);
    head += strftime(few + head, sizeof(few) - head, "[%Y-%m-%d %H:%M:%S", &tm);
    head += (size_t)snprintf(few + head, sizeof(few) - head, ",%03d][%s] ",
                             (int)(now.tv_usec / 1000), names[level]);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    if (n < 0) n = 0;
    if ((size_t)n >= sizeof(raw)) {
        char *more = malloc((size_t)n + 1);
        if (more) {
            va_start(ap, fmt);
            vsnprintf(more, (size_t)n + 1, fmt, ap);
            va_end(ap);
            text = more;
        } else {
            n = (int)sizeof(raw) - 1; /* without memory the line is cut */
        }
    }
    /* the line may hold names that other people chose: an escaped character takes at most 10
     * bytes */
    size_t room = 10 * (size_t)n + 1;
    if (head + room + 1 > sizeof(few)) {
        char *more = malloc(head + room + 1);
        if (more) {
            memcpy(more, few, head);
            line = more;
        } else {
            room = sizeof(few) - head - 1;
        }
    }
    cr_shown_into(line + head, room, text, (size_t)n);
    size_t end = head + strlen(line + head);
    line[end++] = '\n';
    pthread_mutex_lock(&lock);
    if (filed) write_all(file, line + wipe, end - wipe);
    if (shown) {
        size_t from = progress_shown ? 0 : wipe;
        progress_shown = false;
        write_all(STDERR_FILENO, line + from, end - from);
    }
    pthread_mutex_unlock(&lock);
    if (line != few) free(line);
    if (text != raw) free(text);
    errno = saved;
}

cr_code cr_log_file(const char *path, cr_log_level level, cr_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}), "cannot write the log: %s%s",
                          strerror(errno), cr_errno_cure(errno));
    file = fd;
    atomic_store(&file_level, (int)level);
    return CR_OK;
}

void cr_log_file_add(const char *text, size_t n) {
    if (file < 0) return;
    pthread_mutex_lock(&lock);
    write_all(file, text, n);
    pthread_mutex_unlock(&lock);
}

bool cr_log_is_terminal(void) {
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && !(term && strcmp(term, "dumb") == 0);
}

int cr_log_columns(void) {
    struct winsize w;
    /* a line that wraps could not be wiped any more, and some terminals wrap a full line */
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 && w.ws_col - 1 < MAX_PROGRESS)
        return w.ws_col - 1;
    return MAX_PROGRESS;
}

void cr_log_progress(const char *text) {
    pthread_mutex_lock(&lock);
    if (!text) {
        if (progress_shown) write_all(STDERR_FILENO, WIPE, strlen(WIPE));
        progress_shown = false;
    } else if (cr_log_is_terminal()) {
        char line[MAX_PROGRESS + sizeof(WIPE)], shown[MAX_PROGRESS + 1];
        cr_shown_into(shown, sizeof(shown), text, strlen(text));
        text = shown;
        size_t n = strlen(text), room = (size_t)cr_log_columns();
        if (n > room) n = cr_utf8_cut(text, room);
        memcpy(line, WIPE, strlen(WIPE));
        memcpy(line + strlen(WIPE), text, n);
        write_all(STDERR_FILENO, line, strlen(WIPE) + n);
        progress_shown = true;
    }
    pthread_mutex_unlock(&lock);
}

void cr_log_wait_read(double seconds) {
    const struct timespec moment = {.tv_nsec = 2000000};
    struct stat st;
    int unread;
    if (fstat(STDERR_FILENO, &st) != 0 || !S_ISFIFO(st.st_mode)) return;
    for (double until = cr_now() + seconds; cr_now() < until; nanosleep(&moment, NULL))
        if (ioctl(STDERR_FILENO, FIONREAD, &unread) != 0 || unread == 0) return;
}
