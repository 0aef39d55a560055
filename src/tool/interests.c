/*
 * interests.c - how well the interests of users find their next items (MIND's evaluation): an
 * item's score is the largest dot product of its vector with an interest of the user, and the `top`
 * items with the highest scores are what is found.
 *
 * A line has slots, hist_item:5 ... eval_item:7 ...; the last `longest` items of the history make
 * the interests, as src/op/capsules.c computes them, and a layer with a ReLU follows. Of a user
 * with m items to find, h of which are among the found: recall is h / m, the hit rate is whether h
 * > 0, and NDCG is the sum of 1 / log2(place + 1) of the hits over that of h hits in front.
 * PaddleRec divides the sums by one user too many; here it is their number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "ckpt/ckpt.h"
#include "kern/kern.h"
#include "tool/tool.h"

#define MAX_TOP 10000

typedef struct matrix {
    float *v;
    int64_t rows, cols;
} matrix;

typedef struct mind {
    cr_arena arena;
    matrix items, bilinear, logits, weight, bias;
    const cr_recall_opts *o;
    /* memory of one user: steps, routing, interests, found items */
    float *low, *b, *w, *z, *interests;
    int64_t *found;
    float *score;
    int64_t *hist, *eval;
    int64_t n_hist, n_eval, cap;
} mind;

/* Reads the tensor whose name ends so. */
static cr_code read_tensor(const cr_ckpt *c, const char *end, matrix *out, cr_err *err) {
    const cr_ckpt_info *t = NULL;
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const cr_ckpt_info *x = cr_ckpt_at(c, i);
        size_t n = strlen(x->name), k = strlen(end);
        if (n >= k && strcmp(x->name + n - k, end) == 0 && !x->optimizer) t = x;
    }
    if (!t || t->n_dims < 1 || t->n_dims > 2)
        return cr_fail(err, CR_EDATA,
                       "%s has no parameter that ends in %s; it is not a checkpoint of PaddleRec's "
                       "mind",
                       cr_ckpt_path(c), end);
    out->rows = t->n_dims == 2 ? t->shape[0] : 1;
    out->cols = t->n_dims == 2 ? t->shape[1] : t->shape[0];
    void *p;
    CR_TRY(cr_try_alloc(&p, cr_bytes(t->n_elems, sizeof(float)), "a parameter", err));
    out->v = p;
    return cr_ckpt_read(c, t->name, 0, t->n_elems, out->v, err);
}

static cr_code read_model(mind *m, cr_err *err) {
    cr_ckpt *c;
    CR_TRY(cr_ckpt_open_weights(&c, m->o->ckpt_dir, err));
    cr_code code = read_tensor(c, ".item_emb.weight", &m->items, err);
    if (code == CR_OK) code = read_tensor(c, ".capsules.bilinear.weight", &m->bilinear, err);
    if (code == CR_OK) code = read_tensor(c, ".capsules.routing_logits", &m->logits, err);
    if (code == CR_OK) code = read_tensor(c, ".interests.weight", &m->weight, err);
    if (code == CR_OK) code = read_tensor(c, ".interests.bias", &m->bias, err);
    int64_t D = m->items.cols;
    if (code == CR_OK && (m->bilinear.rows != D || m->bilinear.cols != D || m->weight.rows != D ||
                          m->weight.cols != D || m->bias.cols != D))
        code = cr_fail(err, CR_EDATA, "the layers of %s do not fit together", cr_ckpt_path(c));
    cr_ckpt_close(c);
    return code;
}

static void shares(const mind *m, int64_t n, bool over_steps) {
    int64_t K = m->logits.rows, L = m->logits.cols;
    int64_t outer = over_steps ? K : n, inner = over_steps ? n : K;
    int64_t so = over_steps ? L : 1, si = over_steps ? 1 : L;
    for (int64_t i = 0; i < outer; i++) {
        float most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < inner; j++)
            most = fmaxf(most, m->b[i * so + j * si]);
        for (int64_t j = 0; j < inner; j++)
            sum += m->w[i * so + j * si] = expf(m->b[i * so + j * si] - most);
        for (int64_t j = 0; j < inner; j++)
            m->w[i * so + j * si] /= sum;
    }
}

