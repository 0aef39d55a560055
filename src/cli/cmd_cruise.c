/*
 * cmd_cruise.c - `crank run --config=x.yaml --fit`, the command line of Cruise and Gandalf; also
 * `crank cruise ...`.
 *
 * Files, section files and overrides become one tree, in which every value keeps its place. It is
 * checked as a whole first, so that every mistake is told at the user's own line or flag. Then it
 * is written to the folder of the run as config.yaml, and train, eval and export run with that
 * file. Of several ranks the first one chooses the folder and writes.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/json.h"
#include "ckpt/ckpt.h"
#include "cli/cli.h"
#include "conf/tree.h"
#include "data/files.h"
#include "dialect/dialect.h"

typedef struct args {
    cr_opt_list config, dotted, words;
    const char *trainer, *model, *data, *checkpoint_path, *export_dir, *log_format;
    bool fit, val, val_only, test, trace, print_config;
    int64_t threads;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, config, CR_O_LIST, 'c', CR_O_PATH, "FILE", NULL, "none", 0, 0,
            "config with trainer, model and data; of several, later values win"),
    CR_OPT_STR(args, trainer, CR_O_PATH, "FILE", "none", "the section trainer, from its own file"),
    CR_OPT_STR(args, model, CR_O_PATH, "FILE", "none", "the section model"),
    CR_OPT_STR(args, data, CR_O_PATH, "FILE", "none", "the section data"),
    CR_OPT_AT(args, dotted, "SECTION.KEY", CR_O_LIST, 0, CR_O_DOTTED, "VALUE", NULL, "none", 0, 0,
              "one value, at any depth: --trainer.max_epochs=3"),
    CR_OPT_(args, words, CR_O_LIST, 0, 0, "KEY=VALUE", NULL, "none", 0, 0,
            "one value that the config has, without a flag: data.data_factory.batch_size=64"),
    CR_OPT_BOOL(args, fit, 0, "train"),
    CR_OPT_BOOL(args, val, 0, "evaluate on the data of val_input_dir"),
    CR_OPT_BOOL(args, val_only, 0, "the same as --val without --fit"),
    CR_OPT_BOOL(args, test, 0, "evaluate on the data of test_input_dir"),
    CR_OPT_BOOL(args, trace, 0, "export a model to serve"),
    CR_OPT_STR(args, checkpoint_path, CR_O_PATH, "PATH", "the newest of the run",
               "checkpoint of --val, --test and --trace"),
    CR_OPT_STR(args, export_dir, CR_O_PATH, "DIR", "export in the folder of the run",
               "folder of --trace"),
    CR_OPT_BOOL(args, print_config, 0, "print the config with all overrides and defaults, and end"),
    CR_OPT_STR(args, log_format, 0, "FORMAT", "none", "dllogger or tcap, as in crank train"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

#define MAX_DOCS 64

typedef struct job {
    cr_ui *ui;
    cr_arena *a;
    cr_conf_doc doc;            /* everything together */
    cr_conf_doc docs[MAX_DOCS]; /* what it came from; their texts are in use */
    int n_docs;
    const char *dir, *config; /* folder of the run, and the file in it */
    const char *mirror;       /* its copy; NULL: none */
    bool resumes;
} job;

/* ---- one tree of many ---- */

static void merge(job *j, cr_conf_node *to, const cr_conf_node *from) {
    for (size_t i = 0; i < from->n; i++) {
        const cr_conf_entry *e = &from->v[i];
        cr_conf_node *old = cr_conf_find(to, e->key);
        if (old && old->kind == CR_NODE_MAP && e->val->kind == CR_NODE_MAP)
            merge(j, old, e->val);
        else
            cr_tree_put(&j->doc, to, e->key, e->at, e->val);
    }
}

static cr_code next_doc(job *j, cr_conf_doc **d) {
    if (j->n_docs == MAX_DOCS)
        return cr_ui_wrong(j->ui, "more than %d files and overrides; put the values into a file",
                           MAX_DOCS);
    *d = &j->docs[j->n_docs++];
    cr_conf_doc_init(*d);
    return CR_OK;
}

