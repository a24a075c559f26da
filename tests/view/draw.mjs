// Draws texts by display.js without a browser: node draw.mjs display.mjs <view.json; prints, for each text and side, the text
// nodes of its cells before and after the tokens have elements, and for each element of a token what it says of itself.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

class Element {
  constructor(tag) {
    Object.assign(this, { tag, childNodes: [], parentElement: null, attributes: {}, style: {}, dataset: {}, className: "", id: "", hidden: false, tabIndex: 0 });
    this.classList = { add() {}, remove() {}, toggle() {} };
  }
  get children() { return this.childNodes.filter((child) => child instanceof Element); }
  get textContent() { return this.childNodes.map((child) => (child instanceof Element ? child.textContent : child)).join(""); }
  set textContent(text) { this.childNodes = [text]; }
  get firstElementChild() { return this.children[0] ?? null; }
  get nextElementSibling() { return this.parentElement.children[this.parentElement.children.indexOf(this) + 1] ?? null; }
  append(...nodes) { for (const node of nodes) this.insertBefore(node, null); }
  insertBefore(node, next) {
    if (node === "") return;
    if (node instanceof Element) {
      node.remove();
      node.parentElement = this;
    }
    this.childNodes.splice(next ? this.childNodes.indexOf(next) : this.childNodes.length, 0, node);
  }
  remove() {
    if (this.parentElement) this.parentElement.childNodes.splice(this.parentElement.childNodes.indexOf(this), 1);
    this.parentElement = null;
  }
  replaceWith(node) {
    this.parentElement.insertBefore(node, this);
    this.remove();
  }
  replaceChildren(...nodes) { this.childNodes = []; this.append(...nodes); }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  addEventListener() {}
  all(found = []) {
    found.push(this);
    for (const child of this.childNodes) if (child instanceof Element) child.all(found);
    return found;
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
  querySelectorAll(selector) { return selector === ".mate, .here" ? [] : this.all().filter((each) => each.className.split(" ").includes(selector.slice(1))); }
}
globalThis.document = { createElement: (tag) => new Element(tag), addEventListener() {} };
globalThis.IntersectionObserver = globalThis.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} };

const { tokenView } = await import(pathToFileURL(process.argv[2]));
const data = JSON.parse(readFileSync(0, "utf8"));
const tokenizers = data.tokenizers.map((raw) => {
  const tokens = new Map(raw.ids.map((id, i) => {
    const [rank, left, right] = raw.nodes[i] || [null, null, null];
    return [id, { id, bytes: Uint8Array.from(Buffer.from(raw.hex[i], "hex")), rank, left, right, special: raw.special.includes(id) }];
  }));
  return { ...raw, token: (id) => tokens.get(id) };
});
const view = tokenView();
console.log(JSON.stringify(data.texts.map((text) => {
  view.show(tokenizers, [text]);
  const cells = view.root.querySelectorAll(".cell");
  const textOf = () => tokenizers.map((_, side) => cells.filter((_, i) => i % tokenizers.length === side).map((cell) => cell.textContent).join(""));
  const before = textOf();
  view.drawAll(Infinity);
  const tokens = view.root.querySelectorAll(".t").map((token) => [token.attributes["aria-label"], token.textContent]);
  return { before, after: textOf(), tokens, units: view.root.querySelectorAll(".whole").map((unit) => unit.textContent) };
})));
