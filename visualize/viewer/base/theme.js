/* Light or dark: the theme of the page around, else the preference of the reader's system. */

import {make} from "./dom.js";
import {STYLES} from "./languages.js";

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

/* Gives a part of the page the colours of a theme. */
export function dress(place, theme) {
  place.dataset.theme = theme;
  for (const [mark, style] of Object.entries(STYLES)) place.style.setProperty(`--dsbd-${mark}`, style[theme]);
}

/* A part of the viewer that stands elsewhere on the page, in its language. */
export function guest({root, cleanup}, inside) {
  const place = make("div", {class: "dsbd dsbd-guest", lang: root.lang, dir: root.dir}, inside);
  cleanup.push(watchTheme(place, (theme) => dress(place, theme)));
  return place;
}
