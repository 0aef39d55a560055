// main.js - the frame of the page: list of runs, head, tabs, keys.
import {Gone, frozen, listen} from './api.js'
import {redrawCharts} from './chart.js'
import {drawCharts, leaveCharts, redraw} from './charts.js'
import {button, el, fill, renew} from './dom.js'
import {count, date, duration, number, percent, bytes} from './format.js'
import {badge, drawCheckpoints, drawCompare, drawConfig, drawFeatures, drawNotes, drawTable} from './panels.js'
import {colour, focused, headline, label, listed, picked, projects, refreshRuns, runs, toggle} from './runs.js'
import {onState, readAddress, set, state} from './state.js'
import {drawWhy} from './why.js'
import {setLanguage, t} from './words.js'

const TABS = { charts: drawCharts, table: drawTable, compare: drawCompare, features: drawFeatures, why: drawWhy, checkpoints: drawCheckpoints, config: drawConfig, notes: drawNotes }
const AXES = ['step', 'time', 'rows']
const $ = (id) => document.getElementById(id)
let linked = true

function isDark() {
  return state.theme ? state.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
}
function chineseReader() {
  return (navigator.language ?? '').startsWith('zh')
}

// ---- the list ----
function drawList() {
  const list = listed(), groups = new Map()
  for (const r of list) {
    if (!groups.has(r.project)) groups.set(r.project, [])
    groups.get(r.project).push(r)
  }
  const f = focused(), on = picked()
  renew($('list'), [...groups].map(([project, members]) => el('div', { class: 'group', 'data-key': 'project ' + project }, project ? el('h4', {}, project) : null, members.map((r) => {
    const h = headline(r), isOn = on.has(r)
    return el('div', { class: 'run' + (r === f ? ' focus' : '') + (isOn ? ' on' : ''), 'data-run': r.id, 'data-key': r.id, style: { '--own': colour(r.run) }, onclick: () => set({ focus: r.id }) },
      el('input', { type: 'checkbox', checked: isOn, 'aria-label': label(r), style: { 'accent-color': colour(r.run) }, onclick: (e) => { e.stopPropagation(); toggle(r) } }),
      el('div', { class: 'run-text' }, el('div', { class: 'run-name', title: r.id }, label(r)),
        el('div', { class: 'dim' }, el('span', { class: 'state ' + r.state }, t(r.state)), ` · ${t('step').toLowerCase()} ${count(r.step)}`, h ? ` · ${h[0]} ${number(+h[1].toPrecision(5))}` : '')))
  }))))
  $('counts').textContent = `${on.size} / ${runs.length}`
  const names = projects()
  renew($('project'), el('option', { value: '*', selected: state.project === null }, t('anything')), names.map((p) => el('option', { value: '=' + p, 'data-key': p, selected: state.project === p }, p || '–')))
  $('project').hidden = names.length < 2
}

