/*
 * input.c - finds which column a feature reads, from the mode and its expression "side:column".
 *
 * CSV text carries no types. TorchEasyRec's reader guesses them per file, so a text column counts
 * as numeric unless input_fields declares it STRING. That decides the precision and the meaning of
 * nulls (see docs/design/feat.md).
 */
#include "feat/feat_int.h"

#include <string.h>

#include "conf/conf.h"

static const char *const SIDES[] = {"user", "item", "context", "const", "feature", NULL};

static const char *side_at(const void *ctx, size_t i) {
    (void)ctx;
    return SIDES[i];
}

bool cr_fg_encoded(const cr_data_conf *data) {
    return data->fg_mode == CR_FG_NONE;
}

bool cr_fg_by_name(const cr_data_conf *data) {
    return data->fg_mode == CR_FG_NONE || data->fg_mode == CR_FG_BUCKETIZE;
}

cr_loc cr_at_char(const void *conf, const char *field, size_t pos) {
    cr_loc at = cr_conf_at(conf, field);
    const cr_conf_base *b = conf;
    const cr_conf_node *n = b->node ? cr_conf_find(b->node, field) : NULL;
    if (n && n->kind == CR_NODE_SCALAR && at.line > 0 && at.col > 0)
        at.col += (int)pos + (n->quoted ? 1 : 0);
    return at;
}

cr_side cr_input_side(const cr_feature *f, const char *side, const char *name,
                      const cr_data_conf *data, cr_loc at, cr_diag *diag) {
    size_t i = 0;
    while (SIDES[i] && strcmp(side, SIDES[i]) != 0)
        i++;
    if (i < 3) return CR_SIDE_COLUMN;
    if (i == 3) return CR_SIDE_CONST;
    if (SIDES[i] && data->fg_mode == CR_FG_DAG) return CR_SIDE_FEATURE;
    if (SIDES[i]) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "feature '%s': an input 'feature:%s' needs fg_mode FG_DAG; use a column: "
                    "user:, item: or context:",
                    f->name, name);
        return CR_SIDE_WRONG;
    }
    const char *near = cr_nearest(side, side_at, NULL);
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at, "feature '%s': unknown side '%s'; %s%s%s",
                f->name, side, near ? "did you mean '" : "use user, item, context or const",
                near ? near : "", near ? "'?" : "");
    return CR_SIDE_WRONG;
}

/* Returns the FieldType of a column in input_fields; -1: it is not declared. */
static int declared(const cr_data_conf *data, const char *column) {
    for (int64_t i = 0; i < data->input_fields.n; i++) {
        const cr_field_conf *c = data->input_fields.v[i];
        if (strcmp(c->input_name, column) == 0)
            return cr_conf_has(c, "input_type") ? c->input_type : -1;
    }
    return -1;
}

/* Splits an expression into side and column; false after an error. */
static bool split(const char *text, const cr_feature *f, const void *conf, size_t *n_side,
                  const char **column, cr_diag *diag) {
    const char *colon = strchr(text, ':');
    if (!*text || !colon || colon == text || !colon[1]) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, "expression"),
                    "feature '%s': %s; write e.g. %s", f->name,
                    *text ? "expression must be side:column" : "this fg_mode needs an expression",
                    CR_SAY(conf, "expression", "\"user:%s\"",
                           *text && !colon ? text : cr_conf_text(conf, "feature_name")));
        return false;
    }
    *n_side = (size_t)(colon - text);
    *column = colon + 1;
    return true;
}

const char *cr_conf_text(const void *conf, const char *field) {
    const cr_conf_base *b = conf;
    const cr_field *row = cr_msg_field(b->msg, field);
    if (!row || row->offset == CR_NO_STORE || row->type != CR_T_STR) return "";
    const char *text;
    memcpy(&text, (const char *)conf + row->offset, sizeof(text));
    return text ? text : "";
}

bool cr_conf_flag(const void *conf, const char *field) {
    const cr_field *row = cr_msg_field(((const cr_conf_base *)conf)->msg, field);
    bool x = false;
    if (row && row->offset != CR_NO_STORE && row->type == CR_T_BOOL)
        memcpy(&x, (const char *)conf + row->offset, sizeof(x));
    return x;
}

static bool listed(const cr_strs *names, const char *name) {
    for (int64_t i = 0; i < names->n; i++)
        if (strcmp(names->v[i], name) == 0) return true;
    return false;
}

const char *cr_input_name(const cr_feature *f, const char *side, const char *name, bool many,
                          bool *is_seq, cr_arena *arena) {
    *is_seq = false;
    if (!f->seq) return name;
    const cr_conf_base *b = f->conf;
    const cr_field *row = cr_msg_field(b->msg, "sequence_fields");
    cr_strs fields = {NULL, 0};
    if (row && row->offset != CR_NO_STORE)
        memcpy(&fields, (const char *)f->conf + row->offset, sizeof(fields));
    if (fields.n)
        *is_seq = listed(&fields, name);
    else
        *is_seq = !many || strcmp(side, "item") == 0;
    if (!*is_seq || !f->seq->name) return name;
    return cr_arena_printf(arena, "%s%s%s", f->seq->name, f->seq->sep, name);
}

void cr_input_make(cr_input *in, cr_feature *f, const void *conf, const char *expression,
                   const cr_data_conf *data, cr_arena *arena, cr_diag *diag) {
    *in = (cr_input){NULL, false, false};
    const char *column = f->name;
    bool own = !f->place; /* otherwise it reads the results of an operator (calc.c) */
    if (own) f->place = cr_arena_printf(arena, "feature '%s'", f->name);
    if (!cr_fg_by_name(data)) {
        size_t n = 0;
        if (!split(expression, f, conf, &n, &column, diag)) return;
        char *side = cr_arena_strndup(arena, expression, n);
        cr_side from =
            cr_input_side(f, side, column, data, cr_at_char(conf, "expression", 0), diag);
        if (from == CR_SIDE_WRONG) return;
        if (from == CR_SIDE_FEATURE) {
            f->columns = CR_NEW_N(arena, const char *, 1);
            f->columns[0] = cr_arena_strdup(arena, expression);
            f->n_columns = 1;
            return;
        }
        if (from == CR_SIDE_CONST) {
            in->constant = cr_arena_strdup(arena, column);
            return;
        }
        bool is_seq;
        column = cr_input_name(f, side, column, false, &is_seq, arena);
        if (f->seq && !is_seq) f->is_seq = CR_NEW(arena, bool);
    }
    int type = declared(data, column);
    in->is_int = type == CR_COL_I32 || type == CR_COL_I64;
    in->is_num = cr_data_is_text(data) && type != CR_COL_STR;
    f->columns = CR_NEW_N(arena, const char *, 1);
    f->columns[0] = cr_arena_strdup(arena, column);
    f->n_columns = 1;
    if (own) f->place = cr_arena_printf(arena, "column '%s'", column);
}

const cr_column *cr_input_column(const cr_input *in, const cr_feature *f, const cr_chunk *chunk,
                                 cr_arena *arena) {
    if (!in->constant) return &chunk->cols[f->col_idx[0]];
    /* a constant is a dictionary of one entry */
    uint32_t *place = CR_NEW_N(arena, uint32_t, 2);
    place[1] = (uint32_t)strlen(in->constant);
    cr_column *c = CR_NEW(arena, cr_column);
    *c = (cr_column){.type = CR_COL_STR,
                     .bytes = in->constant,
                     .beg = place,
                     .end = place + 1,
                     .code = CR_NEW_N(arena, uint32_t, chunk->n_rows + 1),
                     .n_dict = 1};
    return c;
}
