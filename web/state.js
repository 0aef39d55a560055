// state.js - what the page shows; all of it is in the address behind #, so that an address can be sent to others.
const DEFAULTS = {
  runs: null, // ids that are shown; null: the newest ten
  focus: '', // the id whose details are shown
  tab: 'charts',
  axis: 'step',
  smooth: 0,
  theme: '', // '': as the system has it
  lang: '',
  find: '', // filter of the list
  project: null, // null: all
  from: null, // zoom
  to: null,
  big: '', // the chart that fills the width
  against: '', // the other run of a comparison
  changes: true, // a comparison shows only what differs
  units: false, // every feature's worth is shown, and not only the largest
}
export const state = { ...DEFAULTS }
const listeners = []

const LISTS = ['runs'], NUMBERS = ['smooth', 'from', 'to'], BOOLS = ['changes', 'units']
export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1))
  for (const name of Object.keys(DEFAULTS)) {
    if (!given.has(name)) state[name] = DEFAULTS[name]
    else if (LISTS.includes(name)) state[name] = given.getAll(name).filter((x) => x !== '')
    else if (NUMBERS.includes(name)) state[name] = Number.isFinite(+given.get(name)) ? +given.get(name) : DEFAULTS[name]
    else if (BOOLS.includes(name)) state[name] = given.get(name) === '1'
    else state[name] = given.get(name)
  }
  if (!['step', 'time', 'rows'].includes(state.axis)) state.axis = 'step'
  state.smooth = Math.min(0.99, Math.max(0, state.smooth))
}
function writeAddress() {
  const out = new URLSearchParams()
  for (const [name, value] of Object.entries(state)) {
    if (value === DEFAULTS[name] || value === null) continue
    if (LISTS.includes(name)) for (const x of value.length ? value : ['']) out.append(name, x)
    else out.set(name, BOOLS.includes(name) ? (value ? '1' : '0') : value)
  }
  const text = out.toString()
  history.replaceState(null, '', text ? '#' + text : location.pathname + location.search)
}
// set changes some of the state, writes the address and tells all who listen.
export function set(change) {
  Object.assign(state, change)
  writeAddress()
  for (const fn of listeners) fn(change)
}
export function onState(fn) {
  listeners.push(fn)
}
