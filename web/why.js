// why.js - what each feature is worth, slices, reliability: the files that crank importance and crank eval leave in
// a model_dir. The server has checked them: names are texts, numbers are numbers or null.
import {el, fill, shape} from './dom.js'
import {count, number, percent} from './format.js'
import {details, right, shows, table, td} from './panels.js'
import {label} from './runs.js'
import {set, state} from './state.js'
import {t} from './words.js'

const FEW_BARS = 25 // bars without "show all"
const KINDS = ['shuffled', 'removed']
const finite = Number.isFinite
const signed = (x) => (finite(x) ? x.toFixed(6) : '–')
const half = (w) => (finite(w.high) && finite(w.low) ? ' ±' + ((w.high - w.low) / 2).toFixed(6) : '')

// ---- importance ----
// The bars of a measure, the most worth first. All places are shares of the width, so that a bar fits any screen.
function bars(d, m) {
  const units = d.units.map((u) => ({ ...u, w: u.worth[m] })).sort((x, y) => (y.w.shuffled.loss ?? -Infinity) - (x.w.shuffled.loss ?? -Infinity))
  const shown = state.units ? units : units.slice(0, FEW_BARS)
  const ends = [0, ...shown.filter((u) => u.used).flatMap((u) => KINDS.flatMap((k) => [u.w[k].loss, u.w[k].low, u.w[k].high])).filter(finite)]
  const lo = Math.min(...ends), hi = Math.max(...ends), span = hi - lo || 1
  const at = (x) => (100 * (x - lo)) / span + '%', wide = (a, b) => (100 * Math.abs(b - a)) / span + '%'
  const bar = (u, kind) => {
    const w = u.w[kind], text = `${t(kind)} ${signed(w.loss)}${half(w)}`
    if (!finite(w.loss)) return null
    return el('div', { class: 'worth-bar ' + kind, title: text }, el('i', { class: 'zero', style: { left: at(0) } }), el('i', { class: 'fill', style: { left: at(Math.min(0, w.loss)), width: wide(0, w.loss) } }),
      finite(w.low) && finite(w.high) ? el('i', { class: 'span', style: { left: at(w.low), width: wide(w.low, w.high) } }) : null)
  }
  const measure = d.measures[m]
  return el('div', { class: 'chart worth', 'data-worth': measure.name },
    el('div', { class: 'chart-head' }, el('h3', {}, `${measure.name} ${t(measure.auc ? 'lost' : 'gained')}`), el('span', { class: 'dim' }, number(measure.value))),
    el('div', { class: 'note legend' }, KINDS.map((k) => el('span', {}, el('i', { class: 'key ' + k }), t(k))), el('span', {}, t('interval'))),
    shown.map((u) => el('div', { class: 'worth-row' },
      el('div', { class: 'worth-name', title: u.name }, el('span', { class: 'mono' }, u.name), u.kind === 'feature' ? null : el('span', { class: 'kind' }, ' ' + t('kind_' + u.kind))),
      u.used ? el('div', { class: 'worth-bars' }, KINDS.map((k) => bar(u, k))) : el('div', { class: 'note' }, t('not_used')),
      el('div', { class: 'worth-value', title: `${t('rows_changed')}: ${percent(u.rows_shuffled / d.rows)}` }, u.used ? KINDS.map((k) => el('div', { class: k }, signed(u.w[k].loss), el('span', { class: 'dim' }, half(u.w[k])))) : null))))
}
function worth(d) {
  return [el('div', { class: 'bar' }, el('h2', {}, t('worth')), el('span', { class: 'dim' }, `${count(d.rows)} ${t('total')}${d.more_rows ? ' ' + t('more_rows') : ''}`), el('span', { class: 'dim mono' }, d.checkpoint),
    d.units.length > FEW_BARS ? el('label', {}, el('input', { type: 'checkbox', checked: state.units, 'data-do': 'all-units', onchange: (e) => set({ units: e.target.checked }) }), ` ${t('all_units')} (${d.units.length})`) : null),
  el('div', { class: 'worths' }, d.measures.map((_, m) => bars(d, m)))]
}

