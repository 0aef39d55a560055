/*
 * pred_dest.c - where predictions go: to a folder, to a single file whose ending tells the format,
 * or to standard output ("-"). Only a folder also gets the other files of a run.
 *
 * A file appears whole. The parts of several ranks appear together: they are hidden until all of
 * them are whole. A kill between the first and the last rename leaves a mark that says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "ckpt/ckpt.h"
#include "run/pred_list.h"

#define HIDDEN_PART ".tmp-part-" /* .tmp-part-<number>.<ext>-<process> */
#define MARK        ".parts-"    /* .parts-<number of parts>.<ext>-<process> */

#define ENTRY(w) &cr_pred_##w,
const cr_pred_type *const cr_pred_types[] = {CR_WRITERS(ENTRY) NULL};

bool cr_pred_is_stream(const char *output) {
    return strcmp(output, "-") == 0 || strcmp(output, "/dev/stdout") == 0;
}

/* Returns the type that the ending of a single file stands for; NULL: output is a folder. */
static const cr_pred_type *type_of_file(const char *output) {
    size_t n = strlen(output);
    for (const cr_pred_type *const *t = cr_pred_types; *t; t++)
        if ((*t)->owns && (*t)->owns(output)) return *t;
    if (cr_path_is_dir(output)) return NULL;
    for (const cr_pred_type *const *t = cr_pred_types; *t; t++)
        for (const char *const *end = (*t)->ends; *end; end++) {
            size_t k = strlen(*end);
            if (n > k && output[n - k - 1] != '/' && strcmp(output + n - k, *end) == 0) return *t;
        }
    return NULL;
}

bool cr_pred_is_file(const char *output) {
    return type_of_file(output) != NULL;
}

/* Finds a type by the writer's name, or the default of a data set. */
static const cr_pred_type *find_type(const char *name, const char *dataset) {
    for (const cr_pred_type *const *t = cr_pred_types; *t; t++)
        if ((name && strcmp((*t)->name, name) == 0) ||
            (dataset && strcmp((*t)->dataset, dataset) == 0))
            return *t;
    return NULL;
}

static cr_code no_writer(const char *name, cr_err *err) {
    char all[200] = "";
    size_t n = 0;
    for (const cr_pred_type *const *t = cr_pred_types; *t && n < sizeof(all); t++)
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n ? " or " : "", (*t)->name);
    return cr_fail(err, CR_EUSAGE, "writer_type '%s' is not in this version; use %s", name, all);
}

cr_code cr_pred_dest_check(const char *output, const char *writer_type, const char *in_folder,
                           cr_err *err) {
    const cr_pred_type *told = NULL, *file = type_of_file(output);
    if (writer_type && *writer_type && !(told = find_type(writer_type, NULL)))
        return no_writer(writer_type, err);
    if (told && told->owns && file != told)
        return cr_fail(err, CR_EUSAGE,
                       "--writer_type %s does not fit --predict_output_path %s; name a table, "
                       "odps://project/tables/table, or leave it out",
                       told->name, output);
    if (cr_pred_is_stream(output) && told && !told->streams)
        return cr_fail(err, CR_EUSAGE,
                       "%s cannot write to standard output, which gets CSV; name a file or folder "
                       "with --predict_output_path, or leave --writer_type out",
                       told->name);
    if (file && told && file != told)
        return cr_fail(err, CR_EUSAGE,
                       "--writer_type %s does not fit the ending of --predict_output_path %s; "
                       "leave it out, or name a file that ends in .%s",
                       told->name, output, told->ext);
    if (in_folder && (file || cr_pred_is_stream(output)))
        return cr_fail(err, CR_EUSAGE, "%s; give a folder to --predict_output_path", in_folder);
    return CR_OK;
}

static cr_code set_path(cr_pred_dest *d, const char *output, int part, cr_err *err) {
    if (cr_pred_is_stream(output)) output = "-";
    int n = d->dir ? snprintf(d->path, sizeof(d->path), "%s/part-%d.%s", output, part, d->type->ext)
                   : snprintf(d->path, sizeof(d->path), "%s", output);
    if (n < 0 || (size_t)n >= sizeof(d->path))
        return cr_fail(err, CR_EUSAGE, "--predict_output_path is too long; use a shorter path");
    return CR_OK;
}

/* Makes sure that a file can be written in a folder that another user may have prepared: it removes
 * what a killed run left, and refuses a symbolic link, which could lead to any file of the user. */
