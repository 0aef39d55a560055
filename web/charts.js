// charts.js - which charts there are, and their curves. A metric has one chart for training and evaluation: the
// first is a line, the second has a dot per evaluation.
import {getSeries} from './api.js'
import {Chart, smoothed} from './chart.js'
import {csvOf, svgOf, save} from './download.js'
import {button, el, fill} from './dom.js'
import {colour, focused, label, runs, shown} from './runs.js'
import {set, state} from './state.js'
import {t} from './words.js'

// The charts that people look at first; a metric that the log does not have says how to get it.
const FIRST = [
  { id: 'loss', test: /^(train\.loss)$/, add: [] },
  { id: 'auc', test: /^(train|val)\.auc/, add: ['auc'] },
  { id: 'precision', test: /^(train|val)\.precision/, add: ['precision'] },
  { id: 'recall', test: /^(train|val)\.recall(?!_?at|@)/, add: ['recall'] },
  { id: 'average_output', test: /^(train|val)\.average_(output|label)/, add: ['average_output', 'average_label'] },
]
const NO_CHART = /^(train\.rows|val\.rows|progress|seconds_left|epoch)$|^seconds\./
const STAGES = ['step', 'update', 'group', 'wait', 'eval', 'save', 'log']
const made = new Map() // id -> {chart, spec, curves}
let root = null

function namesOf(list) {
  const names = new Set()
  for (const r of list) for (const k of Object.keys(r.last)) names.add(k)
  return [...names]
}
// howTo: the lines of a config that add metrics, as protobuf text and as YAML.
function howTo(metrics) {
  return [el('p', { class: 'dim' }, t('howto')), metrics.map((m) => el('code', {}, `metrics { ${m} {} }`)), el('p', { class: 'dim' }, 'YAML: metrics:'), metrics.map((m) => el('code', {}, `- ${m}: {}`))]
}
const base = (name) => name.replace(/^(train|val)\./, '')
const title = (id) => ({ loss: 'loss', auc: 'AUC', average_output: 'output, label' })[id] ?? id

