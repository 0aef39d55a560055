/*
 * pmi.c - the conversation with MPICH's library, and lines that are none.
 */
#include "launch/pmi.h"

#include "harness.h"

static cr_pmi p;
static cr_buf reply;
static int code;

static cr_pmi_event say(int local, const char *line) {
    cr_buf_reset(&reply);
    return cr_pmi_line(&p, local, line, strlen(line), &reply, &code);
}

static void begin(int n_local, int n_nodes) {
    cr_pmi_init(&p, n_local, n_nodes);
    cr_buf_init(&reply);
}
static void end(void) {
    cr_pmi_clear(&p);
    cr_buf_clear(&reply);
}

TEST(questions) {
    begin(2, 3);
    CHECK_INT(say(0, "cmd=init pmi_version=1 pmi_subversion=1"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    CHECK_INT(say(1, "cmd=get_maxes"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=1024\n");
    CHECK_INT(say(1, "cmd=get_universe_size"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=universe_size size=6\n");
    CHECK_INT(say(0, "cmd=get kvsname=crank key=PMI_process_mapping"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=get_result rc=0 msg=success value=(vector,(0,3,2))\n");
    CHECK_INT(say(0, "cmd=get kvsname=crank key=nothing"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    CHECK_INT(say(0, "cmd=finalize"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=finalize_ack\n");
    end();
}

TEST(values_and_barriers) {
    const char *key, *value;
    begin(2, 2);
    CHECK_INT(say(0, "cmd=put kvsname=crank key=P0 value=a b=c"), CR_PMI_NOTHING);
    CHECK_INT(say(1, "cmd=get kvsname=crank key=P0"), CR_PMI_NOTHING); /* at once on its node */
    CHECK_STR(reply.data, "cmd=get_result rc=0 msg=success value=a b=c\n");
    CHECK_INT(say(0, "cmd=barrier_in"), CR_PMI_NOTHING);
    CHECK_INT(say(0, "cmd=barrier_in"), CR_PMI_BAD); /* it waits already */
    CHECK_INT(say(1, "cmd=barrier_in"), CR_PMI_BARRIER);
    CHECK(cr_pmi_untold(&p, &key, &value));
    CHECK_STR(key, "P0");
    CHECK_STR(value, "a b=c");
    CHECK(!cr_pmi_untold(&p, &key, &value)); /* the mapping is no news */
    CHECK(cr_pmi_put(&p, "P2", 2, "x", 1));  /* of another node */
    CHECK(!cr_pmi_untold(&p, &key, &value));
    CHECK_STR(cr_pmi_release(&p), "cmd=barrier_out\n");
    CHECK_INT(say(1, "cmd=get kvsname=crank key=P2"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=get_result rc=0 msg=success value=x\n");
    CHECK_INT(say(1, "cmd=put kvsname=crank key=P0 value=new"), CR_PMI_NOTHING);
    CHECK_INT(say(0, "cmd=get kvsname=crank key=P0"), CR_PMI_NOTHING);
    CHECK_STR(reply.data, "cmd=get_result rc=0 msg=success value=new\n");
    CHECK_INT(say(1, "cmd=barrier_in"), CR_PMI_NOTHING);
    end();
}

TEST(aborts) {
    begin(1, 1);
    CHECK_INT(say(0, "cmd=abort exitcode=3"), CR_PMI_ABORT);
    CHECK_INT(code, 3);
    CHECK_INT(say(0, "cmd=abort"), CR_PMI_ABORT);
    CHECK_INT(code, 1);
    CHECK_INT(say(0, "cmd=abort exitcode=70000"), CR_PMI_ABORT);
    CHECK_INT(code, 1);
    end();
}

TEST(bad_lines) {
    char line[CR_PMI_VALUE + 100];
    begin(1, 1);
    CHECK_INT(say(0, ""), CR_PMI_BAD);
    CHECK_INT(say(0, "hello"), CR_PMI_BAD);
    CHECK_INT(say(0, "cmd=spawn nprocs=4"), CR_PMI_BAD);
    CHECK_INT(say(0, "cmd=put key=a"), CR_PMI_BAD);
    CHECK_INT(say(0, "cmd=put key= value=a"), CR_PMI_BAD);
    CHECK_INT(say(0, "cmd=get"), CR_PMI_BAD);
    CHECK_INT(cr_pmi_line(&p, 0, "cmd=get\0key=a", 13, &reply, &code), CR_PMI_BAD);
    memset(line, 'v', sizeof line);
    memcpy(line, "cmd=put key=a value=", 20);
    CHECK_INT(cr_pmi_line(&p, 0, line, sizeof line, &reply, &code), CR_PMI_BAD);
    end();
}

TEST_MAIN(CASE(questions), CASE(values_and_barriers), CASE(aborts), CASE(bad_lines))