static cr_code add_file(job *j, const char *path, const char *section) {
    cr_conf_doc *d = NULL;
    CR_TRY(next_doc(j, &d));
    CR_TRY(cr_conf_load(d, path, &j->ui->diag));
    merge(j, section ? cr_tree_child(&j->doc, j->doc.root, section, d->root->at) : j->doc.root,
          d->root);
    return CR_OK;
}

/* Reads the value of an override, which is YAML. Its place is the override itself. */
static cr_code read_value(job *j, const char *flag, const char *value, const cr_conf_node **out) {
    cr_conf_doc *d = NULL;
    CR_TRY(next_doc(j, &d));
    const char *text = cr_arena_printf(j->a, "value: %s", value);
    CR_TRY(cr_conf_parse(d, CR_SYNTAX_YAML, flag, text, strlen(text), &j->ui->diag));
    *out = cr_conf_find(d->root, "value");
    return CR_OK;
}

/* Applies --a.b.c=value: maps on the way are made. */
static cr_code set_dotted(job *j, const char *text) {
    const char *eq = strchr(text, '=');
    const char *flag = cr_arena_printf(j->a, "--%s", text);
    const cr_conf_node *value;
    if (!eq) return cr_ui_wrong(j->ui, "--%s needs a value; write --%s=VALUE", text, text);
    CR_TRY(read_value(j, flag, eq + 1, &value));
    cr_conf_node *at = j->doc.root;
    cr_loc loc = {flag, 1, 3};
    for (const char *p = text; p < eq;) {
        size_t n = strcspn(p, ".=");
        const char *key = cr_arena_strndup(j->a, p, n);
        if (p + n >= eq) {
            cr_conf_node *v = cr_tree_copy(&j->doc, value);
            if (v) v->at = loc;
            if (v) cr_tree_put(&j->doc, at, key, loc, v);
            break;
        }
        at = cr_tree_child(&j->doc, at, key, loc);
        if (at->kind != CR_NODE_MAP)
            return cr_ui_wrong(j->ui, "%s: '%s' is no map of keys", flag, key);
        p += n + 1;
    }
    return CR_OK;
}

/* Applies a.b[0].c=value: every element of the path must be there. */
static cr_code set_word(job *j, const char *text) {
    const char *eq = strchr(text, '=');
    const cr_conf_node *value;
    if (!eq)
        return cr_ui_wrong(j->ui, "'%s' must be key=value, or a flag that begins with --", text);
    CR_TRY(read_value(j, text, eq + 1, &value));
    cr_conf_node *at = j->doc.root, **slot = NULL;
    for (const char *p = text; p < eq;) {
        size_t n = *p == '[' ? 0 : strcspn(p, ".[=");
        const char *key = cr_arena_strndup(j->a, p, n);
        if (n) {
            size_t i = 0;
            while (at->kind == CR_NODE_MAP && i < at->n && strcmp(at->v[i].key, key) != 0)
                i++;
            if (at->kind != CR_NODE_MAP || i == at->n)
                return cr_ui_wrong(j->ui, "'%s': there is no '%s' in %s; write --%s to add it",
                                   text, key,
                                   p == text ? "the config"
                                             : cr_arena_strndup(j->a, text, (size_t)(p - text - 1)),
                                   text);
            slot = &at->v[i].val;
            p += n;
        } else {
            char *end;
            long i = strtol(p + 1, &end, 10);
            if (*end != ']' || at->kind != CR_NODE_LIST || i < 0 || (size_t)i >= at->n)
                return cr_ui_wrong(j->ui, "'%s': %.*s is no list with such an item", text,
                                   (int)(p - text), text);
            slot = &at->v[i].val;
            p = end + 1;
        }
        at = *slot;
        if (*p == '.') p++;
    }
    cr_conf_node *v = cr_tree_copy(&j->doc, value);
    if (!slot || !v) return cr_ui_wrong(j->ui, "'%s' must be key=value", text);
    v->at = (cr_loc){cr_arena_strdup(j->a, text), 1, 1};
    /* Python's words for bools */
    if (v->kind == CR_NODE_SCALAR && v->text) {
        if (strcmp(v->text, "True") == 0) v->text = "true";
        if (strcmp(v->text, "False") == 0) v->text = "false";
        v->len = strlen(v->text);
    }
    *slot = v;
    return CR_OK;
}

