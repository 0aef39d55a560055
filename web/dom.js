// dom.js - elements without HTML: every text of a log goes in as text, so nothing in it can become markup.
export function el(tag, attrs = {}, ...children) {
  const e = document.createElement(tag)
  for (const [name, value] of Object.entries(attrs)) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value)
    else if (name === 'style') for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v)
    else e.setAttribute(name, value === true ? '' : String(value))
  }
  add(e, children)
  return e
}
// shape is an element of a picture (SVG).
export function shape(tag, attrs = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attrs)) e.setAttribute(name, String(value))
  add(e, children)
  return e
}
function add(e, children) {
  for (const c of children.flat(Infinity)) {
    if (c === null || c === undefined || c === false) continue
    e.append(c instanceof Node ? c : document.createTextNode(String(c)))
  }
}
// fill replaces the content of an element.
export function fill(e, ...children) {
  e.replaceChildren()
  add(e, children)
}
export function button(label, onclick, attrs = {}) {
  return el('button', { type: 'button', onclick, ...attrs }, label)
}
