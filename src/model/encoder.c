/*
 * encoder.c - sequence_groups and sequence_encoders of a feature group: their messages, and which
 * encoder reads which sequences. The encoders themselves are those of encoder_list.h.
 *
 * An encoder turns the steps of a row into one vector (layer/seq.c); the vectors stand behind the
 * group's own features, in the order of the config. Their parameters have TorchEasyRec's names:
 * embedding_group._group_name_to_seq_encoders.<group>.<i>. Nothing is padded.
 */
#include <stdio.h>
#include <string.h>

#include "model/encoder_int.h"

#define ENCODER_PATH "embedding_group._group_name_to_seq_encoders"

void cr_encoder_wrong(const cr_encoder_in *s, const char *field, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cr_diag_add(s->b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(s->conf, field), "%s", text);
}

/* ---- messages ---- */

static const cr_field seq_group_fields[] = {
    CR_STR(cr_seq_group_conf, group_name, NULL, 0,
           "name that encoders use; not needed when there is only one"),
    CR_STR(cr_seq_group_conf, feature_names, NULL, CR_F_REPEATED,
           "plain features (the query) and sequences, in order"),
    CR_STR(cr_seq_group_conf, embedding_name_suffix, NULL, 0,
           "suffix of the table names; not given: that of the feature group"),
    CR_END,
};
const cr_msg cr_seq_group_msg = {
    .name = "SeqGroupConfig",
    .help = "A query and its sequences",
    .fields = seq_group_fields,
    .size = sizeof(cr_seq_group_conf),
};

#define ENTRY(e) {#e, &cr_##e##_msg, &cr_encoder_##e},
static const cr_oneof_member members[] = {CR_ENCODERS(ENTRY){NULL, NULL, NULL}};
const cr_oneof cr_encoder_family = {"sequence encoder", true, members};
static const cr_field seq_encoder_fields[] = {
    CR_ONEOF(cr_seq_encoder_conf, seq_module, &cr_encoder_family, 0, "the encoder"),
    CR_END,
};
const cr_msg cr_seq_encoder_msg = {
    .name = "SeqEncoderConfig",
    .help = "Turns a sequence into one vector",
    .fields = seq_encoder_fields,
    .size = sizeof(cr_seq_encoder_conf),
};

/* ---- the sequence groups of a feature group ---- */

typedef struct nest {
    cr_build *b;
    const cr_group_conf *gc;
    cr_seq_in *in; /* per sequence group */
    bool *read;    /* an encoder reads it */
    bool *reads_query;
    int64_t n;
} nest;

static const char *nth_name(const void *ctx, size_t i) {
    const nest *x = ctx;
    return (int64_t)i < x->n ? x->in[i].g.name : NULL;
}

#define wrong(x, at, ...) cr_diag_add((x)->b->diag, CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__)

bool cr_encoders_fit(cr_build *b, const cr_group_conf *gc) {
    if (gc->group_type == CR_GROUP_DEEP ||
        (gc->sequence_groups.n == 0 && gc->sequence_encoders.n == 0))
        return true;
    cr_diag_add(
        b->diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(gc, "group_type"),
        "sequence_groups and sequence_encoders stand in groups of type DEEP; write %s in group "
        "'%s', or move them to such a group",
        CR_SAY(gc, "group_type", "DEEP"), gc->group_name);
    return false;
}

/* Checks what must hold before the groups and encoders are looked at one by one. */
static bool shape_ok(const nest *x) {
    const cr_group_conf *gc = x->gc;
    int64_t groups = gc->sequence_groups.n, encoders = gc->sequence_encoders.n;
    if (!cr_encoders_fit(x->b, gc)) return false;
    if (groups == 0)
        wrong(x, cr_conf_at(gc, "sequence_encoders"),
              "feature group '%s' has sequence_encoders but no sequence_groups; add the group that "
              "they read",
              gc->group_name);
    else if (encoders == 0)
        wrong(x, cr_conf_at(gc, "sequence_groups"),
              "feature group '%s' has sequence_groups but no sequence_encoders; add for example %s",
              gc->group_name, CR_SAY(gc, "sequence_encoders", "[{pooling_encoder: {}}]"));
    else
        return true;
    return false;
}

static void warn_repeated(const nest *x, const cr_seq_group_conf *s, const char *name) {
    for (int64_t i = 1; i < s->feature_names.n; i++)
        for (int64_t k = 0; k < i; k++)
            if (strcmp(s->feature_names.v[i], s->feature_names.v[k]) == 0) {
                cr_diag_add(x->b->diag, CR_SEV_WARN, CR_ECONF,
                            cr_conf_at_item(s, "feature_names", i),
                            "sequence group '%s' names '%s' again; remove it", name,
                            s->feature_names.v[i]);
                break;
            }
}

