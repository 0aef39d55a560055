/*
 * hosts.c - plain hosts: mpirun with a hostfile, or the launcher on each host, with ssh or without.
 *
 * start: mpich and openmpi write a hostfile in that MPI's form and call its starter; ssh starts
 * `crank launch` on every host by ssh, with restarts; none writes node.sh, starts node 0 here, and
 * prints the line that a person types on each of the others. With ssh the folder is copied to the
 * same path of the other hosts first, unless shared: true.
 */
#include <string.h>

#include "base/shown.h"
#include "submit/here.h"
#include "submit/list.h"

typedef struct keys {
    CR_PLACE_MEMBERS;
    const char *start, *ssh, *interface;
    bool shared;
    const cr_conf_node *hosts;
} keys;
static const cr_field fields[] = {
    CR_PLACE_ROWS(keys, "bundle"),
    CR_TREE(keys, hosts, 0, "names of the hosts, the first is node 0: [host0, host1]"),
    CR_STR(keys, start, "ssh", 0,
           "ssh: crank launch by ssh; none: by hand; mpich, openmpi: mpiexec, mpirun by ssh"),
    CR_STR(keys, ssh, "ssh", 0, "program in the place of ssh"),
    CR_STR(keys, interface, "", 0, "network interface of mpirun: eth0"),
    CR_BOOL(keys, shared, false, 0, "the hosts see the folder of the job; nothing is copied"),
    CR_END,
};
static const cr_msg msg = {"hosts", "A job of several hosts",
                           fields,  sizeof(keys),
                           false,   true,
                           NULL,    NULL};

static bool starts(const keys *k, const char *how) {
    return strcmp(k->start, how) == 0;
}

static const cr_conf_node *hosts_of(const keys *k) {
    const cr_conf_node *v = cr_unboxed(k->hosts);
    return v && v->kind == CR_NODE_LIST && v->n ? v : NULL;
}

/* The starter's name here: Debian has both under names of their own. */
static const char *starter(cr_submit *s, const char *exact, const char *plain) {
    return cr_client_path(s->a, exact) ? exact : plain;
}

static void check(cr_submit *s) {
    static const char *const ways[] = {"ssh", "none", "mpich", "openmpi", NULL};
    keys *k = s->keys;
    const cr_conf_node *v = hosts_of(k);
    if (!v)
        cr_submit_wrong(s, cr_conf_at(k, "hosts"), "hosts is missing; write hosts: [host0, host1]");
    bool mpi = starts(k, "mpich") || starts(k, "openmpi");
    for (size_t i = 0; v && i < v->n; i++) {
        const char *name = v->v[i].val->kind == CR_NODE_SCALAR ? v->v[i].val->text : "";
        if (!*name || *name == '-' || strpbrk(name, " \t\r\n:;&|$`'\"\\#"))
            cr_submit_wrong(s, v->v[i].at,
                            "hosts: '%s' is no name of a host; write a name or an address, without "
                            "a port",
                            cr_shown(s->a, name));
        else if (strchr(name, '@') && (i == 0 || mpi))
            cr_submit_wrong(s, v->v[i].at,
                            "hosts: '%s' names a user, and the ranks look for each other by this "
                            "name; write the host alone, and its user into ~/.ssh/config",
                            cr_shown(s->a, name));
        for (size_t j = 0; *name && j < i; j++)
            if (v->v[j].val->kind == CR_NODE_SCALAR && strcmp(v->v[j].val->text, name) == 0)
                cr_submit_wrong(s, v->v[i].at,
                                "hosts: '%s' stands twice; write it once, and "
                                "ranks_per_node for its ranks",
                                cr_shown(s->a, name));
    }
    if (v && cr_conf_has(k, "nodes") && k->nodes != (int64_t)v->n)
        cr_submit_wrong(s, cr_conf_at(k, "nodes"),
                        "nodes is %lld, and there are %zu hosts; leave nodes out",
                        (long long)k->nodes, v->n);
    if (v) k->nodes = (int64_t)v->n;
    cr_check_one_of(s, k, "start", k->start, ways);
    cr_loc at = cr_conf_at(k, "start");
    if (starts(k, "mpich")) cr_check_client(s, at, starter(s, "mpiexec.hydra", "mpiexec"), NULL);
    if (starts(k, "openmpi")) {
        const char *name = starter(s, "mpirun.openmpi", "mpirun");
        cr_check_client(s, at, name, cr_arena_printf(s->a, "%s --version", name));
    }
    if (starts(k, "ssh")) /* another program in its place may take -V for something else */
        cr_check_client(s, at, k->ssh, strcmp(k->ssh, "ssh") == 0 ? "ssh -V" : NULL);
    cr_place_check(s, true, false);
}