// ---- slices ----
const FIGURES = ['auc', 'logloss', 'mean_score', 'mean_label', 'calibration']
function sliceRow(name, s, all) {
  const share = (100 * s.rows) / Math.max(1, all.rows)
  return el('tr', {}, td(name, { class: 'mono' }), right(el('span', {}, count(s.rows), el('span', { class: 'bar-cell plain', style: { width: Math.min(100, share) + '%' } }))), FIGURES.map((f) => right(number(s[f]))))
}
function sliced(task, column) {
  return table([column ? el('span', { class: 'mono' }, column.column) : '', t('total'), 'AUC', 'logloss', ...FIGURES.slice(2).map(t)],
    [...(column?.slices ?? []).map((s) => sliceRow(s.value, s, task.all)), sliceRow(t('all_rows'), task.all, task.all)], { 'data-table': 'slices' })
}
const SIDE = 300, LEFT = 44, TOP = 8
function reliability(task) {
  const x = (v) => LEFT + SIDE * v, y = (v) => TOP + SIDE * (1 - v), out = []
  for (const v of [0, 0.25, 0.5, 0.75, 1])
    out.push(shape('path', { d: `M${LEFT} ${y(v)}H${LEFT + SIDE}M${x(v)} ${TOP}V${TOP + SIDE}`, class: 'rule' }), shape('text', { x: LEFT - 6, y: y(v) + 4, 'text-anchor': 'end' }, v), shape('text', { x: x(v), y: TOP + SIDE + 16, 'text-anchor': 'middle' }, v))
  out.push(shape('path', { d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}`, class: 'ideal' }))
  for (const b of task.bins) {
    if (!(b.rows > 0) || !(b.mean_label >= 0 && b.mean_label <= 1) || !(b.mean_score >= 0 && b.mean_score <= 1)) continue
    const e = 1.96 * Math.sqrt((b.mean_label * (1 - b.mean_label)) / b.rows)
    out.push(shape('path', { d: `M${x(b.mean_score)} ${y(Math.min(1, b.mean_label + e))}V${y(Math.max(0, b.mean_label - e))}`, class: 'error' }),
      shape('circle', { cx: x(b.mean_score), cy: y(b.mean_label), r: 3.5 }, shape('title', {}, `${t('mean_score')} ${number(b.mean_score)}, ${t('mean_label')} ${number(b.mean_label)}, ${count(b.rows)} ${t('total')}`)))
  }
  return shape('svg', { viewBox: `0 0 ${LEFT + SIDE + 12} ${TOP + SIDE + 24}`, class: 'figure', role: 'img', 'aria-label': t('reliability'), 'data-figure': 'reliability' }, out)
}
function histogram(task) {
  const most = Math.max(1, ...task.bins.map((b) => b.rows ?? 0)), high = 110, out = []
  for (const b of task.bins) {
    if (!(b.rows >= 0) || !(b.from >= 0 && b.to <= 1 && b.to > b.from)) continue
    const h = (high * b.rows) / most
    out.push(shape('rect', { x: LEFT + SIDE * b.from, y: TOP + high - h, width: Math.max(1, SIDE * (b.to - b.from) - 1), height: h }, shape('title', {}, `${number(b.from)} – ${number(b.to)}: ${b.rows} ${t('total')}`)))
  }
  for (const v of [0, 0.25, 0.5, 0.75, 1]) out.push(shape('text', { x: LEFT + SIDE * v, y: TOP + high + 16, 'text-anchor': 'middle' }, v))
  out.push(shape('path', { d: `M${LEFT} ${TOP + high}H${LEFT + SIDE}`, class: 'rule' }), shape('text', { x: LEFT - 6, y: TOP + 10, 'text-anchor': 'end' }, count(most)))
  return shape('svg', { viewBox: `0 0 ${LEFT + SIDE + 12} ${TOP + high + 24}`, class: 'figure', role: 'img', 'aria-label': t('scores'), 'data-figure': 'scores' }, out)
}
function quality(d) {
  return d.tasks.map((task) => [el('div', { class: 'bar' }, el('h2', {}, t('slices')), el('b', { class: 'mono' }, task.output), el('span', { class: 'dim mono' }, d.checkpoint)),
    task.columns.length ? task.columns.map((c) => sliced(task, c)) : sliced(task, null),
    el('div', { class: 'grid figures' },
      el('div', { class: 'chart' }, el('div', { class: 'chart-head' }, el('h3', {}, t('reliability')), el('span', { class: 'dim' }, `${t('calibration_error')} ${number(task.calibration_error)}`)), reliability(task), el('div', { class: 'note' }, el('span', {}, `↑ ${t('mean_label')}, ${t('interval')}`), el('span', {}, `→ ${t('mean_score')}`))),
      el('div', { class: 'chart' }, el('div', { class: 'chart-head' }, el('h3', {}, t('scores'))), histogram(task)))])
}

export async function drawWhy(into) {
  const { r, d, late } = await details()
  if (late || shows(into, r?.id, d?.importance, d?.slices, d?.damaged, state.units)) return
  if (!d) return fill(into, el('p', { class: 'empty' }, t('nobody')))
  const nothing = !d.importance && !d.slices && !d.damaged?.length
  fill(into, el('div', { class: 'bar' }, el('b', {}, label(r)), el('span', { class: 'dim mono' }, d.dir)),
    (d.damaged ?? []).map((name) => el('p', { class: 'warn' }, t('damaged') + ' ' + name)),
    nothing ? el('div', { class: 'empty' }, el('p', {}, t('no_why')), el('p', {}, el('code', {}, `crank importance ${d.dir}`)), el('p', {}, el('code', {}, `crank eval ${d.dir}/pipeline.config --slice COLUMN`))) : null,
    d.importance ? worth(d.importance) : null, d.slices ? quality(d.slices) : null)
}
