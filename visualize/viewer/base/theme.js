/* Light or dark: as asked for, else as the page around says, else as the reader's system prefers. */

export function watchTheme(element, wanted, apply) {
  const media = globalThis.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => {
    if (wanted === "light" || wanted === "dark") return wanted;
    if (element.closest(".dark")) return "dark";
    return !document.querySelector(".gradio-container") && media.matches ? "dark" : "light";
  };
  const tell = () => apply(theme());
  const observer = new MutationObserver(tell);
  for (const node of [document.documentElement, document.body]) observer.observe(node, {attributeFilter: ["class"]});
  media.addEventListener("change", tell);
  tell();
  return () => {
    observer.disconnect();
    media.removeEventListener("change", tell);
  };
}
