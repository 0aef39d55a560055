/*
 * rounds.c - parameter servers whose workers do not wait for each other, with threads as processes
 * (holders.h). One worker of half_async has the bits of one process, with any number of servers and
 * any rounds. With several workers results depend on timing; what does not is counted here: steps,
 * updates, that all holders end with the same parameters, and that the loss stays where it
 * should. Tables that grow, with every kind of rule, are held to the same.
 */
#include <math.h>

#include "holders.h"
#include "job/placing.h"
#include "train/ps_int.h"
#include "unit/run/run_test.h"

#define BATCH 96
#define ROWS  (4 * BATCH + 5)
#define STEPS 5 /* of an epoch */

typedef struct trial {
    const char *config, *set[8];
    int64_t round;                                /* steps of a round; 0: an epoch */
    bool whole;                                   /* batches are whole: one step less */
    int epochs;                                   /* 0: 3; -1: none */
    cr_buf seen[MAX_HOLDERS];                     /* all weights and the optimizer state */
    cr_buf nums[MAX_HOLDERS];                     /* the numbers among them */
    double first[MAX_HOLDERS], last[MAX_HOLDERS]; /* mean losses of the first and last epoch */
    cr_trainer_state state[MAX_HOLDERS];
    bool fine[MAX_HOLDERS];
} trial;

/* opening a job is not made for several threads at once */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

typedef struct part {
    cr_job j;
    cr_trainer *t;
    cr_loader *data;
    cr_diag diag;
} part;

static cr_code open_part(part *p, const trial *t, const holder *h) {
    char size[64];
    int n = 0, workers = 0;
    const char *set[16];
    for (int k = 0; h && k < h->of->n; k++)
        workers += !h->of->serves[k];
    snprintf(size, sizeof(size), "data_config.batch_size=%d", BATCH / (h ? workers : 1));
    for (; t->set[n]; n++)
        set[n] = t->set[n];
    set[n++] = size;
    set[n++] = "train_config.lanes=8";
    cr_config_opts co = {.path = t->config, .model_dir = "unused", .set = set, .n_set = n};
    cr_job_opts jo = {.config = &co,
                      .threads = 1,
                      .train = true,
                      .rounds = h != NULL,
                      .with_labels = true,
                      .meet = h ? &h->meet : NULL,
                      .mail = h ? &h->mail : NULL};
    cr_err err;
    CR_TRY(cr_job_open(&p->j, &jo, &p->diag));
    if (h) cr_job_check_servers(&p->j, &p->diag);
    CR_TRY(cr_diag_code(&p->diag));
    if (h) CR_TRY(cr_job_server_placings(&p->j, &p->diag));
    if (cr_job_alloc(&p->j, &err) != CR_OK || cr_trainer_new(&p->t, &p->j, &err) != CR_OK)
        return cr_diag_err(&p->diag, &err);
    CHECK_INT(cr_trainer_has_rounds(p->t), h != NULL);
    CR_TRY(cr_job_begin(&p->j, p->t, false, &p->diag));
    cr_job_data d = {.paths = p->j.root->train_input_path,
                     .key = "train_input_path",
                     .batch_size = p->j.batch,
                     .n_epochs = 3,
                     .shuffle = true,
                     .drop_remainder = t->whole};
    return cr_job_loader(&p->j, &d, &p->data, &p->diag);
}

