// runs.js - the list of runs: what is known about each, which are shown, their colours.
import {getRuns} from './api.js'
import {state, set} from './state.js'

const COLOURS = ['#3b82f6', '#f97316', '#10b981', '#e11d48', '#8b5cf6', '#eab308', '#06b6d4', '#ec4899', '#84cc16', '#a16207', '#6366f1', '#14b8a6']
const SHOWN_AT_FIRST = 10
export const runs = [] // by number
const ids = new Map() // the run of each id
let experiments = new Map() // how many runs have each name of an experiment
let known = 0 // version of the board
let mayWrite = false
export function canWrite() {
  return mayWrite
}

export async function refreshRuns() {
  const got = await getRuns(known)
  known = got.version
  mayWrite = got.notes
  for (const r of got.runs) {
    if (runs[r.run]) ids.delete(runs[r.run].id)
    runs[r.run] = r
    ids.set(r.id, r)
  }
  if (got.runs.length) {
    experiments = new Map()
    for (const r of ids.values()) experiments.set(r.experiment, (experiments.get(r.experiment) ?? 0) + 1)
  }
  return got.runs.length > 0
}
export function colour(i) {
  return COLOURS[i % COLOURS.length]
}
export function byId(id) {
  return ids.get(id) ?? null
}
// Runs that began last come first.
export function newestFirst() {
  return runs.filter((r) => r).sort((a, b) => (b.started ?? 0) - (a.started ?? 0) || a.run - b.run)
}
export function listed() {
  const words = state.find.toLowerCase().split(/\s+/).filter((w) => w)
  return newestFirst().filter((r) => {
    if (state.project !== null && r.project !== state.project) return false
    const text = `${r.id} ${r.project} ${r.experiment} ${r.state}`.toLowerCase()
    return words.every((w) => text.includes(w))
  })
}
export function shown() {
  if (state.runs === null) return newestFirst().slice(0, SHOWN_AT_FIRST)
  return state.runs.map(byId).filter((r) => r)
}
// The same as a set, to ask about many runs.
export function picked() {
  return new Set(shown())
}
export function toggle(r) {
  const ids = shown().map((x) => x.id)
  set({ runs: ids.includes(r.id) ? ids.filter((x) => x !== r.id) : [...ids, r.id] })
}
export function focused() {
  return byId(state.focus) ?? shown()[0] ?? newestFirst()[0] ?? null
}
export function projects() {
  return [...new Set(runs.filter((r) => r).map((r) => r.project))].sort()
}
// The value that stands for a run in the list: its AUC, else its loss.
export function headline(r) {
  for (const name of ['val.auc', 'train.auc']) if (Number.isFinite(r.last[name])) return ['AUC', r.last[name]]
  const auc = Object.keys(r.last).find((k) => /^(val|train)\.auc/.test(k) && Number.isFinite(r.last[k]))
  if (auc) return [auc.replace(/^\w+\./, ''), r.last[auc]]
  return Number.isFinite(r.last['train.loss']) ? ['loss', r.last['train.loss']] : null
}
// The name of a run that is short and still its own.
export function label(r) {
  return experiments.get(r.experiment) > 1 ? r.id : r.experiment
}