static cr_code clear_place(const char *dir, const char *name, cr_err *err) {
    char path[1400], prefix[300], text[1024];
    cr_err why;
    snprintf(prefix, sizeof(prefix), "%s.tmp-", name);
    if (cr_ckpt_remove_leftovers(dir, prefix, false, &why) != CR_OK) {
        cr_err_text(&why, text, sizeof(text));
        CR_WARN("%s", text);
    }
    bool here = strcmp(dir, ".") == 0;
    snprintf(path, sizeof(path), "%s%s%s", here ? "" : dir, here ? "" : "/", name);
    if (!cr_path_is_link(path)) return CR_OK;
    return cr_fail(err, CR_EUSAGE,
                   "%s is a symbolic link, and predictions are not written through one; remove it, "
                   "or give another path to --predict_output_path",
                   path);
}

/* Returns the number of a name "part-N.<ext><more>"; -1: it is another name. ext NULL: of any type.
 */
static int64_t part_number(const char *name, const char *ext, const char **more) {
    char *end;
    if (strncmp(name, "part-", 5) != 0 || name[5] < '0' || name[5] > '9') return -1;
    int64_t k = strtoll(name + 5, &end, 10);
    if (*end++ != '.') return -1;
    for (const cr_pred_type *const *t = cr_pred_types; *t; t++) {
        size_t n = strlen((*t)->ext);
        if ((ext && strcmp(ext, (*t)->ext) != 0) || strncmp(end, (*t)->ext, n) != 0) continue;
        *more = end + n;
        return k;
    }
    return -1;
}

/* Removes the parts that a mark speaks of: some are of the result that was to appear when its run
 * was killed, the others of the one that it was to replace. Then the mark goes. */
static cr_code remove_marked(cr_arena *a, const char *dir, const char *mark, char *const *names,
                             size_t n, cr_err *err) {
    const char *more;
    char *dot, ext[16] = "";
    int64_t of = strtoll(mark + strlen(MARK), &dot, 10);
    /* a mark that was being written when its run was killed has a longer name and means nothing */
    if (*dot == '.' && strchr(dot, '-') == strrchr(dot, '-'))
        snprintf(ext, sizeof(ext), "%.*s", (int)strcspn(dot + 1, "-"), dot + 1);
    for (size_t i = 0; i < n && *ext; i++) {
        int64_t k = part_number(names[i], ext, &more);
        if (k < 0 || k >= of || *more) continue;
        CR_INFO("Removing %s/%s, left by a run that did not finish", dir, names[i]);
        CR_TRY(cr_file_remove(cr_path_join(a, dir, names[i]), err));
    }
    return cr_file_remove(cr_path_join(a, dir, mark), err);
}

/* Removes what killed runs left of parts: hidden and temporary files, and parts without the others.
 * What cannot be removed is told, and the writer fails if it is in the way. */
static void sweep(const char *dir) {
    cr_arena a;
    cr_err err;
    char **names, text[1024];
    const char *more;
    size_t n = 0;
    cr_arena_init(&a, 0);
    cr_code code = cr_list_dir(&a, dir, &names, &n, &err);
    for (size_t i = 0; i < n && code == CR_OK; i++) {
        const char *name = names[i];
        bool part =
            part_number(name, NULL, &more) >= 0 && cr_ckpt_is_leftover(more, ".tmp-", false);
        if (part || cr_ckpt_is_leftover(name, HIDDEN_PART, false)) {
            CR_INFO("Removing %s/%s, left by a run that did not finish", dir, name);
            code = cr_file_remove(cr_path_join(&a, dir, name), &err);
        } else if (cr_ckpt_is_leftover(name, MARK, false)) {
            code = remove_marked(&a, dir, name, names, n, &err);
        }
    }
    if (code != CR_OK) {
        cr_err_text(&err, text, sizeof(text));
        CR_WARN("%s", text);
    }
    cr_arena_clear(&a);
}

/* Readers take all parts of a folder for one result, so none may be left of a result that had more
 * of them. They are the user's files and are not removed. */