/* The steps of one epoch, in rounds; *loss is their mean loss. */
static cr_code one_epoch(part *p, const trial *t, bool serves, int64_t *step, double *loss,
                         cr_err *err) {
    bool has_rounds = cr_trainer_has_rounds(p->t), done, ended = false;
    int64_t left = STEPS - t->whole;
    cr_takes more;
    *loss = 0;
    while (!ended) {
        int64_t steps = 0, most = t->round && t->round < left ? t->round : left;
        if (has_rounds) cr_trainer_round_begin(p->t, *step);
        if (serves) CR_TRY(cr_trainer_serve(p->t, err));
        for (; !serves && steps < most; steps++) {
            cr_batch *b;
            CR_TRY(cr_loader_next(p->data, &b, &done, err));
            CHECK(b != NULL);
            CR_TRY(cr_trainer_step(p->t, b, (*step)++, err));
            cr_loader_release(p->data, b);
            *loss += cr_trainer_loss(p->t, 0) / STEPS;
        }
        left -= most;
        if (serves) *step += most;
        ended = left == 0;
        if (has_rounds && !serves) CR_TRY(cr_trainer_round_meet(p->t, *step, &more, err));
        if (has_rounds) cr_trainer_round_end(p->t, steps);
    }
    cr_batch *none = NULL;
    if (!serves) CR_TRY(cr_loader_next(p->data, &none, &done, err));
    CHECK(none == NULL);
    cr_trainer_epoch_end(p->t);
    return CR_OK;
}

/* Adds the weights and the state of all holders, and the ids of tables that grow; the weights and
 * the state once more to nums. */
static void note_all(part *p, cr_buf *out, cr_buf *nums) {
    const cr_meet *meet = p->j.meet;
    cr_arena a;
    int n;
    cr_arena_init(&a, 0);
    CHECK(cr_model_maps_save(p->j.model, meet, NULL) == CR_OK);
    cr_ckpt_tensor *v = cr_trainer_tensors(&p->j, p->t, &a, &n);
    for (int i = 0; i < n; i++) {
        int64_t count = 1;
        for (int d = 0; d < v[i].n_dims; d++)
            count *= v[i].shape[d];
        if (v[i].get_whole) {
            int64_t *whole = calloc((size_t)count + 1, sizeof(int64_t));
            v[i].get_whole(v[i].ctx, 0, count, whole);
            cr_buf_printf(out, "\n%s\n", v[i].name);
            cr_buf_add(out, whole, (size_t)count * sizeof(int64_t));
            free(whole);
            continue;
        }
        int n_all = meet ? meet->n : 1;
        float *all = calloc((size_t)(count * n_all) + 1, sizeof(float)),
              *mine = all + (meet ? count * meet->self : 0), *x = all;
        size_t at[MAX_HOLDERS + 1];
        if (v[i].n_parts == 0) v[i].get(v[i].ctx, 0, count, mine);
        for (int k = 0; k < v[i].n_parts; k++) {
            const cr_ckpt_part *q = &v[i].parts[k];
            for (int64_t r = q->row; q->holder == meet->self && r < q->end; r++)
                v[i].get(v[i].ctx, r * v[i].part_width + q->col, q->col_end - q->col,
                         mine + r * v[i].part_width + q->col);
        }
        for (int h = 0; h <= n_all; h++)
            at[h] = (size_t)(h * count) * sizeof(float);
        if (meet) meet->gather(meet->ctx, all, at);
        if (v[i].n_parts == 0) x = mine;
        for (int k = 0; k < v[i].n_parts; k++) {
            const cr_ckpt_part *q = &v[i].parts[k];
            for (int64_t r = q->row; r < q->end; r++)
                memcpy(x + r * v[i].part_width + q->col,
                       all + q->holder * count + r * v[i].part_width + q->col,
                       (size_t)(q->col_end - q->col) * sizeof(float));
        }
        cr_buf_printf(out, "\n%s\n", v[i].name);
        cr_buf_add(out, x, (size_t)count * sizeof(float));
        cr_buf_add(nums, x, (size_t)count * sizeof(float));
        free(all);
    }
    cr_model_maps_saved(p->j.model);
    cr_arena_clear(&a);
}

