// download.js - a chart as CSV or SVG.
import {extent, valueText} from './chart.js'
import {onAxis} from './format.js'

export function save(name, type, text) {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(new Blob([text], { type }))
  a.download = name.replace(/[^\w.-]+/g, '_')
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 10000)
}
// A cell of CSV. One that a spreadsheet would take for a formula is made text.
function cell(x) {
  let s = x === null || x === undefined ? '' : String(x)
  if (typeof x === 'string' && /^[=+\-@\t\r]/.test(s)) s = "'" + s
  return /[",\n\r]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s
}
export function csvOf(curves) {
  const lines = ['run,name,step,seconds,rows,value,smallest,largest']
  for (const c of curves)
    for (let i = 0; i < c.raw.length; i++) {
      if (c.raw[i] === null) continue
      const band = c.low && c.low[i] !== c.high[i]
      lines.push([c.run, c.key, c.steps[i], c.times[i], c.allRows[i], c.raw[i], band ? c.low[i] : '', band ? c.high[i] : ''].map(cell).join(','))
    }
  return lines.join('\n') + '\n'
}
function xml(s) {
  return String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, '?')
}
function ticks(lo, hi, n) {
  const raw = (hi - lo) / n, power = 10 ** Math.floor(Math.log10(raw))
  const stepSize = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw) ?? power
  const out = []
  for (let x = Math.ceil(lo / stepSize) * stepSize; x <= hi + stepSize * 1e-9; x += stepSize) out.push(Math.abs(x) < stepSize * 1e-9 ? 0 : x)
  return out
}
export function svgOf(spec, curves, view) {
  const W = 860, H = 420, L = 70, R = 20, T = 44, B = 40 + 18 * Math.ceil(Math.min(curves.length, 12) / 3)
  const { x0, x1, y0, y1 } = extent(curves, view.from, view.to)
  const px = (x) => (L + ((x - x0) / (x1 - x0)) * (W - L - R)).toFixed(1), py = (y) => (H - B - ((y - y0) / (y1 - y0)) * (H - B - T)).toFixed(1)
  const out = [`<svg xmlns="http://www.w3.org/2000/svg" width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" font-family="sans-serif" font-size="12">`,
    `<rect width="${W}" height="${H}" fill="#fff"/>`, `<text x="${L}" y="24" font-size="16" font-weight="bold">${xml(spec.title)}</text>`]
  for (const y of ticks(y0, y1, 6))
    out.push(`<path d="M${L} ${py(y)}H${W - R}" stroke="#e2e8f0"/><text x="${L - 6}" y="${+py(y) + 4}" text-anchor="end" fill="#64748b">${xml(valueText(spec.unit, y))}</text>`)
  for (const x of ticks(x0, x1, 8))
    out.push(`<path d="M${px(x)} ${T}V${H - B}" stroke="#e2e8f0"/><text x="${px(x)}" y="${H - B + 16}" text-anchor="middle" fill="#64748b">${xml(onAxis(x, view.axis))}</text>`)
  out.push(`<clipPath id="in"><rect x="${L}" y="${T}" width="${W - L - R}" height="${H - B - T}"/></clipPath><g clip-path="url(#in)" fill="none" stroke-linejoin="round">`)
  for (const c of curves) {
    const at = c.x.map((_, i) => i).filter((i) => c.x[i] !== null && Number.isFinite(c.line[i]) && c.line[i] !== null)
    if (c.low && c.high && at.length)
      out.push(`<polygon points="${at.map((i) => `${px(c.x[i])},${py(c.high[i])}`).join(' ')} ${[...at].reverse().map((i) => `${px(c.x[i])},${py(c.low[i])}`).join(' ')}" fill="${xml(c.colour)}" fill-opacity="0.13"/>`)
    out.push(`<polyline points="${at.map((i) => `${px(c.x[i])},${py(c.line[i])}`).join(' ')}" stroke="${xml(c.colour)}" stroke-width="1.75"${c.dash ? ` stroke-dasharray="${c.dash.join(' ')}"` : ''}/>`)
    if (c.dots) for (const i of at) out.push(`<circle cx="${px(c.x[i])}" cy="${py(c.line[i])}" r="2.4" fill="${xml(c.colour)}"/>`)
  }
  out.push('</g>')
  curves.slice(0, 12).forEach((c, i) => {
    const x = L + (i % 3) * 260, y = H - B + 40 + Math.floor(i / 3) * 18
    out.push(`<path d="M${x} ${y - 4}h18" stroke="${xml(c.colour)}" stroke-width="3"${c.dash ? ' stroke-dasharray="4 3"' : ''}/><text x="${x + 24}" y="${y}">${xml((c.kind ? `${c.name} · ${c.kind}` : c.name).slice(0, 36))}</text>`)
  })
  return out.join('\n') + '\n</svg>\n'
}
