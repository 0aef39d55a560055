/*
 * runs.c - finds runs, follows their logs and tells what state they are in. See board.h.
 *
 * All work is done in slices under one lock: a slice reads about a megabyte, so a request waits a
 * few milliseconds at most. Runs that a viewer looks at, and running ones, are read first.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/file.h"
#include "board/board_int.h"
#include "ckpt/lock.h"

#define MAX_RUNS  5000
#define MAX_RANKS 4096
#define DEPTH     5                    /* folders below those that were given */
#define AT_ONCE   ((int64_t)256 << 10) /* a log up to this size is read when it is found */
#define SLICE     ((int64_t)1 << 20)
#define SEARCH_S  3.0 /* seconds between two looks for new runs */
#define LOOK_S    0.5 /* and for new lines */
#define FRESH_S   120 /* a log that grew this recently is that of a running process */

static char *copy(const char *s) {
    size_t n = strlen(s) + 1;
    char *t = cr_alloc(n, "a name");
    memcpy(t, s, n);
    return t;
}

static void set(char **to, const char *s) {
    if (*to && strcmp(*to, s) == 0) return;
    cr_free(*to);
    *to = copy(s);
}

const char *cr_run_state_name(cr_run_state s) {
    static const char *const names[] = {"unknown", "running", "finished",
                                        "stopped", "failed",  "killed"};
    return names[s];
}

/* ---- what the log says ---- */

/* The names of a run that does not say them: the last two folders of its id. */
static void names_of_folders(cr_run *r) {
    cr_arena a;
    cr_arena_init(&a, 0);
    const char *base = cr_path_base(r->id), *dir = cr_path_dir(&a, r->id);
    set(&r->experiment, base);
    set(&r->project, strcmp(dir, ".") == 0 ? "" : dir);
    cr_arena_clear(&a);
}

static void read_start(cr_run *r, const cr_log_tip *tip) {
    cr_buf b;
    cr_json *j = NULL;
    cr_buf_init(&b);
    r->start_at = tip->start.at;
    if (cr_log_text(&r->log, tip->start, &b) && cr_json_parse(&j, b.data, b.n, NULL) == CR_OK) {
        const char *project = cr_json_str(cr_json_get(j, "project")),
                   *name = cr_json_str(cr_json_get(j, "experiment"));
        if (project && *project) set(&r->project, project);
        if (name && *name) set(&r->experiment, name);
        cr_json_free(j);
    }
    cr_buf_clear(&b);
}

static cr_run_state read_end(const cr_run *r, cr_line_at at) {
    static const cr_run_state ends[] = {CR_RUN_FINISHED, CR_RUN_STOPPED, CR_RUN_FAILED};
    cr_run_state state = CR_RUN_UNKNOWN;
    cr_buf b;
    cr_json *j = NULL;
    cr_buf_init(&b);
    if (cr_log_text(&r->log, at, &b) && cr_json_parse(&j, b.data, b.n, NULL) == CR_OK) {
        const char *s = cr_json_str(cr_json_get(j, "status"));
        for (int i = 0; s && i < 3; i++)
            if (strcmp(s, cr_run_state_name(ends[i])) == 0) state = ends[i];
        cr_json_free(j);
    }
    cr_buf_clear(&b);
    return state;
}

/* The state of a run whose log has no end. */
static cr_run_state without_end(const cr_run *r) {
    switch (cr_ckpt_lock_look(r->dir)) {
    case CR_LOCK_HELD: return CR_RUN_RUNNING;
    case CR_LOCK_FREE: return CR_RUN_KILLED;
    default: break;
    }
    double age = (double)time(NULL) - 1e-9 * (double)r->log.seen.changed;
    return age < FRESH_S ? CR_RUN_RUNNING : CR_RUN_KILLED;
}

/* Brings what is known about a run up to date; true: something changed. */
static bool settle(cr_run *r) {
    const cr_log_tip *tip = cr_log_at(&r->log);
    cr_run_state was = r->state;
    if (tip->start.n > 0 && tip->start.at != r->start_at) read_start(r, tip);
    if (tip->end.n > 0) {
        if (tip->end.at != r->end_at) r->state = read_end(r, tip->end);
        r->end_at = tip->end.at;
    } else {
        r->end_at = -1;
        r->state = tip->start.n > 0 || tip->step >= 0 ? without_end(r) : CR_RUN_UNKNOWN;
    }
    return r->state != was;
}

/* ---- finding ---- */

