/*
 * convert.c - `crank convert`: reads a config of EasyRec, rewrites it (dialect/), checks the result
 * and writes it.
 *
 * The file is written whenever the input is a config of EasyRec, even if parts of it have no
 * counterpart. It is then a start for manual work, and the exit code tells that it is not complete.
 * The report stands at its head as comments.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/shown.h"
#include "conf/conf.h"
#include "dialect/dialect.h"
#include "job/job.h"
#include "tool/tool.h"

/* ---- keys that only crank has ---- */

static void ours(cr_buf *out, const cr_msg *msg, const cr_conf_node *node, const char *path,
                 int depth) {
    if (!node || node->kind != CR_NODE_MAP || depth > 16) return;
    for (size_t i = 0; i < node->n; i++) {
        const char *key = node->v[i].key;
        const cr_field *f = cr_msg_field(msg, key);
        const cr_oneof_member *m = cr_msg_member(msg, key, NULL);
        char full[256];
        snprintf(full, sizeof(full), "%.160s%s%.80s", path, *path ? "." : "", key);
        bool own = (f && f->flags & CR_F_OURS) || (m && m->msg->ours);
        if (own) {
            char quoted[300];
            snprintf(quoted, sizeof(quoted), "'%s'", full);
            if (!out->n || !strstr(out->data, quoted))
                cr_buf_printf(out, "%s%s", out->n ? ", " : "", quoted);
        } else if (m) {
            ours(out, m->msg, node->v[i].val, full, depth + 1);
        } else if (f && f->type == CR_T_MSG) {
            ours(out, f->ref, node->v[i].val, full, depth + 1);
        }
    }
}

/* ---- writing ---- */

/* head writes the report as comments. Text of the user must not begin a line of its own there. */
static void head(cr_buf *out, const cr_convert_opts *o, const cr_diag *diag) {
    static const char *const kinds[] = {
        [CR_SEV_ERROR] = "error: ", [CR_SEV_WARN] = "warning: ", [CR_SEV_NOTE] = ""};
    const char *from = o->easyrec_config_path;
    cr_buf_str(out, "# Made of ");
    cr_buf_shown(out, from, strlen(from), false);
    cr_buf_printf(out, ", a config of EasyRec, by crank %s.\n", CR_VERSION);
    if (diag->n) cr_buf_str(out, "# What differs, by its line there:\n");
    for (size_t i = 0; i < diag->n; i++) {
        const cr_finding *f = &diag->v[i];
        cr_buf_str(out, "#   ");
        if (f->at.path && strcmp(f->at.path, from) != 0) { /* the finding is in fg.json */
            cr_buf_shown(out, f->at.path, strlen(f->at.path), false);
            cr_buf_char(out, ':');
        }
        cr_buf_printf(out, "%d: %s", f->at.line, kinds[f->sev]);
        cr_buf_shown(out, f->msg, strlen(f->msg), false);
        cr_buf_char(out, '\n');
    }
    cr_buf_char(out, '\n');
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static cr_code write_file(const cr_convert_opts *o, const cr_conf_doc *doc, const cr_diag *report,
                          cr_err *err) {
    const char *path = o->output_tzrec_config_path;
    bool yaml = ends_with(path, ".yaml") || ends_with(path, ".yml");
    cr_buf text;
    cr_buf_init(&text);
    head(&text, o, report);
    cr_conf_print(&text, &cr_root_msg, doc->root, yaml ? CR_SYNTAX_YAML : CR_SYNTAX_PBTXT);
    cr_code code = cr_file_write(path, text.data, text.n, err);
    cr_buf_clear(&text);
    return code;
}

static void take_over(cr_diag *to, const cr_diag *from) {
    for (size_t i = 0; i < from->n; i++)
        cr_diag_add_(from->v[i].src, from->v[i].src_line, to, from->v[i].sev, from->v[i].code,
                     from->v[i].at, "%s", from->v[i].msg);
}

/* look_at checks the result like any other config. The places are those of the input. */
static void look_at(const cr_conf_doc *doc, cr_diag *diag) {
    cr_arena arena;
    cr_arena_init(&arena, 0);
    cr_root_conf *root = cr_conf_bind(&arena, &cr_root_msg, doc->root, diag);
    cr_root_finish(root, &arena, diag);
    if (cr_diag_code(diag) == CR_OK) cr_root_check(root, diag);
    cr_arena_clear(&arena);
}

cr_code cr_convert_easyrec(const cr_convert_opts *o, cr_convert_result *res, cr_diag *diag) {
    cr_easyrec_opts opts = {o->fg_json_path, o->use_old_fg};
    cr_conf_doc in, out;
    cr_diag report, looks;
    cr_err err;
    *res = (cr_convert_result){0};
    if (cr_same_file(o->easyrec_config_path, o->output_tzrec_config_path)) {
        (void)!cr_fail(&err, CR_EUSAGE,
                       "--output_tzrec_config_path is the config to convert; give another name");
        return cr_diag_err(diag, &err);
    }
    if (cr_path_is_dir(o->output_tzrec_config_path)) {
        (void)!cr_fail(&err, CR_EUSAGE,
                       "--output_tzrec_config_path is the folder '%s'; give a file",
                       o->output_tzrec_config_path);
        return cr_diag_err(diag, &err);
    }
    if (cr_can_write(o->output_tzrec_config_path, &err) != CR_OK) return cr_diag_err(diag, &err);
    cr_conf_doc_init(&in);
    cr_conf_doc_init(&out);
    cr_diag_init(&report);
    cr_diag_init(&looks);
    cr_code code = cr_conf_load(&in, o->easyrec_config_path, diag);
    if (code == CR_OK) code = cr_easyrec_convert(&out, &in, &opts, &res->what, &report);
    take_over(diag, &report);
    if (code == CR_OK) {
        look_at(&out, &looks);
        take_over(diag, &looks);
        cr_buf only;
        cr_buf_init(&only);
        ours(&only, &cr_root_msg, out.root, "", 0);
        if (only.n)
            cr_diag_add(diag, CR_SEV_NOTE, CR_OK, (cr_loc){o->output_tzrec_config_path, 0, 0},
                        "TorchEasyRec does not know %s; crank does", only.data);
        cr_buf_clear(&only);
        code = write_file(o, &out, &report, &err);
        if (code != CR_OK) (void)!cr_diag_err(diag, &err);
    }
    res->written = code == CR_OK;
    res->refused = res->written && cr_diag_code(diag) != CR_OK;
    if (code == CR_OK) code = cr_diag_code(diag);
    cr_diag_clear(&report);
    cr_diag_clear(&looks);
    cr_conf_doc_clear(&out);
    cr_conf_doc_clear(&in);
    return code;
}
