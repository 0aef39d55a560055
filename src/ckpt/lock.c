/*
 * lock.c - one training at a time in a model_dir.
 *
 * The owner holds a lock of the kernel on model_dir/train.lock for as long as it runs. The kernel
 * drops it when the process ends, however it ends, so a dead owner cannot keep it; an NFS server
 * passes it on to other machines. The file's text (host, process, time) is for users: it names the
 * owner, but only the lock decides. It is an open-file-description lock, because closing any other
 * descriptor of the file would drop a plain one.
 *
 * The owner removes the file while it still holds the lock. Another process may have opened the
 * file just before that and then locks a file that no path leads to: so a lock counts only when the
 * path still leads to the locked file.
 *
 * Two kinds of file system do less. On one without locks, a living owner on this machine is found
 * by its process id and start time. One that keeps locks to one machine (NFS mounted with nolock or
 * local_lock) grants the lock even when another machine holds it. In both cases a living owner on
 * another machine looks the same as a dead one that left its file, so a warning names it.
 *
 * A user can remove the file, or the whole model_dir, during a run. Then the lock protects nothing,
 * since the next training makes a new file. So the owner checks that before it writes
 * (cr_ckpt_lock_keep): it takes the lock again, or stops when the folder is another one.
 */
#include "ckpt/ckpt_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "ckpt/lock.h"

#define LOCK_NAME "train.lock"
#define MAX_TEXT  1024

struct cr_ckpt_lock {
    cr_arena arena;
    char *path;
    int fd;    /* -1: model_dir is on a store, which the kernel cannot open */
    bool real; /* the kernel holds the lock */
    /* model_dir, kept open: its inode is not used again, even when the folder is removed */
    int dir;
};

typedef struct owner {
    char host[256], since[64];
    int64_t pid, ticks; /* ticks: when the process started, since boot; -1: not known */
} owner;

/* Returns the start of a process in clock ticks since boot, field 22 of its stat; -1: there is no
 * such process. */
static int64_t start_ticks(int64_t pid) {
    char path[64], text[MAX_TEXT];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (n <= 0) return -1;
    text[n] = 0;
    const char *s = strrchr(text, ')'); /* the name in front of it may hold any character */
    for (int i = 0; s && i < 20; i++)
        s = strchr(s + 1, ' ');
    return s ? strtoll(s + 1, NULL, 10) : -1;
}

static owner myself(void) {
    owner o = {.pid = getpid(), .ticks = start_ticks(getpid())};
    time_t now = time(NULL);
    struct tm t;
    if (gethostname(o.host, sizeof o.host - 1) != 0) snprintf(o.host, sizeof o.host, "?");
    localtime_r(&now, &t);
    /* with the zone, since other machines may have another */
    strftime(o.since, sizeof o.since, "%Y-%m-%d %H:%M:%S %z", &t);
    return o;
}

static int owner_text(const owner *o, char text[MAX_TEXT]) {
    return snprintf(text, MAX_TEXT,
                    "host %s\nprocess %" PRId64 "\nsince %s\nstart_ticks %" PRId64 "\n", o->host,
                    o->pid, o->since, o->ticks);
}