/* Reads all of it, also behind a mistake, so that every mistake is told. */
static cr_code collect(job *j, const args *a) {
    const char *const parts[][2] = {{a->trainer, "trainer"},
                                    {a->model, "model"},
                                    {a->data, "data"}};
    cr_code code = CR_OK, one;
#define ALSO(call)                                                                                 \
    if ((one = (call)) != CR_OK && code == CR_OK) code = one
    for (int i = 0; i < a->config.n; i++)
        ALSO(add_file(j, a->config.v[i], NULL));
    for (int i = 0; i < 3; i++)
        if (parts[i][0]) ALSO(add_file(j, parts[i][0], parts[i][1]));
    if (code != CR_OK) return code; /* what is missing would be told as mistakes */
    for (int i = 0; i < a->dotted.n; i++)
        ALSO(set_dotted(j, a->dotted.v[i]));
    for (int i = 0; i < a->words.n; i++)
        ALSO(set_word(j, a->words.v[i]));
#undef ALSO
    return code;
}

/* ---- YAML of any tree ---- */

static void put_scalar(cr_buf *out, const cr_conf_node *n) {
    bool plain = !n->quoted && n->len > 0;
    for (size_t i = 0; i < n->len; i++)
        plain = plain && (isalnum((unsigned char)n->text[i]) || strchr("_./+~-", n->text[i]));
    if (n->len == 0 && !n->quoted)
        cr_buf_str(out, "null");
    else if (plain)
        cr_buf_add(out, n->text, n->len);
    else
        cr_json_escape(out, n->text, n->len);
}

static void put_tree(cr_buf *out, const cr_conf_node *n, int indent) {
    for (size_t i = 0; i < n->n; i++) {
        const cr_conf_node *v = n->v[i].val;
        cr_buf_printf(out, "%*s", indent, "");
        if (n->kind == CR_NODE_LIST)
            cr_buf_char(out, '-');
        else {
            cr_conf_node key = {.kind = CR_NODE_SCALAR, .text = n->v[i].key};
            key.len = strlen(key.text);
            /* a number as a key is a text, as 7 in feature_norm_info */
            put_scalar(out, &key);
            cr_buf_char(out, ':');
        }
        if (v->kind == CR_NODE_SCALAR) {
            cr_buf_char(out, ' ');
            put_scalar(out, v);
            cr_buf_char(out, '\n');
        } else if (v->n == 0) {
            cr_buf_str(out, v->kind == CR_NODE_MAP ? " {}\n" : " []\n");
        } else {
            cr_buf_char(out, '\n');
            put_tree(out, v, indent + 2);
        }
    }
}

/* Prints the sections as Gandalf does: a line per key, sorted, a map on one line. */
static void put_flow(cr_buf *out, const cr_conf_node *n) {
    if (n->kind == CR_NODE_SCALAR) {
        put_scalar(out, n);
        return;
    }
    cr_buf_char(out, n->kind == CR_NODE_MAP ? '{' : '[');
    for (size_t i = 0; i < n->n; i++) {
        cr_buf_str(out, i ? ", " : "");
        if (n->kind == CR_NODE_MAP) cr_buf_printf(out, "%s: ", n->v[i].key);
        put_flow(out, n->v[i].val);
    }
    cr_buf_char(out, n->kind == CR_NODE_MAP ? '}' : ']');
}

static int by_key(const void *a, const void *b) {
    return strcmp((*(const cr_conf_entry *const *)a)->key, (*(const cr_conf_entry *const *)b)->key);
}