// ---- the run in focus ----
function fact(name, value, attrs = {}) {
  return el('div', { class: 'fact', ...attrs }, el('div', { class: 'dim' }, name.charAt(0).toUpperCase() + name.slice(1)), el('div', { class: 'value' }, value))
}
function drawHead() {
  const r = focused()
  if (!r) return renew($('focus'))
  const l = r.last, done = r.state === 'finished' ? 1 : l.progress, h = headline(r)
  renew($('focus'), el('div', { class: 'focus-name' }, el('span', { class: 'swatch', style: { background: colour(r.run) } }), el('b', {}, label(r)), badge(r)),
    Number.isFinite(done) ? el('div', { class: 'progress', role: 'progressbar', 'aria-valuenow': Math.round(done * 100), title: percent(done) }, el('i', { style: { width: percent(Math.min(1, done)).replace(' ', '') } })) : null,
    el('div', { class: 'facts' },
      Number.isFinite(done) ? fact(t('progress'), percent(done)) : null,
      r.state === 'running' && Number.isFinite(l.seconds_left) ? fact(t('left'), duration(l.seconds_left), { 'data-fact': 'left' }) : null,
      fact(t('step'), r.step < 0 ? '–' : r.step.toLocaleString('en'), { 'data-fact': 'step' }), Number.isFinite(l.epoch) ? fact(t('epoch'), l.epoch) : null, fact(t('rows'), count(r.rows)),
      fact(t('elapsed'), duration(r.time - r.started)), Number.isFinite(l['train.ips']) ? fact(t('speed'), count(l['train.ips'])) : null,
      Number.isFinite(l['train.loss']) ? fact(t('loss'), number(l['train.loss'])) : null, h && h[0] !== 'loss' ? fact(h[0], number(h[1])) : null,
      Number.isFinite(l.peak_memory_bytes) ? fact(t('memory'), bytes(l.peak_memory_bytes)) : null, fact(t('started'), date(r.started))),
    r.read < 1 ? el('div', { class: 'note' }, `${t('reading')} ${percent(r.read)}`) : null,
    r.bad > 0 ? el('div', { class: 'warn' }, `${r.bad} ${t('bad')} ${r.first_bad}`) : null)
}

// ---- the frame ----
function drawFrame() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
  document.documentElement.lang = state.lang === 'zh' || (!state.lang && chineseReader()) ? 'zh-CN' : 'en'
  setLanguage(document.documentElement.lang === 'zh-CN' ? 'zh' : 'en')
  document.title = t('title')
  $('brand').textContent = t('title')
  $('find').placeholder = t('search')
  if ($('find') !== document.activeElement) $('find').value = state.find
  renew($('picks'), button(t('all'), () => set({ runs: listed().map((r) => r.id) }), { 'data-do': 'all' }), button(t('none'), () => set({ runs: [] }), { 'data-do': 'none' }), button(t('newest'), () => set({ runs: null }), { 'data-do': 'newest' }))
  renew($('tabs'), Object.keys(TABS).map((name, i) => button(t(name), () => set({ tab: name }), { role: 'tab', 'aria-selected': state.tab === name ? 'true' : 'false', 'data-tab': name, title: String(i + 1) })))
  renew($('axis'), AXES.map((name) => button(t(name), () => set({ axis: name, from: null, to: null }), { 'aria-pressed': state.axis === name ? 'true' : 'false', 'data-axis': name })))
  $('smooth').value = state.smooth
  $('smooth-value').textContent = state.smooth.toFixed(2)
  $('smooth-name').textContent = t('smooth')
  fill($('reset'), t('reset'))
  $('reset').hidden = state.from === null && state.to === null
  fill($('theme'), isDark() ? '☀' : '☾')
  $('theme').title = t('theme')
  fill($('lang'), t('language'))
  $('keys').title = t('keys')
  $('menu').setAttribute('aria-label', t('menu'))
  $('gone').textContent = frozen ? `${t('frozen')} ${date(frozen.made)} · crank ${frozen.crank}` : t('gone')
  $('gone').hidden = linked && !frozen
  $('gone').className = frozen ? 'note' : 'warn'
  $('controls').hidden = state.tab !== 'charts'
}
let tabNow = '', drawn = 0
async function drawTab() {
  const mine = ++drawn, name = TABS[state.tab] ? state.tab : 'charts'
  if (name !== tabNow) {
    leaveCharts()
    fill($('panel'))
    delete $('panel').dataset.shows
    tabNow = name
  }
  try {
    await TABS[name]($('panel'))
  } catch (e) {
    if (e instanceof Gone) return // that shows in a line of its own
    console.error(e)
    if (mine === drawn) fill($('panel'), el('p', { class: 'warn' }, e.message))
  }
}
function draw() {
  drawFrame()
  drawList()
  drawHead()
  return drawTab()
}

