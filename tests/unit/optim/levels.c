/*
 * levels.c - every rule gives the same bits on each CPU level, and for many rows as for one.
 *
 * The rules are those of the two families, so a new one is tested as soon as it is listed. Of its
 * message every combination is tried: flags on and off, each word of an enum, decay and the like
 * absent and present, momentum and none. Widths leave rests of every length after blocks of 16 and
 * 4 and after sums of 8; a guard stands behind all that a rule may write.
 */
#include "harness.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "optim/list.h"

enum { STEPS = 3, PLANES = 4, MAX_D = 131, ROOM = (2 + PLANES) * (MAX_D + 1) };

/* use_level makes a level the one in use; false: this CPU does not have it */
static bool use_level(cr_cpu_level level) {
    setenv("CRANK_CPU", cr_cpu_level_name(level), 1);
    cr_kern_init();
    unsetenv("CRANK_CPU");
    return cr_kern_level == level;
}

/* what a field is tried with: how many values, and setting number i; 1: it stays as it is */
static int n_forms(const cr_field *f) {
    if (f->offset == CR_NO_STORE || strcmp(f->name, "gradient_clipping") == 0) return 1;
    if (f->type == CR_T_BOOL) return 2;
    if (f->type == CR_T_FLOAT) return f->num == 0 || strcmp(f->name, "momentum") == 0 ? 2 : 1;
    int n = 0;
    for (const cr_enum_value *e = f->ref; f->type == CR_T_ENUM && e[n].name; n++) {
    }
    return n ? n : 1;
}
static void set_form(void *conf, const cr_field *f, int i) {
    if (n_forms(f) == 1) return;
    char *at = (char *)conf + f->offset;
    bool flag = i != 0;
    double number = i == 0 ? f->num : f->num == 0 ? 0.03 : 0;
    if (f->type == CR_T_BOOL) memcpy(at, &flag, sizeof flag);
    if (f->type == CR_T_FLOAT) memcpy(at, &number, sizeof number);
    if (f->type == CR_T_ENUM) memcpy(at, &((const cr_enum_value *)f->ref)[i].value, sizeof(int));
}
static int64_t n_combinations(const cr_msg *msg) {
    int64_t n = 1;
    for (const cr_field *f = msg->fields; f->name; f++)
        n *= n_forms(f);
    return n;
}
static void set_combination(void *conf, const cr_msg *msg, int64_t which) {
    for (const cr_field *f = msg->fields; f->name; f++) {
        set_form(conf, f, (int)(which % n_forms(f)));
        which /= n_forms(f);
    }
}

/* uniform in [-1, 1), with zeros, and with very large and very small ones when wild */
static void fill(float *x, int64_t n, uint64_t seed, bool wild) {
    static const float odd[] = {-0.0F, 1e-40F, -3e-39F, 1e-25F, 2e15F, -1e25F, INFINITY};
    for (int64_t i = 0; i < n; i++) {
        uint64_t draw = cr_rng_u64(seed + 1000, (uint64_t)i);
        x[i] = cr_rng_f32(seed, (uint64_t)i) * 2 - 1;
        if (draw % 8 == 0) x[i] = wild ? odd[draw / 8 % 7] : 0;
    }
}

/* which function of a rule is called */
typedef enum way { DENSE, ROW, ROWS } way;

/* one training: weights, then planes of state, then a guard in out; floats written are returned */
static int64_t train(float *out, const cr_optim_type *type, const void *conf, way how, int64_t D,
                     bool wild) {
    static const int64_t id[] = {7};
    bool dense = how == DENSE;
    float g[MAX_D], *state[PLANES] = {0}, *rest = out + D;
    int64_t planes = type->elem_state, size = D * (1 + planes) + (dense ? 0 : type->row_state);
    CHECK(planes <= PLANES && size < ROOM);
    fill(out, D, 1, wild);
    for (int64_t i = D; i < size; i++)
        out[i] = type->state_init ? type->state_init(conf, (int)((i - D) / D)) : 0;
    out[size] = 12345.0F;
    for (int k = 0; k < planes; k++)
        state[k] = rest + k * D;
    for (int64_t t = 1; t <= STEPS; t++) {
        cr_optim_step s = {.lr = 0.05, .t = t};
        if (type->prepare && t != 2) type->prepare(conf, &s);
        fill(g, D, (uint64_t)t + 10, wild);
        if (dense)
            type->dense(conf, &s, out, g, state, D);
        else if (how == ROW)
            type->row(conf, &s, out, rest, g, D);
        else
            type->rows(conf, &s, &(cr_optim_rows){out, size, id[0], D, id, 1, 0, g});
    }
    CHECK(out[size] == 12345.0F);
    return size;
}

