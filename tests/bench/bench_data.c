/*
 * bench_data.c - rows per second from files to batches, by the loader alone: what the step must not
 * have to wait for.
 *
 *   bench_data CONFIG [--set key=value]... [-t threads] [-b block bytes] [-n epochs] [-s]
 *
 * The config's train_input_path is read with its features, in file order and (-s) shuffled. The
 * best pass of several counts. Seconds of CPU per million rows say where they went.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "data/loader.h"
#include "feat/feat.h"
#include "run/config.h"
#include "run/run.h"

static void die(const cr_diag *d) {
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].sev == CR_SEV_ERROR) fprintf(stderr, "bench_data: %s\n", d->v[i].msg);
    exit(1);
}

/* one pass per epoch; the best one's rows per second */
static void pass(const cr_loader_opts *o, const char *name) {
    cr_diag d;
    cr_diag_init(&d);
    cr_loader *l;
    if (cr_loader_new(&l, o, &d) != CR_OK) die(&d);
    double best = 0, t0 = cr_now();
    int64_t rows = 0;
    for (bool done = false; !done;) {
        cr_batch *b;
        cr_err err;
        if (cr_loader_next(l, &b, &done, &err) != CR_OK) {
            fprintf(stderr, "bench_data: %s\n", err.msg);
            exit(1);
        }
        if (b) {
            rows += b->n_rows;
            cr_loader_release(l, b);
            continue;
        }
        double t = cr_now(), rate = (double)rows / (t - t0);
        if (rate > best) best = rate;
        t0 = t;
        rows = 0;
    }
    cr_loader_stats s;
    cr_loader_get_stats(l, &s);
    double m = 1e6 / (double)s.rows;
    printf("%-10s %d threads  %9.0f rows/s  read %.3f parse %.3f encode %.3f s per million\n", name,
           o->n_threads, best, s.read_s * m, s.parse_s * m, s.encode_s * m);
    cr_loader_free(l);
    cr_diag_clear(&d);
}

int main(int argc, char **argv) {
    const char *sets[64];
    cr_config_opts c = {.set = sets};
    cr_loader_opts o = {.n_threads = 1, .world = 1, .n_epochs = 3};
    bool shuffle = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && c.n_set < 64)
            sets[c.n_set++] = argv[++i];
        else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc)
            o.n_threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "-b") == 0 && i + 1 < argc)
            o.block_bytes = (size_t)atoll(argv[++i]);
        else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            o.n_epochs = atoll(argv[++i]);
        else if (strcmp(argv[i], "-s") == 0)
            shuffle = true;
        else
            c.path = argv[i];
    }
    cr_diag d;
    cr_diag_init(&d);
    cr_config cfg;
    if (!c.path) {
        fprintf(stderr, "usage: bench_data CONFIG [--set key=value]...\n");
        return 2;
    }
    cr_log_set_level(CR_LOG_ERROR);
    if (cr_config_load(&cfg, &c, &d) != CR_OK) die(&d);
    const cr_data_conf *data = cfg.root->data_config;
    cr_features *fs =
        cr_features_new(&cfg.arena, &cfg.root->feature_configs, data, true, NULL, 0, &d);
    if (!fs) die(&d);
    const cr_enum_value *e = cr_dataset_types;
    while (e->name && e->value != data->dataset_type)
        e++;
    o.conf = data;
    o.reader = cr_reader_find(e->name);
    o.paths = cfg.root->train_input_path;
    o.want = fs->want;
    o.n_want = fs->n_want;
    o.encode = cr_features_encode;
    o.encode_ctx = fs;
    o.check = cr_features_check;
    o.batch_size = data->batch_size;
    pass(&o, "in order");
    o.shuffle = true;
    if (shuffle) pass(&o, "shuffled");
    cr_config_clear(&cfg);
    cr_diag_clear(&d);
    return 0;
}