static cr_code no_other_parts(const cr_pred_dest *d, int of, cr_err *err) {
    cr_arena a;
    char **names;
    const char *more;
    size_t n = 0;
    cr_code code = CR_OK;
    cr_arena_init(&a, 0);
    if (cr_list_dir(&a, d->in, &names, &n, NULL) != CR_OK) n = 0;
    for (size_t i = 0; i < n && code == CR_OK; i++)
        if (part_number(names[i], d->type->ext, &more) >= of && !*more)
            code = cr_fail(err, CR_EUSAGE,
                           "%s/%s is of a result that had more parts than this one, which has %d; "
                           "remove it, or give another folder to --predict_output_path",
                           d->in, names[i], of);
    cr_arena_clear(&a);
    return code;
}

/* Is it one of several parts, which have other names until all are whole? */
static bool is_hidden(const cr_pred_dest *d) {
    return d->dir && d->part.of > 1 && cr_store_moves(d->dir);
}

cr_code cr_pred_dest_make(cr_pred_dest *d, const char *output, const char *writer_type,
                          const char *dataset, cr_pred_part part, cr_err *err) {
    bool told = writer_type && *writer_type;
    bool stream = cr_pred_is_stream(output);
    const cr_pred_type *file = type_of_file(output);
    *d = (cr_pred_dest){.type = file ? file
                                     : find_type(told ? writer_type : NULL, told ? NULL : dataset),
                        .part = part};
    if (!d->type || (stream && !told)) d->type = cr_pred_types[0];
    if (!file && !stream) d->dir = output;
    CR_TRY(set_path(d, output, part.number, err));
    snprintf(d->file, sizeof(d->file), "%s", d->path);
    if (cr_pred_is_stream(output) || (d->type->owns && d->type->owns(output))) return CR_OK;
    /* the folder that holds the file */
    const char *slash = strrchr(d->path, '/');
    snprintf(d->in, sizeof(d->in), "%.*s", slash ? (int)(slash - d->path) : 1,
             slash ? d->path : ".");
    if (slash == d->path) snprintf(d->in, sizeof(d->in), "/");
    if (d->dir && cr_path_exists(output) && !cr_path_is_dir(output))
        return cr_fail(err, CR_EUSAGE,
                       "--predict_output_path '%s' is a file that is there already; name a folder, "
                       "or a file that ends in .csv, .parquet or .arrow",
                       output);
    d->made = !cr_path_exists(d->in);
    CR_TRY(cr_mkdirs(d->in, err));
    bool first = part.number == 0;
    if (is_hidden(d))
        snprintf(d->file, sizeof(d->file), "%s/" HIDDEN_PART "%d.%s-%d", d->in, part.number,
                 d->type->ext, (int)getpid());
    if (d->dir) sweep(d->in);
    if (d->dir && first) CR_TRY(no_other_parts(d, part.of, err));
    const char *names[] = {cr_path_base(d->path), CR_PRED_COUNTS, CR_PRED_TRACE};
    for (int i = 0; i < (d->dir && first ? 3 : 1); i++)
        CR_TRY(clear_place(d->in, names[i], err));
    if (cr_path_exists(d->path)) CR_INFO("%s is there already and will be replaced", d->path);
    return CR_OK;
}

static void mark_of(const cr_pred_dest *d, char *out, size_t size) {
    snprintf(out, size, "%s/" MARK "%d.%s-%d", d->in, d->part.of, d->type->ext, (int)getpid());
}

cr_code cr_pred_dest_begin(const cr_pred_dest *d, cr_err *err) {
    char mark[1200];
    if (!is_hidden(d)) return CR_OK;
    mark_of(d, mark, sizeof(mark));
    return cr_file_write(mark, "", 0, err);
}

cr_code cr_pred_dest_show(cr_pred_dest *d, cr_err *err) {
    if (!is_hidden(d)) return CR_OK;
    CR_TRY(cr_rename(d->file, d->path, err));
    d->shown = true;
    return CR_OK;
}

void cr_pred_dest_end(const cr_pred_dest *d) {
    char mark[1200];
    if (!is_hidden(d)) return;
    mark_of(d, mark, sizeof(mark));
    if (cr_file_remove(mark, NULL) != CR_OK)
        CR_WARN("%s: cannot be removed; delete it by hand", mark);
}

void cr_pred_dest_undo(const cr_pred_dest *d) {
    if (!cr_pred_is_stream(d->path) && !d->type->owns)
        (void)!cr_file_remove(d->shown ? d->path : d->file, NULL);
}

void cr_pred_dest_fail(const cr_pred_dest *d) {
    if (d->made && !d->type->owns)
        (void)!cr_file_remove(d->in, NULL); /* this succeeds when it is empty */
}