// ---- keys ----
const KEYS = [['/', 'k_search'], ['j k', 'k_move'], ['x', 'k_pick'], ['a n', 'k_all'], ['1 … 8', 'k_tab'], ['t', 'k_axis'], ['[ ]', 'k_smooth'], ['d', 'k_theme'], ['l', 'k_lang'], ['Esc', 'k_zoom'], ['?', 'k_help']]
function showKeys() {
  fill($('help'), el('h2', {}, t('help_keys')), el('table', {}, KEYS.map(([k, what]) => el('tr', {}, el('td', {}, el('kbd', {}, k)), el('td', {}, t(what))))), button(t('close'), () => $('help').close(), { class: 'primary' }))
  $('help').showModal()
}
function move(by) {
  const list = listed(), i = list.indexOf(focused())
  const next = list[Math.min(list.length - 1, Math.max(0, i + by))]
  if (next) set({ focus: next.id })
  document.querySelector('.run.focus')?.scrollIntoView({ block: 'nearest' })
}
function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return
  if (e.target.matches('input:not([type=checkbox]), textarea, select')) {
    if (e.key === 'Escape') e.target.blur()
    return
  }
  const tab = Object.keys(TABS)[+e.key - 1]
  const f = focused()
  if (tab) set({ tab })
  else if (e.key === '/') { e.preventDefault(); document.body.classList.add('open'); $('find').focus() }
  else if (e.key === 'j') move(1)
  else if (e.key === 'k') move(-1)
  else if (e.key === 'x' && f) toggle(f)
  else if (e.key === 'a') set({ runs: listed().map((r) => r.id) })
  else if (e.key === 'n') set({ runs: [] })
  else if (e.key === 't') set({ axis: AXES[(AXES.indexOf(state.axis) + 1) % 3], from: null, to: null })
  else if (e.key === '[') set({ smooth: Math.max(0, +(state.smooth - 0.1).toFixed(2)) })
  else if (e.key === ']') set({ smooth: Math.min(0.99, +(state.smooth + 0.1).toFixed(2)) })
  else if (e.key === 'd') set({ theme: isDark() ? 'light' : 'dark' })
  else if (e.key === 'l') set({ lang: document.documentElement.lang === 'en' ? 'zh' : 'en' })
  else if (e.key === '?') showKeys()
  else if (e.key === 'Escape') set({ from: null, to: null, big: '' })
}

// ---- life ----
let pending = false, queued = false
async function refresh() {
  if (pending) {
    queued = true
    return
  }
  pending = true
  try {
    await refreshRuns()
    linked = true
    await draw()
  } catch (e) {
    if (!(e instanceof Gone)) console.error(e)
    linked = false
    drawFrame()
  }
  await new Promise((done) => setTimeout(done, 400))
  pending = false
  if (queued) {
    queued = false
    refresh()
  }
}
function begin() {
  readAddress()
  $('find').addEventListener('input', (e) => set({ find: e.target.value }))
  $('project').addEventListener('change', (e) => set({ project: e.target.value === '*' ? null : e.target.value.slice(1) }))
  $('smooth').addEventListener('input', (e) => set({ smooth: +e.target.value }))
  $('theme').addEventListener('click', () => set({ theme: isDark() ? 'light' : 'dark' }))
  $('lang').addEventListener('click', () => set({ lang: document.documentElement.lang === 'en' ? 'zh' : 'en' }))
  $('keys').addEventListener('click', showKeys)
  $('reset').addEventListener('click', () => set({ from: null, to: null }))
  $('menu').addEventListener('click', () => document.body.classList.toggle('open'))
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => set({}))
  addEventListener('keydown', onKey)
  addEventListener('hashchange', () => { readAddress(); draw() })
  onState((change) => {
    if ('smooth' in change && state.tab === 'charts') {
      drawFrame()
      return redraw()
    }
    const wait = draw()
    if ('theme' in change) wait.then(redrawCharts)
    return wait
  })
  refresh()
  listen(refresh, (ok) => {
    if (linked === ok) return
    linked = ok
    drawFrame()
  })
}
begin()
