/* Light or dark: the theme of the page around, else the preference of the reader's system. */

export function watchTheme(element, apply) {
  const media = globalThis.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => {
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
