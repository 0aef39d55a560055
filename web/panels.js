// panels.js - the tables behind the tabs: runs, comparison, features, checkpoints, config, notes.
import {getDiff, getRun, saveNotes} from './api.js'
import {button, el, fill, renew} from './dom.js'
import {count, date, duration, number, percent} from './format.js'
import {canWrite, colour, focused, label, listed, newestFirst, picked, toggle} from './runs.js'
import {set, state} from './state.js'
import {t} from './words.js'

export function table(head, rows, attrs = {}) {
  const numbers = (k) => rows[0]?.children[k]?.classList.contains('num') // a head stands over its numbers
  return el('div', { class: 'scroll' }, el('table', attrs,
    el('thead', {}, el('tr', {}, head.map((h, k) => el('th', { class: numbers(k) ? 'num' : null, title: typeof h === 'string' ? h : null }, h)))), el('tbody', {}, rows)))
}
export const td = (text, attrs) => el('td', attrs, text)
export const right = (text) => td(text, { class: 'num' })
export function badge(r) {
  return el('span', { class: 'badge ' + r.state }, t(r.state))
}
function chooser(id, onchange, chosen) {
  return el('select', { onchange: (e) => onchange(e.target.value), 'data-do': id, 'aria-label': t('run') },
    newestFirst().map((r) => el('option', { value: r.id, selected: r.id === chosen }, label(r))))
}

// shows: does the panel show this already? A panel is drawn again only when something in it has changed, because
// somebody may be typing in it.
export function shows(into, ...what) {
  const key = JSON.stringify([document.documentElement.lang, state.tab, what])
  if (into.dataset.shows === key) return true
  into.dataset.shows = key
  return false
}

// details of the run in focus. An answer may come late: `late` says that the reader has gone on to another run or
// tab, which draws itself.
export async function details() {
  const r = focused(), tab = state.tab, d = r ? await getRun(r.run) : null
  return { r, d, late: tab !== state.tab || r?.id !== focused()?.id }
}

// ---- runs ----
export function drawTable(into) {
  const list = listed(), names = [...new Set(list.flatMap((r) => Object.keys(r.last)))].filter((n) => /^val\.|^train\.(loss|auc)/.test(n) && !/\.(rows|ips)$/.test(n)).sort()
  const f = focused(), on = picked()
  renew(into, table(['', t('run'), t('state'), t('started'), t('elapsed'), t('step'), t('rows'), t('speed'), ...names],
    list.map((r) => el('tr', { class: r === f ? 'focus' : '', 'data-key': r.id, onclick: () => set({ focus: r.id }) },
      td(el('input', { type: 'checkbox', checked: on.has(r), 'aria-label': label(r), onclick: (e) => { e.stopPropagation(); toggle(r) } })),
      td([el('span', { class: 'dot', style: { background: colour(r.run) } }), ' ', r.id], { class: 'name' }), td(badge(r)), td(date(r.started), { class: 'when' }), right(duration(r.time - r.started)),
      right(count(r.step)), right(count(r.rows)), right(count(r.last['train.ips'])), names.map((n) => right(number(r.last[n])))))))
}

// ---- two runs ----
export async function drawCompare(into) {
  const a = focused(), on = picked(), all = newestFirst(), b = all.find((r) => r.id === state.against && r !== a) ?? all.find((r) => r !== a && on.has(r)) ?? all.find((r) => r !== a)
  if (!a || !b) return fill(into, el('p', { class: 'empty' }, t('choose_two')))
  const diff = await getDiff(a.run, b.run)
  if (state.tab !== 'compare' || focused()?.id !== a.id) return // the reader has gone on
  if (shows(into, a.id, b.id, state.changes, diff, newestFirst().length)) return
  const heads = [t('key'), label(a), label(b)]
  const order = (m) => (/^(val|train)\./.test(m.key) ? 0 : 1) // what is learnt before what it took
  const metrics = diff.metrics.filter((m) => !state.changes || m.a !== m.b).sort((x, y) => order(x) - order(y) || y.key.startsWith('val.') - x.key.startsWith('val.') || x.key.localeCompare(y.key))
  fill(into, el('div', { class: 'bar' }, chooser('compare-a', (id) => set({ focus: id }), a.id), ' ↔ ', chooser('compare-b', (id) => set({ against: id }), b.id),
    el('label', {}, el('input', { type: 'checkbox', checked: state.changes, 'data-do': 'changes', onchange: (e) => set({ changes: e.target.checked }) }), ' ', t('only_changes'))),
  el('h2', {}, t('config')),
  diff.trouble ? el('p', { class: 'warn' }, diff.trouble + t('trouble')) : diff.configsLeftOut ? el('p', { class: 'warn' }, t('not_kept')) : diff.config.length
    ? table(heads, diff.config.map((k) => el('tr', {}, td(k.key, { class: 'mono' }), td(k.a ?? '–', { class: 'mono' }), td(k.b ?? '–', { class: 'mono' }))), { 'data-table': 'config' })
    : el('p', { class: 'dim' }, t('same')),
  el('h2', {}, t('metrics')),
  table([...heads, t('difference')], metrics.map((m) => {
    const d = m.b - m.a, both = m.a !== null && m.b !== null
    return el('tr', {}, td(m.key, { class: 'mono' }), right(number(m.a)), right(number(m.b)), right(both ? (d > 0 ? '+' : '') + number(d) : '–'))
  }), { 'data-table': 'metrics' }))
}

