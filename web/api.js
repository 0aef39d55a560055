// api.js - where the data come from: the server, or the data inside of a report.
const holder = document.getElementById('frozen')
export const frozen = holder ? JSON.parse(holder.textContent) : null

// The server does not answer.
export class Gone extends Error {}

async function ask(path, body, raw) {
  const options = body === undefined ? {} : { method: 'POST', body: raw ? body : JSON.stringify(body), headers: { 'X-Crank': '1' } }
  let res, text
  try {
    res = await fetch(path, options)
    text = await res.text()
  } catch {
    throw new Gone()
  }
  let out = null
  try {
    out = JSON.parse(text)
  } catch {
    // an answer of the server itself is plain text
  }
  if (!res.ok) throw new Error(out?.error ?? text)
  return out
}
export function getRuns(since) {
  return frozen ? Promise.resolve(frozen) : ask('/api/runs?since=' + since)
}
export function getRun(run) {
  return frozen ? Promise.resolve(frozen.details[run]) : ask('/api/run?run=' + run)
}
// A report of many runs has no differences of configs; those of the last values are in the list of runs.
function lastValues(a, b) {
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return { config: [], configsLeftOut: true, metrics: keys.map((key) => ({ key, a: a[key] ?? null, b: b[key] ?? null })), trouble: null }
}
export function getDiff(a, b) {
  if (!frozen) return ask(`/api/diff?a=${a}&b=${b}`)
  return Promise.resolve(frozen.diffs.find((d) => d.x === a && d.y === b) ?? lastValues(frozen.runs[a].last, frozen.runs[b].last))
}
export function getSeries(q) {
  if (!frozen) return ask('/api/series', q)
  const series = frozen.series.filter((s) => q.runs.includes(s.run) && (q.ranks || s.rank === 0))
  return Promise.resolve({ series })
}
export function saveNotes(run, text) {
  return ask('/api/notes?run=' + run, text, true)
}
// listen calls onVersion whenever the board has changed, and onLink with whether the server answers.
export function listen(onVersion, onLink) {
  if (frozen) return
  const events = new EventSource('/api/events')
  events.onmessage = (e) => {
    onLink(true)
    onVersion(JSON.parse(e.data).version)
  }
  events.onopen = () => onLink(true)
  events.onerror = () => onLink(false) // the browser tries again by itself
}
