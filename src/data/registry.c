/*
 * registry.c - the readers of reader_list.h, and the messages that all of them use.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/reader.h"

#define ENTRY(NAME, reader, dataset, help) &cr_reader_##reader,
const cr_reader_type *const cr_readers[] = {CR_READERS(ENTRY, CR_READER_NONE) NULL};

static const cr_reader_type *by_ending(const char *s, size_t n) {
    for (const cr_reader_type *const *r = cr_readers; *r; r++) {
        size_t p = (*r)->stream ? strlen((*r)->stream->prefix) : 0;
        if (p > 0 && n > p && memcmp(s, (*r)->stream->prefix, p) == 0) return *r;
        for (const char *const *e = (*r)->exts; e && *e; e++) {
            size_t k = strlen(*e);
            if (n > k && memcmp(s + n - k, *e, k) == 0) return *r;
        }
    }
    return NULL;
}

const cr_reader_type *cr_reader_by_path(const char *paths) {
    const cr_reader_type *found = NULL;
    for (const char *s = paths, *end; *s; s = *end ? end + 1 : end) {
        end = cr_glob_item_end(s);
        size_t n = (size_t)(end - s);
        while (n && (s[n - 1] == ' ' || s[n - 1] == '\n'))
            n--;
        const cr_reader_type *r = by_ending(s, n);
        if (!r || (found && r != found)) return NULL;
        found = r;
    }
    return found;
}

const cr_reader_type *cr_reader_find(const char *dataset_type) {
    for (const cr_reader_type *const *r = cr_readers; *r; r++) {
        if (strcmp((*r)->name, dataset_type) == 0) return *r;
    }
    return NULL;
}

const cr_reader_type *cr_reader_of(const cr_data_conf *c) {
    const cr_enum_value *e = cr_dataset_types;
    while (e->name && e->value != c->dataset_type)
        e++;
    return e->name ? cr_reader_find(e->name) : NULL;
}

bool cr_data_is_text(const cr_data_conf *c) {
    const cr_reader_type *r = cr_reader_of(c);
    return r && !r->typed;
}

bool cr_data_is_label(const cr_data_conf *c, const char *name) {
    for (int64_t i = 0; i < c->label_fields.n; i++)
        if (strcmp(c->label_fields.v[i], name) == 0) return true;
    return false;
}

const char *cr_want_cure(char out[CR_WANT_CURE], const cr_want *w, const char *near,
                         const char *otherwise) {
    if (near)
        snprintf(out, CR_WANT_CURE, "did you mean '%s'?%s%s", near, w->cure ? " Or, " : "",
                 w->cure ? w->cure : "");
    else
        snprintf(out, CR_WANT_CURE, "%s", w->cure ? w->cure : otherwise);
    return out;
}