// ---- features ----
const COUNTS = { missing: 'missing', unknown: 'unknown_values', out_of_range: 'out_of_range', not_finite: 'not_finite', unparsable: 'unparsable', truncated: 'truncated', cut: 'cut', masked: 'masked' } // and their words
let allFeatures = false
function trouble(f) {
  const out = []
  if (f.rows > 0 && f.missing > 0.5 * f.rows) out.push(`${t('missing')} ${percent(f.missing / f.rows)}`)
  if (f.unknown > 0) out.push(`${t('unknown_values')} ${percent(f.unknown / Math.max(1, f.ids ?? f.rows))}`)
  if (f.out_of_range > 0) out.push(`${t('out_of_range')} ${count(f.out_of_range)}`)
  for (const k of ['not_finite', 'unparsable', 'truncated', 'cut']) if (f[k] > 0) out.push(`${t(k)} ${count(f[k])}`)
  if (f.constant) out.push(t('constant'))
  return out
}
export async function drawFeatures(into) {
  const { r, d, late } = await details(), list = Array.isArray(d?.features?.features) ? d.features.features : []
  if (late || shows(into, r?.id, list, allFeatures)) return
  if (!list.length) return fill(into, el('p', { class: 'empty' }, t('no_features')))
  const bad = list.filter((f) => trouble(f).length), rows = allFeatures ? list : bad
  const counts = Object.keys(COUNTS).filter((k) => k === 'missing' || list.some((f) => f[k] > 0)) // the others are 0 everywhere
  fill(into, el('div', { class: 'bar' }, el('b', {}, label(r)), el('span', { class: 'dim' }, `${bad.length} / ${list.length} ${t('to_look')}`),
    el('label', {}, el('input', { type: 'checkbox', checked: allFeatures, 'data-do': 'all-features', onchange: (e) => { allFeatures = e.target.checked; drawFeatures(into) } }), ' ', t('all_features'))),
  table([t('feature'), t('health'), t('total'), ...counts.map((k) => t(COUNTS[k]))], rows.map((f) => {
    const wrong = trouble(f)
    return el('tr', {}, td(f.name, { class: 'mono' }), td(wrong.length ? wrong.map((w) => el('span', { class: 'badge failed' }, w)) : el('span', { class: 'badge finished' }, t('good'))),
      right(count(f.rows)), counts.map((k) => right(f[k] > 0 ? el('span', {}, count(f[k]), el('span', { class: 'bar-cell', style: { width: Math.min(100, (100 * f[k]) / Math.max(1, f.rows)) + '%' } })) : f[k] === 0 ? '0' : '–')))
  }), { 'data-table': 'features' }))
}

// ---- checkpoints ----
export async function drawCheckpoints(into) {
  const { r, d, late } = await details(), list = d?.checkpoints ?? []
  if (late || shows(into, r?.id, list, d?.end)) return
  if (!list.length) return fill(into, el('p', { class: 'empty' }, t('no_checkpoints')))
  const names = [...new Set(list.flatMap((c) => Object.keys(c.metrics ?? {})))].filter((n) => n !== 'global_step')
  const best = Number.isFinite(d.end?.['best.step']) ? d.end['best.step'] : null
  list.sort((x, y) => y.step - x.step)
  fill(into, el('div', { class: 'bar' }, el('b', {}, label(r)), el('span', { class: 'dim mono' }, d.dir)),
    table([t('step'), t('saved'), ...names], list.map((c) => el('tr', { class: c.step === best ? 'focus' : '' }, right(c.step),
      td([c.saved ? el('span', { class: 'mono' }, 'model.ckpt-' + c.step) : el('span', { class: 'dim' }, t('evaluated')), ' ', c.step === best ? el('span', { class: 'badge finished' }, t('best')) : null]),
      names.map((n) => right(number(c.metrics?.[n]))))), { 'data-table': 'checkpoints' }))
}

// ---- config ----
let configFind = ''
export async function drawConfig(into) {
  const { r, d, late } = await details()
  if (late || shows(into, r?.id, d?.config)) return
  if (!d?.config) return fill(into, el('p', { class: 'empty' }, t('no_config')))
  const pre = el('pre', { class: 'config' })
  const show = () => {
    const word = configFind.toLowerCase()
    fill(pre, d.config.split('\n').map((line) => el('span', { class: word && line.toLowerCase().includes(word) ? 'hit' : '' }, line + '\n')))
    pre.querySelector('.hit')?.scrollIntoView({ block: 'nearest' })
  }
  fill(into, el('div', { class: 'bar' }, el('b', {}, label(r)), el('span', { class: 'dim mono' }, d.dir),
    el('input', { type: 'search', placeholder: t('find'), value: configFind, 'data-do': 'config-find', oninput: (e) => { configFind = e.target.value; show() } })), pre)
  show()
}

// ---- notes ----
export async function drawNotes(into) {
  const { r, d, late } = await details()
  if (late || shows(into, r?.id, canWrite())) return
  if (!r || !d) return fill(into, el('p', { class: 'empty' }, t('nobody')))
  const area = el('textarea', { rows: 14, 'data-do': 'notes', 'aria-label': t('notes'), readonly: !canWrite() }, d.notes ?? '')
  const said = el('span', { class: 'dim', role: 'status' })
  const keep = async () => {
    try {
      await saveNotes(r.run, area.value)
      said.textContent = t('saved_notes')
    } catch (e) {
      said.textContent = e.message
    }
  }
  fill(into, el('div', { class: 'bar' }, el('b', {}, label(r)), el('span', { class: 'dim' }, canWrite() ? t('notes_hint') : t('read_only'))), area,
    el('div', { class: 'bar' }, canWrite() ? button(t('save'), keep, { class: 'primary', 'data-do': 'save-notes' }) : null, said))
}