/* NaNs are equal: their sign depends on the order of operands */
static bool same(const float *a, const float *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) return false;
    return true;
}

/* what level c gave, case after case; other levels walk through it again */
typedef struct record {
    float *want;
    int64_t at, room;
    bool fill;
} record;

static void keep_or_compare(record *r, const float *got, int64_t n, const char *key, int64_t form,
                            int64_t D) {
    bool agree = true;
    if (r->fill) {
        while (r->at + n > r->room) {
            int64_t room = r->room ? 2 * r->room : 1 << 16;
            r->want = cr_realloc(r->want, (size_t)r->room * sizeof *r->want,
                                 (size_t)room * sizeof *r->want, "results");
            r->room = room;
        }
        memcpy(r->want + r->at, got, (size_t)n * sizeof *got);
    } else {
        agree = r->at + n <= r->room && same(got, r->want + r->at, n);
    }
    if (!agree)
        fprintf(stderr, "%s, form %lld, width %lld: level %s differs from c\n", key,
                (long long)form, (long long)D, cr_cpu_level_name(cr_kern_level));
    CHECK(agree);
    r->at += n;
}

static void run_family(record *r, const cr_oneof *family, bool dense) {
    float out[ROOM], many[ROOM];
    cr_arena arena;
    cr_diag diag;
    cr_arena_init(&arena, 0);
    cr_diag_init(&diag);
    for (const cr_oneof_member *m = family->members; m->key; m++) {
        void *conf = cr_conf_bind(&arena, m->msg, NULL, &diag);
        for (int64_t which = 0; which < n_combinations(m->msg); which++) {
            set_combination(conf, m->msg, which);
            const cr_optim_type *type = cr_optim_of(&(cr_choice){m, conf});
            CHECK(dense ? type->dense != NULL : type->row != NULL);
            for (int64_t D = 1; D <= MAX_D; D += D < 40 ? 1 : 13)
                for (int wild = 0; wild < 2; wild++) {
                    int64_t n = train(out, type, conf, dense ? DENSE : ROW, D, wild);
                    keep_or_compare(r, out, n, m->key, which, D);
                    if (dense || !type->rows) continue;
                    train(many, type, conf, ROWS, D, wild);
                    CHECK(same(out, many, n));
                }
        }
    }
    CHECK_INT(diag.n, 0);
    cr_diag_clear(&diag);
    cr_arena_clear(&arena);
}

static void all_levels(const cr_oneof *family, bool dense) {
    record r = {.fill = true};
    int64_t n = 0;
    for (int level = CR_CPU_C; level < CR_CPU_LEVELS; level++) {
        if (!use_level((cr_cpu_level)level)) continue;
        r.at = 0;
        r.fill = level == CR_CPU_C;
        run_family(&r, family, dense);
        if (r.fill) n = r.at;
        CHECK(r.at == n && n > 100000); /* as many cases on every level */
    }
    CHECK(n > 0);
    cr_free(r.want);
}

TEST(rows_on_each_level) {
    all_levels(&cr_sparse_optim_family, false);
}
TEST(dense_on_each_level) {
    all_levels(&cr_dense_optim_family, true);
}

/* the forms are what they should be: a field that is renamed must not fall out of the test */
TEST(forms) {
    static const struct {
        const cr_oneof *family;
        const char *key;
        int64_t forms;
    } want[] = {
        {&cr_sparse_optim_family, "sgd_optimizer", 1},
        {&cr_sparse_optim_family, "adagrad_optimizer", 2}, /* first value */
        {&cr_sparse_optim_family, "rowwise_adagrad_optimizer",
         12},                                               /* decay, three modes, first value */
        {&cr_sparse_optim_family, "adam_optimizer", 4},     /* decay, LAZY and DENSE */
        {&cr_sparse_optim_family, "lars_sgd_optimizer", 4}, /* momentum, decay */
        {&cr_sparse_optim_family, "ftrl_optimizer", 32},    /* beta, l1, l2, first value, keep */
        {&cr_dense_optim_family, "sgd_optimizer", 16},      /* momentum, decay, damping, nesterov */
        {&cr_dense_optim_family, "adagrad_optimizer", 4},   /* decay, first value */
        {&cr_dense_optim_family, "adam_optimizer", 4},      /* decay, amsgrad */
        {&cr_dense_optim_family, "adamw_optimizer", 4},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        for (const cr_oneof_member *m = want[i].family->members; m->key; m++)
            if (strcmp(m->key, want[i].key) == 0) CHECK_INT(n_combinations(m->msg), want[i].forms);
}

TEST_MAIN(CASE(rows_on_each_level), CASE(dense_on_each_level), CASE(forms))
