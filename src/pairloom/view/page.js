// The view page: the texts and tokenizers that it holds as JSON, drawn by display.js, which stands before this in one script.

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.documentElement;
// In a notebook the panel is below the tokens; on a narrow page it covers their lower half while a token is kept.
const isFramed = "frame" in page.dataset;

const bytesOfHex = (hex) => Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.substr(2 * i, 2), 16));
function tokenizerOf(raw) {
  const special = new Set(raw.special);
  const tokens = new Map(raw.ids.map((id, i) => {
    const [rank, left, right] = raw.nodes[i] || [null, null, null];
    return [id, { id, bytes: bytesOfHex(raw.hex[i]), rank, left, right, special: special.has(id) }];
  }));
  return { ...raw, token: (id) => tokens.get(id) };
}

const view = tokenView({ isSheet: () => !isFramed && innerWidth < 900 });
document.querySelector("main").replaceChildren(view.root);
document.body.append(view.panel);
view.show(data.tokenizers.map(tokenizerOf), data.texts);

const large = document.getElementById("large");
large.addEventListener("click", () => {
  const isLarge = page.classList.toggle("large");
  large.setAttribute("aria-pressed", isLarge);
});
addEventListener("beforeprint", () => view.drawAll(200_000));
page.dataset.ready = "yes";
