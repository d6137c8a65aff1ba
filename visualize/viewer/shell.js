/* The layout of a viewer: the memory of a long prompt, the lanes, the sentence and the controls, forest and card, and a
 * line with the legend, the linked views, and the tools that save the drawing. A bare viewer has sentence, forest and
 * card only. */

import {CutPanel} from "./turn.js";
import {STYLES, button, download, draw, make, set, symbol} from "./dom.js";
import {MaskPanel, TablePanel, TextPanel} from "./panels.js";
import {columnsOf} from "./tokens.js";
import {STRINGS, nameOf, number, remember} from "./words.js";

const PANELS = [TextPanel, CutPanel, MaskPanel, TablePanel];

/* Fills the viewer's root and returns the parts that steps change. before: the views in the language before. */
export function buildShell(viewer, before) {
  const {say, controls, forest, lanes, memory, game} = viewer;
  const parts = {
    title: make("h2", {class: "dsbd-title"}),
    empty: make("p", {class: "dsbd-empty", text: say("ui.empty")}),
    sentence: make("p", {class: "dsbd-sentence", "aria-live": "polite", "aria-atomic": "true"}),
    formula: make("div", {class: "dsbd-formula-place"}),
    card: make("aside", {class: "dsbd-card", tabindex: "0", "aria-label": say("ui.card")}),
    legend: make("ul", {class: "dsbd-legend", "aria-label": say("ui.legend")}),
    views: new Views(viewer, before),
  };
  forest.element.setAttribute("aria-label", say("ui.drawing"));
  parts.body = make(
    "div",
    {class: "dsbd-body"},
    memory.element,
    make("header", {class: "dsbd-whole"}, parts.title, lanes.element),
    make(
      "div",
      {class: "dsbd-says"},
      make("div", {class: "dsbd-told"}, parts.sentence, parts.formula),
      controls.element,
    ),
    controls.phases,
    forest.element,
    parts.card,
    game.element,
    viewer.options.below ?? "",
    make("div", {class: "dsbd-below"}, parts.legend, parts.views.tools, languages(viewer)),
    parts.views.sheet,
  );
  viewer.root.classList.toggle("dsbd-bare", Boolean(viewer.options.bare));
  viewer.root.replaceChildren(parts.empty, parts.body);
  return parts;
}

/* The switch stands open, and keeps the focus although everything around it is built again. */
function languages(viewer) {
  const change = (event) => {
    remember(event.target.value);
    viewer.setLanguage(event.target.value);
    viewer.root.querySelector(".dsbd-language").focus();
  };
  const options = Object.keys(STRINGS).map((code) => make("option", {value: code, lang: code, text: nameOf(code)}));
  const select = make("select", {class: "dsbd-language", onchange: change}, ...options);
  select.value = viewer.words.language;
  return make("label", {class: "dsbd-languages"}, make("span", {text: viewer.say("ui.language")}), select);
}

/* The views below the forest, one at a time. A view is built when it is opened, and follows every step while it is. */
class Views {
  /* before: the views in the language before. */
  constructor(viewer, before) {
    const {say} = viewer;
    this.viewer = viewer;
    this.panels = PANELS.map((View) => new View(viewer));
    const toggle = (panel) => (this.panel === panel ? this.close() : this.open(panel.key));
    this.buttons = this.panels.map((panel) => {
      const about = {class: "dsbd-view", "data-view": panel.key, "aria-expanded": "false"};
      return button({...about, text: say(`tab.${panel.key}`), onclick: () => toggle(panel)});
    });
    this.turn = button({class: "dsbd-turn", text: say("game.turn"), title: say("tab.game")});
    this.turn.addEventListener("click", () => viewer.game.start());
    const save = (kind, act) => button({class: `dsbd-${kind}`, text: say(`ui.${kind}`), onclick: () => act(viewer)});
    const tools = {class: "dsbd-more", role: "group", "aria-label": say("ui.views"), title: say("ui.keys")};
    this.tools = make("div", tools, ...this.buttons, this.turn, save("svg", saveSvg), save("png", savePng));
    this.tools.append(viewer.options.tools ?? "");
    this.sheet = make("div", {role: "group", tabindex: "0"});
    this.ready = false; // becomes true with the first step
    if (before?.panel) this.open(before.panel.key);
    else this.close();
  }

  show(key) {
    this.open(key);
    this.sheet.scrollIntoView({block: "nearest"});
  }

  open(key) {
    this.mark(this.panels.find((panel) => panel.key === key));
    set(this.sheet, {class: `dsbd-panel dsbd-panel-${key}`, "aria-label": this.viewer.say(`tab.${key}`)});
    this.isStale = true;
    this.refresh();
  }

  close() {
    this.mark(null);
    this.sheet.replaceChildren();
  }

  mark(panel) {
    this.panel = panel;
    this.sheet.hidden = !panel;
    this.buttons.forEach((one, at) => one.setAttribute("aria-expanded", String(this.panels[at] === panel)));
  }

  /* changed: another iteration is shown. */
  update(changed = false) {
    const {scene, game} = this.viewer;
    const isTried = scene.settings.lossless && scene.iterations.some(({trials}) => trials.length);
    this.tools.querySelector("[data-view=cut]").hidden = !isTried;
    this.turn.hidden = !scene.settings.lossless || game.pass < 0;
    this.ready = true;
    this.isStale ||= changed;
    this.refresh();
  }

  refresh() {
    if (!this.ready || !this.panel) return;
    if (this.isStale) this.panel.build(this.sheet);
    this.isStale = false;
    this.panel.update();
  }
}

