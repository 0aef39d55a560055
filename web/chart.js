// chart.js - one chart. uPlot gives axes, cursor and selection; the curves are drawn here, because each run has
// points of its own on the axis, and because a curve of many lines is a mean with a band from the smallest to
// the largest value around it.
import {el, fill} from './dom.js'
import {number, count, bytes, percent, duration, onAxis} from './format.js'

const HEIGHT = 220, BIG_HEIGHT = 420, MANY = 30, DOT = 2.4
// Distances of ticks on an axis of steps or rows: there is nothing between two whole numbers.
const WHOLE = Array.from({ length: 16 }, (_, k) => [1, 2, 5].map((m) => m * 10 ** k)).flat()
const TIMES = [-3, -2, -1].flatMap((k) => [1, 2, 5].map((m) => m * 10 ** k)).concat([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200], WHOLE.map((d) => d * 86400))
const all = new Set()

function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}
// A moving mean with the weight of the past, corrected at its beginning.
export function smoothed(values, weight) {
  if (weight <= 0) return values
  let sum = 0, norm = 0
  return values.map((v) => {
    if (v === null || !Number.isFinite(v)) return v
    sum = sum * weight + (1 - weight) * v
    norm = norm * weight + (1 - weight)
    return sum / norm
  })
}
export function valueText(unit, v) {
  return { bytes, percent, count, duration }[unit]?.(v) ?? number(v)
}
// The range of the axis and of the values that curves cover.
export function extent(curves, from, to) {
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity
  for (const c of curves)
    for (let i = 0; i < c.x.length; i++) {
      const x = c.x[i], y = c.line[i]
      if (x === null || (from !== null && x < from) || (to !== null && x > to)) continue
      x0 = Math.min(x0, x)
      x1 = Math.max(x1, x)
      if (y === null || !Number.isFinite(y)) continue
      const lo = c.low?.[i] ?? y, hi = c.high?.[i] ?? y
      y0 = Math.min(y0, y, lo)
      y1 = Math.max(y1, y, hi)
    }
  if (x0 > x1) [x0, x1] = [0, 1]
  if (y0 > y1) [y0, y1] = [0, 1]
  if (from !== null) x0 = from
  if (to !== null) x1 = to
  if (x0 === x1) [x0, x1] = [x0 - 1, x1 + 1] // a single point stands in the middle
  const room = (y1 - y0 || Math.abs(y0) || 1) * 0.06
  return { x0, x1, y0: y0 - room, y1: y1 + room }
}
function nearest(x, at) {
  let lo = 0, hi = x.length - 1
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1
    if (x[mid] < at) lo = mid
    else hi = mid
  }
  return Math.abs((x[hi] ?? Infinity) - at) < Math.abs(x[lo] - at) ? hi : lo
}