// The sections and their charts for the runs that are shown.
function plan(list) {
  const names = namesOf(list), used = new Set(), sections = []
  const takeNames = (test) => names.filter((n) => test(n) && !used.has(n)).map((n) => (used.add(n), n))
  // the evaluation's loss has the name of the loss; with one loss it belongs to the chart of the loss
  const losses = names.filter((n) => n.startsWith('train.') && /loss|entropy|error|focal/.test(n) && n !== 'train.loss')
  const evaluated = losses.filter((n) => names.includes('val.' + base(n))), own = evaluated.length === 1 ? ['val.' + base(evaluated[0])] : []
  if (own.length) used.add(evaluated[0]) // it equals train.loss
  else if (losses.length === 1 && list.every((r) => r.last[losses[0]] === r.last['train.loss'])) used.add(losses[0])
  const first = FIRST.map((f) => ({
    id: f.id, title: title(f.id), names: takeNames((n) => f.test.test(n) || (f.id === 'loss' && own.includes(n))),
    empty: [el('p', {}, t('absent')), f.add.length ? howTo(f.add) : null],
  }))
  sections.push({ id: 'watch', charts: first })
  const rates = takeNames((n) => n.startsWith('lr.')), speeds = ['train.ips', 'val.ips'].filter((n) => names.includes(n))
  speeds.forEach((n) => used.add(n))
  const memory = takeNames((n) => n === 'peak_memory_bytes')
  const rest = takeNames((n) => !NO_CHART.test(n)), bases = [...new Set(rest.map(base))].sort()
  if (bases.length) sections.push({ id: 'metrics', charts: bases.map((b) => ({ id: 'm:' + b, title: b, names: rest.filter((n) => base(n) === b) })) })
  const machine = []
  if (rates.length) machine.push({ id: 'rates', title: t('rates'), names: rates })
  if (speeds.length) machine.push({ id: 'speed', title: t('speed'), unit: 'count', names: speeds })
  const stages = STAGES.map((s) => 'seconds.' + s).filter((n) => names.includes(n)), f = focused()
  if (stages.length && f) machine.push({ id: 'stages', title: `${t('stages')}: ${label(f)}`, unit: 'percent', names: stages, kind: 'stages' })
  if (memory.length) machine.push({ id: 'memory', title: t('memory'), unit: 'bytes', names: memory })
  if (machine.length) sections.push({ id: 'speeds', charts: machine })
  if (f && f.ranks > 1)
    sections.push({ id: 'ranks', charts: [
      { id: 'rank-wait', title: `${t('stage_wait')}, ${t('share')}`, unit: 'percent', names: ['seconds.wait'], kind: 'ranks', share: true },
      { id: 'rank-step', title: `${t('stage_step')}, ${t('share')}`, unit: 'percent', names: ['seconds.step'], kind: 'ranks', share: true },
      { id: 'rank-memory', title: t('memory'), unit: 'bytes', names: ['peak_memory_bytes'], kind: 'ranks' },
    ] })
  return sections
}
// Seconds that add up become the share of the time between two points.
function shares(s, values) {
  return values.map((v, i) => {
    if (i === 0 || v === null || values[i - 1] === null) return null
    const seconds = s.time[i] - s.time[i - 1]
    return seconds > 0 ? Math.min(1, Math.max(0, (v - values[i - 1]) / seconds)) : null
  })
}
function curve(s, key, how) {
  const got = s.values[key], raw = how.share ? shares(s, got.mean) : got.mean, plain = !how.share && state.smooth === 0
  const dots = key.startsWith('val.') && s.step.length < 60 // single evaluations are shown as they are
  return {
    x: s[state.axis], raw, line: dots ? raw : smoothed(raw, state.smooth), low: plain ? got.low : null, high: plain ? got.high : null,
    lines: s.lines, steps: s.step, times: s.time, allRows: s.rows, key, dots, ...how,
  }
}
const DASHES = [null, [6, 4], [2, 3], [8, 3, 2, 3]]
// The names of a chart have the order of these strokes, those of training first.
function dashOf(spec, key) {
  return [...spec.names].sort().indexOf(key) % DASHES.length
}
// What the strokes of a chart mean; where colours are those of runs, the list of runs says which.
function legend(spec, curves) {
  if (spec.kind) return curves.map((c) => el('span', { class: 'legend', style: { '--own': c.colour } }, el('i', { class: 'own' }), c.name))
  if (spec.names.length < 2) return []
  return [...spec.names].sort().map((n) => el('span', { class: 'legend' }, el('i', { class: 'dash' + dashOf(spec, n) }), n))
}
function curvesOf(spec, series) {
  const out = [], f = focused()
  for (const s of series) {
    const r = runs[s.run]
    for (const key of spec.names) {
      if (!s.values[key] || !r) continue
      if (spec.kind === 'stages') {
        if (r !== f || s.rank !== 0) continue
        const stage = key.slice(8)
        out.push(curve(s, key, { colour: colour(STAGES.indexOf(stage)), name: t('stage_' + stage), run: r.id, share: true }))
      } else if (spec.kind === 'ranks') {
        if (r !== f) continue
        out.push(curve(s, key, { colour: colour(s.rank), name: `${t('rank')} ${s.rank}`, run: r.id, share: spec.share }))
      } else {
        if (s.rank !== 0) continue
        out.push(curve(s, key, { colour: colour(s.run), name: label(r), kind: spec.names.length > 1 ? key : '', run: r.id, dash: DASHES[dashOf(spec, key)] }))
      }
    }
  }
  return out
}
function view() {
  return { axis: state.axis, from: state.from, to: state.to, legend, perPoint: (n) => `${n.toLocaleString('en')} ${t('per_point')}` }
}
async function download(spec, kind) {
  const entry = made.get(spec.id), name = spec.id.replace(/^m:/, '')
  if (kind === 'svg') return save(name + '.svg', 'image/svg+xml', svgOf(spec, entry.curves, view()))
  const q = { runs: shown().map((r) => r.run), names: spec.names, axis: state.axis, points: 0, ranks: spec.kind === 'ranks' }
  const got = await getSeries(q)
  return save(name + '.csv', 'text/csv', csvOf(curvesOf(spec, got.series)))
}
function makeChart(spec) {
  const chart = new Chart(spec, { zoom: (from, to) => set({ from, to }), unzoom: () => set({ from: null, to: null }) })
  fill(chart.buttons,
    button(t('csv'), () => download(spec, 'csv'), { class: 'tool', 'data-do': 'csv' }),
    button(t('svg'), () => download(spec, 'svg'), { class: 'tool', 'data-do': 'svg' }),
    button('⤢', () => set({ big: state.big === spec.id ? '' : spec.id }), { class: 'tool', 'data-do': 'grow', title: t('bigger') }))
  return chart
}
function clear() {
  for (const { chart } of made.values()) chart.destroy()
  made.clear()
}
// layout makes the sections anew when there are other charts than before.
let built = ''
function layout(sections) {
  const wanted = JSON.stringify([sections.map((s) => [s.id, s.charts.map((c) => [c.id, c.title, c.names])]), t('title')])
  if (wanted === built) return
  built = wanted
  clear()
  fill(root, sections.map((s) => el('div', { class: 'section', 'data-section': s.id }, el('h2', {}, t(s.id)),
    el('div', { class: 'grid' }, s.charts.map((spec) => {
      const chart = makeChart(spec)
      made.set(spec.id, { chart, spec, curves: [] })
      return chart.element
    })))))
}
let asking = 0
export async function drawCharts(into) {
  root = into
  const list = shown()
  if (!list.length) {
    built = ''
    clear()
    return fill(root, el('p', { class: 'empty' }, runs.length ? t('nobody') : t('nothing')))
  }
  const sections = plan(list)
  layout(sections)
  sizes()
  const names = [...new Set(sections.flatMap((s) => s.charts.flatMap((c) => c.names)))]
  const mine = ++asking, width = Math.max(200, Math.round(root.clientWidth / (state.big ? 1 : 2.5)))
  const q = { runs: list.map((r) => r.run), names, axis: state.axis, points: Math.min(1500, width), ranks: sections.some((s) => s.id === 'ranks') }
  if (state.from !== null) q.from = state.from
  if (state.to !== null) q.to = state.to
  const got = await getSeries(q)
  if (mine !== asking) return // a later question is under way
  redraw(got.series)
}
// sizes: the chart that was asked for fills the width at once, before its finer lines have come.
function sizes() {
  for (const { chart, spec } of made.values()) {
    chart.element.classList.toggle('big', state.big === spec.id)
    chart.fit()
  }
}
let last = []
// redraw shows what was fetched last again: another axis in a report, more smoothing, another theme.
export function redraw(series = last) {
  last = series
  for (const entry of made.values()) {
    entry.curves = curvesOf(entry.spec, series)
    entry.chart.update(entry.curves, view())
  }
  sizes()
}
export function leaveCharts() {
  built = ''
  clear()
}
