/*
 * variational.c - variational dropout in every model: with it each golden case still builds and
 * trains, its bits do not depend on threads, each group of several features has one parameter and
 * one loss, and scores come from the means alone.
 */
#include <dirent.h>

#include "golden/golden.h"
#include "unit/run/run_test.h"

#define STEPS 4

static const char *const with[] = {"model_config.variational_dropout={regularization_lambda: 0.5}"};

static const cr_node *param_of(const cr_model *m, const char *group) {
    char name[512];
    const cr_node *found = NULL;
    snprintf(name, sizeof(name), "model.group_variational_dropouts.%s.feature_p", group);
    for (int i = 0; i < m->graph.n; i++) {
        const cr_node *p = m->graph.nodes[i];
        if (p->cls != CR_PARAM || strcmp(p->name, name) != 0) continue;
        CHECK(!found); /* one, however often the group is read */
        found = p;
    }
    return found;
}

static const cr_model_loss *loss_of(const cr_model *m, const char *group, int *k) {
    char name[512];
    snprintf(name, sizeof(name), "%s_feature_p_loss", group);
    for (*k = 0; *k < m->n_losses; (*k)++)
        if (strcmp(m->losses[*k].name, name) == 0) return &m->losses[*k];
    return NULL;
}

/* the loss of a group from its parameter */
static double penalty(const cr_node *p, int64_t rows) {
    double sum = 0;
    for (int64_t f = 0; f < p->width; f++)
        sum += 1 - 1 / (1 + exp(-(double)p->w[f]));
    return 0.5 / (double)rows * sum;
}

static int check_groups(const cr_job *j, const cr_trainer *t, const double *before) {
    int n = 0;
    const cr_model_conf *c = j->root->model_config;
    for (int64_t i = 0; i < c->feature_groups.n; i++) {
        const cr_group_conf *gc = c->feature_groups.v[i];
        const cr_node *p = param_of(j->model, gc->group_name);
        int k;
        const cr_model_loss *l = loss_of(j->model, gc->group_name, &k);
        CHECK((p != NULL) == (l != NULL));
        if (!p || !l) continue;
        n++;
        CHECK(gc->group_type != CR_GROUP_SEQUENCE);
        CHECK_INT(p->width, gc->feature_names.n + gc->sequence_encoders.n);
        CHECK_INT(p->n_dims, 1);
        CHECK(l->train_only);
        CHECK(fabs(cr_trainer_loss(t, k) - before[i]) < 1e-6);
    }
    return n;
}

/* a few steps; the bits of their losses and of the parameters */
static uint64_t train(const char *name, int threads, int *n_groups) {
    char rel[320], path[512], data[512];
    snprintf(rel, sizeof(rel), "%s/pipeline.config", name);
    golden_path(path, sizeof(path), rel);
    snprintf(rel, sizeof(rel), "%s/data.csv", name);
    golden_path(data, sizeof(data), rel);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_config_opts co = {
        .path = path, .train_input_path = data, .model_dir = "unused", .set = with, .n_set = 1};
    cr_job j;
    cr_job_opts jo = {.config = &co, .threads = threads, .train = true, .with_labels = true};
    cr_code code = cr_job_open(&j, &jo, &diag);
    show(&diag);
    CHECK_INT(code, 0);
    uint64_t hash = 0;
    cr_trainer *t = NULL;
    cr_loader *l = NULL;
    if (code == CR_OK && cr_job_alloc(&j, NULL) == CR_OK && cr_trainer_new(&t, &j, NULL) == CR_OK) {
        cr_model_fill(j.model, 5, j.pool);
        cr_job_data d = {.paths = data,
                         .batch_size = j.root->data_config->batch_size,
                         .n_epochs = 1};
        CHECK_INT(cr_job_loader(&j, &d, &l, &diag), 0);
    }
    const cr_model_conf *c = code == CR_OK ? j.root->model_config : NULL;
    for (int64_t step = 0; l && step < STEPS; step++) {
        cr_batch *b = NULL;
        bool done;
        double before[64] = {0};
        CHECK_INT(cr_loader_next(l, &b, &done, NULL), 0);
        if (!b) break;
        for (int64_t i = 0; i < c->feature_groups.n && i < 64; i++) {
            const cr_node *p =
                param_of(j.model, ((const cr_group_conf *)c->feature_groups.v[i])->group_name);
            if (p) before[i] = penalty(p, b->n_rows);
        }
        CHECK_INT(cr_trainer_step(t, b, step, NULL), 0);
        double total = cr_trainer_total(t);
        uint64_t bits;
        CHECK(isfinite(total));
        memcpy(&bits, &total, sizeof(bits));
        hash = (hash ^ bits) * 0x100000001b3u;
        *n_groups = check_groups(&j, t, before);
        cr_loader_release(l, b);
    }
    for (int i = 0; code == CR_OK && l && i < j.model->graph.n; i++) {
        const cr_node *p = j.model->graph.nodes[i];
        for (int64_t k = 0; p->cls == CR_PARAM && k < p->width; k++) {
            uint32_t bits;
            memcpy(&bits, &p->w[k], sizeof(bits));
            hash = (hash ^ bits) * 0x100000001b3u;
        }
    }
    cr_loader_free(l);
    cr_trainer_free(t);
    cr_job_close(&j);
    cr_diag_clear(&diag);
    return hash;
}

static int only_dirs(const struct dirent *e) {
    /* configs of PaddleRec are not read here: tests/unit/train/golden.c runs them */
    if (strncmp(e->d_name, "paddle_", 7) == 0) return 0;
    return e->d_type == DT_DIR && e->d_name[0] != '.';
}

TEST(every_model) {
    char dir[512];
    golden_path(dir, sizeof(dir), "");
    struct dirent **list = NULL;
    int n = scandir(dir, &list, only_dirs, alphasort), tried = 0, groups = 0;
    for (int i = 0; i < n; i++) {
        /* what differs in optimizers or activations alone is one model */
        const char *name = list[i]->d_name;
        if (strncmp(name, "optim", 5) == 0 || strncmp(name, "act_", 4) == 0 ||
            strncmp(name, "loss_l2", 7) == 0)
            continue;
        int a = 0, b = 0, failed = t_failed_checks;
        CHECK(train(name, 1, &a) == train(name, 3, &b));
        CHECK_INT(a, b);
        if (t_failed_checks > failed) fprintf(stderr, "in %s\n", name);
        tried++;
        groups += a;
    }
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    CHECK(tried > 50 && groups > tried); /* wide, fm and deep groups; some have one feature */
}

TEST_MAIN(CASE(every_model))
