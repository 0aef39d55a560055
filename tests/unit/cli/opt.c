/*
 * opt.c - reading of flags: spellings, abbreviations, defaults, and every refusal's words.
 */
#include "cli/opt.h"

#include <stddef.h>

#include "harness.h"

typedef struct args {
    bool help, go_on;
    const char *model_dir, *model_name, *config_path;
    int64_t threads, rows, port;
    uint64_t seed;
    double scale;
    cr_opt_list set, words;
    const char *trace, *edits;
} args;

#define ROW(m, le, T, fl, ar, de, lo, hi)                                                          \
    { #m, le, T, fl, (uint32_t)offsetof(args, m), ar, de, NULL, lo, hi, "help of " #m }
#define END                                                                                        \
    { NULL, 0, CR_O_BOOL, 0, 0, NULL, NULL, NULL, 0, 0, NULL }
static const cr_opt own[] = {
    ROW(config_path, 0, CR_O_STR, CR_O_REQUIRED, "FILE", NULL, 0, 0),
    ROW(model_dir, 0, CR_O_STR, 0, "DIR", NULL, 0, 0),
    ROW(model_name, 0, CR_O_STR, 0, "NAME", "net", 0, 0),
    ROW(go_on, 'g', CR_O_BOOL, 0, NULL, NULL, 0, 0),
    ROW(threads, 't', CR_O_INT, 0, "N", "2", 0, 64),
    ROW(rows, 0, CR_O_COUNT, 0, "N", NULL, 1, 1e12),
    ROW(port, 0, CR_O_INT, CR_O_MAYBE, "[N]", "-1", -1, 99),
    ROW(seed, 0, CR_O_UINT64, 0, "S", "7", 0, 0),
    ROW(scale, 0, CR_O_FLOAT, 0, "X", "1", 0.001, 100),
    ROW(set, 0, CR_O_LIST, 0, "K=V", NULL, 0, 0),
    ROW(trace, 0, CR_O_STR, CR_O_LATER, "FILE", NULL, 0, 0),
    ROW(edits, 0, CR_O_STR, CR_O_JSON, "JSON", NULL, 0, 0),
    END,
};
static const cr_opt common[] = {ROW(help, 'h', CR_O_BOOL, CR_O_STOP, NULL, NULL, 0, 0), END};
static args common_args; /* what the second table fills */
static cr_opt_group groups[] = {{own, NULL}, {common, &common_args}, {NULL, NULL}};
static const cr_opt_spec spec = {"crank x", "CONFIG", "config_path", groups, NULL, NULL};

static cr_arena arena;
static cr_err err;

/* parses the words, separated by single blanks, of line */
static cr_code parse(args *a, const char *line) {
    char *argv[32];
    int argc = 0;
    *a = (args){0};
    common_args = (args){0};
    groups[0].args = a;
    err = (cr_err){0};
    char *s = cr_arena_strdup(&arena, line), *save = NULL;
    for (char *w = strtok_r(s, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    return cr_opt_parse(&spec, argc, argv, &arena, &err);
}
#define OK(line)                                                                                   \
    do {                                                                                           \
        CHECK_INT(parse(&a, line), CR_OK);                                                         \
        CHECK_STR(err.msg, "");                                                                    \
    } while (0)
#define WRONG(line, text)                                                                          \
    do {                                                                                           \
        CHECK_INT(parse(&a, line), CR_EUSAGE);                                                     \
        CHECK_STR(err.msg, "crank x: " text);                                                      \
    } while (0)

TEST(defaults) {
    args a;
    OK("c.yaml");
    CHECK_STR(a.config_path, "c.yaml");
    CHECK(!a.model_dir);
    CHECK_STR(a.model_name, "net");
    CHECK_INT(a.threads, 2);
    CHECK_INT(a.rows, 0);
    CHECK_INT(a.seed, 7);
    CHECK(a.scale == 1);
    CHECK(!a.go_on);
}

TEST(spellings) {
    args a;
    OK("c --model_dir d --threads=3");
    CHECK_STR(a.model_dir, "d");
    CHECK_INT(a.threads, 3);
    OK("--model-dir=d=e c");
    CHECK_STR(a.model_dir, "d=e");
    OK("--config-path c --model_dir=");
    CHECK_STR(a.model_dir, "");
    OK("c -t 4 -g");
    CHECK_INT(a.threads, 4);
    CHECK(a.go_on);
    OK("c -t5");
    CHECK_INT(a.threads, 5);
    OK("c -t=6");
    CHECK_INT(a.threads, 6);
    OK("c --threads 3 --threads 9");
    CHECK_INT(a.threads, 9);
    OK("--model_dir d -- --odd-name");
    CHECK_STR(a.config_path, "--odd-name");
    OK("c --model_dir=--d");
    CHECK_STR(a.model_dir, "--d");
    OK("c --model_dir -d");
    CHECK_STR(a.model_dir, "-d");
    OK("-");
    CHECK_STR(a.config_path, "-");
}

TEST(booleans) {
    args a;
    OK("c --go_on=false");
    CHECK(!a.go_on);
    OK("c --go-on=True");
    CHECK(a.go_on);
    OK("--go_on c");
    CHECK(a.go_on);
    CHECK_STR(a.config_path, "c");
    WRONG("c --go_on=maybe",
          "--go_on is 'maybe' and must be true or false; or leave the value out");
    WRONG("--go_on true", "--go_on takes no value; write --go_on or --go_on=true");
    WRONG("c --go_on=", "--go_on has an empty value; give it true or false or leave it out");
}

TEST(abbreviations) {
    args a;
    OK("c --thr 3");
    CHECK_INT(a.threads, 3);
    OK("c --model-d=x");
    CHECK_STR(a.model_dir, "x");
    WRONG("c --model x",
          "--model is short for several flags; write one of --model_dir, --model_name");
    WRONG("c --t 1", "--t is short for several flags; write one of --threads, --trace");
}

TEST(numbers) {
    args a;
    OK("c --rows 250k");
    CHECK_INT(a.rows, 250000);
    OK("c --rows 1.5M");
    CHECK_INT(a.rows, 1500000);
    OK("c --rows 2G");
    CHECK_INT(a.rows, 2000000000);
    OK("c --rows 12");
    CHECK_INT(a.rows, 12);
    OK("c --seed 18446744073709551615");
    CHECK(a.seed == UINT64_MAX);
    OK("c --scale 1e-2");
    CHECK(a.scale == 0.01);
    WRONG("c --rows 0", "--rows is '0' and must be an integer from 1 to 1000000000000");
    WRONG("c --rows 1.0001k", "--rows is '1.0001k' and must be an integer from 1 to 1000000000000");
    WRONG("c --rows k", "--rows is 'k' and must be an integer from 1 to 1000000000000");
    WRONG("c --rows 99999999999999999999",
          "--rows is '99999999999999999999' and must be an integer "
          "from 1 to 1000000000000");
    WRONG("c --threads -1", "--threads is '-1' and must be an integer from 0 to 64");
    WRONG("c --threads 65", "--threads is '65' and must be an integer from 0 to 64");
    WRONG("c --threads 2x", "--threads is '2x' and must be an integer from 0 to 64");
    WRONG("c --seed -1", "--seed is '-1' and must be an integer from 0 to 18446744073709551615");
    WRONG("c --seed 99999999999999999999",
          "--seed is '99999999999999999999' and must be an integer from 0 to "
          "18446744073709551615");
    WRONG("c --scale nan", "--scale is 'nan' and must be a number from 0.001 to 100");
    WRONG("c --threads=", "--threads has an empty value; give it N or leave it out");
}

TEST(a_number_that_may_be_left_out) {
    args a;
    OK("c");
    CHECK_INT(a.port, -1);
    OK("c --port");
    CHECK_INT(a.port, 0);
    OK("--port c");
    CHECK_INT(a.port, 0);
    CHECK_STR(a.config_path, "c");
    OK("--port 7 c");
    CHECK_INT(a.port, 7);
    OK("c --port --threads 3");
    CHECK_INT(a.port, 0);
    OK("c --port=8");
    CHECK_INT(a.port, 8);
    WRONG("c --port 100", "--port is '100' and must be an integer from -1 to 99");
}

TEST(lists) {
    args a;
    OK("c --set a=1 --set=b=2 --set c[0].d=3");
    CHECK_INT(a.set.n, 3);
    CHECK_STR(a.set.v[0], "a=1");
    CHECK_STR(a.set.v[1], "b=2");
    CHECK_STR(a.set.v[2], "c[0].d=3");
    OK("c --set 0 --set 1 --set 2 --set 3 --set 4 --set 5 --set 6 --set 7 --set 8 --set 9");
    CHECK_INT(a.set.n, 10);
    for (int i = 0; i < a.set.n; i++)
        CHECK_INT(a.set.v[i][0], '0' + i);
}

TEST(refusals) {
    args a;
    WRONG("c --model\\_dir x", "unknown flag --model\\_dir; remove the backslashes");
    WRONG("c --modle_dir x", "unknown flag --modle_dir; did you mean --model_dir?");
    WRONG("c --config x", "both CONFIG 'c' and --config_path are given; keep one of them");
    WRONG("c --path x", "unknown flag --path; did you mean --config_path?");
    WRONG("c --zzz", "unknown flag --zzz; see 'crank x --help'");
    WRONG("c -z", "unknown flag -z; see 'crank x --help'");
    WRONG("c -model_dir d", "unknown flag -model_dir; did you mean --model_dir?");
    WRONG("c --model_dir", "--model_dir needs a value; write --model_dir DIR");
    WRONG("c --model_dir --go_on", "--model_dir needs a value but '--go_on' follows; write "
                                   "--model_dir DIR, or --model_dir=--go_on if that is it");
    WRONG("c --trace f", "--trace is known but not in this version; leave it out");
    WRONG("c d", "unexpected argument 'd' after 'c'; crank x takes one CONFIG");
    WRONG("", "no CONFIG is given; write 'crank x CONFIG' or --config_path FILE");
    WRONG("--", "no CONFIG is given; write 'crank x CONFIG' or --config_path FILE");
    /* --help needs nothing else, and what follows it does not matter */
    OK("--help --zzz");
    CHECK(common_args.help);
    CHECK(!a.help);
    OK("-h");
    CHECK(common_args.help);
    CHECK(!a.help);
    /* the name of a flag may be as long as it likes */
    char line[2000] = "c --";
    memset(line + 4, 'a', sizeof line - 5);
    line[sizeof line - 1] = 0;
    CHECK_INT(parse(&a, line), CR_EUSAGE);
}

#define UNQUOTED                                                                                   \
    ": the shell has taken the quotes away, and may have split the rest; put the JSON in single "  \
    "quotes: --edits '{\"train_config.num_epochs\": 2}'"

TEST(json_without_quotes) {
    args a;
    OK("c --edits {\"a.b\":2}");
    OK("c --edits {}");
    OK("c --edits {\"a"); /* JSON that is cut is the reader's to tell */
    WRONG("c --edits {a.b: 2}", "--edits is '{a.b:'" UNQUOTED);
    WRONG("c --edits={a.b:2}", "--edits is '{a.b:2}'" UNQUOTED);
    WRONG("c --edits a.b:2 c:3", "--edits is 'a.b:2'" UNQUOTED);
}

TEST(operand_lists) {
    static const cr_opt words[] = {ROW(words, 0, CR_O_LIST, 0, "WORD", NULL, 0, 0), END};
    args a = {0};
    const cr_opt_group t[] = {{words, &a}, {NULL, NULL}};
    const cr_opt_spec many = {"crank y", "WORD", "words", t, NULL, NULL};
    const cr_opt_spec none = {"crank z", NULL, NULL, t, NULL, NULL};
    char one[] = "one", two[] = "two", *argv[] = {one, two};
    CHECK_INT(cr_opt_parse(&many, 2, argv, &arena, &err), CR_OK);
    CHECK_INT(a.words.n, 2);
    CHECK_STR(a.words.v[1], "two");
    CHECK_INT(cr_opt_parse(&none, 2, argv, &arena, &err), CR_EUSAGE);
    CHECK_STR(err.msg, "crank z: unexpected argument 'one'; see 'crank z --help'");
}

TEST(help_text) {
    cr_buf out;
    cr_buf_init(&out);
    cr_opt_lines(&out, &spec);
    CHECK(strstr(out.data, "\n  --model_name NAME                 help of model_name [net]\n"));
    CHECK(strstr(out.data, "  --config_path FILE                help of config_path [needed]\n"));
    CHECK(strstr(out.data, "\n  -t, --threads N                   help of threads [2]\n"));
    CHECK(strstr(out.data, "\n  -h, --help                        help of help\n"));
    CHECK(strstr(out.data, "help of trace [not in this version]\n"));
    cr_buf_reset(&out);
    cr_opt_table(&out, common);
    CHECK_STR(out.data, "| flag | default | meaning |\n|---|---|---|\n"
                        "| `--help`, `-h` |  | help of help |\n");
    cr_buf_clear(&out);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {
        CASE(defaults),      CASE(spellings), CASE(booleans),
        CASE(abbreviations), CASE(numbers),   CASE(a_number_that_may_be_left_out),
        CASE(lists),         CASE(refusals),  CASE(json_without_quotes),
        CASE(operand_lists), CASE(help_text),
    };
    cr_arena_init(&arena, 0);
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    cr_arena_clear(&arena);
    return rc;
}