static int write_owner(int fd, const owner *o) {
    char text[MAX_TEXT];
    int n = owner_text(o, text);
    if (ftruncate(fd, 0) != 0) return errno;
    for (ssize_t at = 0; at < n;) {
        ssize_t k = pwrite(fd, text + at, (size_t)(n - at), at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return k < 0 ? errno : EIO;
        at += k;
    }
    return 0;
}

/* Finds the text after a word at the start of a line; false: it is not there. */
static bool take(const char *text, const char *word, char *out, size_t size) {
    size_t len = strlen(word);
    for (const char *s = text; s && *s; s = (s = strchr(s, '\n')) ? s + 1 : NULL) {
        if (strncmp(s, word, len) != 0 || s[len] != ' ') continue;
        snprintf(out, size, "%.*s", (int)strcspn(s + len + 1, "\n"), s + len + 1);
        return *out != 0;
    }
    return false;
}

static bool read_text(const cr_ckpt_lock *l, char *text, size_t size) {
    if (l->fd >= 0) {
        ssize_t n = pread(l->fd, text, size - 1, 0);
        text[n > 0 ? n : 0] = 0;
        return n > 0;
    }
    cr_buf all;
    cr_buf_init(&all);
    bool ok = cr_file_read(l->path, size - 1, &all, NULL) == CR_OK && all.n > 0;
    snprintf(text, size, "%s", ok ? all.data : "");
    cr_buf_clear(&all);
    return ok;
}

/* Returns false when the file is empty or holds something else: its owner has just begun. */
static bool read_owner(const cr_ckpt_lock *l, owner *o) {
    char text[MAX_TEXT], pid[32], ticks[32];
    if (!read_text(l, text, sizeof text)) return false;
    memset(o, 0, sizeof *o);
    if (!take(text, "host", o->host, sizeof o->host) ||
        !take(text, "since", o->since, sizeof o->since) ||
        !take(text, "process", pid, sizeof pid) || !cr_parse_i64(pid, strlen(pid), &o->pid))
        return false;
    if (!take(text, "start_ticks", ticks, sizeof ticks) ||
        !cr_parse_i64(ticks, strlen(ticks), &o->ticks))
        o->ticks = -1;
    return true;
}

static cr_code refuse(const char *model_dir, const cr_ckpt_lock *l, cr_err *err) {
    owner o;
    if (!read_owner(l, &o))
        return cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(model_dir),
                          "another training has just begun in this model_dir; wait for it, or "
                          "choose another --model_dir");
    return cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(model_dir),
                      "process %" PRId64 " on %s has been training in this model_dir since %s; "
                      "wait for it, stop it, or choose another --model_dir",
                      o.pid, o.host, o.since);
}

/* Looks at the owner that the file still names. If the lock is held (locked), that owner has ended,
 * or this file system keeps locks to one machine. Without locks, an owner on this machine must not
 * be alive. */
static cr_code look(const char *model_dir, cr_ckpt_lock *l, bool locked, cr_err *err) {
    owner o, me = myself();
    if (!read_owner(l, &o)) return CR_OK;
    if (strcmp(o.host, me.host) == 0) {
        bool other = o.pid != me.pid || o.ticks != me.ticks;
        if (!locked && other && o.ticks >= 0 && start_ticks(o.pid) == o.ticks)
            return refuse(model_dir, l, err);
        CR_INFO("%s: process %" PRId64 ", which had trained here since %s, ended without removing "
                "its lock; this run takes over",
                model_dir, o.pid, o.since);
        return CR_OK;
    }
    l->real = l->real && l->fd >= 0;
    CR_WARN("%s: process %" PRId64 " on %s has trained here since %s and did not remove its lock; "
            "this machine cannot see whether it still runs where %s: make sure that it has ended",
            model_dir, o.pid, o.host, o.since,
            locked       ? "locks are kept to one machine (NFS with nolock or local_lock)"
            : l->fd >= 0 ? "the file system has no locks"
                         : "the store has no locks");
    return CR_OK;
}

static int lock_fd(int fd) {
    struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int e;
    do
        e = fcntl(fd, F_OFD_SETLK, &f) == 0 ? 0 : errno;
    while (e == EINTR);
    return e == EACCES ? EAGAIN : e;
}

/* Does the path still lead to this file? */
static bool is_current(const char *path, int fd) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* *again: the previous owner removed the file meanwhile. */
static cr_code try_lock(cr_ckpt_lock *l, const char *model_dir, bool *again, cr_err *err) {
    *again = false;
    l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (l->fd < 0) return cr_io_fail(err, l->path, "open for writing", errno);
    int e = lock_fd(l->fd);
    l->real = e == 0;
    if (e == EAGAIN) return refuse(model_dir, l, err);
    if (e == 0 && !is_current(l->path, l->fd)) {
        *again = true;
        close(l->fd);
        l->fd = -1;
        return CR_OK;
    }
    if (e != 0) CR_DEBUG("%s: no locks on this file system: %s", l->path, strerror(e));
    CR_TRY(look(model_dir, l, e == 0, err));
    cr_kill_point("lock");
    owner me = myself();
    e = write_owner(l->fd, &me);
    return e == 0 ? CR_OK : cr_io_fail(err, l->path, "write", e);
}

/* Without kernel locks only the file names the owner. Two trainings that begin at the same moment
 * do not notice each other, and on a store an older owner counts only if it can be seen to be
 * alive. */