static void run_part(trial *t, const holder *h) {
    part p;
    cr_err err = {0};
    int self = h ? h->number : 0;
    int64_t step = 0;
    double loss;
    bool serves = h && h->of->serves[self];
    memset(&p, 0, sizeof(p));
    cr_diag_init(&p.diag);
    cr_buf_init(&t->seen[self]);
    cr_buf_init(&t->nums[self]);
    pthread_mutex_lock(&one_at_a_time);
    cr_code code = open_part(&p, t, h);
    pthread_mutex_unlock(&one_at_a_time);
    int epochs = t->epochs ? t->epochs : 3;
    for (int epoch = 0; epoch < epochs && code == CR_OK; epoch++) {
        code = one_epoch(&p, t, serves, &step, &loss, &err);
        if (code != CR_OK) fprintf(stderr, "%s\n", err.msg);
        *(epoch == 0 ? &t->first[self] : &t->last[self]) = loss;
    }
    if (code == CR_OK) note_all(&p, &t->seen[self], &t->nums[self]);
    if (code == CR_OK) t->state[self] = cr_trainer_get_state(p.t);
    t->fine[self] = code == CR_OK;
    pthread_mutex_lock(&one_at_a_time);
    show(&p.diag);
    if (p.data) cr_loader_free(p.data);
    cr_trainer_free(p.t);
    cr_job_close(&p.j);
    cr_diag_clear(&p.diag);
    pthread_mutex_unlock(&one_at_a_time);
}

static void hold(holder *h, void *ctx) {
    run_part(ctx, h);
}

static void clear(trial *t) {
    for (int k = 0; k < MAX_HOLDERS; k++) {
        cr_buf_clear(&t->seen[k]);
        cr_buf_clear(&t->nums[k]);
    }
}

#define SGD                                                                                        \
    "train_config.sparse_optimizer={sgd_optimizer: {lr: 0.3}, constant_learning_rate: {}}",        \
        "train_config.dense_optimizer={sgd_optimizer: {lr: 0.1, momentum: 0}, "                    \
        "constant_learning_rate: {}}"
#define STRATEGY(name, more) "train_config.servers={strategy: " name more "}"

TEST(one_worker_of_half_async) {
    static const char *const data[] = {"criteo/pipeline.yaml", "taobao/pipeline.yaml",
                                       "criteo/growing.yaml"};
    static const int shapes[][MAX_HOLDERS + 1] = {{8, SERVER}, {8, SERVER, SERVER, SERVER}};
    for (int d = 0; d < 3; d++) {
        trial one = {.config = in_root(data[d])};
        run_part(&one, NULL);
        CHECK(one.fine[0]);
        for (int s = 0; s < 2; s++) {
            trial t = {.config = in_root(data[d]),
                       .set = {STRATEGY("half_async", "")},
                       .round = s == 0 ? 0 : 2};
            holders hs;
            holders_run(&hs, shapes[s], hold, &t);
            for (int h = 0; h < hs.n; h++) {
                CHECK(t.fine[h]);
                CHECK(t.seen[h].n == one.seen[0].n &&
                      memcmp(t.seen[h].data, one.seen[0].data, one.seen[0].n) == 0);
                CHECK_INT(t.state[h].updates, one.state[0].updates);
                CHECK_INT(t.state[h].sched_steps, one.state[0].sched_steps);
                CHECK_INT(t.state[h].dense_updates, one.state[0].dense_updates);
            }
            CHECK(t.first[0] == one.first[0] && t.last[0] == one.last[0]);
            clear(&t);
        }
        clear(&one);
    }
}

/* How far two runs are apart, as a share of how far the first one has come from its start: the
 * largest of all numbers, where the second run's ways are multiplied by `times`. */
static double apart(const trial *start, const trial *a, const trial *b, double times) {
    size_t n = start->nums[0].n / sizeof(float);
    const float *s = (const float *)(const void *)start->nums[0].data,
                *x = (const float *)(const void *)a->nums[0].data,
                *y = (const float *)(const void *)b->nums[0].data;
    double far = 0, way = 0;
    CHECK(n > 0 && a->nums[0].n == start->nums[0].n && b->nums[0].n == start->nums[0].n);
    for (size_t i = 0; i < n; i++) {
        double dx = (double)x[i] - (double)s[i], dy = times * ((double)y[i] - (double)s[i]);
        if (fabs(dx - dy) > far) far = fabs(dx - dy);
        if (fabs(dx) > way) way = fabs(dx);
    }
    CHECK(way > 1e-3);
    return far / way;
}

