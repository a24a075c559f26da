// The view page: the texts and tokenizers that it holds as JSON, drawn by display.js, which stands before this in one script.

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.documentElement;
// The panel is beside the tokens; in a notebook below them; in large type and on a narrow page it is a sheet over the lower
// half of the window, while a token is kept.
const isSheet = () => !("frame" in page.dataset) && (innerWidth < 1024 || page.classList.contains("large"));
const layOut = () => page.classList.toggle("sheet", isSheet());

const bytesOfHex = (hex) => Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.substr(2 * i, 2), 16));
function tokenizerOf(raw) {
  const special = new Set(raw.special);
  const tokens = new Map(raw.ids.map((id, i) => {
    const [rank, left, right] = raw.nodes[i] || [null, null, null];
    return [id, { id, bytes: bytesOfHex(raw.hex[i]), rank, left, right, special: special.has(id) }];
  }));
  return { ...raw, token: (id) => tokens.get(id) };
}

const view = tokenView({ isSheet });
document.querySelector("main").replaceChildren(view.root);
document.body.append(view.panel);
layOut();
view.show(data.tokenizers.map(tokenizerOf), data.texts);

addEventListener("resize", layOut);
document.getElementById("large").addEventListener("click", ({ target }) => {
  target.setAttribute("aria-pressed", page.classList.toggle("large"));
  layOut();
  view.panel.hidden = isSheet();
});
addEventListener("beforeprint", () => view.drawAll(200_000));
page.dataset.ready = "yes";
