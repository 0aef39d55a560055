# known to the schema, not in this version: said by name, never ignored
tiny_config
tiny_data
edit 12 '  save_checkpoints_timestamp_interval: 60'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:12:3: 'save_checkpoints_timestamp_interval' is known but not available in this version; remove it"
tiny_config
edit 29 '  dlrm_hstu:'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:29:3: model 'dlrm_hstu' is known but not available in this version; available: ...deepfm..."
# names of older releases are understood, and not offered
if grep -q multi_tower_din_trt "$err"; then fail "an old name of multi_tower_din is offered"; fi
has_err "...available: ...multi_tower_din,..."