static void start_of(trial *t) {
    *t = (trial){.config = in_root("criteo/pipeline.yaml"), .set = {SGD}, .epochs = -1};
    run_part(t, NULL);
}

/* When a round has one step, the mean of the workers' ways in geo is the step of all rows, and with
 * one worker it is one process with any k_steps, but for rounding. The order in which workers arrive
 * decides how their ways are rounded, and a unit that lies at the bend of its activation then goes
 * one way or the other: the runs end up to 0.0013 of the way apart. A sum instead of the mean, or
 * the ways of too few workers, is apart by a good part of the way. */
TEST(means_of_geo) {
    static const int shapes[][MAX_HOLDERS + 1] = {{8, SERVER},
                                                  {8, SERVER, SERVER},
                                                  {4, SERVER, 4},
                                                  {2, 2, SERVER, 2, SERVER, 2}};
    trial start, one = {.config = in_root("criteo/pipeline.yaml"), .set = {SGD}, .whole = true};
    start_of(&start);
    run_part(&one, NULL);
    for (int s = 0; s < 4; s++) {
        trial t = {.config = in_root("criteo/pipeline.yaml"),
                   .set = {STRATEGY("geo", ", k_steps: 3"), SGD},
                   .round = s < 2 ? 0 : 1,
                   .whole = true};
        holders hs;
        holders_run(&hs, shapes[s], hold, &t);
        CHECK(t.fine[0] && apart(&start, &one, &t, 1) < 0.01);
        CHECK(apart(&start, &one, &t, 2) > 0.5);
        clear(&t);
    }
    clear(&start);
    clear(&one);
}

/* A queue that waits for more gradients than a round has sends them all at its end, and all are
 * those of the first weights: their sum goes as many times as far as their mean. */
TEST(sums_and_means) {
    static const int shape[] = {8, SERVER, SERVER, 0};
    static const char wait[] = ", max_merge_var_num: 10, send_wait_times: 1000000, "
                               "send_queue_size: 10";
    trial start, first = {.config = in_root("criteo/pipeline.yaml"),
                          .set = {STRATEGY("async", ""), SGD},
                          .whole = true,
                          .epochs = 1};
    start_of(&start);
    trial t[4];
    for (int i = 0; i < 4; i++) {
        char servers[256];
        holders hs;
        snprintf(servers, sizeof servers,
                 "train_config.servers={strategy: async%s, is_sgd_optimizer: %s, "
                 "merge_sparse_grad: %s}",
                 wait, i % 2 ? "false" : "true", i / 2 ? "false" : "true");
        t[i] = first;
        t[i].set[0] = servers;
        holders_run(&hs, shape, hold, &t[i]);
        CHECK(t[i].fine[0] && t[i].fine[1]);
        CHECK_INT(t[i].state[0].updates, 1);
        CHECK_INT(t[i].state[0].sched_steps, STEPS - 1);
    }
    CHECK(apart(&start, &t[0], &t[1], STEPS - 1) < 1e-3);
    CHECK(apart(&start, &t[0], &t[2], 1) < 1e-3);
    CHECK(apart(&start, &t[1], &t[3], 1) < 1e-3);
    CHECK(apart(&start, &t[0], &t[1], 1) > 0.5);
    for (int i = 0; i < 4; i++)
        clear(&t[i]);
    clear(&start);
}

