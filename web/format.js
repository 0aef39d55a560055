// format.js - numbers, times and sizes as people read them.
export function count(x) {
  if (!Number.isFinite(x)) return '–'
  const a = Math.abs(x)
  if (a >= 1e12) return (x / 1e12).toFixed(1) + 'T'
  if (a >= 1e9) return (x / 1e9).toFixed(1) + 'G'
  if (a >= 1e6) return (x / 1e6).toFixed(1) + 'M'
  if (a >= 1e4) return (x / 1e3).toFixed(1) + 'k'
  return String(Math.round(x * 100) / 100)
}
export function number(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return '–'
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return String(x)
  const a = Math.abs(x)
  if (a >= 1e6 || a < 1e-4) return x.toExponential(4)
  return x.toPrecision(6).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
}
export function bytes(x) {
  if (!Number.isFinite(x)) return '–'
  for (const unit of ['B', 'kB', 'MB', 'GB', 'TB']) {
    if (Math.abs(x) < 1000 || unit === 'TB') return (x >= 100 || unit === 'B' ? x.toFixed(0) : x.toFixed(1)) + ' ' + unit
    x /= 1000
  }
  return '–'
}
export function duration(s) {
  if (s === null || s === undefined || !Number.isFinite(s)) return '–'
  if (s < 1) return (s * 1000).toFixed(0) + ' ms'
  if (s < 100) return s.toFixed(s < 10 ? 1 : 0) + ' s'
  const m = Math.floor(s / 60)
  if (m < 60) return `${m}m ${Math.floor(s % 60)}s`
  const h = Math.floor(m / 60)
  return h < 48 ? `${h}h ${m % 60}m` : `${Math.floor(h / 24)}d ${h % 24}h`
}
export function date(s) {
  if (!Number.isFinite(s)) return '–'
  const d = new Date(s * 1000), two = (x) => String(x).padStart(2, '0')
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`
}
export function percent(x) {
  return Number.isFinite(x) ? (x * 100).toFixed(x > 0 && x < 0.1 ? 2 : 1) + ' %' : '–'
}
// onAxis: a place on the axis as its ticks show it.
export function onAxis(x, axis) {
  return axis === 'time' ? duration(x) : count(x)
}
