// The panel in which merges are learned one by one.
import { element, shown } from "./display.js";
import { Learning, wordsOf } from "./learning.js";

// Recounting all pairs for each step is the naive trainer; more text would make the slider slow.
const MAX_WATCHED_BYTES = 200_000;

export class Watching {
  #learning = null;

  constructor() {
    this.step = element("input", { id: "pl-step", type: "range", min: 0, value: 0 });
    this.said = element("output", { id: "pl-said" });
    this.pairs = element("tbody", { id: "pl-pairs" });
    const heads = ["pair", "count", "result"].map((name) => element("th", { scope: "col" }, name));
    this.root = element("div", { id: "pl-watched" },
      element("h2", {}, "Watch the merges being learned"), element("label", { className: "pl-field" }, "Merges learned", this.step), this.said,
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), this.pairs));
    this.step.addEventListener("input", () => this.#show());
  }

  /** Watches the training of a tokenizer on a text; null where nothing was trained. token(id): a token's bytes. */
  of(tokenizer, corpus = "", token = null, tieBreak = "") {
    this.root.hidden = !tokenizer;
    if (!tokenizer) return;
    [this.token, this.tieBreak] = [token, tieBreak];
    const bytes = new TextEncoder().encode(corpus);
    if (bytes.length > MAX_WATCHED_BYTES) {
      this.#learning = null;
      this.step.max = 0;
      this.pairs.replaceChildren();
      this.said.textContent = `Merges can be watched for texts of up to ${MAX_WATCHED_BYTES.toLocaleString("en")} bytes.`;
      return;
    }
    this.#learning = new Learning(wordsOf(bytes, tokenizer.split(corpus)), tokenizer.merges());
    this.step.max = this.#learning.merges.length;
    this.step.value = 0;
    this.#show();
  }

  #show() {
    const learning = this.#learning, token = this.token;
    if (!learning) return;
    // Isolated, so that Arabic does not change the order of what surrounds it.
    const isolated = (id) => element("bdi", {}, shown(token(id)));
    const at = Number(this.step.value);
    learning.goTo(at);
    const merge = learning.merges[at];
    const best = learning.best(8);
    if (merge && !best.some(([, left, right]) => left === merge[0] && right === merge[1])) {
      // Among many equals the winner by greatest bytes may not be among the first.
      best.pop();
      best.push([best[0][0], merge[0], merge[1]]);
    }
    this.pairs.replaceChildren(...best.map(([count, left, right]) => {
      const wins = merge && left === merge[0] && right === merge[1];
      return element("tr", wins ? { className: "pl-wins" } : {},
        element("td", {}, element("code", {}, isolated(left)), " + ", element("code", {}, isolated(right))),
        element("td", {}, count.toLocaleString("en")),
        element("td", {}, wins ? `merged to id ${merge[2]}` : ""));
    }));
    const equal = best.filter(([count]) => count === best[0][0]).length;
    const tie = equal > 1 ? `, as often as others: the tie goes to the ${this.tieBreak === "bytes_greatest" ? "greatest bytes" : "lowest ids"}.` : ".";
    this.said.replaceChildren(...(merge
      ? [`Step ${at + 1} of ${learning.merges.length}: “`, isolated(merge[0]), "” + “", isolated(merge[1]), `” occurs ${best[0][0]} times${tie}`]
      : [`All ${learning.merges.length} merges are learned.`]));
    this.step.setAttribute("aria-valuetext", this.said.textContent);
  }
}