/* updates: what every holder counts at the end; -1: merging decides it */
static void several(const char *name, trial *t, int64_t updates) {
    static const int shape[] = {3, SERVER, 3, 2, SERVER, 0};
    holders hs;
    holders_run(&hs, shape, hold, t);
    for (int h = 0; h < hs.n; h++) {
        CHECK(t->fine[h]);
        CHECK(t->seen[h].n == t->seen[0].n &&
              memcmp(t->seen[h].data, t->seen[0].data, t->seen[0].n) == 0);
        CHECK_INT(t->state[h].sched_steps, 3 * STEPS);
        CHECK_INT(t->state[h].updates, t->state[0].updates);
        if (updates >= 0) CHECK_INT(t->state[h].updates, updates);
        if (!hs.serves[h] && !(t->last[h] < 2 * t->first[h])) {
            fprintf(stderr, "%s: the loss of holder %d goes from %g to %g\n", name, h, t->first[h],
                    t->last[h]);
            CHECK(false);
        }
    }
    clear(t);
}

TEST(several_workers) {
    static const char *const settings[][2] = {
        {"half_async", STRATEGY("half_async", "")},
        {"async, small queue", STRATEGY("async", ", send_queue_size: 1")},
        {"async, merged", STRATEGY("async", ", max_merge_var_num: 3, send_wait_times: 2, "
                                            "independent_recv_thread: true")},
        {"async, rows apart", STRATEGY("async", ", max_merge_var_num: 2, merge_sparse_grad: false, "
                                                "is_sgd_optimizer: false")},
        {"geo", STRATEGY("geo", ", k_steps: 2")},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        bool merges = strstr(settings[i][1], "merge_var") != NULL,
             geo = strcmp(settings[i][0], "geo") == 0;
        trial t = {.config = in_root("criteo/pipeline.yaml"),
                   .set = {settings[i][1], SGD},
                   .round = i % 2 ? 3 : 0};
        several(settings[i][0], &t, merges ? -1 : geo ? 3 * STEPS : 3 * 3 * STEPS);
        t = (trial){.config = in_root("criteo/growing.yaml"),
                    .set = {settings[i][1], SGD},
                    .round = i % 2 ? 0 : 3};
        several(settings[i][0], &t, merges ? -1 : geo ? 3 * STEPS : 3 * 3 * STEPS);
    }
}

/* ---- a signal while workers wait for rows ---- */

/* Each worker gets no more rows behind another step, and all must agree on the last one. */
static void run_dry(holder *h, void *ctx) {
    trial *t = ctx;
    part p;
    cr_err err = {0};
    cr_takes more;
    cr_code code;
    int self = h->number, left = 1 + self % 3;
    int64_t step = -1;
    bool serves = h->of->serves[self], done;
    memset(&p, 0, sizeof(p));
    cr_diag_init(&p.diag);
    pthread_mutex_lock(&one_at_a_time);
    CHECK(open_part(&p, t, h) == CR_OK);
    pthread_mutex_unlock(&one_at_a_time);
    cr_trainer_round_begin(p.t, 0);
    code = serves ? cr_trainer_serve(p.t, &err) : CR_OK;
    while (!serves && code == CR_OK && !cr_trainer_round_stops(p.t, step)) {
        cr_batch *b = NULL;
        if (left-- == 0) {
            code = cr_trainer_round_dry(p.t, step, &err);
            continue;
        }
        code = cr_loader_next(p.data, &b, &done, &err);
        if (code == CR_OK) code = cr_trainer_step(p.t, b, step + 1, &err);
        step += code == CR_OK;
        cr_loader_release(p.data, b);
    }
    if (code == CR_ESTOP) code = CR_OK; /* a step that was not made any more */
    if (!serves && code == CR_OK) code = cr_trainer_round_meet(p.t, step, &more, &err);
    if (code != CR_OK) fprintf(stderr, "%s\n", err.msg);
    t->fine[self] = code == CR_OK;
    t->last[self] = (double)step;
    cr_trainer_round_end(p.t, step + 1);
    t->state[self] = cr_trainer_get_state(p.t);
    pthread_mutex_lock(&one_at_a_time);
    show(&p.diag);
    cr_loader_free(p.data);
    cr_trainer_free(p.t);
    cr_job_close(&p.j);
    cr_diag_clear(&p.diag);
    pthread_mutex_unlock(&one_at_a_time);
}

