# means something on a GPU only: one warning, the run goes on
tiny_config
tiny_data
edit 12 '  cudnn_allow_tf32: true'
run crank check tiny.yaml
ends 0
has_err "...tiny.yaml:12:3: ...'cudnn_allow_tf32' has no effect on a CPU; it is ignored"
[ "$(grep -c cudnn_allow_tf32 "$err")" -eq 1 ] || fail "more than one warning"