static void free_run(cr_run *r) {
    for (int i = 0; i < r->n_ranks; i++)
        cr_log_clear(&r->ranks[i].log);
    cr_free(r->ranks);
    cr_log_clear(&r->log);
    cr_free(r->id);
    cr_free(r->dir);
    cr_free(r->project);
    cr_free(r->experiment);
    cr_free(r);
}

static bool taken(const cr_board *b, const char *id) {
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->runs[i]->id, id) == 0) return true;
    return false;
}

static void add_run(cr_board *b, const char *dir, const char *id, cr_arena *a) {
    if (b->n == MAX_RUNS || cr_map_get(&b->ids, dir, strlen(dir), -1) >= 0) return;
    if (b->n == b->cap) {
        int cap = b->cap ? 2 * b->cap : 64;
        b->runs = cr_realloc(b->runs, sizeof(cr_run *) * (size_t)b->cap,
                             sizeof(cr_run *) * (size_t)cap, "runs of a board");
        b->cap = cap;
    }
    cr_run *r = cr_alloc(sizeof *r, "a run of a board");
    const char *name = id;
    for (int k = 2; taken(b, name); k++)
        name = cr_arena_printf(a, "%s (%d)", id, k);
    r->id = copy(name);
    r->dir = copy(dir);
    r->start_at = r->end_at = -1;
    names_of_folders(r);
    cr_log_init(&r->log, cr_path_join(a, dir, CR_RUN_LOG));
    (void)cr_map_put(&b->ids, dir, strlen(dir), b->n);
    b->runs[b->n++] = r;
    r->version = ++b->version;
    if (!cr_log_look(&r->log)) return;
    if (r->log.size <= AT_ONCE)
        (void)cr_log_read(&r->log, r->log.size);
    else
        cr_log_sample(&r->log);
    (void)settle(r);
}

/* Folders of a model_dir or beside one in which no run lies. */
static bool is_dull(const char *name) {
    return name[0] == '.' || strncmp(name, "model.ckpt-", 11) == 0 ||
           strcmp(name, "eval_val") == 0 || strcmp(name, "export") == 0 ||
           strcmp(name, "node_modules") == 0;
}

static void search(cr_board *b, const char *dir, const char *id, int depth, cr_arena *a) {
    char **names;
    size_t n;
    if (cr_path_exists(cr_path_join(a, dir, CR_RUN_LOG))) {
        add_run(b, dir, id, a);
        return;
    }
    if (depth == DEPTH || cr_list_dir(a, dir, &names, &n, NULL) != CR_OK) return;
    for (size_t i = 0; i < n && b->n < MAX_RUNS; i++) {
        const char *path = cr_path_join(a, dir, names[i]);
        if (is_dull(names[i]) || cr_path_is_link(path) || !cr_path_is_dir(path)) continue;
        search(b, path, *id ? cr_arena_printf(a, "%s/%s", id, names[i]) : names[i], depth + 1, a);
    }
}

/* The last folder of a path that may end in slashes, or be "." */
static const char *last_name(cr_arena *a, const char *dir) {
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    const char *base = cr_path_base(cr_arena_strndup(a, dir, n));
    return *base ? base : dir;
}

static void search_all(cr_board *b) {
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int i = 0; i < b->n_dirs; i++) {
        /* a folder that is a run itself has its own name; runs of several folders carry theirs */
        const char *dir = b->dirs[i], *own = last_name(&a, dir);
        bool is_run = cr_path_exists(cr_path_join(&a, dir, CR_RUN_LOG));
        search(b, dir, is_run || b->n_dirs > 1 ? own : "", 0, &a);
    }
    cr_arena_clear(&a);
    b->searched = cr_now();
}

/* Finds the logs of other ranks, which begin with the run. */
static void find_ranks(cr_run *r) {
    cr_arena a;
    cr_arena_init(&a, 0);
    while (r->n_ranks < MAX_RANKS) {
        const char *path =
            cr_path_join(&a, r->dir,
                         cr_arena_printf(&a, "train_log.rank-%d.jsonl", r->n_ranks + 1));
        if (!cr_path_exists(path)) break;
        size_t n = (size_t)r->n_ranks;
        r->ranks =
            cr_realloc(r->ranks, n * sizeof *r->ranks, (n + 1) * sizeof *r->ranks, "logs of ranks");
        r->ranks[n].rank = r->n_ranks + 1;
        cr_log_init(&r->ranks[n].log, path);
        r->n_ranks++;
    }
    cr_arena_clear(&a);
}

