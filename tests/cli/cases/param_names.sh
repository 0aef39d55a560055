# the parameters of every model have the names and shapes of TorchEasyRec's modules: param_names.txt lists them per golden case.
# Tables of other cases than the first are left out there, as are the statistics of batch norm but for their mean.
want=$CLI/param_names.txt
sed -n 's/^\[\(.*\)\]$/\1/p' "$want" >cases
[ -s cases ] || fail "no case in $want"
while read -r case; do
    cp -r "$CLI/../golden/data/$case" .
    (cd "$case" && crank train pipeline.config >log 2>&1) || fail "$case does not train: $(tail -n 1 "$case/log")"
    crank params "$case/model" 2>/dev/null | sed -n 's/^  \(model\.[^[]*[^[ ]\) *\(\[[^]]*\]\).*/\1 \2/p' |
        grep -v '\.running_var \|\.num_batches_tracked ' >got.all || fail "$case has no parameters"
    # tables are the same in all cases but the first
    if [ "$case" = "$(head -n 1 cases)" ]; then cat got.all; else grep -v 'embedding_bags\|\.embeddings\.' got.all; fi >"got.$case"
    awk -v c="[$case]" '$0 == c { on = 1; next } /^\[.*\]$/ { on = 0 } on && NF' "$want" >want.one
    diff -u want.one "got.$case" >diff.txt || fail "$case: names or shapes differ (-: expected): $(cat diff.txt)"
done <cases