static void say_sections(job *j) {
    static const char *const names[] = {"data", "model", "trainer"};
    static const char dots[] = "................................................";
    cr_buf b;
    cr_buf_init(&b);
    for (int k = 0; k < 3; k++) {
        const cr_conf_node *m = cr_conf_find(j->doc.root, names[k]);
        if (!m || m->kind != CR_NODE_MAP) continue;
        const cr_conf_entry **v = CR_NEW_N(j->a, const cr_conf_entry *, m->n + 1);
        for (size_t i = 0; i < m->n; i++)
            v[i] = &m->v[i];
        qsort(v, m->n, sizeof *v, by_key);
        cr_buf_printf(&b, "------------------------ %s arguments ------------------------\n",
                      names[k]);
        for (size_t i = 0; i < m->n; i++) {
            size_t n = strlen(v[i]->key);
            cr_buf_printf(&b, "  %s %s ", v[i]->key, n < 48 ? dots + n : "");
            put_flow(&b, v[i]->val);
            cr_buf_char(&b, '\n');
        }
    }
    cr_buf_str(&b, "-----------------------------------------------------------------\n");
    cr_ui_put(b.data, b.n);
    fflush(stdout);
    cr_buf_clear(&b);
}

/* ---- the run ---- */

/* The place of a key of data.dataset. */
static cr_loc dataset_at(const job *j, const char *key) {
    const cr_conf_node *n = cr_conf_find(j->doc.root, "data");
    n = n && n->kind == CR_NODE_MAP ? cr_conf_find(n, "dataset") : NULL;
    const cr_conf_node *v = n && n->kind == CR_NODE_MAP ? cr_conf_find(n, key) : NULL;
    return v ? v->at : n ? n->at : j->doc.root->at;
}

/* Data that is not there is told at the user's own key, before the run has a folder. */
static void check_files(const cr_root_conf *root, cr_loc at, const char *globs, cr_diag *out) {
    cr_arena a;
    cr_err err;
    char **paths;
    size_t n;
    if (!globs || !*globs) return;
    cr_arena_init(&a, 0);
    if (cr_data_files(root->data_config, &a, globs, NULL, &paths, &n, &err) != CR_OK)
        cr_diag_add(out, CR_SEV_ERROR, err.code, at, "'%s': %s", err.at.path ? err.at.path : globs,
                    err.msg);
    cr_arena_clear(&a);
}

/* Looks for mistakes in the whole, those of values too; the tree itself is not changed. Warnings
 * are told here, at the places that the user wrote, and not again when the run reads its file. */
static cr_code check_all(job *j, const args *a) {
    cr_conf_doc copy;
    cr_diag found;
    cr_arena bound;
    cr_diag_init(&found);
    cr_arena_init(&bound, 0);
    cr_conf_doc_init(&copy);
    copy.path = j->doc.path;
    copy.syntax = CR_SYNTAX_YAML;
    copy.root = cr_tree_copy(&copy, j->doc.root);
    cr_code code = copy.root ? cr_dialect_rewrite(&copy, NULL, &found) : CR_ECONF;
    if (copy.root) {
        cr_config_defaults(&copy);
        cr_root_conf *root = cr_conf_bind(&bound, &cr_root_msg, copy.root, &found);
        cr_root_finish(root, &bound, &found);
        if (code == CR_OK) cr_root_check(root, &found);
        bool right = code == CR_OK && found.n_errors == 0 && j->ui->place.rank == 0;
        if (right && a->fit)
            check_files(root, dataset_at(j, "input_dir"), root->train_input_path, &found);
        if (right && (a->fit || a->val || a->val_only))
            check_files(root, dataset_at(j, "val_input_dir"), root->eval_input_path, &found);
        if (right && a->test)
            check_files(root, dataset_at(j, "test_input_dir"),
                        cr_cruise_test_paths(j->a, j->doc.root), &found);
        cr_diag_sort(&found);
        code = cr_diag_code(&found);
    }
    cr_diag_append(&j->ui->diag, &found);
    for (size_t i = 0; i < found.n; i++)
        (void)cr_map_put(&j->ui->told, found.v[i].msg, strlen(found.v[i].msg), 1);
    cr_ui_findings(j->ui); /* places point into the trees */
    cr_conf_doc_clear(&copy);
    cr_arena_clear(&bound);
    cr_diag_clear(&found);
    bool any; /* the first rank alone has looked for the data */
    return cr_comm_vote(j->ui->comm, code, false, &any);
}

