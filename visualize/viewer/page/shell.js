/* The frame of a viewer: title, badge and tools on top; controls, sentence, forest and card; legend and views below. */

import {ChartsPanel} from "../views/charts.js";
import {glyph, make, symbol} from "../base/dom.js";
import {saveCsv, savePng, saveSvg} from "./exports.js";
import {NAMES, STRINGS, STYLES} from "../base/languages.js";
import {MaskPanel} from "../views/mask.js";
import {SlotsPanel} from "../views/slots.js";
import {LayersPanel, ResultPanel} from "../views/summary.js";
import {TablePanel} from "../views/table.js";
import {Tabs} from "./tabs.js";
import {TextPanel} from "../views/text.js";
import {TreePanel} from "../views/tree.js";
import {WhatIfPanel} from "../views/whatif_panel.js";

const LEGEND = [
  "input",
  "drafted",
  "cover",
  "accepted",
  "carried",
  "rejected",
  "orphaned",
  "unneeded",
  "recovered",
  "fresh",
  "bonus",
  "landed",
];
const PANELS = [
  TextPanel,
  WhatIfPanel,
  MaskPanel,
  SlotsPanel,
  ChartsPanel,
  LayersPanel,
  TreePanel,
  TablePanel,
  ResultPanel,
];

/* Fills the viewer's root and returns the parts that steps change. open: the view to begin with. */
export function buildShell(viewer, open) {
  const {say, controls, forest, badge} = viewer;
  const parts = {
    title: make("h3", {class: "dsbd-title"}),
    empty: make("p", {class: "dsbd-empty", text: say("ui.empty")}),
    chip: make("span", {class: "dsbd-chip"}),
    sentence: make("p", {class: "dsbd-sentence", "aria-live": "polite", "aria-atomic": "true"}),
    card: make("aside", {class: "dsbd-card", tabindex: "0", "aria-label": say("ui.card")}),
    tabs: new Tabs(
      viewer,
      PANELS.map((Panel) => new Panel(viewer)),
      open,
    ),
  };
  forest.element.setAttribute("aria-label", say("ui.drawing"));
  parts.body = make(
    "div",
    {class: "dsbd-body"},
    controls.element,
    make("div", {class: "dsbd-told"}, parts.chip, parts.sentence),
    make("div", {class: "dsbd-stage"}, forest.element, parts.card),
    legend(say),
    parts.tabs.element,
    make("p", {class: "dsbd-keys", text: say("ui.keys")}),
  );
  const name = make("div", {class: "dsbd-name-and-badge"}, parts.title, badge.element);
  viewer.root.replaceChildren(make("header", {class: "dsbd-head"}, name, tools(viewer)), parts.empty, parts.body);
  return parts;
}

function tools(viewer) {
  const {say, forest} = viewer;
  const button = (key, act) => make("button", {type: "button", text: say(key), onclick: act});
  const icon = (name, act) =>
    make(
      "button",
      {type: "button", title: say(`ui.${name}`), "aria-label": say(`ui.${name}`), onclick: act},
      glyph(name),
    );
  return make(
    "div",
    {class: "dsbd-tools"},
    icon("smaller", () => forest.zoomBy(0.8)),
    icon("larger", () => forest.zoomBy(1.25)),
    icon("reset", () => forest.zoomBy(0)),
    button("ui.svg", () => saveSvg(viewer)),
    button("ui.png", () => savePng(viewer)),
    make("button", {type: "button", class: "dsbd-csv", text: say("ui.csv"), onclick: () => saveCsv(viewer)}),
    languages(viewer),
  );
}

/* The switch keeps the focus, though all around it is built anew. */
function languages(viewer) {
  const label = viewer.say("ui.language");
  const change = (event) => {
    viewer.setLanguage(event.target.value);
    viewer.root.querySelector(".dsbd-language").focus();
  };
  const select = make(
    "select",
    {"aria-label": label, title: label, class: "dsbd-language", onchange: change},
    ...Object.keys(STRINGS).map((code) => make("option", {value: code, lang: code, text: NAMES[code]})),
  );
  select.value = viewer.words.language;
  return select;
}

function legend(say) {
  return make(
    "ul",
    {class: "dsbd-legend", "aria-label": say("ui.legend")},
    ...LEGEND.map((state) => make("li", {}, symbol(STYLES[state], state), make("span", {text: say(`state.${state}`)}))),
  );
}
