// A text in a textarea, of a long one a part at a time: a browser alone takes 100 to 300 ms a key in a megabyte.
import { element } from "./display.js";

export const PART = 2000;

const utf8 = new TextEncoder();

const isLow = (text, at) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

export class Editor {
  text = "";
  start = 0; // what is shown, in the text
  end = 0;
  #shown = "";

  /** onEdit(start, end, more): these characters of the text became others. onTurn(): another part is shown. */
  constructor(input, onEdit, onTurn) {
    this.input = input;
    this.onEdit = onEdit;
    this.onTurn = onTurn;
    const button = (label, id, turn) => {
      const made = element("button", { type: "button", id }, label);
      made.addEventListener("click", () => {
        this.show(turn());
        this.onTurn();
      });
      return made;
    };
    this.earlier = button("Earlier", "pl-earlier", () => Math.max(0, this.start - PART));
    this.later = button("Later", "pl-later", () => this.end);
    this.where = element("span", { id: "pl-where" });
    this.pager = element("div", { className: "pl-row", id: "pl-pager" }, this.earlier, this.where, this.later);
    // A browser that pastes a megabyte itself takes half a minute.
    input.addEventListener("paste", (event) => {
      const more = event.clipboardData.getData("text/plain");
      if (more.length < PART) return;
      event.preventDefault();
      input.setRangeText(more, input.selectionStart, input.selectionEnd, "end");
      input.dispatchEvent(new Event("input"));
    });
    this.set(input.value);
  }

  /** Shows another text from its beginning. */
  set(text) {
    this.text = text;
    this.show(0);
  }

  /** Shows a part from about `start` on: from the beginning of a line where there is one. All of it if it is short. */
  show(start) {
    const { text } = this, isLong = text.length > 2 * PART;
    const near = (at) => {
      const line = text.lastIndexOf("\n", at - 1) + 1;
      return line > at - PART / 4 ? line : at - isLow(text, at);
    };
    this.start = isLong ? near(start) : 0;
    this.end = isLong && start + PART < text.length ? near(start + PART) : text.length;
    this.startBytes = utf8.encode(text.slice(0, this.start)).length;
    this.input.value = this.#shown = this.text.slice(this.start, this.end);
    this.#place();
  }

  #place() {
    const { text, start, end } = this, number = (n) => n.toLocaleString("en");
    this.pager.hidden = end - start === text.length;
    this.earlier.disabled = !start;
    this.later.disabled = end === text.length;
    this.where.textContent = `Characters ${number(start + 1)} to ${number(end)} of ${number(text.length)}: you edit this part`;
  }

  /** Takes what was typed or pasted. */
  typed() {
    const old = this.#shown, now = this.input.value, most = Math.min(old.length, now.length);
    let before = 0, after = 0;
    while (before < most && old.charCodeAt(before) === now.charCodeAt(before)) before++;
    if (isLow(old, before) || isLow(now, before)) before--;
    while (after < most - before && old.charCodeAt(old.length - 1 - after) === now.charCodeAt(now.length - 1 - after)) after++;
    if (after && isLow(now, now.length - after)) after--;
    const start = this.start + before, end = this.start + old.length - after, more = now.slice(before, now.length - after);
    this.onEdit(start, end, more);
    this.text = this.text.slice(0, start) + more + this.text.slice(end);
    this.end = this.start + now.length;
    this.#shown = now;
    if (now.length > 2 * PART) {
      const caret = this.start + this.input.selectionStart;
      this.show(Math.max(0, Math.min(caret - PART / 2, this.text.length - PART)));
      this.input.setSelectionRange(caret - this.start, caret - this.start);
    }
    this.#place();
  }
}