/* Computes the interests of the history. */
static void find_interests(mind *m) {
    int64_t D = m->items.cols, K = m->logits.rows, L = m->logits.cols;
    int64_t n = m->n_hist < L ? m->n_hist : L;
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < D; d++)
            m->low[j * D + d] =
                cr_kern->dot(m->bilinear.v + d * D, m->items.v + m->hist[m->n_hist - n + j] * D, D);
    memcpy(m->b, m->logits.v, (size_t)(K * L) * sizeof(float));
    for (int round = 0; round < 3; round++) {
        bool last = round == 2;
        shares(m, n, m->o->over_steps && !last);
        for (int64_t k = 0; k < K; k++) {
            float *z = m->z + k * D;
            memset(z, 0, (size_t)D * sizeof(float));
            for (int64_t j = 0; j < n; j++)
                cr_kern->axpy(z, m->w[k * L + j], m->low + j * D, D);
            float q = cr_kern->dot(z, z, D);
            cr_kern->scale(z, q / (1 + q) / sqrtf(q + 1e-8f), z, D);
            for (int64_t j = 0; !last && j < n; j++)
                m->b[k * L + j] += cr_kern->dot(z, m->low + j * D, D);
        }
    }
    for (int64_t k = 0; k < K; k++)
        for (int64_t d = 0; d < D; d++) {
            float x = cr_kern->dot(m->weight.v + d * D, m->z + k * D, D) + m->bias.v[d];
            m->interests[k * D + d] = x > 0 ? x : 0;
        }
}

/* Finds the items with the highest scores, the best first; returns their number. */
static int find_items(mind *m) {
    int64_t D = m->items.cols, K = m->logits.rows;
    int n = 0;
    for (int64_t i = 1; i < m->items.rows; i++) { /* 0 is no item */
        float s = -INFINITY;
        for (int64_t k = 0; k < K; k++)
            s = fmaxf(s, cr_kern->dot(m->interests + k * D, m->items.v + i * D, D));
        if (n == m->o->top && !(s > m->score[n - 1])) continue;
        int at = n < m->o->top ? n++ : n - 1;
        for (; at > 0 && s > m->score[at - 1]; at--) {
            m->score[at] = m->score[at - 1];
            m->found[at] = m->found[at - 1];
        }
        m->score[at] = s;
        m->found[at] = i;
    }
    return n;
}

static void count_user(mind *m, cr_recall_result *r) {
    int64_t hits = 0;
    double gain = 0, best = 0;
    find_interests(m);
    int n = find_items(m);
    for (int i = 0; i < n; i++) {
        bool right = false;
        for (int64_t k = 0; k < m->n_eval; k++)
            right |= m->eval[k] == m->found[i];
        if (!right) continue;
        gain += 1 / log2((double)i + 2);
        best += 1 / log2((double)hits++ + 2);
    }
    r->users++;
    r->recall += (double)hits / (double)m->n_eval;
    r->hit_rate += hits > 0;
    if (hits) r->ndcg += gain / best;
}

/* Adds an id to a list, which has room for as many as the line has bytes. */
static bool add_id(const mind *m, int64_t *v, int64_t *n, const char *s, size_t len) {
    int64_t id;
    if (!cr_parse_i64(s, len, &id) || id < 0 || id >= m->items.rows) return false;
    v[(*n)++] = id;
    return true;
}

