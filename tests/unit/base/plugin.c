/* Shared libraries: the object that is asked for, and each way a library can be wrong. */
#include "base/plugin.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "harness.h"

/* a library that was built beside this program */
static const char *lib(const char *name) {
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, 3000);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    if (!slash) slash = path;
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/unit/base/%s", name);
    return path;
}

static cr_code open_it(const char *path, const char *symbol, const void **out, cr_err *err) {
    return cr_plugin_open(path, symbol, 1, "crank/test.h", out, err);
}

/* before the others: nothing is loaded without permission, or what the user's list names */
TEST(permission) {
    const void *p = NULL;
    cr_err err;
    char dir[] = "/tmp/crank-plugin-XXXXXX", list[64], digest[CR_SHA256_TEXT + 1], line[512];
    CHECK(mkdtemp(dir) != NULL);
    setenv("XDG_CONFIG_HOME", dir, 1);
    CHECK_INT(open_it(lib("libplug_abi1.so"), "cr_test_plug", &p, &err), CR_ECONF);
    cr_buf code;
    cr_buf_init(&code);
    CHECK_INT(cr_file_read(lib("libplug_abi1.so"), 0, &code, &err), CR_OK);
    cr_sha256_text(code.data, code.n, digest);
    cr_buf_clear(&code);
    CHECK_INT(open_it(lib("libplug_abi1.so"), "cr_test_plug", &p, &err), CR_ECONF);
    snprintf(line, sizeof(line),
             "libplug_abi1.so' is not loaded: its code could do anything; when you trust it, give "
             "--allow_libraries, or add the line '%s libplug_abi1.so' to %s/crank/libraries",
             digest, dir);
    CHECK(strstr(err.msg, line) != NULL && p == NULL);
    snprintf(list, sizeof(list), "%s/crank", dir);
    CHECK(mkdir(list, 0777) == 0);
    snprintf(list, sizeof(list), "%s/crank/libraries", dir);
    /* the digest behind something, a longer word, and half a digest are no permission */
    static const char *const around[][2] = {{"# ", ""}, {"x ", ""}, {"", "a"}};
    for (size_t i = 0; i < 4; i++) {
        if (i < 3)
            snprintf(line, sizeof(line), "%s%s%s\n", around[i][0], digest, around[i][1]);
        else
            snprintf(line, sizeof(line), "%.32s\n", digest);
        CHECK_INT(cr_file_write(list, line, strlen(line), &err), CR_OK);
        CHECK_INT(open_it(lib("libplug_abi1.so"), "cr_test_plug", &p, &err), CR_ECONF);
    }
    snprintf(line, sizeof(line), "# mine\n%064d old\n  %s\tplug of the test\n", 0, digest);
    CHECK_INT(cr_file_write(list, line, strlen(line), &err), CR_OK);
    CHECK_INT(open_it(lib("libplug_abi1.so"), "cr_test_plug", &p, &err), CR_OK);
    CHECK_INT(open_it(lib("libplug_abi2.so"), "cr_test_plug", &p, &err), CR_ECONF);
    CHECK(strstr(err.msg, "is not loaded: ") != NULL);
    CHECK_INT(cr_rmtree(dir, &err), CR_OK);
    cr_plugin_allow();
}

TEST(good) {
    const void *p = NULL, *again = NULL;
    cr_err err;
    CHECK_INT(open_it(lib("libplug_abi1.so"), "cr_test_plug", &p, &err), CR_OK);
    CHECK(p && ((const int *)p)[0] == 1 && ((const int *)p)[1] == 41);
    CHECK_INT(open_it(lib("libplug_abi1.so"), "cr_test_plug", &again, &err), CR_OK);
    CHECK(p == again);
}

TEST(wrong) {
    const void *p = &p;
    cr_err err;
    CHECK_INT(open_it("no_such_library.so", "cr_test_plug", &p, &err), CR_ECONF);
    CHECK_STR(err.msg, "cannot read library 'no_such_library.so': No such file or directory; give "
                       "the path of a shared library, seen from the folder crank runs in");
    CHECK(p == NULL);
    CHECK_INT(open_it(lib("libplug_abi1.so"), "cr_other_plug", &p, &err), CR_ECONF);
    CHECK(strstr(err.msg, "has no object 'cr_other_plug'; define it as crank/test.h shows"));
    CHECK_INT(open_it(lib("libplug_abi2.so"), "cr_test_plug", &p, &err), CR_ECONF);
    CHECK(strstr(err.msg, "was compiled for interface 2 of crank/test.h, this crank has 1"));
    CHECK(p == NULL);

    char text[] = "/tmp/crank-plugin-XXXXXX";
    int fd = mkstemp(text);
    CHECK(fd >= 0 && write(fd, "not a library\n", 14) == 14);
    CHECK_INT(open_it(text, "cr_test_plug", &p, &err), CR_ECONF);
    CHECK(strstr(err.msg, "does not load: "));
    CHECK(!strchr(err.msg, '\n'));
    close(fd);
    unlink(text);

    char longer[5000];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    CHECK_INT(open_it(longer, "cr_test_plug", &p, &err), CR_ECONF);
}

TEST_MAIN(CASE(permission), CASE(good), CASE(wrong))
