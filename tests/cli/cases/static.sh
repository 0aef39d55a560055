# a folder as `make static` makes it: the program is started by a loader beside it, and starts itself the same way
loader=/lib64/ld-linux-x86-64.so.2
[ -x $loader ] || skip "there is no $loader"
tiny_config
tiny_data 320 100
mkdir -p f/bin f/lib
cp "$CRANK" f/bin/crank
cp "$(dirname "$CRANK")"/*.so f/bin/ 2>/dev/null || true
cp $loader f/lib/
# stands for tools/static/start.c: notes each start
cat >f/crank <<END
#!/bin/sh
echo x >>"$PWD/starts"
exec "$PWD/f/lib/ld-linux-x86-64.so.2" "$PWD/f/bin/crank" "\$@"
END
chmod +x f/crank
run f/crank tune tiny.yaml --try 'lr=[0.01,0.02]' --model_dir t
ends 0
[ "$(wc -l <starts)" -eq 3 ] || fail "$(wc -l <starts) starts"
# plug-ins are found beside the program, and the folder is packed as it is
if [ -e f/bin/httpd.so ]; then
    run f/crank bundle -o b.tar.gz
    ends 0
    has_out "b.tar.gz: crank, ... plug-ins, 1 libraries, ...; machines need x86-64 Linux"
    tar tzf b.tar.gz | sort >names
    for name in crank bin/crank bin/httpd.so lib/ld-linux-x86-64.so.2; do
        grep -qx "$name" names || fail "$name is not in it: $(cat names)"
    done
fi
# the ordinary bundle has all plug-ins too
if [ -e "$(dirname "$CRANK")/httpd.so" ] && command -v ldd >/dev/null; then
    run crank bundle -o o.tar.gz
    ends 0
    has_out "o.tar.gz: crank, ... plug-ins, ... libraries, ...; machines need x86-64 Linux with glibc ... or newer"
    tar tzf o.tar.gz | grep -qx bin/httpd.so || fail "httpd.so is not in it"
fi
