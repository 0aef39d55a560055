/*
 * bundle.c - a tarball with this program, its plug-ins and the libraries of both.
 *
 * In it: bin/crank and its plug-ins, bin/comm-*.so and their like, lib/ with every shared library
 * that they need but the C library's own, and a short script `crank` that sets LD_LIBRARY_PATH and
 * starts bin/crank. The C library is not in it, because the loader must fit it; so nodes need one
 * that is as new as here. A program of `make static` brings its own loader and C library; it packs
 * its folder as it is. UCX, below MPICH, loads its modules from the folder `ucx` beside it, so that
 * folder goes along.
 */
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/self.h"
#include "base/shown.h"
#include "submit/submit_int.h"

static const char script[] =
    "#!/bin/sh\n"
    "# crank - starts bin/crank of this folder with the libraries beside it.\n"
    "here=$(cd \"$(dirname \"$(readlink -f \"$0\")\")\" && pwd)\n"
    "LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec \"$here/bin/crank\" "
    "\"$@\"\n";

/* Is it a part of the C library, which must be that of the node? */
static bool is_libc(const char *name) {
    static const char *const v[] = {"libc.so",    "libm.so",       "libdl.so",  "librt.so",
                                    "ld-linux",   "libpthread.so", "libresolv", "libnsl",
                                    "libutil.so", "linux-vdso",    NULL};
    for (int i = 0; v[i]; i++)
        if (strncmp(name, v[i], strlen(v[i])) == 0) return true;
    return false;
}

static cr_code copy(cr_arena *a, const char *from, const char *dir, cr_err *err) {
    const char *to = cr_path_join(a, dir, cr_path_base(from));
    if (cr_path_exists(to)) return CR_OK;
    CR_TRY(cr_file_copy(from, to, err));
    if (chmod(to, 0755) != 0) return cr_fail(err, CR_EIO, "%s: its mode cannot be set", to);
    return CR_OK;
}

/* UCX's modules. */
static cr_code copy_modules(cr_arena *a, const char *lib, const char *to, cr_err *err) {
    const char *from = cr_path_join(a, cr_path_dir(a, lib), "ucx"),
               *dir = cr_path_join(a, to, "ucx");
    char **names;
    size_t n;
    if (strncmp(cr_path_base(lib), "libucs.so", 9) != 0 || !cr_path_is_dir(from)) return CR_OK;
    CR_TRY(cr_mkdirs(dir, err));
    CR_TRY(cr_list_dir(a, from, &names, &n, err));
    for (size_t i = 0; i < n; i++)
        if (strstr(names[i], ".so")) CR_TRY(copy(a, cr_path_join(a, from, names[i]), dir, err));
    return CR_OK;
}

/* Copies what `ldd FILE` lists: "libz.so.1 => /lib/libz.so.1 (0x...)". */
static cr_code copy_libraries(cr_arena *a, const char *file, const char *to, int *n, cr_err *err) {
    static char ldd[] = "ldd";
    char *argv[] = {ldd, cr_arena_strdup(a, file), NULL};
    cr_ran ran = {0};
    cr_client_opts o = {.argv = argv, .timeout_s = 60};
    CR_TRY(cr_client_run(a, &o, &ran, err));
    char *save, *text = cr_arena_strdup(a, ran.out);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *path = strstr(line, "=> ");
        if (!path) continue;
        path += 3;
        if (strncmp(path, "not found", 9) == 0)
            return cr_fail(err, CR_EIO, "%s needs a library that is not here: %s; install it", file,
                           line + strspn(line, " \t"));
        path[strcspn(path, " ")] = 0;
        if (path[0] != '/' || is_libc(cr_path_base(path))) continue;
        *n += !cr_path_exists(cr_path_join(a, to, cr_path_base(path)));
        CR_TRY(copy(a, path, to, err));
        CR_TRY(copy_modules(a, path, to, err));
    }
    return CR_OK;
}

/* The plug-ins beside the program, or in ../lib/crank as they are installed. */
static cr_code copy_plugins(cr_arena *a, const char *program, const char *top,
                            cr_bundle_result *res, cr_err *err) {
    const char *beside = cr_path_dir(a, program);
    const char *dirs[] = {beside, cr_path_join(a, beside, "../lib/crank")};
    const char *bin = cr_path_join(a, top, "bin"), *lib = cr_path_join(a, top, "lib");
    for (int d = 0; d < 2 && res->n_plugins == 0; d++) {
        char **names;
        size_t n;
        if (!cr_path_is_dir(dirs[d])) continue;
        CR_TRY(cr_list_dir(a, dirs[d], &names, &n, err));
        for (size_t i = 0; i < n; i++) {
            size_t len = strlen(names[i]);
            if (len < 4 || strcmp(names[i] + len - 3, ".so") != 0) continue;
            const char *path = cr_path_join(a, dirs[d], names[i]);
            CR_TRY(copy(a, path, bin, err));
            CR_TRY(copy_libraries(a, path, lib, &res->n_libraries, err));
            res->n_plugins++;
        }
    }
    return CR_OK;
}