TEST(dry_workers) {
    static const int shape[] = {3, SERVER, 3, 2, SERVER, 0};
    static const char *const settings[] = {STRATEGY("half_async", ""), STRATEGY("async", ""),
                                           STRATEGY("geo", ", k_steps: 2"),
                                           STRATEGY("geo", ", k_steps: 100")};
    for (int i = 0; i < 8; i++) {
        trial t = {.config = in_root("criteo/pipeline.yaml"), .set = {settings[i % 4], SGD}};
        holders hs;
        holders_run(&hs, shape, run_dry, &t);
        for (int h = 0; h < hs.n; h++) {
            CHECK(t.fine[h]);
            CHECK(hs.serves[h] || (t.last[h] == t.last[0] && t.last[h] >= 0 && t.last[h] <= 2));
            /* a worker of geo whose differences are not due is asked by nobody before its end */
            CHECK(hs.serves[h] || i % 4 < 3 || t.last[h] == 2);
            CHECK_INT(t.state[h].sched_steps, (int64_t)t.last[0] + 1);
        }
    }
}

/* ---- letters that no process of crank sends ---- */

typedef struct odd_letter {
    ps_head head;
    int64_t n[128]; /* numbers of ids by block, and what follows them */
    size_t size;
} odd_letter;
static const odd_letter odd[] = {
    {.size = 8},                                              /* no head */
    {.head = {.kind = 99}, .size = sizeof(ps_head)},          /* an unknown kind */
    {.head = {.kind = PS_END}, .size = sizeof(ps_head)},      /* not of a server */
    {.head = {.kind = PS_PULL}, .size = sizeof(ps_head) + 8}, /* without its numbers */
    {.head = {.kind = PS_PULL},
     .n = {1000},
     .size = sizeof(ps_head) + 1024}, /* ids that end early */
    {.head = {.kind = PS_PULL}, .n = {-1}, .size = sizeof(ps_head) + 1024},
    {.head = {.kind = PS_PULL}, .n = {INT64_MAX}, .size = sizeof(ps_head) + 1024},
    {.head = {.kind = PS_PUSH, .parts = 1}, .size = sizeof(ps_head) + 1024}, /* without gradients */
    {.head = {.kind = PS_PUSH, .parts = 3}, .n = {0}, .size = sizeof(ps_head) + 1024},
    {.head = {.kind = PS_DRY}, .size = sizeof(ps_head) + 8}, /* with something behind it */
};
enum { N_ODD = sizeof odd / sizeof *odd };

/* The letter after these is whole, and asks for one row of the first table, which has no such row:
 * the last id of 4 bytes, or a negative key with its count. */
static size_t lay_far(const cr_model *m, bool grows, char *bytes) {
    odd_letter far = {.head = {.kind = PS_PULL}, .n = {1}};
    far.n[m->n_tables] = -1;
    memcpy(bytes, &far.head, sizeof far.head);
    memcpy(bytes + sizeof far.head, far.n, sizeof far.n);
    return sizeof far.head + (size_t)(m->n_tables + 1 + grows) * sizeof *far.n;
}

