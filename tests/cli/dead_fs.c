/*
 * dead_fs.c - `dead_fs DIR`: mounts a file system at DIR that takes every request and never answers,
 * as a server that is gone. A process that looks there hangs in the kernel, where not even SIGKILL
 * ends it. SIGTERM ends the file system, and lets such processes go.
 *
 * Prints "ready" when it is mounted. Exit code 77: this machine cannot do it (no root, no FUSE).
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static const char *dir;

static void end(int sig) {
    (void)sig;
    umount2(dir, MNT_DETACH);
    _exit(0); /* the kernel answers what waits, with an error */
}

int main(int argc, char **argv) {
    static char in[1 << 17];
    char options[100];
    struct {
        struct fuse_out_header head;
        struct fuse_init_out init;
    } answer;
    if (argc != 2) {
        fprintf(stderr, "usage: dead_fs DIR\n");
        return 2;
    }
    dir = argv[1];
    signal(SIGTERM, end);
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0) return 77;
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
    if (mount("dead_fs", dir, "fuse", MS_NOSUID | MS_NODEV, options) != 0) return 77;
    if (read(fd, in, sizeof in) < (ssize_t)sizeof(struct fuse_in_header)) end(0);
    const struct fuse_in_header *head = (const void *)in;
    memset(&answer, 0, sizeof answer);
    answer.head.len = sizeof answer;
    answer.head.unique = head->unique;
    answer.init.major = FUSE_KERNEL_VERSION;
    answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
    answer.init.max_write = 4096;
    if (write(fd, &answer, sizeof answer) != (ssize_t)sizeof answer) end(0);
    puts("ready");
    fflush(stdout);
    while (read(fd, in, sizeof in) > 0) {}
    end(0);
}
