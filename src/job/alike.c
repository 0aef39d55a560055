/*
 * alike.c - are the ranks alike? Results are those of one process only if all ranks have the same
 * config, features and data, so they compare digests before the first step. Programs were compared
 * when the ranks met (comm/who.h). The kernels of all CPU levels give the same bits, so a host with
 * an older CPU is only worth a note, unless its BF16 products are summed in another order
 * (cr_kern_order).
 *
 * Rank 0 is what the others are compared with. When something differs, it gets the text or list of
 * the first rank that has another one, and tells the first difference.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "conf/conf.h"
#include "data/files.h"
#include "job/job.h"

enum { CONFIG, FLAGS, MEANING, PAIRS, LEVEL, N_ITEMS };

/* a file of a data set */
typedef struct file_key {
    uint64_t name, digest;
    int64_t size;
} file_key;

static bool is_first(const cr_job *j) {
    return cr_comm_rank(j->comm) == 0;
}

/* Gathers n numbers of each rank. */
static void gather(const cr_job *j, uint64_t *all, int n, cr_arena *a) {
    int size = cr_comm_size(j->comm);
    size_t *at = CR_NEW_N(a, size_t, size + 1);
    for (int r = 0; r <= size; r++)
        at[r] = (size_t)(r * n) * sizeof *all;
    cr_comm_gather(j->comm, all, at);
}

/* Finds the ranks whose item k of n differs from that of rank 0, as text; returns the first of
 * them, 0: none differs. */
static int others(const cr_job *j, const uint64_t *all, int k, int n, char text[256]) {
    int size = cr_comm_size(j->comm), first = 0;
    bool *other = cr_alloc((size_t)size * sizeof *other, "ranks");
    for (int r = size - 1; r > 0; r--) {
        other[r] = all[r * n + k] != all[k];
        if (other[r]) first = r;
    }
    if (first > 0) cr_who_text(cr_comm_who(j->comm), size, other, text, 256);
    cr_free(other);
    return first;
}

/* Gives n bytes of one rank to all; returns them and their number. */
static void *fetch(const cr_job *j, int from, const void *own, size_t *n, cr_arena *a) {
    int64_t size = (int64_t)*n;
    cr_comm_share(j->comm, &size, sizeof size, from);
    char *data = CR_NEW_N(a, char, size + 1);
    if (cr_comm_rank(j->comm) == from && size > 0) memcpy(data, own, (size_t)size);
    cr_comm_share(j->comm, data, (size_t)size, from);
    *n = (size_t)size;
    return data;
}

/* Returns a line of a text without blanks around it, at most 100 bytes of it. */
static const char *line_of(const char *s, cr_arena *a) {
    s += strspn(s, " ");
    size_t n = strcspn(s, "\n");
    if (n == 0) return "nothing";
    return n > 100 ? cr_arena_printf(a, "'%.100s...'", s) : cr_arena_printf(a, "'%.*s'", (int)n, s);
}

/* Tells where the text of another rank first differs from ours, at the beginning of a line or after
 * a comma. Only rank 0 has both texts, and only its finding is shown. */
static cr_code differ(const cr_job *j, const char *what, const char *ranks, const char *ours,
                      const char *theirs, const char *cure, cr_arena *a, cr_diag *diag) {
    size_t at = 0;
    if (!is_first(j)) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, CR_NOWHERE, "%s: %s", ranks, what);
        return CR_ECONF;
    }
    while (ours[at] && ours[at] == theirs[at])
        at++;
    while (at > 0 && !strchr("\n,{", ours[at - 1]))
        at--;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, CR_NOWHERE,
                "%s: %s, %s where rank 0 (host %s) has %s; %s", ranks, what,
                line_of(theirs + at, a), cr_comm_who(j->comm)->host, line_of(ours + at, a), cure);
    return CR_ECONF;
}