/* The worker sends them, and the server must tell each. Then the server answers wrongly. */
static void send_odd(holder *h, void *ctx) {
    trial *t = ctx;
    part p;
    cr_err err = {0};
    bool serves = h->of->serves[h->number];
    memset(&p, 0, sizeof(p));
    cr_diag_init(&p.diag);
    pthread_mutex_lock(&one_at_a_time);
    CHECK(open_part(&p, t, h) == CR_OK);
    pthread_mutex_unlock(&one_at_a_time);
    bool grows = strstr(t->config, "growing") != NULL;
    for (int i = 0; i <= N_ODD; i++) {
        if (!serves) {
            char bytes[sizeof(ps_head) + sizeof odd->n];
            size_t size = i < N_ODD ? odd[i].size : lay_far(p.j.model, grows, bytes);
            if (i < N_ODD) memcpy(bytes, &odd[i].head, sizeof(ps_head));
            if (i < N_ODD) memcpy(bytes + sizeof(ps_head), odd[i].n, sizeof odd->n);
            (void)holders_post(h, 1, bytes, size);
            continue;
        }
        cr_trainer_round_begin(p.t, 0);
        CHECK_INT(cr_trainer_serve(p.t, &err), CR_ERUN);
        CHECK(strstr(err.msg, "a letter of rank 0 is not one that crank sends") != NULL);
    }
    int from;
    size_t n;
    if (serves) {
        while (!holders_peek(h, &from, &n)) {
        }
        ps_head rows = {.kind = PS_ROWS, .stop = PS_NO_STOP};
        (void)holders_post(h, 0, &rows, sizeof rows);
    } else {
        cr_batch *b;
        bool done;
        cr_trainer_round_begin(p.t, 0);
        CHECK(cr_loader_next(p.data, &b, &done, &err) == CR_OK);
        CHECK_INT(cr_trainer_step(p.t, b, 0, &err), CR_ERUN);
        CHECK(strstr(err.msg, "a letter of rank 1 is not one that crank sends") != NULL);
        cr_loader_release(p.data, b);
    }
    pthread_barrier_wait(&h->of->gate);
    while (serves && holders_peek(h, &from, &n)) {
        char *mem = malloc(n + 1);
        (void)holders_take(h, from, mem, n);
        free(mem);
    }
    pthread_mutex_lock(&one_at_a_time);
    show(&p.diag);
    if (p.data) cr_loader_free(p.data);
    cr_trainer_free(p.t);
    cr_job_close(&p.j);
    cr_diag_clear(&p.diag);
    pthread_mutex_unlock(&one_at_a_time);
}

TEST(odd_letters) {
    static const int shape[] = {8, SERVER, 0};
    static const char *const strategy[] = {STRATEGY("async", ""), STRATEGY("half_async", "")};
    for (int i = 0; i < 3; i++) {
        const char *config = i < 2 ? "criteo/pipeline.yaml" : "criteo/growing.yaml";
        trial t = {.config = in_root(config), .set = {strategy[i % 2]}};
        holders hs;
        holders_run(&hs, shape, send_odd, &t);
    }
}

/* Writes a config with tables that grow, each with other rules. */
static void make_growing(const char *from, const char *to) {
    static const char *const rules[] = {
        "growing: {}",
        "growing: {counts: false}",
        "growing: {max_rows: 40, bucket_rows: 8, lfu: {}}",
        "growing: {max_rows: 30, bucket_rows: 5, distance_lfu: {}, probability_admission: "
        "{probability: 0.4}}",
        "growing: {frequency_admission: {threshold: 3, max_counters: 2000}, absent_value: 0.1}",
        "growing: {expiry: {unseen_steps: 3, interval_steps: 2}}",
        "growing: {frequency_admission: {threshold: 2}, expiry: {interval_steps: 3, decay_rate: "
        "0.5, least_score: 1}}",
        "dynamicemb: {max_capacity: 50, bucket_capacity: 10, frequency_admission_strategy: "
        "{threshold: 2, initializer_args: {mode: CONSTANT, value: 0.2}}}",
    };
    char line[512];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    CHECK(in && out);
    for (size_t k = 0; in && out && fgets(line, sizeof line, in);)
        if (strstr(line, "num_buckets") && k < sizeof rules / sizeof *rules)
            fprintf(out, "      %s\n", rules[k++]);
        else
            fputs(line, out);
    if (in) fclose(in);
    if (out) fclose(out);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(one_worker_of_half_async), CASE(several_workers), CASE(means_of_geo),
        CASE(sums_and_means),           CASE(dry_workers),     CASE(odd_letters)};
    if (!root_open("rounds")) return 1;
    make_synth("criteo", in_root("criteo"), ROWS, 100, 5, 0.0002);
    make_synth("taobao", in_root("taobao"), ROWS, 100, 5, 0.0005);
    make_growing(in_root("criteo/pipeline.yaml"), in_root("criteo/growing.yaml"));
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