static cr_code lock_by_name(cr_ckpt_lock *l, const char *model_dir, cr_err *err) {
    char text[MAX_TEXT];
    owner me = myself();
    l->real = true;
    CR_TRY(look(model_dir, l, false, err));
    int n = owner_text(&me, text);
    return cr_file_write(l->path, text, (size_t)n, err);
}

cr_code cr_ckpt_lock_dir(cr_ckpt_lock **out, const char *model_dir, cr_err *err) {
    cr_ckpt_lock *l = cr_alloc(sizeof *l, "lock of a model_dir");
    cr_arena_init(&l->arena, 0);
    l->path = cr_path_join(&l->arena, model_dir, LOCK_NAME);
    l->fd = l->dir = -1;
    bool again = false, kernel = cr_store_can(model_dir, CR_FS_LOCAL);
    cr_code code;
    do
        code = kernel ? try_lock(l, model_dir, &again, err) : lock_by_name(l, model_dir, err);
    while (again);
    if (code == CR_OK && kernel &&
        (l->dir = open(model_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        code = cr_io_fail(err, model_dir, "open", errno);
    if (code == CR_OK) {
        *out = l;
        return CR_OK;
    }
    if (l->fd >= 0) close(l->fd);
    cr_arena_clear(&l->arena);
    cr_free(l);
    *out = NULL;
    return code;
}

bool cr_ckpt_lock_is_real(const cr_ckpt_lock *l) {
    return l && l->real;
}

cr_code cr_ckpt_lock_keep(cr_ckpt_lock **l, const char *model_dir, cr_err *err) {
    cr_ckpt_lock *was = *l, *now;
    if (was->fd < 0) return CR_OK;
    if (is_current(was->path, was->fd)) return CR_OK;
    bool gone = !cr_path_exists(model_dir);
    if (!gone && !is_current(model_dir, was->dir))
        return cr_fail_at(
            err, CR_ERUN, cr_ckpt_at_path(model_dir),
            "this model_dir was replaced by another folder while the run was training "
            "in it; the run stops and leaves that folder alone. Give each run a "
            "--model_dir of its own");
    if (gone) CR_TRY(cr_mkdirs(model_dir, err));
    CR_TRY(cr_ckpt_lock_dir(&now, model_dir, err));
    CR_WARN("%s: %s was removed while this run was training; it is made anew%s",
            gone ? model_dir : was->path, gone ? "the folder" : "the lock",
            gone ? ", without the earlier checkpoints and logs" : "");
    cr_ckpt_unlock(was);
    *l = now;
    return CR_OK;
}

void cr_ckpt_unlock(cr_ckpt_lock *l) {
    if (!l) return;
    /* The file is removed first: a process that opens the path from now on makes a new file. */
    if (l->fd < 0 || is_current(l->path, l->fd)) (void)!cr_file_remove(l->path, NULL);
    if (l->fd >= 0) close(l->fd);
    if (l->dir >= 0) close(l->dir);
    cr_arena_clear(&l->arena);
    cr_free(l);
}

cr_lock_state cr_ckpt_lock_look(const char *model_dir) {
    cr_lock_state state = CR_LOCK_UNKNOWN;
    cr_ckpt_lock l = {.fd = -1, .dir = -1};
    struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    owner o, me = myself();
    cr_arena_init(&l.arena, 0);
    l.path = cr_path_join(&l.arena, model_dir, LOCK_NAME);
    bool kernel = cr_store_can(model_dir, CR_FS_LOCAL);
    if (kernel) l.fd = open(l.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (kernel ? l.fd < 0 && errno == ENOENT : !cr_path_exists(l.path)) {
        state = CR_LOCK_FREE; /* an owner removes its file */
    } else if (l.fd >= 0 && fcntl(l.fd, F_OFD_GETLK, &f) == 0) {
        if (f.l_type != F_UNLCK)
            state = CR_LOCK_HELD;
        else if (read_owner(&l, &o) && strcmp(o.host, me.host) == 0)
            state = CR_LOCK_FREE; /* a process of another machine may hold a lock unseen */
    }
    if (l.fd >= 0) close(l.fd);
    cr_arena_clear(&l.arena);
    return state;
}
