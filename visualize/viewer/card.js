/* The card beside the forest: a node's arithmetic, or a layer's width; with nothing chosen, a node as an example. */

import {button, clamp, iconButton, make, symbol} from "./dom.js";
import {number, tellApart} from "./words.js";

const SAID = 48; // characters of running text shown above a node's numbers

export function drawCard(viewer, card) {
  const step = viewer.now.steps[viewer.step];
  const index = viewer.pointed;
  let parts = [make("p", {class: "dsbd-hint", text: viewer.say("ui.node_hint")})];
  if (index >= 0 && viewer.look[index]) parts = nodeCard(viewer, index);
  else if (step.layer && step.phase !== "draft") parts = layerCard(viewer, viewer.now.layer(step.layer));
  else if (viewer.look[viewer.now.example]) parts.push(...nodeCard(viewer, viewer.now.example));
  const close = () => viewer.pin(-1);
  card.replaceChildren(iconButton("close", viewer.say("ui.close"), close, {class: "dsbd-close"}), ...parts);
  card.scrollTop = 0;
}

/* The arithmetic behind the sentence of the step, in a fold. */
export function drawFormula(viewer, element) {
  const {now, words} = viewer;
  const {focus} = now.steps[viewer.step];
  const fact = now.facts[focus]?.find((entry) => entry.step === viewer.step);
  const text = fact ? words.detail(fact, now.nodes[focus]) : "";
  element.replaceChildren(...(text ? [formulaFold(viewer, make("p", {text}))] : []));
}

/* A fold with formulas. Once the reader has opened it, it stays open from step to step. */
function formulaFold(viewer, ...inside) {
  const ontoggle = () => (viewer.formulas = fold.open);
  const summary = make("summary", {text: viewer.say("ui.formula")});
  const fold = make("details", {class: "dsbd-formula", open: viewer.formulas, ontoggle}, summary, ...inside);
  return fold;
}

function nodeCard(viewer, index) {
  const {now, say} = viewer;
  const node = now.nodes[index];
  const look = viewer.look[index];
  const scored = viewer.step >= now.scoredStep;
  const {style, mark, name} = viewer.mark(look.state);
  const [times, ...notes] = viewer.notesOf(node, look);
  const note = [`${name} ${times}`.trim(), ...notes].filter(Boolean).join(" · ");
  const state = make("span", {class: "dsbd-state"}, symbol(style, mark), note);
  const token = make("bdi", {class: "dsbd-token", text: viewer.labelOf(node, "token")});
  const parts = [token, state, make("p", {class: "dsbd-path", dir: "auto", text: textUpTo(now, index)})];
  const completed = say("node.completes", {character: node.completes});
  if (node.completes) parts.push(make("p", {class: "dsbd-hint", text: completed}));
  const written = viewer.options.oncontinue && node.id && !node.ends ? viewer.scene.written(node.id) : null;
  const goOn = () => viewer.options.oncontinue(written);
  if (written !== null) parts.push(button({class: "dsbd-continue", text: say("node.continue"), onclick: goOn}));
  const known = [
    ["draft", node.draft_prob],
    ["target", scored ? node.target_prob : null],
  ].filter(([, value]) => value !== null);
  const texts = tellApart(...known.map(([, value]) => value));
  known.forEach(([kind, value], at) => parts.push(bar(say(`ui.${kind}`), value, kind, texts[at])));
  const alone = alonePart(viewer, node, known);
  const facts = now.facts[index].filter((fact) => fact.step <= viewer.step).reverse();
  parts.push(
    make("ul", {class: "dsbd-facts"}, ...facts.map((fact) => factItem(viewer, fact))),
    formulaFold(
      viewer,
      ...(alone ? [make("p", {class: "dsbd-hint", text: alone})] : []),
      ...facts.flatMap((fact) => arithmetic(viewer, node, fact)),
      make("p", {class: "dsbd-small", text: small(viewer, node, scored)}),
    ),
  );
  return parts;
}

/* The bars are shares among all versions of the text: what the models themselves give the token after this one, where
 * that is another number. A record has it before temperature, so it is said at temperature 1. */
function alonePart({say, scene}, node, known) {
  const own = known
    .filter(([kind]) => node[`${kind}_log_prob`] !== null)
    .map(([kind, joint]) => [kind, number(Math.exp(node[`${kind}_log_prob`])), number(joint)]);
  if (scene.settings.temperature !== 1 || own.every(([, alone, joint]) => alone === joint)) return "";
  return say("node.alone", {probs: own.map(([kind, alone]) => `${say(`ui.${kind}`)} ${alone}`).join(", ")});
}