// spec: {id, title, unit, empty}; curves: [{x, line, raw, low, high, colour, name, dash, dots}]
export class Chart {
  constructor(spec, hooks) {
    this.spec = spec
    this.hooks = hooks // {zoom(from, to), unzoom(), grow(), csv(), svg()}
    this.curves = []
    this.tip = el('div', { class: 'tip', hidden: true })
    this.body = el('div', { class: 'plot' }, this.tip)
    this.note = el('div', { class: 'note' })
    this.buttons = el('span', { class: 'tools' })
    this.head = el('div', { class: 'chart-head' }, el('h3', { title: spec.title }, spec.title), this.buttons)
    this.element = el('section', { class: 'chart', 'data-chart': spec.id, tabindex: 0, 'aria-label': spec.title }, this.head, this.note, this.body)
    this.resize = new ResizeObserver(() => this.fit())
    this.resize.observe(this.body)
    all.add(this)
  }
  destroy() {
    all.delete(this)
    this.resize.disconnect()
    this.plot?.destroy()
    this.element.remove()
  }
  height() {
    return this.element.classList.contains('big') ? BIG_HEIGHT : HEIGHT
  }
  fit() {
    const width = Math.floor(this.body.clientWidth)
    if (!this.plot || width < 50 || (this.plot.width === width && this.plot.height === this.height())) return
    this.plot.setSize({ width, height: this.height() })
  }
  update(curves, view) {
    this.curves = curves
    this.view = view // {axis, from, to}
    this.range = extent(curves, view.from, view.to)
    const lines = Math.max(1, ...curves.map((c) => c.lines ?? 1))
    fill(this.note, view.legend(this.spec, curves), lines > 1 ? el('span', {}, view.perPoint(lines)) : null)
    if (!curves.length) {
      this.plot?.destroy()
      this.plot = null
      fill(this.body, el('div', { class: 'absent' }, this.spec.empty ?? ''))
      return
    }
    const data = [[this.range.x0, this.range.x1], [this.range.y0, this.range.y1]]
    if (!this.plot) this.make(data)
    else this.plot.setData(data)
  }
  make(data) {
    fill(this.body, this.tip)
    const grid = { stroke: () => colourOf('--grid'), width: 1 }
    const axis = { stroke: () => colourOf('--dim'), grid, ticks: { ...grid, size: 4 }, font: '11px ' + getComputedStyle(document.body).fontFamily }
    this.plot = new uPlot({
      width: Math.max(50, Math.floor(this.body.clientWidth)),
      height: this.height(),
      legend: { show: false },
      padding: [8, 10, 0, 0],
      cursor: { sync: { key: 'charts' }, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: false, range: () => [this.range.x0, this.range.x1] }, y: { range: () => [this.range.y0, this.range.y1] } },
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      axes: [
        { ...axis, size: 30, incrs: (u) => (this.view.axis === 'time' ? TIMES : WHOLE), values: (u, v) => v.map((x) => onAxis(x, this.view.axis)) },
        { ...axis, size: 58, values: (u, v) => v.map((x) => (this.spec.unit ? valueText(this.spec.unit, x) : number(x))) },
      ],
      hooks: {
        draw: [(u) => this.draw(u)],
        setCursor: [(u) => this.hover(u)],
        setSelect: [(u) => {
          if (u.select.width < 5) return
          const from = u.posToVal(u.select.left, 'x'), to = u.posToVal(u.select.left + u.select.width, 'x')
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false)
          this.hooks.zoom(from, to)
        }],
      },
    }, data, this.body)
    this.body.prepend(this.tip)
    this.plot.over.addEventListener('dblclick', () => this.hooks.unzoom())
    this.plot.over.addEventListener('mouseenter', () => (this.under = true))
    this.plot.over.addEventListener('mouseleave', () => {
      this.under = false
      this.tip.hidden = true
    })
  }
  draw(u) {
    const ctx = u.ctx, ratio = devicePixelRatio || 1
    ctx.save()
    ctx.beginPath()
    ctx.rect(u.bbox.left - DOT * ratio, u.bbox.top, u.bbox.width + 2 * DOT * ratio, u.bbox.height) // dots at the edges are whole
    ctx.clip()
    ctx.lineJoin = 'round'
    const px = (x) => u.valToPos(x, 'x', true), py = (y) => u.valToPos(y, 'y', true)
    const good = (c, i, y) => c.x[i] !== null && y !== null && y !== undefined && Number.isFinite(y)
    const trace = (c, ys) => {
      let pen = false
      ctx.beginPath()
      for (let i = 0; i < c.x.length; i++) {
        if (!good(c, i, ys[i])) continue
        if (pen) ctx.lineTo(px(c.x[i]), py(ys[i]))
        else ctx.moveTo(px(c.x[i]), py(ys[i]))
        pen = true
      }
    }
    const many = this.curves.length > MANY
    for (const c of this.curves) {
      ctx.strokeStyle = ctx.fillStyle = c.colour
      if (c.low && c.high && !many) {
        ctx.globalAlpha = 0.13
        ctx.beginPath()
        const at = c.x.map((_, i) => i).filter((i) => good(c, i, c.low[i]))
        for (const i of at) ctx.lineTo(px(c.x[i]), py(c.high[i]))
        for (const i of at.reverse()) ctx.lineTo(px(c.x[i]), py(c.low[i]))
        ctx.fill()
      }
      if (c.raw !== c.line && !many) {
        ctx.globalAlpha = 0.25
        ctx.lineWidth = ratio
        ctx.setLineDash([])
        trace(c, c.raw)
        ctx.stroke()
      }
      ctx.globalAlpha = many ? 0.45 : 1
      ctx.lineWidth = (many ? 1 : 1.75) * ratio
      ctx.setLineDash((c.dash ?? []).map((d) => d * ratio))
      trace(c, c.line)
      ctx.stroke()
      ctx.setLineDash([])
      if (!c.dots && c.x.length > 1) continue
      for (let i = 0; i < c.x.length; i++) {
        if (!good(c, i, c.line[i])) continue
        ctx.beginPath()
        ctx.arc(px(c.x[i]), py(c.line[i]), DOT * ratio, 0, 7)
        ctx.fill()
      }
    }
    ctx.restore()
  }
  // The values under the cursor, the largest first. All charts show the place, the one under the mouse its values.
  hover(u) {
    const { left } = u.cursor
    if (!this.under || left === null || left === undefined || left < 0 || !this.curves.length) {
      this.tip.hidden = true
      return
    }
    const at = u.posToVal(left, 'x'), rows = []
    for (const c of this.curves) {
      const i = nearest(c.x, at)
      if (c.line[i] === null || !Number.isFinite(c.line[i])) continue
      rows.push({ c, i, v: c.line[i] })
    }
    rows.sort((a, b) => b.v - a.v)
    fill(this.tip, el('div', { class: 'tip-x' }, onAxis(this.view.axis === 'time' ? at : Math.round(at), this.view.axis)),
      rows.slice(0, 12).map(({ c, i, v }) => el('div', { class: 'tip-row' },
        el('span', { class: 'dot', style: { background: c.colour } }), el('span', { class: 'tip-name' }, c.name), c.kind ? el('span', { class: 'dim' }, c.kind) : null,
        el('b', {}, valueText(this.spec.unit, v)),
        c.low && c.low[i] !== c.high[i] ? el('span', { class: 'dim' }, ` ${valueText(this.spec.unit, c.low[i])} … ${valueText(this.spec.unit, c.high[i])}`) : null)),
      rows.length > 12 ? el('div', { class: 'dim' }, `+ ${rows.length - 12}`) : null)
    this.tip.hidden = false
    // beside the cursor, over the next chart where this one has no room, and inside the window
    const place = u.over.getBoundingClientRect(), width = this.tip.offsetWidth, x = place.left + left
    const to = x + width + 20 < innerWidth ? x + 12 : Math.max(4, x - width - 12)
    this.tip.style.left = to - this.body.getBoundingClientRect().left + 'px'
    this.tip.style.top = '6px'
  }
}
// redrawCharts draws all charts again, in the colours of the theme.
export function redrawCharts() {
  for (const c of all) c.plot?.redraw(false, true)
}