/* ---- following ---- */

static void touch(cr_board *b, cr_run *r) {
    r->version = ++b->version;
    pthread_cond_broadcast(&b->changed);
}

static void look_at_all(cr_board *b) {
    for (int i = 0; i < b->n; i++) {
        cr_run *r = b->runs[i];
        int64_t size = r->log.size;
        (void)cr_log_look(&r->log);
        find_ranks(r);
        for (int k = 0; k < r->n_ranks; k++)
            (void)cr_log_look(&r->ranks[k].log);
        bool other = r->asked && cr_board_why_look(r);
        if (settle(r) || other || r->log.size < size) touch(b, r);
    }
    b->looked = cr_now();
}

/* Reads one slice of a run; true: there were lines. */
static bool read_some(cr_run *r) {
    bool any = false;
    if (cr_log_behind(&r->log) > 0) any = cr_log_read(&r->log, SLICE) > 0;
    for (int i = 0; i < r->n_ranks; i++)
        if (cr_log_behind(&r->ranks[i].log) > 0) any |= cr_log_read(&r->ranks[i].log, SLICE) > 0;
    return any;
}

/* Reads one slice of one run, of the most urgent kind that has one: 2 a viewer looks at it, 1 it
 * runs, 0 the rest. */
static bool read_one(cr_board *b) {
    for (int urgency = 2; urgency >= 0; urgency--)
        for (int i = b->n - 1; i >= 0; i--) {
            cr_run *r = b->runs[i];
            int its = r->wanted ? 2 : r->state == CR_RUN_RUNNING;
            if (its != urgency || !read_some(r)) continue;
            (void)settle(r);
            touch(b, r);
            return true;
        }
    return false;
}

bool cr_board_follow(cr_board *b, double seconds) {
    double until = cr_now() + seconds;
    bool more = true;
    while (more && cr_now() < until) {
        pthread_mutex_lock(&b->lock);
        if (cr_now() - b->searched > SEARCH_S) search_all(b);
        if (cr_now() - b->looked > LOOK_S) look_at_all(b);
        more = read_one(b);
        pthread_mutex_unlock(&b->lock);
        /* a mutex is not fair: who unlocks and locks again at once keeps it */
        struct timespec t = {.tv_nsec = 300000};
        if (atomic_load(&b->waiting) > 0) nanosleep(&t, NULL);
    }
    return more;
}

uint64_t cr_board_wait(cr_board *b, uint64_t version, double seconds) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += (time_t)seconds;
    t.tv_nsec += (long)((seconds - floor(seconds)) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_mutex_lock(&b->lock);
    while (b->version == version && !b->woken &&
           pthread_cond_timedwait(&b->changed, &b->lock, &t) == 0)
        ;
    version = b->version;
    pthread_mutex_unlock(&b->lock);
    return version;
}

void cr_board_wake(cr_board *b, bool on) {
    pthread_mutex_lock(&b->lock);
    b->woken = on;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

cr_run *cr_board_of(const cr_board *b, int64_t i) {
    return i >= 0 && i < b->n ? b->runs[i] : NULL;
}

int cr_board_runs(cr_board *b) {
    pthread_mutex_lock(&b->lock);
    int n = b->n;
    pthread_mutex_unlock(&b->lock);
    return n;
}

cr_code cr_board_open(cr_board **out, const char *const *dirs, int n_dirs, cr_err *err) {
    for (int i = 0; i < n_dirs; i++)
        if (!cr_path_is_dir(dirs[i]))
            return cr_fail(err, CR_EIO,
                           "%s is no folder; name a model_dir, or a folder with model_dirs in it",
                           dirs[i]);
    cr_board *b = cr_alloc(sizeof *b, "a board");
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    cr_map_init(&b->ids);
    b->dirs = cr_alloc(sizeof(char *) * (size_t)(n_dirs + 1), "folders of a board");
    for (int i = 0; i < n_dirs; i++)
        b->dirs[b->n_dirs++] = copy(dirs[i]);
    b->version = 1;
    search_all(b);
    *out = b;
    return CR_OK;
}

void cr_board_close(cr_board *b) {
    if (!b) return;
    for (int i = 0; i < b->n; i++)
        free_run(b->runs[i]);
    for (int i = 0; i < b->n_dirs; i++)
        cr_free(b->dirs[i]);
    cr_free(b->dirs);
    cr_free(b->runs);
    cr_map_clear(&b->ids);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    cr_free(b);
}
