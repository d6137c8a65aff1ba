/* The layout of a viewer: the memory of a long prompt, the strip, the sentence and the controls, forest and card, the
 * legend, and a fold with everything else. A bare viewer has sentence, forest and card only. */

import {ChartsPanel} from "../views/charts.js";
import {CutPanel} from "../views/cut_fill.js";
import {button, iconButton, make} from "../base/dom.js";
import {saveCsv, saveGif, savePicture, savePng, saveSvg} from "./exports.js";
import {NAMES, STRINGS, remember} from "../base/languages.js";
import {MaskPanel} from "../views/mask.js";
import {SlotsPanel} from "../views/slots.js";
import {ResultPanel} from "../views/summary.js";
import {TablePanel} from "../views/table.js";
import {TextPanel} from "../views/text.js";
import {TreePanel} from "../views/tree.js";
import {Views} from "./views.js";
import {WhatIfPanel} from "../views/whatif_panel.js";

const PANELS = [
  TextPanel,
  CutPanel,
  WhatIfPanel,
  MaskPanel,
  SlotsPanel,
  ChartsPanel,
  TreePanel,
  TablePanel,
  ResultPanel,
];

/* Fills the viewer's root and returns the parts that steps change. state: the fold as it was before. */
export function buildShell(viewer, state) {
  const {say, controls, forest, badge, strip, memory, game} = viewer;
  const parts = {
    title: make("h2", {class: "dsbd-title"}),
    empty: make("p", {class: "dsbd-empty", text: say("ui.empty")}),
    sentence: make("p", {class: "dsbd-sentence", "aria-live": "polite", "aria-atomic": "true"}),
    formula: make("div", {class: "dsbd-formula-place"}),
    card: make("aside", {class: "dsbd-card", tabindex: "0", "aria-label": say("ui.card")}),
    legend: make("ul", {class: "dsbd-below dsbd-legend", "aria-label": say("ui.legend")}),
    views: new Views(
      viewer,
      PANELS.map((Panel) => Object.assign(new Panel(), {viewer})),
      tools(viewer),
      [badge.told, make("p", {class: "dsbd-keys", text: say("ui.keys")})],
      state,
    ),
  };
  forest.element.setAttribute("aria-label", say("ui.drawing"));
  parts.whole = make(
    "header",
    {class: "dsbd-whole"},
    make("div", {class: "dsbd-where"}, parts.title, controls.scrub, badge.element),
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

function tools(viewer) {
  const {say, forest} = viewer;
  const zoom = (name, factor) => iconButton(name, say(`ui.${name}`), () => forest.zoomBy(factor));
  const save = (kind, act) => button({class: `dsbd-${kind}`, text: say(`ui.${kind}`), onclick: () => act(viewer)});
  return [
    zoom("smaller", 0.8),
    zoom("larger", 1.25),
    zoom("reset", 0),
    save("svg", saveSvg),
    save("png", savePng),
    save("csv", saveCsv),
    save("picture", savePicture),
    save("gif", saveGif),
  ];
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
    ...Object.keys(STRINGS).map((code) => make("option", {value: code, lang: code, text: NAMES[code]})),
  );
  select.value = viewer.words.language;
  return make("label", {class: "dsbd-languages"}, make("span", {text: viewer.say("ui.language")}), select);
}