/* Compares a text with that of other ranks; all is what gather got. */
static cr_code compare(const cr_job *j, const uint64_t *all, int item, const char *text,
                       const char *what, const char *cure, cr_arena *a, cr_diag *diag) {
    char ranks[256];
    int first = others(j, all, item, N_ITEMS, ranks);
    if (first == 0) return CR_OK;
    size_t n = strlen(text);
    const char *theirs = fetch(j, first, text, &n, a);
    return differ(j, what, ranks, text, theirs, cure, a, diag);
}

static cr_code alike(const cr_job *j, const char *flags, cr_arena *a, cr_diag *diag) {
    uint64_t *all = CR_NEW_N(a, uint64_t, cr_comm_size(j->comm) * N_ITEMS);
    uint64_t *own = all + cr_comm_rank(j->comm) * N_ITEMS;
    cr_buf b;
    cr_buf_init(&b);
    cr_conf_print(&b, &cr_root_msg, j->cfg.doc.root, CR_SYNTAX_PBTXT);
    const char *config = cr_arena_strndup(a, b.data, b.n), *meaning = cr_job_meaning(j, a);
    cr_buf_clear(&b);
    own[CONFIG] = cr_digest_of(config, strlen(config));
    own[FLAGS] = cr_digest_of(flags, strlen(flags));
    own[MEANING] = cr_digest_of(meaning, strlen(meaning));
    own[PAIRS] =
        j->mo.products == CR_PRODUCTS_BF16 && strcmp(cr_kern_order(cr_kern_level), "pairs") == 0;
    own[LEVEL] = (uint64_t)cr_kern_level;
    gather(j, all, N_ITEMS, a);
    CR_TRY(compare(j, all, CONFIG, config, "another config", "start all ranks with the same config",
                   a, diag));
    CR_TRY(compare(j, all, FLAGS, flags, "other flags", "start all ranks with the same flags", a,
                   diag));
    CR_TRY(compare(j, all, MEANING, meaning, "files of features with another content",
                   "give all hosts the same vocabularies, tokenizers and libraries", a, diag));
    char ranks[256];
    cr_cpu_level ours = (cr_cpu_level)all[LEVEL], theirs;
    int first = others(j, all, PAIRS, N_ITEMS, ranks);
    if (first > 0) {
        theirs = (cr_cpu_level)all[first * N_ITEMS + LEVEL];
        cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                    "%s: BF16 products are summed in %s (CPU level %s) where rank 0 (host %s) sums "
                    "them in %s (%s), so results would depend on the rank; set CRANK_CPU=avx512 on "
                    "all hosts",
                    ranks, cr_kern_order(theirs), cr_cpu_level_name(theirs),
                    cr_comm_who(j->comm)->host, cr_kern_order(ours), cr_cpu_level_name(ours));
        return CR_EUSAGE;
    }
    first = others(j, all, LEVEL, N_ITEMS, ranks);
    if (first == 0) return CR_OK;
    theirs = (cr_cpu_level)all[first * N_ITEMS + LEVEL];
    CR_INFO("%s: CPU level %s where rank 0 has %s; results do not depend on it, the slowest rank "
            "decides the speed",
            ranks, cr_cpu_level_name(theirs), cr_cpu_level_name(ours));
    return CR_OK;
}

