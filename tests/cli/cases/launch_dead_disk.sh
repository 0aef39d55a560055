# crank launch: ranks that hang in the kernel, on a file system that does not answer, do not keep the launcher from ending
[ -f "$(dirname "$CRANK")/comm-mpich.so" ] || skip "crank was built without comm-mpich.so (package libmpich-dev)"
tiny_config
tiny_data 640 64
mkdir dead
"$DEAD_FS" dead >ready &
fs=$!
pid=
trap 'kill -9 $pid 2>/dev/null || true; kill $fs 2>/dev/null || true; wait $fs || true' EXIT
until grep -q ready ready; do
    kill -0 $fs 2>/dev/null || skip "no file systems of our own here (root and /dev/fuse are needed)"
    sleep 0.05
done
crank launch --standalone --nproc-per-node 2 -- train tiny.yaml --model_dir m --train_input_path dead/train.csv >"$out" 2>"$err" &
pid=$!
last="crank launch with data on a dead file system"
hung() { # a rank whose main thread waits in the kernel
    for p in $(cat /proc/$pid/task/$pid/children); do
        ! grep -q request_wait_answer "/proc/$p/wchan" || echo "$p"
    done
}
for i in $(seq 600); do
    rank=$(hung)
    [ -z "$rank" ] || break
    sleep 0.05
done
[ -n "$rank" ] || skip "no rank hangs here: $(cat "$err")"
kill -INT $pid
sleep 0.5
kill -INT $pid
for i in $(seq 300); do # 15 s; it would wait for ever
    kill -0 $pid 2>/dev/null || break
    sleep 0.05
done
! kill -0 $pid 2>/dev/null || fail "the launcher waits for ranks that do not end"
code=0
wait $pid || code=$?
ends 130
for p in $rank; do
    has_err "...rank ... (process $p) was killed and does not end: it hangs in the kernel, as on a file system that does not answer; it is left behind"
done
kill $fs
for p in $rank; do # it is gone as soon as the kernel lets go of it
    for i in $(seq 100); do
        [ -d "/proc/$p" ] || break
        sleep 0.05
    done
    [ ! -d "/proc/$p" ] || fail "process $p is still there"
done
