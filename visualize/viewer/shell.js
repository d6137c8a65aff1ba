/* The layout of a viewer: the memory of a long prompt, the strip, the sentence and the controls, forest and card, the
 * legend, and a fold with a menu of linked views. A bare viewer has sentence, forest and card only. */

import {CutPanel} from "./turn.js";
import {STYLES, draw, make, set, symbol} from "./dom.js";
import {MaskPanel, TablePanel, TextPanel} from "./panels.js";
import {STRINGS, nameOf, number, remember} from "./words.js";

const PANELS = [TextPanel, CutPanel, MaskPanel, TablePanel];

/* Fills the viewer's root and returns the parts that steps change. before: the views in the language before. */
export function buildShell(viewer, before) {
  const {say, controls, forest, strip, memory, game} = viewer;
  const parts = {
    title: make("h2", {class: "dsbd-title"}),
    empty: make("p", {class: "dsbd-empty", text: say("ui.empty")}),
    sentence: make("p", {class: "dsbd-sentence", "aria-live": "polite", "aria-atomic": "true"}),
    formula: make("div", {class: "dsbd-formula-place"}),
    card: make("aside", {class: "dsbd-card", tabindex: "0", "aria-label": say("ui.card")}),
    legend: make("ul", {class: "dsbd-below dsbd-legend", "aria-label": say("ui.legend")}),
    views: new Views(viewer, before),
  };
  forest.element.setAttribute("aria-label", say("ui.drawing"));
  parts.whole = make(
    "header",
    {class: "dsbd-whole"},
    make("div", {class: "dsbd-where"}, parts.title, controls.scrub),
    strip.element,
  );
  parts.body = make(
    "div",
    {class: "dsbd-body"},
    memory.element,
    parts.whole,
    make("div", {class: "dsbd-told"}, parts.sentence, parts.formula),
    controls.element,
    controls.phases,
    forest.element,
    parts.card,
    game.element,
    parts.legend,
    languages(viewer),
    parts.views.element,
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
  const select = make(
    "select",
    {class: "dsbd-language", onchange: change},
    ...Object.keys(STRINGS).map((code) => make("option", {value: code, lang: code, text: nameOf(code)})),
  );
  select.value = viewer.words.language;
  return make("label", {class: "dsbd-languages"}, make("span", {text: viewer.say("ui.language")}), select);
}

/* The fold below the forest. A view is built when it is opened, and follows every step while it is open. */
class Views {
  /* before: the fold in the language before. */
  constructor(viewer, before) {
    const {say} = viewer;
    this.panels = PANELS.map((Panel) => Object.assign(new Panel(), {viewer}));
    const options = this.panels.map(({key}) => make("option", {value: key, text: say(`tab.${key}`)}));
    const onchange = (event) => this.open(event.target.value);
    const told = {"aria-label": say("ui.views"), title: say("ui.views")};
    this.menu = make("select", {class: "dsbd-view", ...told, onchange}, ...options);
    this.sheet = make("div", {role: "group", tabindex: "0"});
    this.element = make(
      "details",
      {class: "dsbd-more", ontoggle: () => this.refresh(), open: before?.element.open},
      make("summary", {text: say("ui.more")}),
      this.menu,
      this.sheet,
      make("p", {class: "dsbd-keys", text: say("ui.keys")}),
    );
    this.ready = false; // becomes true with the first step
    this.open(before?.panel.key ?? "text");
  }

  show(key) {
    this.element.open = true;
    this.open(key);
    this.element.scrollIntoView({block: "nearest"});
  }

  open(key) {
    this.panel = this.panels.find((panel) => panel.key === key);
    this.menu.value = key;
    set(this.sheet, {class: `dsbd-panel dsbd-panel-${key}`, "aria-label": this.panel.viewer.say(`tab.${key}`)});
    this.isStale = true;
    this.refresh();
  }

  /* changed: another iteration is shown. A closed fold updates when it is opened. */
  update(changed = false) {
    this.ready = true;
    this.isStale ||= changed;
    this.refresh();
  }

  refresh() {
    if (!this.ready || !this.element.open) return;
    if (this.isStale) this.panel.build(this.sheet);
    this.isStale = false;
    this.panel.update();
  }
}

/* Explains the marks that occur in the forest. */
export function drawLegend(viewer, place) {
  const {now, say} = viewer;
  const states = now.steps.flatMap((step) => step.changes.map(({state}) => state));
  const occurring = new Set(states.map((state) => viewer.mark(state).mark));
  const entry = (sign, text, mark = null) => make("li", {"data-mark": mark}, sign, make("span", {text}));
  const entries = Object.entries(STYLES)
    .filter(([mark]) => occurring.has(mark))
    .map(([mark, style]) => entry(symbol(style, mark), say(`mark.${mark}`), mark));
  if (now.steps.some((step) => step.changes.some(({slots}) => slots > 1))) {
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
    entries.push(entry(bar, say(layer.forest_mass === null ? "layer.at_least" : "layer.all_land")));
    entries.push(entry(line, `width_threshold = ${number(viewer.scene.settings.width_threshold)}`));
  }
  place.replaceChildren(...entries);
}