/* Returns the text of a key of the trainer; NULL: it has none, or null. */
static const char *trainer_text(const job *j, const char *key) {
    const cr_conf_node *t = cr_conf_find(j->doc.root, "trainer");
    const cr_conf_node *n = t && t->kind == CR_NODE_MAP ? cr_conf_find(t, key) : NULL;
    if (!n || n->kind != CR_NODE_SCALAR || n->len == 0) return NULL;
    return !n->quoted && (strcmp(n->text, "null") == 0 || strcmp(n->text, "~") == 0) ? NULL
                                                                                     : n->text;
}

static bool trainer_has(const job *j, const char *key) {
    const cr_conf_node *t = cr_conf_find(j->doc.root, "trainer");
    return t && t->kind == CR_NODE_MAP && cr_conf_find(t, key);
}

static bool has_checkpoint(job *j, const char *dir) {
    int64_t *steps;
    int n;
    return dir && cr_ckpt_steps(j->a, dir, &steps, &n, NULL) == CR_OK && n > 0;
}

/* The folder of a version, in default_root_dir or in its copy; i below 0: no versions. */
static const char *version_of(job *j, const char *base, int i) {
    if (!base || i < 0) return base;
    return cr_path_join(j->a, base, cr_arena_printf(j->a, "version_%d", i));
}

/* Chooses the folder of the run: default_root_dir, or version_N in it. A run that resumes takes the
 * last version that has a checkpoint, here or in the copy; a new one the first number that is
 * free. */
static cr_code choose_dir(job *j, bool fit) {
    const char *base = trainer_text(j, "default_root_dir"),
               *copy = trainer_text(j, "default_hdfs_dir"),
               *versions = trainer_text(j, "enable_versions"),
               *resume = trainer_text(j, "resume_ckpt_path");
    if (!base)
        return cr_ui_wrong(j->ui, "trainer.default_root_dir is not set; name the folder of the run "
                                  "with --trainer.default_root_dir=DIR");
    bool numbered = !versions || strcasecmp(versions, "false") != 0;
    /* Gandalf resumes by default; null starts anew, and a path says where to go on from */
    bool automatic = !trainer_has(j, "resume_ckpt_path") || (resume && strcmp(resume, "auto") == 0);
    int last = -2, next = numbered ? 0 : -1;
    for (int i = next;; i++) {
        const char *dir = version_of(j, base, i), *far = version_of(j, copy, i);
        if (has_checkpoint(j, dir) || (far && has_checkpoint(j, far))) last = i;
        next = i;
        if (!numbered || (!cr_path_exists(dir) && !(far && cr_path_exists(far)))) break;
    }
    if (!fit && last == -2)
        return cr_ui_wrong(j->ui, "%s has no checkpoint; run with --fit first", base);
    j->resumes = fit && automatic && last != -2;
    int chosen = !fit || j->resumes ? last : next;
    j->dir = version_of(j, base, chosen);
    j->mirror = version_of(j, copy, chosen);
    j->config = cr_path_join(j->a, j->dir, "config.yaml");
    return CR_OK;
}

static cr_code write_config(job *j) {
    cr_buf out;
    cr_err err;
    cr_buf_init(&out);
    put_tree(&out, j->doc.root, 0);
    cr_code code = cr_mkdirs(j->dir, &err);
    if (code == CR_OK) code = cr_file_write(j->config, out.data, out.n, &err);
    cr_buf_clear(&out);
    return code == CR_OK ? CR_OK : cr_ui_fail(j->ui, &err);
}

