/* The parts of an iteration as visualize/scenes/to_json.py packs them: a number that decides something keeps every
 * digit, a number that is only drawn keeps six, or four among the likeliest pairs. */

import {tailsOf} from "../../viewer/law/chances.js";
import {tidy} from "./layout.js";
import {significant, toPlaces} from "./rounding.js";
import {hexOf, shorten, visible, widthInColumns} from "./tokens.js";

const COVER_HEIGHT = 0.62; // rows: cover nodes are many and small, except those that a beam landed on
const FEW = 4; // digits
const NUMBERS = ["target_prob", "draft_prob", "target_log_prob", "draft_log_prob"];

/* A list of records as a table that names its fields once. */
export function listed(names, records) {
  const fields = names.split(" ");
  return {fields, rows: records.map((record) => fields.map((field) => record[field]))};
}

/* The row of every node of the forest, by id. */
export function rowsOf({input_beams, nodes, draws}) {
  const landed = new Set(draws.map(({node}) => node));
  const children = new Map();
  for (const {id, parent} of nodes) children.set(parent, [...(children.get(parent) ?? []), id]);
  const small = nodes.filter(({id, kind}) => kind === "cover" && !landed.has(id));
  const roots = input_beams.map(({node}) => node);
  const rows = tidy(children, roots, new Map(small.map(({id}) => [id, COVER_HEIGHT])));
  return new Map([...rows].map(([id, row]) => [id, toPlaces(row, 3)]));
}

/* The table of nodes: places: {id, parent, column, row, kept, log_weight} of each; prompt: the label of its end.
 * What the viewer can work out is null, and a row ends with its last value that is not null. */
export function nodeTable(places, running, isJoint, prompt) {
  const packed = listed(
    "id parent column row label token_id kind kept ends target_prob draft_prob target_log_prob draft_log_prob " +
      "log_weight adds pending token label_columns completes",
    places.map((place) => {
      const {node, label: token = prompt, adds, completes, pending, end} = running.at(place.id);
      const label = shorten(token);
      const columns = widthInColumns(label);
      const isInput = place.parent < 0;
      return {
        ...place,
        row: significant(place.row),
        label,
        token_id: node?.token_id ?? null,
        ...(isInput ? {kind: "input", ends: 0, ...NOTHING} : recorded(node, isJoint)),
        log_weight: significant(place.log_weight),
        adds: isInput ? end : adds === token.replaceAll("␣", " ") ? null : adds,
        pending: hexOf(pending) || null,
        token: token === label ? null : token,
        label_columns: columns === [...label].length ? null : columns,
        completes: (!isInput && completes) || null,
      };
    }),
  );
  for (const row of packed.rows) while (row[row.length - 1] === null) row.pop();
  return packed;
}

const NOTHING = Object.fromEntries(NUMBERS.map((name) => [name, null]));

/* Numbers of a draft decide its verdict, log-probabilities only in a joint test. */
function recorded(node, isJoint) {
  const isExact = (name) => node.kind === "drafted" && (isJoint || !name.includes("log"));
  const shown = NUMBERS.map((name) => [name, isExact(name) ? node[name] : significant(node[name])]);
  return {kind: node.kind, ends: Number(node.ends), ...Object.fromEntries(shown)};
}

/* Trials, draws and beginnings, with every digit. */
export function decisions({trials, draws, beginnings}, places) {
  const placed = (names, items) =>
    listed(
      names,
      items.map((item) => ({...item, node: places.get(item.node)})),
    );
  return {
    trials: placed("layer order node verdict draft_prob residual_prob c S acceptance uniform joint", trials),
    draws: placed("layer order kind node landed target_prob draft_prob c S uniform cdf_low cdf_high", draws),
    beginnings: placed("node target_prob probability rest acceptance uniform", beginnings),
  };
}

/* steps: the place of the step that chooses the width of each layer. */
export function layersOf({layers, draws}, places, steps, settings) {
  const names = "layer kind width width_reason accepted outcome forest_mass width_uniform chain_S".split(" ");
  return layers.map((layer, at) => ({
    ...Object.fromEntries(names.map((name) => [name, layer[name]])),
    at_least: chancesOf(layer, settings, draws),
    support: layer.target_support,
    alive: layer.alive.map((node) => places.get(node)),
    step: steps[at],
  }));
}

/* P(accepted >= k), in a likely forest P(k draws all land), for k = 1, 2, ... Greedy draws without replacement are
 * certain, so they tell which of them land. */
function chancesOf({forest_mass, acceptance_chain, width, layer}, settings, draws) {
  if (forest_mass === null) return tailsOf(acceptance_chain);
  const own = draws.filter((draw) => draw.layer === layer);
  const isCertain = settings?.temperature === 0 && !settings.replacement;
  const areLanded = (k) => own.length >= k && own.slice(0, k).every(({landed}) => landed);
  const chance = (k) => (isCertain ? Number(areLanded(k)) : forest_mass ** k);
  return Array.from({length: settings?.max_width ?? width}, (_, at) => chance(at + 1));
}

/* The likeliest pairs of all layers. */
export function alternativesOf({layers}, places, running) {
  const pairs = layers.flatMap(({layer, alive, alternatives}) =>
    alternatives.map((pair) => ({
      layer,
      parent: alive.length > 1 ? (running.at(pair.parent).label ?? "") : "",
      token: visible(pair.text),
      target_prob: significant(pair.target_prob, FEW),
      draft_prob: significant(pair.draft_prob, FEW),
      node: places.get(pair.node) ?? -1,
    })),
  );
  return listed("layer parent token target_prob draft_prob node", pairs);
}

/* Beams, {node, multiplicity, log_weight, finished}. */
export const beamTable = (beams) =>
  listed(
    "node multiplicity log_weight finished",
    beams.map((beam) => ({...beam, log_weight: significant(beam.log_weight)})),
  );