static bool open_groups(nest *x) {
    const cr_group_conf *gc = x->gc;
    bool ok = true;
    for (int64_t i = 0; i < gc->sequence_groups.n; i++) {
        const cr_seq_group_conf *s = gc->sequence_groups.v[i];
        bool named = *s->group_name != 0;
        cr_members g = {s, named ? s->group_name : gc->group_name, true, &s->feature_names,
                        *s->embedding_name_suffix ? s->embedding_name_suffix
                                                  : gc->embedding_name_suffix};
        cr_loc at = cr_conf_at_item(gc, "sequence_groups", i);
        if (!named && gc->sequence_groups.n > 1) {
            wrong(x, at,
                  "feature group '%s' has several sequence_groups, so each needs a group_name; "
                  "give this one a name",
                  gc->group_name);
            ok = false;
            continue;
        }
        for (int64_t k = 0; k < x->n; k++)
            if (strcmp(x->in[k].g.name, g.name) == 0) {
                wrong(x, cr_conf_at(s, "group_name"),
                      "sequence group '%s' is already defined at line %d; give one of them another "
                      "name",
                      g.name, ((const cr_conf_base *)x->in[k].g.conf)->at.line);
                ok = false;
            }
        if (s->feature_names.n == 0) {
            wrong(x, at, "sequence group '%s' has no feature_names; list its features", g.name);
            ok = false;
        } else {
            warn_repeated(x, s, g.name);
            ok = cr_seq_open(x->b, &x->in[x->n], &g, cr_conf_at(s, "feature_names")) && ok;
        }
        x->in[x->n++].g = g;
    }
    return ok;
}

/* Returns the number of the sequence group that an encoder reads; -1 when there is a mistake. */
static int64_t input_of(nest *x, const cr_encoder_conf *c) {
    if (!*c->input && x->n == 1) return 0;
    if (!*c->input) {
        wrong(x, c->base.at,
              "feature group '%s' has %lld sequence_groups; say with input which one this encoder "
              "reads",
              x->gc->group_name, (long long)x->n);
        return -1;
    }
    for (int64_t i = 0; i < x->n; i++)
        if (strcmp(x->in[i].g.name, c->input) == 0) return i;
    const char *near = cr_nearest(c->input, nth_name, x);
    wrong(x, cr_conf_at(c, "input"),
          "there is no sequence group '%s' in feature group '%s'; %s%s%s", c->input,
          x->gc->group_name, near ? "did you mean '" : "add it to its sequence_groups",
          near ? near : "", near ? "'?" : "");
    return -1;
}

static bool build_encoders(nest *x, cr_node **out) {
    bool ok = true;
    for (int64_t i = 0; i < x->gc->sequence_encoders.n; i++) {
        const cr_seq_encoder_conf *e = x->gc->sequence_encoders.v[i];
        const cr_encoder_conf *c = e->seq_module.conf;
        const cr_encoder_type *type = e->seq_module.m->type;
        int64_t k = input_of(x, c);
        out[i] = NULL;
        if (k < 0) {
            ok = false;
            continue;
        }
        cr_encoder_in s = {x->b, c, &x->in[k],
                           cr_arena_printf(&x->b->m->arena, "%s.%lld", x->gc->group_name,
                                           (long long)i)};
        x->read[k] = true;
        x->reads_query[k] |= type->query;
        out[i] = type->build(&s);
        ok = ok && out[i];
    }
    return ok;
}

static bool all_read(const nest *x) {
    bool ok = true;
    for (int64_t i = 0; i < x->n; i++) {
        const cr_seq_in *in = &x->in[i];
        cr_loc at = cr_conf_at_item(x->gc, "sequence_groups", i);
        if (!x->read[i]) {
            wrong(
                x, at,
                "no encoder of feature group '%s' reads the sequence group '%s'; add one with %s, "
                "or remove the group",
                x->gc->group_name, in->g.name, CR_SAY(x->gc, "input", "\"%s\"", in->g.name));
            ok = false;
        } else if (in->query.n > 0 && !x->reads_query[i]) {
            cr_diag_add(x->b->diag, CR_SEV_WARN, CR_ECONF, at,
                        "the encoders of sequence group '%s' read its sequences only; its plain "
                        "features have no effect, remove them",
                        in->g.name);
        }
    }
    return ok;
}

cr_node *const *cr_encoders_build(cr_build *b, const cr_group_conf *gc) {
    for (const struct cr_encoded *e = b->encoded; e; e = e->next)
        if (e->group == gc) return e->out;
    cr_arena *a = &b->m->arena;
    int64_t groups = gc->sequence_groups.n;
    nest x = {b,
              gc,
              CR_NEW_N(a, cr_seq_in, groups + 1),
              CR_NEW_N(a, bool, groups + 1),
              CR_NEW_N(a, bool, groups + 1),
              0};
    cr_node **out = CR_NEW_N(a, cr_node *, gc->sequence_encoders.n + 1);
    bool ok = shape_ok(&x) && open_groups(&x);
    size_t mark = cr_graph_push(b->g, ENCODER_PATH);
    ok = ok && build_encoders(&x, out) && all_read(&x);
    cr_graph_pop(b->g, mark);
    struct cr_encoded *e = CR_NEW(a, struct cr_encoded);
    *e = (struct cr_encoded){gc, ok ? out : NULL, b->encoded};
    b->encoded = e;
    return e->out;
}