/* Explains the marks that occur in the forest. */
export function drawLegend(viewer, list) {
  const {now, say} = viewer;
  const states = now.steps.flatMap((step) => step.changes.map(({state}) => state));
  const occurring = new Set(states.map((state) => viewer.mark(state).mark));
  const entry = (sign, text, mark = null) => make("li", {"data-mark": mark}, sign, make("span", {text}));
  const entries = Object.entries(STYLES)
    .filter(([mark]) => mark !== "start" && occurring.has(mark))
    .map(([mark, style]) => entry(symbol(style, mark), say(`mark.${mark}`), mark));
  if (now.steps.some((step) => step.changes.some(({multiplicity}) => multiplicity > 1))) {
    entries.push(entry(make("b", {text: say("node.multiplicity", {count: 2})}), say("mark.twice")));
  }
  if (now.nodes.some((node) => viewer.scene.final.has(node.id))) {
    const sign = make("span", {class: "dsbd-final", "aria-hidden": "true", text: "abc"});
    entries.push(entry(sign, say("node.final")));
  }
  const layer = now.layers.find(({chances}) => chances.length);
  if (layer && !viewer.forest.geometry.upright) {
    const sign = (tag, box) => draw("svg", {viewBox: "-8 -8 16 16", width: 16, height: 16}, draw(tag, box));
    const bar = sign("rect", {class: "dsbd-bar-chosen", x: -4, y: -7, width: 8, height: 14});
    const line = sign("path", {class: "dsbd-threshold-line", d: "M-8,0h16"});
    entries.push(entry(bar, say("layer.at_least")));
    entries.push(entry(line, `width_threshold = ${number(viewer.scene.settings.width_threshold)}`));
  }
  list.replaceChildren(...entries);
}

/* ---- files that the browser makes of the drawing ---------------------------------------------------------------- */

const LOOK = "fill stroke stroke-width stroke-dasharray opacity visibility".split(" ");
const PAINT = [...LOOK, ..."font-family font-size font-weight text-decoration white-space".split(" ")];
const PNG_SCALE = 2;
const KEY = {room: 31, letter: 7.2, gap: 18, line: 22}; // pixels of the entries of the legend

/* The forest with its head and its legend as one stand-alone document: the styles are copied onto the elements. */
function forestSheet(viewer) {
  const {forest} = viewer;
  const {width, height, upright, head: top} = forest.geometry;
  const paper = getComputedStyle(viewer.root).getPropertyValue("--dsbd-paper").trim();
  const legend = legendOf(viewer.parts.legend.children, width);
  const tall = height + top + legend.height;
  return draw(
    "svg",
    {xmlns: "http://www.w3.org/2000/svg", width, height: tall, viewBox: `0 0 ${width} ${tall}`},
    draw("title", {text: viewer.altText()}),
    draw("rect", {width, height: tall, fill: paper}),
    ...(upright ? [] : [painted(forest.head)]),
    draw("g", {transform: `translate(0,${top})`}, painted(forest.body)),
    draw("g", {transform: `translate(0,${top + height})`}, ...legend.entries),
  );
}

/* The legend below the drawing, in lines as wide as it. */
function legendOf(items, width) {
  let [x, y] = [8, KEY.line / 2];
  const entries = [...items].map(({children: [sign, words]}) => {
    const wide = KEY.room + KEY.letter * columnsOf(words.textContent);
    if (x > 8 && x + wide > width) [x, y] = [8, y + KEY.line];
    const css = getComputedStyle(words);
    const textAt = (source, left) => {
      const font = {"font-family": css.fontFamily, "font-size": css.fontSize, fill: css.color};
      const line = getComputedStyle(source).textDecorationLine;
      return draw("text", {x: left, y: 4, ...font, "text-decoration": line, text: source.textContent});
    };
    const {width: across} = sign.viewBox?.baseVal ?? {};
    const scale = `translate(8,0) scale(${16 / across})`;
    const mark = across ? draw("g", {transform: scale}, painted(sign)) : textAt(sign, 0);
    const entry = draw("g", {transform: `translate(${x},${y})`}, mark, textAt(words, KEY.room));
    x += wide + KEY.gap;
    return entry;
  });
  return {entries, height: entries.length ? y + KEY.line / 2 : 0};
}

const textOf = (svg) => new XMLSerializer().serializeToString(svg);

function painted(source) {
  const group = draw("g");
  for (const child of source.children) if (!child.hasAttribute("hidden")) group.append(copied(child));
  return group;
}

function copied(source) {
  const copy = source.cloneNode(false);
  const css = getComputedStyle(source);
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  for (const name of PAINT) copy.setAttribute(name, css.getPropertyValue(name));
  for (const child of source.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.cloneNode());
    else if (!child.hasAttribute("hidden") && !child.classList.contains("dsbd-hit")) copy.append(copied(child));
  }
  return copy;
}

const saveSvg = (viewer) => download(`${name(viewer)}.svg`, textOf(forestSheet(viewer)), "image/svg+xml");

export async function savePng(viewer) {
  const svg = forestSheet(viewer);
  const [width, height] = ["width", "height"].map((side) => PNG_SCALE * svg.getAttribute(side));
  const canvas = make("canvas", {width, height});
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(svg))}`;
  await image.decode();
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  const content = await new Promise((done) => canvas.toBlob(done, "image/png"));
  download(`${name(viewer)}.png`, content, "image/png");
}

const name = (viewer) => `dsbd-pass-${viewer.now.number}`;