/* A checkpoint at a path is copied into the new folder, so that the run goes on from it. */
static cr_code bring_checkpoint(job *j) {
    const char *path = trainer_text(j, "resume_ckpt_path");
    char *from;
    cr_err err;
    if (!path || strcmp(path, "auto") == 0) return CR_OK;
    cr_code code = cr_ckpt_resolve(j->a, path, CR_NEED_ALL, NULL, &from, &err);
    char *real = code == CR_OK ? cr_store_of(from)->real(from) : NULL; /* it may be a link */
    if (real) from = cr_arena_strdup(j->a, real);
    free(real);
    if (code == CR_OK && strncmp(cr_path_base(from), "model.ckpt-", 11) != 0) return CR_OK;
    if (code == CR_OK)
        code = cr_checkpoint_copy(from, cr_path_join(j->a, j->dir, cr_path_base(from)), &err);
    if (code != CR_OK) return cr_ui_fail(j->ui, &err);
    j->resumes = true;
    return CR_OK;
}

/* The first rank chooses and writes; the others learn which folder it is. */
static cr_code prepare_dir(job *j, bool fit) {
    cr_comm *comm = j->ui->comm;
    bool first = j->ui->place.rank == 0, any;
    struct {
        char dir[1024], mirror[1024];
        int64_t resumes;
    } x = {.resumes = 0};
    cr_code code = first ? choose_dir(j, fit) : CR_OK;
    if (code == CR_OK && first && fit) code = write_config(j);
    if (code == CR_OK && first && fit && !j->resumes) code = bring_checkpoint(j);
    if (code == CR_OK && first && strlen(j->dir) >= sizeof x.dir)
        code = cr_ui_wrong(j->ui,
                           "the path of the run has more than %zu letters; choose a shorter "
                           "default_root_dir",
                           sizeof x.dir - 1);
    CR_TRY(cr_comm_vote(comm, code, false, &any));
    if (!comm) return CR_OK;
    if (first) {
        snprintf(x.dir, sizeof x.dir, "%s", j->dir);
        snprintf(x.mirror, sizeof x.mirror, "%s", j->mirror ? j->mirror : "");
        x.resumes = j->resumes;
    }
    cr_comm_share(comm, &x, sizeof x, 0);
    j->dir = cr_arena_strdup(j->a, x.dir);
    j->mirror = *x.mirror ? cr_arena_strdup(j->a, x.mirror) : NULL;
    j->resumes = x.resumes != 0;
    j->config = cr_path_join(j->a, j->dir, "config.yaml");
    return CR_OK;
}

/* Adds a command that runs after this one. */
static void queue(job *j, const args *a, const char *name, const char *more, const char *more2,
                  bool checkpoint) {
    cr_queued *q = &j->ui->queue[j->ui->n_queue++];
    char **v = CR_NEW_N(j->a, char *, 9);
    int n = 0;
    v[n++] = cr_arena_strdup(j->a, j->config);
    v[n++] = cr_arena_printf(j->a, "--model_dir=%s", j->dir);
    if (more) v[n++] = cr_arena_strdup(j->a, more);
    if (more2) v[n++] = cr_arena_strdup(j->a, more2);
    if (j->ui->quiet) v[n++] = cr_arena_strdup(j->a, "--quiet");
    if (checkpoint && a->checkpoint_path)
        v[n++] = cr_arena_printf(j->a, "--checkpoint_path=%s", a->checkpoint_path);
    if (a->threads) v[n++] = cr_arena_printf(j->a, "--threads=%lld", (long long)a->threads);
    if (a->log_format && strcmp(name, "train") == 0)
        v[n++] = cr_arena_printf(j->a, "--log_format=%s", a->log_format);
    *q = (cr_queued){cr_cmd_find(j->ui->cmds, name), n, v};
}

