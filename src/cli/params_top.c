/*
 * params_top.c - `crank params --table T --top N`: the ids that a table with a map (zch,
 * dynamicemb) has seen most often, with their counts, as a checkpoint holds them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/params_top.h"

#define IDS  "._mch_sorted_raw_ids"
#define NONE INT64_MAX /* the id of free rows and of the fallback */

typedef struct known {
    int64_t id, row, count, last;
} known;

/* Finds the map of a table by its short name; NULL: there is none. The result is the name of its
 * tensors up to the last dot. */
static const char *find(const cr_ckpt *c, const char *table, cr_arena *a, bool *twice) {
    const char *found = NULL;
    size_t n = strlen(table);
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const char *name = cr_ckpt_at(c, i)->name;
        size_t len = strlen(name);
        if (len < sizeof IDS + n || strcmp(name + len - (sizeof IDS - 1), IDS) != 0) continue;
        size_t end = len - (sizeof IDS - 1);
        if (name[end - n - 1] != '.' || strncmp(name + end - n, table, n) != 0) continue;
        *twice = found != NULL;
        found = cr_arena_strndup(a, name, end);
    }
    return found;
}

/* Lists the tables that have a map, for messages. */
static const char *tables(const cr_ckpt *c, cr_arena *a) {
    const char *list = "";
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const char *name = cr_ckpt_at(c, i)->name;
        size_t len = strlen(name);
        if (len < sizeof IDS || strcmp(name + len - (sizeof IDS - 1), IDS) != 0) continue;
        const char *path = cr_arena_strndup(a, name, len - (sizeof IDS - 1));
        const char *dot = strrchr(path, '.');
        list = cr_arena_printf(a, "%s%s%s", list, *list ? ", " : "", dot ? dot + 1 : path);
    }
    return list;
}

static cr_code read_part(const cr_ckpt *c, const char *map, const char *what, int64_t n,
                         int64_t *out, cr_arena *a, cr_err *err) {
    const char *name = cr_arena_printf(a, "%s.%s", map, what);
    if (!cr_ckpt_find(c, name))
        return cr_fail_at(err, CR_EUSAGE, ((cr_loc){cr_ckpt_path(c), 0, 0}),
                          "an export has no counts of ids; name a checkpoint");
    return cr_ckpt_read_whole(c, name, 0, n, out, err);
}

static int by_count(const void *pa, const void *pb) {
    const known *a = pa, *b = pb;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    if (a->last != b->last) return a->last > b->last ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* shown: rows have a CTR accessor, which counts shows, and `last` says whether there is embedx_w */
static void print_text(const known *v, int64_t n, int64_t all, const char *table, bool shown) {
    cr_ui_say("table %s: %lld ids have rows\n", table, (long long)all);
    if (n > 0)
        cr_ui_say("  %20s  %12s  %10s  %10s\n", "id", shown ? "shows" : "count",
                  shown ? "embedx" : "last step", "row");
    for (int64_t i = 0; i < n; i++)
        cr_ui_say("  %20" PRId64 "  %12" PRId64 "  %10" PRId64 "  %10" PRId64 "\n", v[i].id,
                  v[i].count, v[i].last, v[i].row);
}

static void print_json(const known *v, int64_t n, int64_t all, const char *table, bool shown) {
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "table", table);
    cr_jw_i64(&w, "ids", all);
    cr_jw_arr(&w, "top");
    for (int64_t i = 0; i < n; i++) {
        cr_jw_obj(&w, NULL);
        cr_jw_i64(&w, "id", v[i].id);
        cr_jw_i64(&w, shown ? "shows" : "count", v[i].count);
        cr_jw_i64(&w, shown ? "embedx" : "last_step", v[i].last);
        cr_jw_i64(&w, "row", v[i].row);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

cr_code cr_params_top(const cr_ckpt *c, const char *table, int64_t top, bool json, cr_arena *a,
                      cr_err *err) {
    bool twice = false;
    const char *map = find(c, table, a, &twice), *others = map ? "" : tables(c, a);
    if (!map)
        return cr_fail_at(err, CR_EUSAGE, ((cr_loc){cr_ckpt_path(c), 0, 0}),
                          *others ? "no table '%s' with zch or dynamicemb; there are %s"
                                  : "no table '%s' with zch or dynamicemb, so no ids are known%s",
                          table, others);
    if (twice)
        return cr_fail_at(
            err, CR_EUSAGE, ((cr_loc){cr_ckpt_path(c), 0, 0}),
            "several tables are called '%s'; give the longer end of one of the names that "
            "crank params lists, up to the last dot",
            table);
    int64_t n = cr_ckpt_find(c, cr_arena_printf(a, "%s" IDS, map))->n_elems, all = 0;
    int64_t *v[4];
    static const char *const parts[4] = {&IDS[1], "_mch_remapped_ids_mapping", "_mch_counts",
                                         "_mch_last_access_iter"};
    for (int k = 0; k < 4; k++) {
        v[k] = CR_NEW_N(a, int64_t, n + 1);
        CR_TRY(read_part(c, map, parts[k], n, v[k], a, err));
    }
    known *ids = CR_NEW_N(a, known, n + 1);
    for (int64_t i = 0; i < n; i++)
        if (v[0][i] != NONE) ids[all++] = (known){v[0][i], v[1][i], v[2][i], v[3][i]};
    qsort(ids, (size_t)all, sizeof(*ids), by_count);
    bool shown = cr_ckpt_find(c, cr_arena_printf(a, "state.%s.weight.delta_score", map));
    (json ? print_json : print_text)(ids, top < all ? top : all, all, table, shown);
    return CR_OK;
}