typedef struct variables {
    cr_buf *out;
    bool open;
    int n;
} variables;

static void pass(void *ctx, const char *name, const char *value) {
    variables *v = ctx;
    (void)value; /* run.sh exports it: a command line would show it to everybody */
    if (v->open)
        cr_buf_printf(v->out, " -x %s", name);
    else if (v->n++ == 0)
        cr_buf_str(v->out, " -genvall"); /* -genvlist would leave out all others */
}

static const char *mpi_line(cr_submit *s, const keys *k) {
    bool open = starts(k, "openmpi");
    long long n = (long long)(k->nodes * k->ranks_per_node);
    const char *dir = cr_sh(s->a, *k->work_dir ? k->work_dir : s->here);
    const char *file = cr_sh(s->a, cr_arena_printf(s->a, "%s/hostfile", s->dir));
    cr_buf b;
    cr_buf_init(&b);
    if (open) {
        cr_buf_printf(&b,
                      "%s --hostfile %s -np %lld --map-by ppr:%lld:node --bind-to none --wdir %s",
                      starter(s, "mpirun.openmpi", "mpirun"), file, n, (long long)k->ranks_per_node,
                      dir);
        cr_buf_printf(&b, " --mca plm_rsh_agent %s", cr_sh(s->a, k->ssh));
        if (*k->interface)
            cr_buf_printf(&b, " --mca btl_tcp_if_include %s", cr_sh(s->a, k->interface));
        cr_buf_str(&b, "${ROOT_FLAG-}");
    } else {
        cr_buf_printf(&b, "%s -f %s -n %lld -ppn %lld -wdir %s -launcher ssh -launcher-exec %s",
                      starter(s, "mpiexec.hydra", "mpiexec"), file, n, (long long)k->ranks_per_node,
                      dir, cr_sh(s->a, k->ssh));
        if (*k->interface) cr_buf_printf(&b, " -iface %s", cr_sh(s->a, k->interface));
    }
    variables v = {&b, open, 0};
    cr_place_each(s, pass, &v);
    cr_buf_printf(&b, " %s %s --threads %lld", cr_place_crank(s, s->dir), cr_place_words(s, s->dir),
                  (long long)k->threads_per_rank);
    const char *out = cr_arena_strdup(s->a, b.data);
    cr_buf_clear(&b);
    return out;
}

static const char *host(const keys *k, size_t i) {
    return hosts_of(k)->v[i].val->text;
}

/* node.sh NUMBER: the launcher of one host. */
static cr_code write_node(cr_submit *s, const keys *k, cr_err *err) {
    cr_buf b;
    cr_buf_init(&b);
    const char *flags = cr_arena_printf(
        s->a,
        "--nnodes %lld --node_rank \"$1\" --master_addr %s --master_port %lld --secret_file %s",
        (long long)k->nodes, cr_sh(s->a, host(k, 0)), (long long)k->master_port,
        cr_sh(s->a, cr_arena_printf(s->a, "%s/secret", s->dir)));
    cr_buf_str(&b, "#!/bin/sh\n# node.sh NUMBER - what host NUMBER runs; host 0 is the first.\n"
                   "[ $# -eq 1 ] || { echo 'usage: sh node.sh NUMBER' >&2; exit 2; }\n");
    cr_place_env(s, &b);
    cr_buf_printf(&b, "cd %s || exit 1\n", cr_sh(s->a, *k->work_dir ? k->work_dir : s->here));
    cr_buf_printf(&b, "exec %s\n", cr_place_launch(s, s->dir, flags));
    cr_code code = cr_folder_put(s, "node.sh", &b, err);
    cr_buf_clear(&b);
    return code;
}

