/* The tables of an iteration, as visualize/scenes/to_json.py packs them: a number that decides something keeps every
 * digit, a number that is only drawn keeps six, or four among the likeliest pairs. */

import {rounded} from "./rounding.js";
import {chancesOf} from "./steps.js";
import {flowing, pieceLabel, shorten, visible, widthInColumns} from "./tokens.js";

export const NODE = [
  ..."id parent column row label token_id kind kept ends target_prob draft_prob target_log_prob".split(" "),
  ..."draft_log_prob log_weight adds pending token label_columns completes".split(" "),
];
const TRIAL = "layer order node verdict draft_prob residual_prob c S acceptance uniform joint".split(" ");
const BEGINNING = "node target_prob probability rest acceptance uniform".split(" ");
const DRAW = "layer order kind node landed target_prob draft_prob c S uniform cdf_low cdf_high".split(" ");
const LAYER = "layer kind width width_reason accepted outcome forest_mass width_uniform chain_S".split(" ");
export const PHASES = "draft score verify commit".split(" ");
const FEW = 4; // digits

export const table = (fields, rows) => ({fields, rows});

/* A node. What the viewer can work out is null, and a row ends with its last value that is not null.
 * parent: its place, below 0 for an input beam; root: the label of the end of the prompt. */
export function nodeRow({id, parent, column, row, isKept, logWeight}, running, isJoint, root) {
  const node = running.nodes.get(id);
  const isInput = parent < 0;
  const token = node ? pieceLabel(node) : root;
  const label = shorten(token);
  const columns = widthInColumns(label);
  const added = isInput ? null : running.addedBy(node);
  const adds = added ? flowing(added.text) : running.endAt(id)[0];
  const values = [
    ...[id, parent, column, rounded(row), label, node?.token_id ?? null, isInput ? "input" : node.kind],
    ...[Number(isKept), Number(!isInput && node.ends), ...(isInput ? [null, null, null, null] : laws(node, isJoint))],
    ...[rounded(logWeight), added && adds === token.replaceAll("␣", " ") ? null : adds, running.waitingAt(id) || null],
    ...[token === label ? null : token, columns === [...label].length ? null : columns],
    added?.completes ? visible(added.text) : null,
  ];
  while (values[values.length - 1] === null) values.pop();
  return values;
}

/* The probabilities of a node; those of a draft decide its verdict, in a joint test those of both models alone. */
function laws({kind, target_prob, draft_prob, target_log_prob, draft_log_prob}, isJoint) {
  const isExact = kind === "drafted";
  const shown = (value, keepsAll) => (keepsAll ? value : rounded(value));
  return [
    ...[target_prob, draft_prob].map((value) => shown(value, isExact)),
    ...[target_log_prob, draft_log_prob].map((value) => shown(value, isExact && isJoint)),
  ];
}

/* Trials, draws and beginnings, with every digit; a node is named by its place. */
export function decisions({trials, draws, beginnings}, places) {
  const cell = (item, field) => (field === "node" ? places.get(item.node) : item[field]);
  const listed = (fields, items) =>
    table(
      fields,
      items.map((item) => fields.map((field) => cell(item, field))),
    );
  return {trials: listed(TRIAL, trials), draws: listed(DRAW, draws), beginnings: listed(BEGINNING, beginnings)};
}

export function layersOf({layers, draws}, places, widthSteps, settings) {
  return layers.map((layer, at) => ({
    ...Object.fromEntries(LAYER.map((field) => [field, layer[field]])),
    at_least: chancesOf(layer, settings, draws),
    support: layer.target_support,
    alive: layer.alive.map((node) => places.get(node)),
    step: widthSteps[at],
  }));
}

/* The likeliest pairs of all layers. */
export function alternativesOf({layers}, places, nodes) {
  const rows = layers.flatMap(({layer, alive, alternatives}) =>
    alternatives.map(({parent, text, target_prob, draft_prob, node}) => {
      const above = alive.length > 1 ? nodes.get(parent) : null;
      const probs = [rounded(target_prob, FEW), rounded(draft_prob, FEW)];
      return [layer, above ? pieceLabel(above) : "", visible(text), ...probs, places.get(node) ?? -1];
    }),
  );
  return table("layer parent token target_prob draft_prob node".split(" "), rows);
}

/* beams: {node, multiplicity, log_weight, isFinished}. */
export const beamTable = (beams) =>
  table(
    "node multiplicity log_weight finished".split(" "),
    beams.map(({node, multiplicity, log_weight, isFinished}) => [node, multiplicity, rounded(log_weight), isFinished]),
  );

export const secondsOf = ({phases}) =>
  Object.fromEntries(PHASES.map((phase) => [phase, rounded(phases[`${phase}_seconds`])]));

/* The target's cache slots of an iteration. */
export const cacheSlotsOf = ({kept}, before, places) => ({
  prompt: kept.prompt_slots,
  before,
  scored: kept.slots_scored,
  kept: kept.slots_kept,
  nodes: kept.nodes.flatMap((node) => places.get(node) ?? []).sort((one, other) => one - other),
});
