// The tokens of a part of a text, and a panel for one of them with its merge tree: the view of display.js over the core.
import { element, tokenView } from "./display.js";

// Elements for more tokens would make typing slow.
export const MOST_SHOWN = 4000;
let nLists = 0;

export class TokenList {
  #view;
  #tokens = new Map();

  /** bytesOf(id): the bytes of a token. describe(id): {merges, isSpecial} of it; merges as `Core.mergesOf` gives them. */
  constructor(bytesOf, describe) {
    this.bytesOf = bytesOf;
    this.describe = describe;
    this.#view = tokenView({ prefix: `pl-${nLists++ ? `${nLists}-` : ""}` });
    this.root = element("div", { id: "pl-tokens", className: "pl-tokens" }, this.#view.root);
    this.panel = this.#view.panel;
  }

  /** Shows the first MOST_SHOWN of these ids, which may be of another tokenizer than before. */
  fill(ids) {
    this.#tokens.clear();
    this.#view.show([{ name: "", rule: "", token: (id) => this.#token(id) }], [{ sides: [{ ids: Array.from(ids.slice(0, MOST_SHOWN)), pretokens: null }] }]);
    this.#view.drawAll(MOST_SHOWN);
  }

  // A token; the merge that makes it is looked up when it is asked for.
  #token(id) {
    let token = this.#tokens.get(id);
    if (!token) {
      let described = null;
      const description = () => (described ??= this.describe(id));
      const merge = () => (description().isSpecial ? undefined : description().merges.at(-1)) ?? [null, null, null];
      token = {
        id, bytes: this.bytesOf(id),
        get special() { return description().isSpecial; },
        get rank() { return merge()[0]; },
        get left() { return merge()[1]; },
        get right() { return merge()[2]; },
      };
      this.#tokens.set(id, token);
    }
    return token;
  }
}
