# known to the schema, not in this version: said by name, never ignored
tiny_config
tiny_data
edit 12 '  mixed_precision: BF16'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:12:3: 'mixed_precision' is known but not available in this version; remove it"
tiny_config
edit 14 '  dataset_type: ParquetDataset'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:14:17: dataset_type: 'ParquetDataset' is known but not available in this version; available: CsvDataset"
tiny_config
edit 29 '  dcn_v2:'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:29:3: model 'dcn_v2' is known but not available in this version; available: ...deepfm..."