cr_code cr_job_alike(const cr_job *j, const char *flags, cr_diag *diag) {
    cr_arena a;
    if (!j->comm) return CR_OK;
    cr_arena_init(&a, 0);
    cr_code code = alike(j, flags ? flags : "", &a, diag);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_job_alike_weights(const cr_job *j, const char *path, cr_diag *diag) {
    cr_arena a;
    char ranks[256];
    if (!j->comm || !path) return CR_OK;
    cr_arena_init(&a, 0);
    uint64_t *all = CR_NEW_N(&a, uint64_t, cr_comm_size(j->comm)),
             *own = &all[cr_comm_rank(j->comm)];
    /* older versions wrote no manifest; a folder that is not there is told when it is opened */
    if (cr_digest_file(cr_path_join(&a, path, CR_MANIFEST), NULL, own, NULL) != CR_OK) *own = 0;
    gather(j, all, 1, &a);
    int first = others(j, all, 0, 1, ranks);
    if (first > 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, CR_NOWHERE,
                    "%s: %s in %s than rank 0 (host %s) has; give all hosts the same folder", ranks,
                    all[first] && all[0] ? "other files" : "more or fewer files", path,
                    cr_comm_who(j->comm)->host);
    cr_arena_clear(&a);
    return first > 0 ? CR_ECONF : CR_OK;
}

cr_code cr_job_alike_first(const cr_job *j, cr_diag *diag) {
    cr_arena a;
    char ranks[256];
    if (!j->comm) return CR_OK;
    cr_arena_init(&a, 0);
    uint64_t *all = CR_NEW_N(&a, uint64_t, cr_comm_size(j->comm));
    all[cr_comm_rank(j->comm)] = j->first_weights;
    gather(j, all, 1, &a);
    int first = others(j, all, 0, 1, ranks);
    if (first > 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, CR_NOWHERE,
                    "%s: another content of fine_tune_checkpoint, fine_tune_ckpt_param_map or a "
                    "pretrained_path than rank 0 (host %s) has; give all hosts the same files",
                    ranks, cr_comm_who(j->comm)->host);
    cr_arena_clear(&a);
    return first > 0 ? CR_ECONF : CR_OK;
}

/* ---- data ---- */

/* Lists the files of a data set. Their paths are those that the reader got, in the same order. */
static file_key *list_files(const cr_job *j, const char *paths, const cr_file_ids *ids,
                            char ***names, cr_arena *a) {
    file_key *v = CR_NEW_N(a, file_key, ids->n + 1);
    size_t n = 0;
    cr_err err;
    if (cr_data_files(j->root->data_config, a, paths, j->reader->exts, names, &n, &err) != CR_OK ||
        (int64_t)n != ids->n)
        *names = NULL;
    for (int64_t i = 0; i < ids->n; i++)
        v[i] = (file_key){.name = *names ? cr_digest_of((*names)[i], strlen((*names)[i])) : 0,
                          .digest = ids->v[i].digest,
                          .size = ids->v[i].size};
    return v;
}

static cr_code alike_files(const cr_job *j, const char *key, const char *paths,
                           const cr_file_ids *ids, cr_arena *a, cr_diag *diag) {
    char **names = NULL, ranks[256], how[160];
    uint64_t *all = CR_NEW_N(a, uint64_t, cr_comm_size(j->comm));
    file_key *own = list_files(j, paths, ids, &names, a);
    size_t size = (size_t)ids->n * sizeof *own;
    all[cr_comm_rank(j->comm)] = cr_digest_of(own, size);
    gather(j, all, 1, a);
    int first = others(j, all, 0, 1, ranks);
    if (first == 0) return CR_OK;
    const file_key *their = fetch(j, first, own, &size, a);
    int64_t n = (int64_t)(size / sizeof *own), i = 0;
    while (i < n && i < ids->n && memcmp(&own[i], &their[i], sizeof *own) == 0)
        i++;
    if (i >= n || i >= ids->n)
        snprintf(how, sizeof how, "%lld files and not %lld", (long long)n, (long long)ids->n);
    else if (own[i].name != their[i].name)
        snprintf(how, sizeof how, "another file in the place of");
    else if (own[i].size != their[i].size)
        snprintf(how, sizeof how, "%lld bytes and not %lld in", (long long)their[i].size,
                 (long long)own[i].size);
    else
        snprintf(how, sizeof how, "another content of");
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, CR_NOWHERE,
                "%s: other data of %s than rank 0 (host %s) has: %s %s; give all hosts the same "
                "files, or set data_config.host_parts where each host has a part of them",
                ranks, key, cr_comm_who(j->comm)->host, how,
                names && i < ids->n ? names[i] : paths);
    return CR_ECONF;
}

cr_code cr_job_alike_files(const cr_job *j, const char *key, const char *paths,
                           const cr_file_ids *ids, cr_diag *diag) {
    cr_arena a;
    if (!j->comm) return CR_OK;
    cr_arena_init(&a, 0);
    cr_code code = alike_files(j, key, paths, ids, &a, diag);
    cr_arena_clear(&a);
    return code;
}