static cr_code go(job *j, const args *a) {
    const char *test = cr_cruise_test_paths(j->a, j->doc.root);
    int64_t steps = cr_cruise_test_steps(j->doc.root);
    if (a->test && !test)
        return cr_ui_wrong(j->ui, "--test needs data.dataset.test_input_dir; add it");
    CR_TRY(prepare_dir(j, a->fit));
    j->ui->written = j->config;
    if (!j->ui->quiet && !a->log_format) say_sections(j);
    if (a->fit)
        queue(j, a, "train", j->resumes ? "--continue_train" : NULL,
              j->mirror ? cr_arena_printf(j->a, "--set=train_config.mirror_dir='%s'", j->mirror)
                        : NULL,
              false);
    if (a->val || a->val_only) queue(j, a, "eval", NULL, NULL, true);
    if (a->test)
        queue(j, a, "eval", cr_arena_printf(j->a, "--eval_input_path=%s", test),
              cr_arena_printf(j->a, "--set=eval_config.num_steps=%lld", (long long)steps), true);
    if (a->trace)
        queue(j, a, "export",
              cr_arena_printf(j->a, "--export_dir=%s",
                              a->export_dir ? a->export_dir : cr_path_join(j->a, j->dir, "export")),
              NULL, true);
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    job *j = CR_NEW(&ui->arena, job);
    j->ui = ui;
    j->a = &ui->arena;
    if (a->config.n == 0 && !a->trainer && !a->model && !a->data)
        return cr_ui_wrong(ui, "no config is given; write --config=FILE");
    if (!a->fit && !a->val && !a->val_only && !a->test && !a->trace && !a->print_config)
        return cr_ui_wrong(ui, "nothing is to be done; add --fit, --val, --test, --trace or "
                               "--print_config");
    cr_conf_doc_init(&j->doc);
    j->doc.syntax = CR_SYNTAX_YAML;
    j->doc.path = a->config.n ? a->config.v[0] : "the command line";
    j->doc.root = cr_conf_new(&j->doc, CR_NODE_MAP, (cr_loc){j->doc.path, 1, 1});
    cr_code code = collect(j, a);
    bool any = false;
    static const char *const sections[] = {"trainer", "model", "data"};
    for (int i = 0; i < 3; i++)
        any |= cr_conf_find(j->doc.root, sections[i]) != NULL;
    if (code == CR_OK && !any) {
        cr_diag_add(&ui->diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){j->doc.path, 0, 0},
                    "there is no section trainer, model or data in it, so it is not a config of "
                    "Cruise; 'crank train' takes configs of TorchEasyRec, 'crank run -m' those of "
                    "PaddleRec");
        code = CR_ECONF;
    } else if (code == CR_OK ||
               code == CR_EUSAGE) { /* the rest of a wrong override is looked at, too */
        cr_code checked = check_all(j, a);
        if (code == CR_OK) code = checked;
    }
    if (code == CR_OK && a->print_config) {
        cr_buf out;
        cr_buf_init(&out);
        cr_cruise_defaults(&j->doc);
        put_tree(&out, j->doc.root, 0);
        cr_ui_say("%s", out.data ? out.data : "");
        cr_buf_clear(&out);
    } else if (code == CR_OK) {
        code = go(j, a);
    }
    cr_ui_findings(ui);
    cr_conf_doc_clear(&j->doc);
    for (int i = 0; i < j->n_docs; i++)
        cr_conf_doc_clear(&j->docs[i]);
    return code;
}

static const char *const examples[] = {
    "crank run --config=x.yaml --fit",
    "crank run --config=x.yaml --fit --val --trainer.max_epochs=3 "
    "--data.data_factory.batch_size=64",
    "crank run --config=x.yaml --trace --export_dir=export",
    NULL,
};

const cr_cmd cr_cmd_cruise = {
    .name = "cruise",
    .help = "Run a config of Cruise or Gandalf; also crank run --config=FILE",
    .about = "crank check, config and train take such a file as well.\n",
    .operand = "[KEY=VALUE]",
    .operand_opt = "words",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .job = true,
    .ranks = true,
    .run = run,
};
