/*
 * start.c - `crank` in the tarball of `make static`: starts bin/crank of its folder with the loader and the libraries in
 * lib/, whatever C library the machine has.
 *
 * It is linked statically. The libraries are named to the loader and not in the environment, so programs that crank starts
 * (tar, ssh, a cluster's client) keep those of the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 4096

int main(int argc, char **argv) {
    char self[MOST], loader[MOST + 40], lib[MOST + 8], program[MOST + 16];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        fprintf(stderr, "crank: /proc is not mounted, and crank needs it; mount -t proc proc /proc\n");
        return 1;
    }
    self[n] = 0;
    *strrchr(self, '/') = 0;
    snprintf(loader, sizeof loader, "%s/lib/ld-linux-x86-64.so.2", self);
    snprintf(lib, sizeof lib, "%s/lib", self);
    snprintf(program, sizeof program, "%s/bin/crank", self);
    char **v = calloc((size_t)argc + 7, sizeof *v);
    if (!v) return 1;
    int k = 0;
    v[k++] = loader;
    v[k++] = "--inhibit-cache";
    v[k++] = "--library-path";
    v[k++] = lib;
    v[k++] = program;
    for (int i = 1; i < argc; i++)
        v[k++] = argv[i];
    execv(loader, v);
    fprintf(stderr, "crank: %s cannot be started: %s; unpack the whole tarball\n", loader, strerror(errno));
    return 127;
}
