// The tokens of a text, and a panel for one of them with its merge tree. Pointing at a token or focusing it (arrow keys)
// shows it; a click or Enter keeps it, Escape lets it go.
import { element, hexOf, shown, spoken } from "./display.js";

// Elements for more tokens would make typing slow.
export const MOST_SHOWN = 4000;
// A tree of more nodes is cut off at the bottom.
const MOST_NODES = 300;

export class TokenList {
  #ids = [];
  #pinned = false;
  #stop = 0; // the token that Tab reaches

  /** describe(id): {bytes, merges, isSpecial} of a token; merges as `Core.mergesOf` gives them. bytesOf(id): its bytes. */
  constructor(bytesOf, describe) {
    this.bytesOf = bytesOf;
    this.describe = describe;
    this.root = element("div", { id: "pl-tokens", className: "pl-tokens", role: "listbox", "aria-label": "Tokens" });
    this.title = element("h3", { id: "pl-panel-title" });
    this.facts = element("dl", { id: "pl-facts" });
    this.tree = element("div", { id: "pl-tree", className: "pl-tree", tabIndex: 0, role: "region", "aria-label": "Merge tree" });
    this.panel = element("section", { id: "pl-panel", "aria-labelledby": "pl-panel-title" }, this.title, this.facts, this.tree);
    this.root.addEventListener("pointerover", (event) => {
      const index = this.#indexOf(event.target);
      if (index >= 0 && !this.#pinned && event.pointerType !== "touch") this.#show(index);
    });
    this.root.addEventListener("focusin", (event) => {
      const index = this.#indexOf(event.target);
      if (index < 0) return;
      this.#tabStop(index);
      if (!this.#pinned) this.#show(index);
    });
    this.root.addEventListener("click", (event) => this.#pin(this.#indexOf(event.target)));
    this.root.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Shows the first MOST_SHOWN of these ids. */
  fill(ids) {
    this.#ids = ids.slice(0, MOST_SHOWN);
    this.#pinned = false;
    this.root.replaceChildren(...Array.from(this.#ids, (id, index) => {
      const bytes = this.bytesOf(id);
      return element("span", { className: `pl-token pl-${index % 4}`, role: "option", tabIndex: -1, "aria-selected": "false",
        "aria-label": `${spoken(bytes)}, id ${id}` }, shown(bytes), ...(bytes.includes(10) ? [element("br")] : []));
    }));
    this.panel.hidden = !this.#ids.length;
    // A listbox without options is none.
    this.root.hidden = !this.#ids.length;
    if (!this.#ids.length) return;
    // A long token has something to show.
    const lengths = Array.from(this.#ids.slice(0, 200), (id) => this.bytesOf(id).length);
    this.#stop = 0;
    this.#tabStop(0);
    this.#show(lengths.indexOf(Math.max(...lengths)));
  }

  #indexOf(target) {
    const token = target instanceof Element ? target.closest(".pl-token") : null;
    return token ? Array.prototype.indexOf.call(this.root.children, token) : -1;
  }
  #tabStop(index) {
    this.root.children[this.#stop].tabIndex = -1;
    this.root.children[index].tabIndex = 0;
    this.#stop = index;
  }
  #focus(index) {
    if (index >= 0 && index < this.#ids.length) this.root.children[index].focus();
  }
  #pin(index) {
    const selected = this.root.querySelector("[aria-selected=true]");
    selected?.setAttribute("aria-selected", "false");
    this.#pinned = index >= 0 && this.root.children[index] !== selected;
    if (!this.#pinned) return;
    this.root.children[index].setAttribute("aria-selected", "true");
    this.#show(index);
  }
  #key(event) {
    const index = this.#indexOf(event.target);
    if (index < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const moves = {
      ArrowLeft: () => this.#focus(index - 1),
      ArrowRight: () => this.#focus(index + 1),
      Home: () => this.#focus(0),
      End: () => this.#focus(this.#ids.length - 1),
      Enter: () => this.#pin(index),
      " ": () => this.#pin(index),
      Escape: () => this.#pin(-1),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  #show(index) {
    this.root.querySelector(".pl-here")?.classList.remove("pl-here");
    this.root.children[index].classList.add("pl-here");
    const id = this.#ids[index];
    const { bytes, merges, isSpecial } = this.describe(id);
    const last = merges.at(-1);
    this.title.textContent = `Token ${(index + 1).toLocaleString("en")}: ${shown(bytes.subarray(0, 256))}`;
    const facts = [
      ["id", String(id)],
      ["bytes", `${hexOf(bytes.subarray(0, 64))}${bytes.length > 64 ? " …" : ""} (${bytes.length.toLocaleString("en")})`],
      ["rank", isSpecial ? "a special token: found before the text is split, never merged"
        : last ? String(last[0])
          : bytes.length === 1 ? "a byte: merging starts from these" : "none: a pretoken of these bytes is looked up whole"],
    ];
    this.facts.replaceChildren(...facts.flatMap(([term, fact]) => [element("dt", {}, term), element("dd", {}, fact)]));
    this.tree.replaceChildren(treeOf(id, isSpecial ? [] : merges, this.bytesOf));
  }
}

/** The merge tree of a token as nested lists, breadth first. */
function treeOf(root, merges, bytesOf) {
  const partsOf = new Map(merges.map(([rank, left, right, merged]) => [merged, { rank, left, right }]));
  const top = element("ul"), open = [[root, top]];
  for (let n = 0; open.length && n < MOST_NODES; n++) {
    const [id, list] = open.shift();
    const parts = partsOf.get(id), bytes = bytesOf(id);
    const node = element("span", { className: "pl-node" }, shown(bytes.subarray(0, 64)) + (bytes.length > 64 ? "…" : ""),
      element("small", {}, parts ? `id ${id} · rank ${parts.rank}` : `id ${id}`));
    const item = element("li", {}, node);
    list.append(item);
    if (parts) {
      const below = element("ul");
      item.append(below);
      open.push([parts.left, below], [parts.right, below]);
    }
  }
  if (open.length) open[0][1].append(element("li", {}, element("span", { className: "pl-node" }, `… ${open.length} more`)));
  return top;
}
