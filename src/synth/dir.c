/*
 * dir.c - the folder that `crank synth` fills: which files in it may be replaced.
 *
 * A folder may be filled when it is missing, empty, or holds a data set that crank made and the
 * user has not edited since. The file .synth tells that: it holds the digest of pipeline.yaml as
 * crank wrote it, in the format of xxhsum, and is empty while the data set is not whole. A run
 * holds a lock on it. The next run removes what a killed run left. Only files with names that crank
 * gives are ever removed.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/shown.h"
#include "synth/synth_int.h"

#define MARK      ".synth"
#define MARK_REST "  pipeline.yaml\n"

static const char *const parts[] = {"train", "eval"};

/* Is this part-00012.csv or part-00012.parquet, with a number of at least five digits? *end points
 * behind the name. */
static bool part_name(const char *s, const char **end) {
    if (strncmp(s, "part-", 5) != 0) return false;
    const char *p = s + 5;
    while (isdigit((unsigned char)*p))
        p++;
    if (p - s < 10) return false;
    for (const char *const *f = cr_synth_formats; *f; f++) {
        size_t n = strlen(*f);
        if (*p == '.' && strncmp(p + 1, *f, n) == 0) {
            *end = p + 1 + n;
            return true;
        }
    }
    return false;
}

static bool finished_part(const char *name) {
    const char *end;
    return part_name(name, &end) && !*end;
}

static bool leftover(const char *name) { /* see cr_synth_tmp_name, and cr_file_write */
    static const char *const beside[] = {"pipeline.yaml.tmp-", "synth.json.tmp-"};
    for (int i = 0; i < 2; i++)
        if (strncmp(name, beside[i], strlen(beside[i])) == 0) return true;
    const char *end;
    return name[0] == '.' && part_name(name + 1, &end) && strncmp(end, ".tmp-", 5) == 0;
}

char *cr_synth_tmp_name(cr_arena *a, const char *dir, const char *part, const char *name) {
    return cr_arena_printf(a, "%s/%s/.%s.tmp-%d", dir, part, name, (int)getpid());
}

static cr_code remove_those(cr_arena *a, const char *dir, bool (*those)(const char *),
                            cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++)
        if (those(names[i])) CR_TRY(cr_file_remove(cr_path_join(a, dir, names[i]), err));
    return CR_OK;
}

static cr_code remove_leftovers(cr_arena *a, const char *dir, cr_err *err) {
    CR_TRY(remove_those(a, dir, leftover, err));
    for (int k = 0; k < 2; k++)
        CR_TRY(remove_those(a, cr_path_join(a, dir, parts[k]), leftover, err));
    return CR_OK;
}

cr_code cr_synth_drop_parts(cr_arena *a, const char *dir, cr_err *err) {
    for (int k = 0; k < 2; k++)
        CR_TRY(remove_those(a, cr_path_join(a, dir, parts[k]), finished_part, err));
    return CR_OK;
}

/* May the data set in dir be replaced? It may if it is not whole, or if pipeline.yaml is as crank
 * wrote it. */
static bool replaceable(cr_arena *a, const char *dir) {
    cr_buf b;
    uint64_t want, got;
    cr_buf_init(&b);
    bool yes = cr_file_read(cr_path_join(a, dir, MARK), 4096, &b, NULL) == CR_OK;
    if (yes && b.n > 0) {
        const char *digest =
            cr_arena_strndup(a, b.data, b.n < CR_DIGEST_TEXT ? b.n : CR_DIGEST_TEXT);
        yes = cr_digest_parse(digest, &want) &&
              cr_digest_file(cr_path_join(a, dir, "pipeline.yaml"), NULL, &got, NULL) == CR_OK &&
              got == want;
    }
    cr_buf_clear(&b);
    return yes;
}

static cr_code may_fill(cr_arena *a, const char *dir, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, dir, &names, &n, err));
    if (n == 0) return CR_OK;
    if (!cr_path_exists(cr_path_join(a, dir, MARK)))
        return cr_fail(err, CR_EUSAGE,
                       "%s holds files that crank synth did not make (%s); choose another -o", dir,
                       cr_shown(a, names[0]));
    if (!replaceable(a, dir))
        return cr_fail(err, CR_EUSAGE,
                       "%s holds a data set whose pipeline.yaml was changed; choose another -o or "
                       "remove it first",
                       dir);
    for (int k = 0; k < 2; k++) {
        char *sub = cr_path_join(a, dir, parts[k]);
        if (cr_path_is_link(sub))
            return cr_fail(err, CR_EUSAGE,
                           "%s is a symbolic link, which crank synth does not write through; "
                           "choose another -o",
                           sub);
    }
    return CR_OK;
}

cr_code cr_synth_dir_open(cr_synth_dir *d, cr_arena *a, const char *dir, cr_err *err) {
    *d = (cr_synth_dir){.path = dir, .fd = -1, .made = !cr_path_exists(dir)};
    if (!cr_store_can(dir, CR_FS_LOCAL))
        return cr_fail(
            err, CR_EUSAGE,
            "%s is not on the local disk, where crank synth writes; give a local -o and copy "
            "the data",
            dir);
    CR_TRY(cr_mkdirs(dir, err));
    CR_TRY(may_fill(a, dir, err));
    d->mark = cr_path_join(a, dir, MARK);
    d->fd = open(d->mark, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (d->fd < 0) return cr_io_fail(err, d->mark, "write", errno);
    struct stat st;
    d->old = fstat(d->fd, &st) == 0 && st.st_size > 0;
    if (flock(d->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(d->fd);
        d->fd = -1;
        return cr_fail(err, CR_ERUN,
                       "another crank synth is writing to %s; wait for it or choose another -o",
                       dir);
    }
    cr_code code = CR_OK;
    for (int k = 0; k < 2 && code == CR_OK; k++)
        code = cr_mkdirs(cr_path_join(a, dir, parts[k]), err);
    if (code == CR_OK) code = remove_leftovers(a, dir, err);
    if (code != CR_OK) cr_synth_dir_close(d, a);
    return code;
}

cr_code cr_synth_dir_begin(cr_synth_dir *d, cr_err *err) {
    d->old = true;
    return ftruncate(d->fd, 0) == 0 ? CR_OK : cr_io_fail(err, d->mark, "write", errno);
}

cr_code cr_synth_dir_end(cr_synth_dir *d, uint64_t config, cr_err *err) {
    char line[CR_DIGEST_TEXT + sizeof MARK_REST];
    cr_digest_text(config, line);
    strcpy(line + CR_DIGEST_TEXT, MARK_REST);
    ssize_t k = pwrite(d->fd, line, sizeof line - 1, 0);
    return k == (ssize_t)sizeof line - 1
               ? CR_OK
               : cr_io_fail(err, d->mark, "write", k < 0 ? errno : ENOSPC);
}

void cr_synth_dir_close(cr_synth_dir *d, cr_arena *a) {
    if (d->fd < 0) return;
    if (!d->old) unlink(d->mark);
    close(d->fd);
    d->fd = -1;
    /* removes the folders of a failed run; those with files in them stay */
    for (int k = 0; k < 2; k++)
        rmdir(cr_path_join(a, d->path, parts[k]));
    if (d->made) rmdir(d->path);
}