/* A fact's formulas and the residual before and after it. */
function arithmetic({now, words, say}, node, fact) {
  const [before, after] = residuals(now, fact);
  const lines = [words.detail(fact, node)];
  if (before) lines.push(say("residual.before", before));
  if (after) lines.push(say("residual.after", after));
  return lines.filter(Boolean).map((text) => make("p", {class: "dsbd-detail", text}));
}

/* The logarithms of both models, the id of the token, and the log-weight of an input beam. */
function small({say}, node, scored) {
  const parts = [];
  const fact = (key, value) => {
    if (value !== null) parts.push(`${say(key)} ${number(value)}`);
  };
  if (scored) fact("ui.target_log_prob", node.target_log_prob);
  fact("ui.draft_log_prob", node.draft_log_prob);
  if (node.token_id !== null) parts.push(`${say("ui.token")} ${node.token_id}`);
  if (node.ends) parts.push(say("node.ends"));
  fact("ui.log_weight", node.log_weight);
  return parts.join(" · ") + (node.log_weight === null ? "" : `. ${say("term.log_weight")}`);
}

/* The end of the running text up to a node, from the beginning of a word. */
function textUpTo({nodes}, index) {
  let text = "";
  for (let at = index; at >= 0; at = nodes[at].parent) text = (nodes[at].ends ? " ∎" : nodes[at].adds) + text;
  const characters = [...text];
  if (characters.length <= SAID) return text + nodes[index].pending;
  const end = characters.slice(-SAID).join("");
  const word = end.indexOf(" ");
  return `… ${end.slice(word >= 0 && word < SAID / 2 ? word + 1 : 0)}${nodes[index].pending}`;
}

export function bar(name, value, kind, text = number(value)) {
  const fill = make("i", {class: `dsbd-fill dsbd-${kind}`});
  fill.style.width = `${100 * clamp(value, 0, 1)}%`;
  const rail = make("div", {class: "dsbd-rail"}, fill);
  return make("div", {class: "dsbd-bar"}, make("span", {text: name}), rail, make("b", {text}));
}

function factItem(viewer, fact) {
  const {words, now} = viewer;
  const range = gaugeOf(fact);
  const title = make("span", {class: "dsbd-fact-title", text: words.title(now, fact)});
  const parts = [title, make("p", {text: words.verdict(now, fact)}), ...(range ? [gauge(range)] : [])];
  return make("li", {class: fact.step === viewer.step ? "dsbd-current" : null}, ...parts);
}

function gaugeOf({trial, draw}) {
  if (draw) {
    return draw.uniform === null ? null : {low: draw.cdf_low, high: draw.cdf_high, u: draw.uniform, mark: "picked"};
  }
  const {acceptance, uniform} = trial;
  return acceptance === null || uniform === null ? null : {low: 0, high: acceptance, u: uniform, mark: "kept"};
}

/* 0 to 1, the interval that decides, and the random number as a tick. */
export function gauge({low, high, u, mark}) {
  const range = make("i", {class: "dsbd-range"});
  const tick = make("i", {class: "dsbd-tick"});
  range.style.insetInlineStart = `${100 * low}%`;
  range.style.width = `${100 * Math.max(high - low, 0.004)}%`;
  range.style.background = `var(--dsbd-${mark})`;
  tick.style.insetInlineStart = `${100 * u}%`;
  return make("div", {class: "dsbd-gauge", "aria-hidden": "true"}, range, tick);
}

/* c and S before a trial, and those of the next record of its layer. */
function residuals(iteration, {trial, draw}) {
  const numbersOf = (item) =>
    item && item.c !== null && item.S !== null ? {c: number(item.c), S: number(item.S)} : null;
  if (draw) return [numbersOf(draw), null];
  if (trial.c === null) return [null, null];
  const later = [...iteration.trials.filter((other) => other.order > trial.order), ...iteration.draws];
  return [numbersOf(trial), numbersOf(later.find((item) => item.layer === trial.layer && item.c !== null))];
}

/* A layer: why it has its width, and P(accepted >= k) beside the threshold, with enough digits to tell them apart. */
function layerCard(viewer, layer) {
  if (!layer) return [];
  const threshold = viewer.scene.settings.width_threshold;
  const rows = layer.chances.map((value, at) => {
    const [text] = tellApart(value, threshold);
    const row = bar(`≥ ${at + 1}`, value, "plain", text);
    row.classList.toggle("dsbd-chosen", at < layer.width);
    const line = make("i", {class: "dsbd-threshold"});
    line.style.insetInlineStart = `${100 * threshold}%`;
    row.children[1].append(line);
    return row;
  });
  return [
    make("span", {class: "dsbd-token dsbd-plain", text: viewer.words.layerTitle(layer, viewer.now.before)}),
    make("p", {text: viewer.words.width(layer, viewer.scene.settings)}),
    ...(rows.length ? [make("p", {class: "dsbd-fact-title", text: viewer.say("layer.at_least")})] : []),
    ...rows,
  ];
}
