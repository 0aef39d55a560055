# every example's README commands run as they stand; those with a run.sh need data from elsewhere: see real_data
examples=$CLI/../../examples
export CRANK_INCLUDE=$CLI/../../include # own_feature and own_plugin compile a library
n=0
for dir in "$examples"/*/; do
    name=$(basename "$dir")
    grep -q "($name/)" "$examples/README.md" || fail "$name is not in examples/README.md"
    [ ! -f "$dir/run.sh" ] || continue
    cp -r "$dir" "$name"
    cd "$name"
    awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' README.md >commands.sh
    [ -s commands.sh ] || fail "$name/README.md has no commands"
    run sh -eu commands.sh
    ends 0
    is_there predictions/part-0.csv
    [ ! -f data/eval.csv ] || [ "$(wc -l <predictions/part-0.csv)" -eq "$(grep -c -v -E '^(label|clk),' data/eval.csv | awk '{ print $1 + 1 }')" ] || fail "$name: rows are missing"
    cd ..
    n=$((n + 1))
done
[ $n -ge 5 ] || fail "only $n examples"
