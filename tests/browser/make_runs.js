// make_runs.js - folders of runs with logs as crank train writes them, the same bytes every time.
'use strict'
const fs = require('fs')
const path = require('path')

// Random numbers of our own, so that pictures are the same everywhere.
function random(seed) {
  let s = seed >>> 0
  return () => {
    s = (s + 0x6d2b79f5) >>> 0
    let x = Math.imul(s ^ (s >>> 15), 1 | s)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}
const START = 1767225600 // 2026-01-01

function line(event, time, elapsed, rest, rank = 0) {
  return JSON.stringify({ event, time: +time.toFixed(3), elapsed: +elapsed.toFixed(3), rank, ...rest }) + '\n'
}
const round = (x, digits = 6) => +x.toFixed(digits)

// o: {steps, every, seed, lr, speed, project, experiment, end, ranks, from, quality, day, features, config, metrics}
function makeRun(dir, o) {
  fs.mkdirSync(dir, { recursive: true })
  const r = random(o.seed), out = [], t0 = START + (o.day ?? 0) * 86400, batch = 1024, steps = o.steps ?? 2000, every = o.every ?? 10
  const logs = Array.from({ length: (o.ranks ?? 1) - 1 }, () => [])
  const q = o.quality ?? 0
  out.push(line('start', t0, 0, { from_step: null, version: '0.1.0', model_dir: path.basename(dir), ...(o.project ? { project: o.project } : {}), ...(o.experiment ? { experiment: o.experiment } : {}),
    num_steps: o.total ?? steps, train_input_path: 'train/*.parquet', eval_input_path: 'eval.parquet', batch_size: batch, seed: 2026, lanes: 8, threads: 8, cpu: 'avx512' }))
  const results = []
  let elapsed = 0, evals = 0, saves = 0
  for (let step = 0; step < steps; step += every) {
    const done = step / (o.total ?? steps), speed = (o.speed ?? 150000) * (0.94 + 0.12 * r())
    elapsed += (every * batch) / speed
    const loss = 0.36 + 0.33 * Math.exp(-5 * done) - 0.03 * q + 0.025 * (r() - 0.5), auc = 0.79 - 0.27 * Math.exp(-6 * done) + 0.02 * q
    const train = {
      epoch: 0, step, 'train.rows': (step + 1) * batch, 'train.loss': round(loss), 'train.binary_cross_entropy': round(loss), 'train.auc': round(auc + 0.01 * (r() - 0.5)),
      'train.ips': round(speed, 1), 'lr.g0': round((o.lr ?? 0.01) * (0.5 + 0.5 * Math.cos(Math.PI * done)), 9), 'lr.g1': round(((o.lr ?? 0.01) / 10) * (0.5 + 0.5 * Math.cos(Math.PI * done)), 9),
      progress: round((step + 1) / (o.total ?? steps)), seconds_left: round((elapsed / (step + 1)) * ((o.total ?? steps) - step - 1), 1),
      'seconds.step': round(elapsed * 0.66, 3), 'seconds.update': round(elapsed * 0.11, 3), 'seconds.group': round(elapsed * 0.05, 3), 'seconds.wait': round(elapsed * 0.03, 3),
      'seconds.eval': round(evals, 3), 'seconds.save': round(saves, 3), 'seconds.log': round(elapsed * 0.01, 3), peak_memory_bytes: Math.round(4.1e8 + 9e7 * (1 - Math.exp(-9 * done)) + 2e6 * r()),
    }
    out.push(line('train', t0 + elapsed, elapsed, train))
    logs.forEach((log, i) => {
      if (!log.length) log.push(line('start', t0, 0, {}, i + 1))
      log.push(line('train', t0 + elapsed, elapsed, { epoch: 0, step, 'train.rows': train['train.rows'], 'train.ips': round(speed, 1), 'seconds.step': round(elapsed * (0.6 - 0.05 * i), 3), 'seconds.wait': round(elapsed * (0.05 + 0.06 * i), 3), peak_memory_bytes: train.peak_memory_bytes - 3e7 * (i + 1) }, i + 1))
    })
    if ((step / every) % 20 === 19 && !o.noEval) {
      evals += 0.4
      saves += 0.15
      elapsed += 0.55
      const val = { 'val.rows': 50000, 'val.auc': round(auc - 0.004 + 0.002 * r()), 'val.binary_cross_entropy': round(loss + 0.01), 'val.precision': round(0.55 + 0.2 * (1 - Math.exp(-5 * done)) + 0.02 * q),
        'val.recall': round(0.3 + 0.25 * (1 - Math.exp(-4 * done))), 'val.average_output': round(0.25 - 0.03 * Math.exp(-8 * done) + 0.002 * r()), 'val.average_label': 0.2513, 'val.logloss': round(loss + 0.01), 'val.ips': round(speed * 2, 1), ...(o.more ?? {}) }
      out.push(line('eval', t0 + elapsed, elapsed, { epoch: 0, step, ...val }))
      results.push({ global_step: step, auc: val['val.auc'], precision: val['val.precision'], logloss: val['val.logloss'] })
      fs.mkdirSync(path.join(dir, `model.ckpt-${step}`), { recursive: true })
    }
  }
  const last = steps - every, best = results.reduce((x, y) => (y.auc > (x?.auc ?? -1) ? y : x), null)
  if (o.features)
    out.push(line('features', t0 + elapsed, elapsed, { data: 'train', epoch: 0, step: last, features: o.features }))
  if (o.end) out.push(line('end', t0 + elapsed, elapsed, { epoch: 0, step: last, status: o.end, steps, rows: steps * batch, seconds: round(elapsed, 3), peak_memory_bytes: 512345678,
    checkpoint: `model.ckpt-${last}`, ...(best ? { 'best.step': best.global_step, 'best.metric': 'auc', 'best.value': best.auc } : {}) }))
  fs.writeFileSync(path.join(dir, 'train_log.jsonl'), out.join(''))
  logs.forEach((log, i) => fs.writeFileSync(path.join(dir, `train_log.rank-${i + 1}.jsonl`), log.join('')))
  if (results.length) fs.writeFileSync(path.join(dir, 'train_eval_result_v2.txt'), results.map((x) => JSON.stringify(x) + '\n').join(''))
  if (o.config) fs.writeFileSync(path.join(dir, 'pipeline.config'), o.config)
}
const FEATURES = [
  { name: 'user_id', rows: 2048000, ids: 2048000, missing: 0, masked: 0, out_of_range: 0, unknown: 0, not_finite: 0, unparsable: 0, truncated: 0, cut: 0, constant: false },
  { name: 'city', rows: 2048000, ids: 2030000, missing: 18000, masked: 0, out_of_range: 0, unknown: 74000, not_finite: 0, unparsable: 0, truncated: 0, cut: 0, constant: false },
  { name: 'age', rows: 2048000, missing: 2048000, masked: 0, out_of_range: 0, unknown: 0, not_finite: 0, unparsable: 0, truncated: 0, cut: 0, constant: true },
  { name: 'item_id', rows: 2048000, ids: 2047000, missing: 1000, masked: 0, out_of_range: 1180, unknown: 0, not_finite: 0, unparsable: 0, truncated: 0, cut: 0, constant: false },
  { name: 'clicks', rows: 2048000, ids: 9048000, missing: 0, masked: 0, out_of_range: 0, unknown: 0, not_finite: 0, unparsable: 0, truncated: 27410, cut: 0, constant: false },
]
const CONFIG = (lr, units) => `train_input_path: "train/*.parquet"
eval_input_path: "eval.parquet"
model_dir: "model"
train_config {
  sparse_optimizer { adagrad_optimizer { lr: ${lr} } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate {} }
  num_epochs: 1
}
data_config { batch_size: 1024 dataset_type: ParquetDataset label_fields: "click" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" num_buckets: 1000 embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "deep" feature_names: "user_id" group_type: DEEP }
  multi_tower { towers { input: "deep" mlp { hidden_units: [${units}] } } final { hidden_units: [64] } }
  metrics { auc {} }
  losses { binary_cross_entropy {} }
}
`
// importance and slices as crank importance and crank eval write them.
function makeWhy(dir, o = {}) {
  const r = random(o.seed ?? 7), names = o.names ?? ['user_id', 'city', 'age', 'item_id', 'clicks'], measures = [['auc', 0.79, 'positives'], ['binary_cross_entropy', 0.36, '']]
  const unit = (kind, name, i) => {
    const out = { kind, name, features: kind === 'feature' ? 1 : 2, used: name !== 'age', rows_shuffled: 40000 - 3000 * i, rows_removed: 50000 }
    for (const [m] of measures) {
      out[m] = {}
      for (const way of ['shuffled', 'removed']) {
        const loss = round(0.06 / (i + 1) - 0.012 + 0.004 * r()), error = round(0.0005 + 0.001 * r())
        out[m][way] = { loss, error, low: round(loss - 1.96 * error), high: round(loss + 1.96 * error) }
      }
    }
    return out
  }
  fs.writeFileSync(path.join(dir, 'importance.json'), JSON.stringify({ kind: 'importance', checkpoint: o.checkpoint ?? 'model.ckpt-1990', rows: 50000, more_rows: true, seed: 1,
    measures: measures.map(([name, value, more]) => ({ name, value, rows: 50000, ...(more ? { positives: 12000, negatives: 38000 } : {}) })), units: [...names.map((n, i) => unit('feature', n, i)), unit('group', 'deep', 0)] }))
  const figures = (rows, label, score) => ({ rows, positives: Math.round(rows * label), auc: round(0.7 + 0.1 * r()), logloss: round(0.3 + 0.1 * r()), mean_score: score, mean_label: label, calibration: round(score / label) })
  const bins = Array.from({ length: 20 }, (_, k) => {
    const rows = Math.round(9000 * Math.exp(-k / 4)), mean = (k + 0.5) / 20
    return { from: k / 20, to: (k + 1) / 20, rows, positives: Math.round(rows * mean), mean_score: mean, mean_label: round(Math.min(1, mean * (0.9 + 0.2 * r()))) }
  })
  const values = o.values ?? ['f', 'm', '(missing)']
  fs.writeFileSync(path.join(dir, 'slices.json'), JSON.stringify({ kind: 'slices', checkpoint: o.checkpoint ?? 'model.ckpt-1990',
    tasks: [{ output: o.output ?? 'probs', all: figures(50000, 0.25, 0.252), calibration_error: 0.0123, bins, columns: [{ column: o.column ?? 'gender', slices: values.map((value, i) => ({ value, ...figures(30000 - 9000 * i, 0.2, 0.21) })) }] }] }))
}
// demo makes a folder with the kinds of runs that there are, except for a running one.
function demo(root) {
  makeRun(path.join(root, 'shop/deepfm'), { seed: 1, project: 'shop', experiment: 'deepfm', end: 'finished', features: FEATURES, config: CONFIG(0.01, '256, 128'), quality: 0.6, day: 1 })
  makeWhy(path.join(root, 'shop/deepfm'))
  makeRun(path.join(root, 'shop/deepfm-wide'), { seed: 2, project: 'shop', experiment: 'deepfm-wide', end: 'finished', features: FEATURES.slice(0, 1), config: CONFIG(0.02, '512, 256'), quality: 1, lr: 0.02, speed: 110000, day: 2 })
  makeRun(path.join(root, 'shop/dcn-4-ranks'), { seed: 3, project: 'shop', experiment: 'dcn-4-ranks', end: 'stopped', steps: 1400, total: 2000, ranks: 4, speed: 420000, quality: 0.4, day: 3, config: CONFIG(0.01, '256, 128') })
  makeRun(path.join(root, 'news/dssm'), { seed: 4, project: 'news', experiment: 'dssm', steps: 900, total: 2000, quality: -0.5, day: 4 })
  makeRun(path.join(root, 'news/mmoe'), { seed: 5, project: 'news', experiment: 'mmoe', end: 'failed', steps: 300, total: 2000, quality: -0.2, day: 5, noEval: true })
}
module.exports = { makeRun, makeWhy, demo, line, random, START }
if (require.main === module) demo(process.argv[2])