/* Reads the slots of a line; false: an id is wrong. */
static bool read_line(mind *m, const char *p, const char *end) {
    m->n_hist = m->n_eval = 0;
    for (const char *q; p < end; p = q + 1) {
        q = memchr(p, ' ', (size_t)(end - p));
        if (!q) q = end;
        size_t n = (size_t)(q - p) - (q > p && q[-1] == '\r' ? 1 : 0);
        bool ok = true;
        if (n > 10 && memcmp(p, "hist_item:", 10) == 0)
            ok = add_id(m, m->hist, &m->n_hist, p + 10, n - 10);
        else if (n > 10 && memcmp(p, "eval_item:", 10) == 0)
            ok = add_id(m, m->eval, &m->n_eval, p + 10, n - 10);
        if (!ok) return false;
    }
    int64_t kept = 0; /* 0 stands for none, and PaddleRec reads `longest` items to find */
    for (int64_t i = 0; i < m->n_eval && i < m->o->longest; i++)
        if (m->eval[i] != 0) m->eval[kept++] = m->eval[i];
    m->n_eval = kept;
    return true;
}

static cr_code one_file(mind *m, const char *path, cr_recall_result *r, cr_err *err) {
    cr_buf text;
    int line = 1;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, 0, &text, err);
    m->hist = CR_NEW_N(&m->arena, int64_t, text.n + 1);
    m->eval = CR_NEW_N(&m->arena, int64_t, text.n + 1);
    for (const char *p = text.data, *end = p + text.n, *nl; code == CR_OK && p < end;
         p = nl + 1, line++) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        cr_loc at = {path, line, 0};
        if (!read_line(m, p, nl))
            code =
                cr_fail_at(err, CR_EDATA, at,
                           "an item is not a whole number below %lld, the number of items of the "
                           "model; correct the line",
                           (long long)m->items.rows);
        else if (m->n_hist > 0 && m->n_eval > 0)
            count_user(m, r);
    }
    cr_buf_clear(&text);
    return code;
}

cr_code cr_interest_recall(const cr_recall_opts *o, cr_recall_result *r, cr_err *err) {
    mind m = {.o = o};
    char **names;
    size_t n = 0;
    *r = (cr_recall_result){0};
    if (o->top < 1 || o->top > MAX_TOP)
        return cr_fail(err, CR_EUSAGE, "%d items cannot be looked for; 1 to %d can", o->top,
                       MAX_TOP);
    cr_arena_init(&m.arena, 0);
    cr_code code = read_model(&m, err);
    if (code == CR_OK) code = cr_list_dir(&m.arena, o->data_dir, &names, &n, err);
    if (code == CR_OK) {
        int64_t D = m.items.cols, K = m.logits.rows, L = m.logits.cols;
        m.low = CR_NEW_N(&m.arena, float, L *D);
        m.b = CR_NEW_N(&m.arena, float, K *L);
        m.w = CR_NEW_N(&m.arena, float, K *L);
        m.z = CR_NEW_N(&m.arena, float, K *D);
        m.interests = CR_NEW_N(&m.arena, float, K *D);
        m.found = CR_NEW_N(&m.arena, int64_t, o->top);
        m.score = CR_NEW_N(&m.arena, float, o->top);
    }
    for (size_t i = 0; code == CR_OK && i < n; i++)
        if (names[i][0] != '.')
            code = one_file(&m, cr_path_join(&m.arena, o->data_dir, names[i]), r, err);
    if (code == CR_OK && r->users == 0)
        code = cr_fail(err, CR_EDATA,
                       "the folder '%s' holds no users; a line has slots, hist_item:5 hist_item:6 "
                       "eval_item:7",
                       o->data_dir);
    double users = r->users > 0 ? (double)r->users : 1;
    r->recall /= users;
    r->ndcg /= users;
    r->hit_rate /= users;
    matrix *all[] = {&m.items, &m.bilinear, &m.logits, &m.weight, &m.bias};
    for (int i = 0; i < 5; i++)
        cr_free(all[i]->v);
    cr_arena_clear(&m.arena);
    return code;
}