static cr_code write_hostfile(cr_submit *s, const keys *k, cr_err *err) {
    cr_buf b;
    cr_buf_init(&b);
    for (size_t i = 0; i < hosts_of(k)->n; i++)
        cr_buf_printf(&b, starts(k, "openmpi") ? "%s slots=%lld\n" : "%s:%lld\n", host(k, i),
                      (long long)k->ranks_per_node);
    cr_code code = cr_folder_put(s, "hostfile", &b, err);
    cr_buf_clear(&b);
    return code;
}

/* The lines of job.sh that bring the folder to the other hosts. */
static void copy_lines(cr_submit *s, const keys *k, cr_buf *b) {
    if (k->shared || starts(k, "none")) return;
    cr_buf_str(b, "# the same folder at the same place of the other hosts\n");
    for (size_t i = 1; i < hosts_of(k)->n; i++)
        cr_buf_printf(b, "tar cf - . | %s %s %s || exit 1\n", cr_sh(s->a, k->ssh),
                      cr_sh(s->a, host(k, i)),
                      cr_sh(s->a, cr_arena_printf(s->a, "mkdir -p -m 700 %s && tar xf - -C %s",
                                                  cr_sh(s->a, s->dir), cr_sh(s->a, s->dir))));
}

static const char *ssh_line(cr_submit *s, const keys *k) {
    cr_buf b;
    const char *node = cr_sh(s->a, cr_arena_printf(s->a, "%s/node.sh", s->dir));
    cr_buf_init(&b);
    cr_buf_str(&b, "{\n");
    for (size_t i = 1; i < hosts_of(k)->n; i++)
        cr_buf_printf(&b, "    %s %s %s &\n", cr_sh(s->a, k->ssh), cr_sh(s->a, host(k, i)),
                      cr_sh(s->a, cr_arena_printf(s->a, "sh %s %zu", node, i)));
    cr_buf_printf(&b, "    exec sh %s 0\n}", node);
    const char *out = cr_arena_strdup(s->a, b.data);
    cr_buf_clear(&b);
    return out;
}

static cr_code write_files(cr_submit *s, cr_buf *b, cr_err *err) {
    const keys *k = s->keys;
    bool mpi = starts(k, "mpich") || starts(k, "openmpi");
    const char *line = mpi ? mpi_line(s, k) : NULL;
    cr_place_prepare(s, b, !mpi);
    copy_lines(s, k, b);
    if (mpi) {
        CR_TRY(write_hostfile(s, k, err));
        if (starts(k, "openmpi"))
            line = cr_arena_printf(s->a,
                                   "[ \"$(id -u)\" -ne 0 ] || ROOT_FLAG=' --allow-run-as-root'\n%s",
                                   line);
    } else {
        CR_TRY(write_node(s, k, err));
        line = starts(k, "ssh") ? ssh_line(s, k)
                                : cr_arena_printf(s->a, "sh %s/node.sh 0", cr_sh(s->a, s->dir));
        for (size_t i = 1; starts(k, "none") && i < hosts_of(k)->n; i++)
            cr_buf_printf(b, "echo %s >&2\n",
                          cr_sh(s->a, cr_arena_printf(s->a, "on %s run: sh %s/node.sh %zu",
                                                      host(k, i), cr_sh(s->a, s->dir), i)));
    }
    return cr_here_write(s, line, b, err);
}

const cr_backend cr_backend_hosts = {
    .name = "hosts",
    .help = "Plain hosts: mpirun with a hostfile, or crank launch by ssh or by hand",
    .msg = &msg,
    .check = check,
    .write = write_files,
    .answer = cr_here_answer,
};
