/* Elements of the page. Text enters through textContent only: nothing of a token becomes markup. */

import theme from "../theme.json" with {type: "json"};

const SVG = "http://www.w3.org/2000/svg";

/* A sentence with its values in place of {names}. */
export const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

/* A number as the language of the page writes it. */
export const localised = (number, digits = 0) =>
  number.toLocaleString(document.documentElement.lang, {minimumFractionDigits: digits, maximumFractionDigits: digits});

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

export const make = (tag, properties = {}, ...children) => set(document.createElement(tag), properties, children);
export const draw = (tag, properties = {}, ...children) =>
  set(document.createElementNS(SVG, tag), properties, children);

export function set(node, properties, children = []) {
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/* Glyphs of the controls as paths: the characters for them are coloured emoji on many machines. */
const GLYPHS = {
  first: "M5 4h2v16H5zM20 4v16L8 12z",
  back: "M18 4v16L6 12z",
  play: "M7 4v16l13-8z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  forward: "M6 4v16l12-8z",
  last: "M17 4h2v16h-2zM4 4v16l12-8z",
  reset: "M12 5a7 7 0 1 1-6.7 5h2.1A5 5 0 1 0 12 7v3L7.5 6 12 2z",
  close:
    "M5.500 4 12 10.600 18.500 4 20 5.500 13.400 12 20 18.500 18.500 20 12 13.400 5.500 20 4 18.500 10.600 12 4 5.500z",
};

export function glyph(name) {
  const box = {viewBox: "0 0 24 24", class: "dsbd-glyph", "aria-hidden": "true"};
  return draw("svg", box, draw("path", {d: GLYPHS[name]}));
}

/* The symbol of a mark, for legends and headings; its colour is a variable, so it follows the theme. */
export function symbol(style, name, size = 16) {
  const path = draw("path");
  marked(path, style, name);
  return draw("svg", {viewBox: "-1.35 -1.35 2.7 2.7", width: size, height: size, "aria-hidden": "true"}, path);
}

/* Gives a path, within -1..1, the shape and the colour of a mark. */
export function marked(path, {path: d, filled}, name) {
  const stroke = `var(--dsbd-${name})`;
  path.setAttribute("d", d);
  Object.assign(path.style, {stroke, fill: filled ? stroke : "none", strokeWidth: filled ? 0.1 : 0.32});
}

export const button = (properties, ...inside) => make("button", {type: "button", ...properties}, ...inside);

/* A button that shows a glyph and says its label. */
export const iconButton = (name, label, onclick, properties = {}) =>
  button({"aria-label": label, title: label, onclick, ...properties}, glyph(name));

/* Does what a key stands for, and keeps the key from the parts around. acts: functions by key. */
export function obey(event, acts) {
  if (event.altKey || event.ctrlKey || event.metaKey || !acts[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  acts[event.key]();
}

/* Keys that move in a row of parts, from the index `at`. down: how far the arrow down goes, 1 or -1. */
export function keysOf(at, last, go, down) {
  const to = (index) => () => go(clamp(index, 0, last));
  const arrows = {ArrowLeft: to(at - 1), ArrowRight: to(at + 1), ArrowDown: to(at + down), ArrowUp: to(at - down)};
  return {...arrows, Home: to(0), End: to(last)};
}

/* The place of the node below the pointer; -1 for none. */
export const indexAt = (event) => Number(event.target.closest("[data-at]")?.dataset.at ?? -1);

/* A frame that scrolls, by keyboard too, if its content is larger. */
export const scrolled = (label, ...inside) =>
  make("div", {class: "dsbd-wide-drawing", tabindex: "0", role: "group", "aria-label": label}, ...inside);

/* Hands a file to the reader. */
export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  const link = make("a", {href: address, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export const calm = () => globalThis.matchMedia("(prefers-reduced-motion: reduce)").matches;

/* How the states of nodes are shown: by five marks, the same in every drawing, in light or dark. theme.json says
 * which states share one, and how each looks. */
export const STYLES = theme.marks;

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
export function dress(element, theme) {
  element.dataset.theme = theme;
  for (const [mark, style] of Object.entries(STYLES)) element.style.setProperty(`--dsbd-${mark}`, style[theme]);
}

/* A part of the viewer that stands elsewhere on the page, in its language. */
export function guest({root, cleanup}, inside) {
  const element = make("div", {class: "dsbd dsbd-guest", lang: root.lang, dir: root.dir}, inside);
  cleanup.push(watchTheme(element, (theme) => dress(element, theme)));
  return element;
}
