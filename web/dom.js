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
// renew does the same, but keeps the elements that stay what they are: a live page must not take the focus, an open
// list of choices or a half-done click away from its reader. An element stays when it has the same tag and the same
// key; the key says which listener it has, because listeners stay with their element.
const key = (e) => e.dataset?.key
function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b)
}
function renewNode(old, now) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== now.data) old.data = now.data
    return
  }
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  renewChildren(old, [...now.childNodes])
  if ('checked' in old) old.checked = now.hasAttribute('checked')
  if (old.nodeName === 'OPTION') old.selected = now.hasAttribute('selected')
}
function renewChildren(e, fresh) {
  const kept = new Map([...e.children].filter(key).map((c) => [key(c), c]))
  let at = e.firstChild
  for (const now of fresh) {
    const old = key(now) ? kept.get(key(now)) : at
    if (!old || !same(old, now)) {
      e.insertBefore(now, at)
      continue
    }
    if (old === at) at = at.nextSibling
    else e.insertBefore(old, at)
    renewNode(old, now)
  }
  while (at) {
    const next = at.nextSibling
    at.remove()
    at = next
  }
}
export function renew(e, ...children) {
  const holder = document.createElement('div')
  add(holder, children)
  renewChildren(e, [...holder.childNodes])
}
export function button(label, onclick, attrs = {}) {
  return el('button', { type: 'button', onclick, ...attrs }, label)
}
