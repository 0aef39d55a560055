/*
 * old_names.c - other names under which a checkpoint may hold a parameter of the model: names that
 * earlier versions of crank wrote, one of TorchEasyRec that cannot be typed, and those of a table
 * that has dynamicemb now and had zch before, or the other way round.
 *
 * A row says: where the model has `now`, a checkpoint may have `was`. A star in the middle stands
 * for one part of a name (no dot in it), a star at the end for all that follows; the stars of `was`
 * and `sign` stand for the same texts as those of `now`. Without a sign the row counts when the
 * checkpoint has `was` and does not have `now`. That is not enough where the old name of one
 * parameter is the new name of another (perceptron.2 was the activation behind a batch norm and is
 * now the batch norm itself). The sign of such a row is a tensor that only the old form has.
 */
#include "ckpt/ckpt_int.h"

#include <string.h>

#include "base/buf.h"

#define MAX_STARS 4

typedef struct old_name {
    const char *now, *was, *sign; /* sign NULL: see above */
} old_name;

/* In the layers that score a sequence TorchEasyRec has a transposition before and after batch
 * norm. */
#define BN_OF_STEPS(path)                                                                          \
    {path "mlp.mlp.*.perceptron.2.*", path "mlp.mlp.*.perceptron.1.*",                             \
     path "mlp.mlp.*.perceptron.1.running_mean"},                                                  \
    {                                                                                              \
        path "mlp.mlp.*.perceptron.4.*", path "mlp.mlp.*.perceptron.2.*",                          \
            path "mlp.mlp.*.perceptron.1.running_mean"                                             \
    }

/* A table with a map, and the tensors of the map, from one place to the other. */
#define POOLED    "model.embedding_group.emb_impls.*."
#define STEPS     "model.embedding_group.seq_emb_impls.*."
#define ZCH_BAGS  POOLED "mc_ebc._embedding_module.embedding_bags.*."
#define ZCH_MAP   POOLED "mc_ebc._managed_collision_collection._managed_collision_modules.*."
#define DYN_BAGS  POOLED "ebc.embedding_bags.*."
#define ZCH_STEPS STEPS "mc_ec_dict.*._embedding_module.embeddings.*."
#define ZCH_S_MAP STEPS "mc_ec_dict.*._managed_collision_collection._managed_collision_modules.*."
#define DYN_STEPS STEPS "ec_dict.*.embeddings.*."
#define OF_MAP(now, was)                                                                           \
    {now "_mch_*", was "_mch_*", NULL}, {now "_history_*", was "_history_*", NULL},                \
        {now "_current_iter_tensor", was "_current_iter_tensor", NULL}, {                          \
        now "_last_eviction_iter", was "_last_eviction_iter", NULL                                 \
    }
#define WEIGHT(now, was)                                                                           \
    { now "weight", was "weight", NULL }

static const old_name names[] = {
    WEIGHT(DYN_BAGS, ZCH_BAGS),
    WEIGHT(ZCH_BAGS, DYN_BAGS),
    WEIGHT(DYN_STEPS, ZCH_STEPS),
    WEIGHT(ZCH_STEPS, DYN_STEPS),
    OF_MAP(DYN_BAGS, ZCH_MAP),
    OF_MAP(ZCH_MAP, DYN_BAGS),
    OF_MAP(DYN_STEPS, ZCH_S_MAP),
    OF_MAP(ZCH_S_MAP, DYN_STEPS),
    /* dcn_v1 */
    {"model.final_dnn.*", "model.final.*", NULL},
    {"model.output_linear.*", "model.output_mlp.*", NULL},
    /* multi_tower_din_trt of older TorchEasyRec */
    {"model.towers.*", "model.dense.towers.*", NULL},
    {"model.din_towers.*", "model.dense.din_towers.*", NULL},
    {"model.final_mlp.*", "model.dense.final_mlp.*", NULL},
    {"model.output_mlp.*", "model.dense.output_mlp.*", NULL},
    /* rocket_launching */
    {"model.booster_linear.*", "model.booster_liner.*", NULL},
    {"model.light_linear.*", "model.light_liner.*", NULL},
    /* batch norm in the attention of multi_tower_din, of sequence_encoders and of blocks */
    BN_OF_STEPS("model.din_towers.*."),
    BN_OF_STEPS("model.embedding_group._group_name_to_seq_encoders.*.*."),
    BN_OF_STEPS("model.blocks.*."),
    /* TorchEasyRec writes twelve blanks before the feature's name here */
    {"model.embedding_group.emb_impls.*.dense_ec.dense_embs.mlp#*#vdim#*#feature_name#*",
     "model.embedding_group.emb_impls.*.dense_ec.dense_embs.mlp#*#vdim#*#feature_name#            "
     "*",
     NULL},
};

typedef struct star {
    const char *s;
    size_t n;
} star;

/* Does the name have the form? stars receives the text for which each star stands. */
static bool matches(const char *form, const char *name, star *stars) {
    for (int k = 0; *form; form++) {
        if (*form != '*') {
            if (*form != *name++) return false;
            continue;
        }
        char next = form[1];
        const char *end = next ? strchr(name, next) : name + strlen(name);
        CR_ASSERT(k < MAX_STARS);
        if (!end || end == name || (next && memchr(name, '.', (size_t)(end - name)))) return false;
        stars[k++] = (star){name, (size_t)(end - name)};
        name = end;
    }
    return !*name;
}

static const char *filled(cr_arena *a, const char *form, const star *stars) {
    cr_buf b;
    cr_buf_init(&b);
    for (int k = 0; *form; form++) {
        if (*form == '*') {
            cr_buf_add(&b, stars[k].s, stars[k].n);
            k++;
        } else {
            cr_buf_char(&b, *form);
        }
    }
    const char *text = cr_arena_strndup(a, b.data, b.n);
    cr_buf_clear(&b);
    return text;
}

const char *cr_ckpt_name_in(const cr_ckpt *c, const char *name, cr_arena *a) {
    star stars[MAX_STARS];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const old_name *o = &names[i];
        if (!matches(o->now, name, stars)) continue;
        const char *was = filled(a, o->was, stars);
        if (o->sign ? cr_ckpt_find(c, filled(a, o->sign, stars)) != NULL
                    : !cr_ckpt_find(c, name) && cr_ckpt_find(c, was))
            return was;
    }
    return name;
}
