/*
 * rules.c - decides which rule trains which table and which dense parameter: the main optimizer, or
 * the first part whose pattern matches the whole name. That is decided once, before memory is
 * allocated, because the state beside a table's rows depends on it.
 */
#include "base/buf.h"
#include "base/log.h"
#include "job/job.h"

static void fill(cr_rules *r, cr_arena *a, const cr_choice *optim, const cr_choice *sched,
                 const cr_msgs *parts, const char *const *names, int n, const char *what,
                 cr_diag *diag) {
    r->n = 1 + (int)parts->n;
    r->v = CR_NEW_N(a, cr_rule, r->n);
    r->steps = CR_NEW_N(a, cr_optim_step, r->n);
    r->of = CR_NEW_N(a, int, n + 1);
    r->v[0] = (cr_rule){.optim = optim, .sched = sched};
    for (int k = 1; k < r->n; k++) {
        const cr_part_conf *p = parts->v[k - 1];
        r->v[k] = (cr_rule){.optim = &p->optimizer,
                            .sched = p->learning_rate.m ? &p->learning_rate : sched};
    }
    cr_parts_assign(parts, names, n, what, r->of, diag);
    for (int i = 0; i < n; i++)
        r->v[++r->of[i]].members++;
    for (int k = 0; k < r->n; k++)
        r->v[k].type = cr_optim_of(r->v[k].optim);
}

void cr_job_rules(cr_job *j, cr_diag *diag) {
    cr_arena *a = &j->cfg.arena;
    const cr_train_conf *tc = j->root->train_config;
    const cr_sparse_optim_conf *sparse = tc->sparse_optimizer;
    const cr_dense_optim_conf *dense = tc->dense_optimizer;
    cr_model *m = j->model;
    const char **names = CR_NEW_N(a, const char *, m->n_tables + m->graph.n + 1);
    for (int i = 0; i < m->n_tables; i++)
        names[i] = m->tables[i]->table.name;
    fill(&j->tables, a, &sparse->optimizer, &sparse->learning_rate, &sparse->part_optimizers, names,
         m->n_tables, "table", diag);
    for (int i = 0; i < m->n_tables; i++) {
        const cr_rule *r = &j->tables.v[j->tables.of[i]];
        if (cr_feature_ctr(m->tables[i]->owner)) continue; /* it has rules of its own */
        m->tables[i]->optim = r->type;
        m->tables[i]->optim_conf = r->optim->conf;
        const cr_feature *f = m->tables[i]->owner;
        if (r->type->every_row && cr_feature_grows(f) && f->trainable)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, f->at,
                        "feature '%s': the optimizer %s moves every row of a table in each step, "
                        "and a table that grows moves only those of the batch; use mode: LAZY",
                        f->name, r->type->name);
    }
    int n = 0, *node = CR_NEW_N(a, int, m->graph.n + 1);
    for (int i = 0; i < m->graph.n; i++) {
        const cr_node *p = m->graph.nodes[i];
        if (p->cls != CR_PARAM || !p->trainable) continue;
        node[n] = i;
        names[n++] = p->name;
    }
    fill(&j->dense, a, &dense->optimizer, &dense->learning_rate, &dense->part_optimizers, names, n,
         "dense parameter", diag);
    /* maps the number in the list to that of the node */
    int *by_node = CR_NEW_N(a, int, m->graph.n + 1);
    for (int k = 0; k < n; k++)
        by_node[node[k]] = j->dense.of[k];
    j->dense.of = by_node;
}

void cr_rules_step(cr_rules *r, int64_t steps, int64_t epochs, int64_t t) {
    for (int k = 0; k < r->n; k++) {
        const cr_rule *v = &r->v[k];
        r->steps[k] =
            (cr_optim_step){.lr = cr_optim_rate(v->optim, v->sched, steps, epochs), .t = t};
        if (v->type->prepare) v->type->prepare(v->optim->conf, &r->steps[k]);
    }
}

/* Logs TorchEasyRec's "part_optim_params0: [...]". */
void cr_rules_tell(const cr_job *j) {
    const cr_model *m = j->model;
    cr_buf b;
    cr_buf_init(&b);
    for (int k = 1; k < j->dense.n; k++) {
        cr_buf_reset(&b);
        for (int i = 0; i < m->graph.n; i++)
            if (m->graph.nodes[i]->cls == CR_PARAM && m->graph.nodes[i]->trainable &&
                j->dense.of[i] == k)
                cr_buf_printf(&b, "%s%s", b.n ? ", " : "", m->graph.nodes[i]->name);
        CR_INFO("part_optim_params%d: [%s]", k - 1, b.n ? b.data : "");
    }
    for (int k = 1; k < j->tables.n; k++) {
        cr_buf_reset(&b);
        for (int i = 0; i < m->n_tables; i++)
            if (j->tables.of[i] == k)
                cr_buf_printf(&b, "%s%s", b.n ? ", " : "", m->tables[i]->short_name);
        CR_INFO("part_optim_tables%d: [%s]", k - 1, b.n ? b.data : "");
    }
    cr_buf_clear(&b);
}

int cr_dense_planes(const cr_job *j) {
    const cr_train_conf *tc = j->root->train_config;
    int most = 0;
    for (int k = 0; k < j->dense.n; k++)
        if (j->dense.v[k].type->elem_state > most) most = j->dense.v[k].type->elem_state;
    return most + (tc->dense_optimizer->ema != NULL) + cr_dense_keeps_grad(tc);
}

bool cr_dense_keeps_grad(const cr_train_conf *tc) {
    return tc->gradient_accumulation_steps > 1 || tc->grad_scaler ||
           cr_grad_clip(tc->grad_clipping) == CR_CLIP_NORM;
}
