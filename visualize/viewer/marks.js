/* How the states of nodes are shown: by five marks, the same in every drawing, in light or dark. look/marks.json says
 * which states share one, and how each looks. */

import {make} from "./dom.js";
import marks from "../look/marks.json" with {type: "json"};

export const STYLES = marks;

/* The states of what a layer yielded. */
export const YIELDED = [...STYLES.kept.states, ...STYLES.picked.states];

const MARK_OF = Object.fromEntries(
  Object.entries(STYLES).flatMap(([mark, {states}]) => states.map((state) => [state, mark])),
);

export const markOf = (state) => MARK_OF[state];

/* ---- light or dark: the theme of the page around, else the preference of the reader's system -------------------- */

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
