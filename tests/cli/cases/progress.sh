# the progress line on terminals of several widths: loss and time left stay longest, nothing wraps
tiny_config
edit 11 "  num_steps: 40"
tiny_data 640 100
# the texts that stood in the progress line, one per line
progress() { # progress COLUMNS
    code=0
    last="pty $1 crank train"
    "$PTY" "$1" crank train tiny.yaml --model_dir "m$1" >"$out" 2>"$err" || code=$?
    [ $code -ne 77 ] || skip "no pseudo terminals"
    ends 0
    tr '\r' '\n' <"$out" | sed -n "s/^$(printf '\033')\[K\([^[].*\)/\1/p" >all
    grep 'loss' all >lines || fail "no progress line of training at $1 columns: $(cat all)"
    [ "$(awk -v w="$1" 'length > w - 1' all | wc -l)" -eq 0 ] || fail "a progress line is wider than $1 columns: $(cat all)"
}
progress 120
has lines "train  step .../40  ... rows  ...loss ...  ... left" || fail "not all at 120 columns: $(cat lines)"
for width in 50 40 36; do
    progress $width
    has lines "...loss ...  ... left" || fail "no loss or no time left at $width columns: $(cat lines)"
done
progress 20
has lines "loss ...  ...s" || fail "no loss or no time left at 20 columns: $(cat lines)"
if grep -q -E 'rows|train' lines; then fail "less important words at 20 columns: $(cat lines)"; fi
