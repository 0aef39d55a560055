/* A plug-in for the test of plugin.c: an object that begins with the number of its interface. */
struct plug {
    int abi;
    int value;
};
extern const struct plug cr_test_plug;
const struct plug cr_test_plug = {PLUG_ABI, 40 + PLUG_ABI};
