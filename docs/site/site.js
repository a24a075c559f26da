// What the theme lacks for screen readers and the keyboard.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
const name = () => {
  document.querySelectorAll(".md-code__nav").forEach((nav, index) => nav.setAttribute("aria-label", `Code block ${index + 1}`));
  document.querySelectorAll(".md-nav--secondary .md-nav[aria-label]").forEach((nav, index) =>
    nav.setAttribute("aria-label", `${nav.getAttribute("aria-label").replace(/, part \d+$/, "")}, part ${index + 1}`));
  // Wide tables scroll: the keyboard must reach them.
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((table) => table.setAttribute("tabindex", "0"));
};
name();
new MutationObserver(name).observe(document.querySelector(".md-content") ?? document.body, { childList: true, subtree: true });