const char *cr_own_program(cr_arena *a) {
    char self[CR_SELF_MAX];
    return cr_self_start(self) ? cr_arena_strdup(a, self) : "crank";
}

/* Writes crank, bin and lib of the folder as a tarball; the same files give the same bytes. The
 * tarball is there whole or as it was. */
static cr_code pack(cr_arena *a, const char *top, const char *path, cr_bundle_result *res,
                    cr_err *err) {
    char *part = cr_arena_printf(a, "%s.part-%ld", path, (long)getpid());
    char *argv[] = {"tar",
                    "--sort=name",
                    "--mtime=@0",
                    "--owner=0",
                    "--group=0",
                    "--numeric-owner",
                    "--format=ustar",
                    "-C",
                    cr_arena_strdup(a, top),
                    "-I",
                    "gzip -n1",
                    "-cf",
                    part,
                    "crank",
                    "bin",
                    "lib",
                    NULL};
    cr_ran ran = {0};
    cr_client_opts o = {.argv = argv, .merged = true, .timeout_s = 600};
    cr_code code = cr_client_run(a, &o, &ran, err);
    if (code == CR_OK && (ran.late || ran.exit_code != 0)) {
        /* gzip begins its message with an empty line */
        const char *why = ran.out ? ran.out + strspn(ran.out, "\n") : "";
        code = cr_fail(err, CR_EIO, "tar could not write %s: %.200s", path,
                       ran.late ? "it took too long"
                                : cr_shown(a, cr_arena_strndup(a, why, strcspn(why, "\n"))));
    }
    if (code == CR_OK && rename(part, path) != 0) code = cr_io_fail(err, path, "write", errno);
    if (code != CR_OK) (void)unlink(part);
    CR_TRY(code);
    return cr_file_size(path, &res->bytes, err);
}

static cr_code fill(cr_arena *a, const char *top, const char *path, cr_bundle_result *res,
                    cr_err *err) {
    char file[CR_SELF_MAX];
    if (!cr_self_file(file))
        return cr_fail(err, CR_EIO, "crank cannot find its own program in /proc");
    const char *self = file;
    const char *bin = cr_path_join(a, top, "bin"), *lib = cr_path_join(a, top, "lib");
    const char *start = cr_path_join(a, top, "crank"), *program = cr_path_join(a, bin, "crank");
    CR_TRY(cr_mkdirs(bin, err));
    CR_TRY(cr_mkdirs(lib, err));
    CR_TRY(cr_file_copy(self, program, err));
    CR_TRY(cr_file_write(start, script, sizeof script - 1, err));
    if (chmod(program, 0755) != 0 || chmod(start, 0755) != 0)
        return cr_fail(err, CR_EIO, "%s: modes cannot be set", top);
    CR_TRY(copy_libraries(a, self, lib, &res->n_libraries, err));
    CR_TRY(copy_plugins(a, self, top, res, err));
    return pack(a, top, path, res, err);
}

/* A program of `make static` has everything in its folder, with the C library. */
static cr_code pack_folder(cr_arena *a, const char *folder, const char *path, cr_bundle_result *res,
                           cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, cr_path_join(a, folder, "bin"), &names, &n, err));
    res->n_plugins = (int)n - 1;
    CR_TRY(cr_list_dir(a, cr_path_join(a, folder, "lib"), &names, &n, err));
    res->n_libraries = (int)n;
    res->libc = NULL;
    return pack(a, folder, path, res, err);
}

cr_code cr_bundle_make(cr_arena *a, const char *path, cr_bundle_result *res, cr_err *err) {
    const char *tmp = getenv("TMPDIR");
    char *top = cr_arena_printf(a, "%s/crank-bundle.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    cr_err ignored;
    *res = (cr_bundle_result){.libc = gnu_get_libc_version()};
    const char *full = path;
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (here) full = cr_path_join(a, here, path);
    free(here);
    char folder[CR_SELF_MAX];
    if (cr_self_folder(folder)) return pack_folder(a, folder, full, res, err);
    cr_signals signals;
    cr_code code = CR_OK;
    cr_signals_watch(&signals); /* a signal must not leave the folder behind */
    if (!mkdtemp(top))
        code =
            cr_fail(err, CR_EIO,
                    "%s: a folder cannot be made there: %s; set TMPDIR to one that can be written",
                    top, strerror(errno));
    if (code == CR_OK) {
        code = fill(a, top, full, res, err);
        (void)!cr_rmtree(top, &ignored);
    }
    cr_signals_leave(&signals);
    return code;
}
