# activations: the list, the page of the guide that has the same, mistakes with their place
run crank help activations
ends 0
has_out "...nn.Softplus(beta=1, threshold=20)..."
has_out "...nn.GELU(approximate='none')..."
sed -n 's/^  \(nn\.[A-Za-z0-9]*\).*/\1/p; s/^  \(Dice\).*/\1/p' "$out" >names
[ "$(wc -l <names)" -ge 28 ] || fail "few names in the list"
while read -r name; do
    grep -q "^| \`$name[(\`]" "$CLI/../../docs/guide/models.md" || fail "docs/guide/models.md has no row for $name"
done <names

cp "$CLI/../golden/data/act_gelu_tanh/pipeline.config" "$CLI/../golden/data/act_gelu_tanh/data.csv" .
run crank train pipeline.config
ends 0
wrong() {
    sed "s/activation: .*/activation: \"$1\"/" pipeline.config >wrong.config
    run crank check wrong.config
    ends 2
    has_err "wrong.config:66:21: $2"
}
wrong "nn.CELU(alpha=0)" "activation 'nn.CELU(alpha=0)': alpha is 0 and must be above 0"
wrong "nn.Softmax(dim=0)" "activation 'nn.Softmax(dim=0)': Softmax over dim 0 would mix rows; write dim=-1, the numbers of a layer"
wrong "nn.GLU" "activation 'nn.GLU': GLU halves the width of a layer, but the next layer expects the full width; use nn.SiLU or another one"
wrong "nn.Hardswissh" "unknown activation 'nn.Hardswissh'; did you mean 'nn.Hardswish'? (\"\" means none)"
wrong "nn.PReLU(num_parameters=9)" "PReLU has 9 slopes for a layer of 6 units; give 1 or 6"
