/*
 * pred_dest.c - where predictions go: to a folder, to a single file whose ending tells the format,
 * or to standard output ("-"). Only a folder also gets the other files of a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "ckpt/ckpt.h"
#include "run/pred_list.h"

#define ENTRY(w) &cr_pred_##w,
const cr_pred_type *const cr_pred_types[] = {CR_WRITERS(ENTRY) NULL};

bool cr_pred_is_stream(const char *output) {
    return strcmp(output, "-") == 0 || strcmp(output, "/dev/stdout") == 0;
}

/* Returns the type that the ending of a single file stands for; NULL: output is a folder. */
static const cr_pred_type *type_of_file(const char *output) {
    size_t n = strlen(output);
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

/* Readers take all parts of a folder for one result, so none may be left of a result that had more
 * of them. They are the user's files and are not removed. */
static cr_code no_other_parts(const cr_pred_dest *d, int of, cr_err *err) {
    cr_arena a;
    char **names, ending[16];
    size_t n = 0;
    cr_code code = CR_OK;
    cr_arena_init(&a, 0);
    if (cr_list_dir(&a, d->in, &names, &n, NULL) != CR_OK) n = 0;
    snprintf(ending, sizeof(ending), ".%s", d->type->ext);
    for (size_t i = 0; i < n && code == CR_OK; i++) {
        char *end;
        if (strncmp(names[i], "part-", 5) != 0 || names[i][5] < '0' || names[i][5] > '9') continue;
        long long k = strtoll(names[i] + 5, &end, 10);
        if (strcmp(end, ending) == 0 && k >= of)
            code = cr_fail(err, CR_EUSAGE,
                           "%s/%s is of a result that had more parts than this one, which has %d; "
                           "remove it, or give another folder to --predict_output_path",
                           d->in, names[i], of);
    }
    cr_arena_clear(&a);
    return code;
}

cr_code cr_pred_dest_make(cr_pred_dest *d, const char *output, const char *writer_type,
                          const char *dataset, cr_pred_part part, cr_err *err) {
    bool told = writer_type && *writer_type;
    bool stream = cr_pred_is_stream(output);
    const cr_pred_type *file = type_of_file(output);
    *d = (cr_pred_dest){.type = file ? file
                                     : find_type(told ? writer_type : NULL, told ? NULL : dataset)};
    if (!d->type || (stream && !told)) d->type = cr_pred_types[0];
    if (!file && !stream) d->dir = output;
    CR_TRY(set_path(d, output, part.number, err));
    if (cr_pred_is_stream(output)) return CR_OK;
    /* the folder that holds the file */
    const char *slash = strrchr(d->path, '/');
    snprintf(d->in, sizeof(d->in), "%.*s", slash ? (int)(slash - d->path) : 1,
             slash ? d->path : ".");
    if (slash == d->path) snprintf(d->in, sizeof(d->in), "/");
    if (d->dir && cr_path_exists(output) && !cr_path_is_dir(output))
        return cr_fail(err, CR_EUSAGE,
                       "--predict_output_path '%s' is a file that is there already; name a folder, "
                       "or a file that ends in .csv or .parquet",
                       output);
    d->made = !cr_path_exists(d->in);
    CR_TRY(cr_mkdirs(d->in, err));
    bool first = part.number == 0;
    if (d->dir && first) CR_TRY(no_other_parts(d, part.of, err));
    const char *names[] = {cr_path_base(d->path), CR_PRED_COUNTS, CR_PRED_TRACE};
    for (int i = 0; i < (d->dir && first ? 3 : 1); i++)
        CR_TRY(clear_place(d->in, names[i], err));
    if (cr_path_exists(d->path)) CR_INFO("%s is there already and will be replaced", d->path);
    return CR_OK;
}

void cr_pred_dest_undo(const cr_pred_dest *d) {
    if (!cr_pred_is_stream(d->path)) (void)!cr_file_remove(d->path, NULL);
}

void cr_pred_dest_fail(const cr_pred_dest *d) {
    if (d->made) (void)!cr_file_remove(d->in, NULL); /* this succeeds when it is empty */
}
