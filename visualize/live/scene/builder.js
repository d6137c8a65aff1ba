/* Builds the scene of a decode, iteration by iteration, as the viewer reads it (dsbd-scene/3). Twin of
 * visualize/scenes/ for what a browser decodes; it packs nothing and rounds nothing.
 *
 *   const builder = new SceneBuilder({prompt, settings, models}, language);
 *   builder.add(iteration);
 *   viewer.setScene(builder.scene({last: 1}), {follow: true});
 *
 * All that it is given is plain data of a trace (dsbd-trace/1). */

import {STRINGS} from "../../viewer/base/languages.js";
import {markOf} from "../../viewer/base/marks.js";
import {tailsOf} from "../../viewer/law/chances.js";
import {countsOf} from "../counts.js";
import {rowsOf} from "./layout.js";
import {RunningText} from "./running.js";
import {stepsOf} from "./steps.js";
import {flowing, hexOf, shorten, visible} from "./tokens.js";
import {join, place} from "./whole.js";

const NO_NUMBERS = {target_prob: null, draft_prob: null, target_log_prob: null, draft_log_prob: null};

export class SceneBuilder {
  constructor({prompt, settings, models: {target, draft}}, language) {
    this.settings = settings;
    this.models = [target, draft].filter(Boolean).map(({id}) => id);
    this.language = STRINGS[language] ? language : "en";
    this.running = new RunningText(prompt);
    this.tokens = new Map(); // of all beams, by id
    this.states = new Map(); // of all nodes, by id
    this.joined = new Map(); // the nodes of the whole tree, by id
    this.bands = [];
    this.recorded = [];
    this.iterations = [];
  }

  /* Takes the next iteration. */
  add(iteration) {
    const {index, input_beams, nodes, layers, phases, kept} = iteration;
    this.running.take(nodes);
    const ids = [...input_beams.map(({node}) => node), ...nodes.map(({id}) => id)];
    const places = new Map(ids.map((id, at) => [id, at]));
    const {steps, scored, widths, looks} = stepsOf(iteration, places);
    for (const node of nodes) {
      const [state] = looks.get(node.id);
      this.states.set(node.id, state);
      if (state !== "cover") join(this.joined, node, markOf(state), index);
    }
    const before = this.bands.at(-1)?.last ?? 0;
    const after = this.beamsAfter(iteration);
    const drawn = this.nodes(iteration, places, after);
    const decided = (items) => listed(items.map((item) => ({...item, node: places.get(item.node)})));
    this.bands.push({iteration: index, first: before + 1, last: before + layers.length});
    this.iterations.push({
      index,
      before,
      last_column: Math.max(0, ...nodes.map(({layer}) => layer)),
      last_row: Math.max(0, ...drawn.map(({row}) => row)),
      scored_step: scored,
      nodes: listed(drawn),
      trials: decided(iteration.trials),
      draws: decided(iteration.draws),
      beginnings: decided(iteration.beginnings ?? []),
      layers: layers.map((layer, at) => ({
        ...layer,
        at_least: chancesOf(layer, this.settings, iteration.draws),
        support: layer.target_support,
        alive: layer.alive.map((node) => places.get(node)),
        step: widths[at],
      })),
      alternatives: listed(layers.flatMap((layer) => this.alternatives(layer, places))),
      steps: listed(steps),
      beams_before: listed(this.ranked(input_beams, false)),
      beams_after: listed(after),
      seconds: Object.fromEntries(Object.entries(phases).map(([name, spent]) => [name.replace("_seconds", ""), spent])),
      slots: {
        prompt: kept.prompt_slots,
        before: this.recorded.at(-1)?.kept.slots_kept ?? kept.prompt_slots,
        scored: kept.slots_scored,
        kept: kept.slots_kept,
        nodes: kept.nodes.flatMap((id) => places.get(id) ?? []).sort((one, other) => one - other),
      },
    });
    this.recorded.push(iteration);
  }

  /* The scene so far. beams: of the result, once there is one. best: the last node of the best beam. last: only this
   * many of the newest iterations; the text stays whole. */
  scene({beams = [], best = beams[0].node, last = Infinity}) {
    const {language, settings, models, joined, iterations} = this;
    return {
      format: "dsbd-scene/3",
      language,
      title: settings.method,
      models,
      settings,
      prompt: this.running.prompt,
      tokens: listed([...this.tokens.values()]),
      whole: {...place(joined, best), nodes: listed([...joined.values()]), bands: listed(this.bands)},
      iterations: iterations.slice(Math.max(0, iterations.length - last)),
      statistics: countsOf(this.recorded),
      result: beams.map((beam) => ({...beam, text: flowing(beam.text)})),
      evidence: null,
    };
  }

  /* The nodes of an iteration, each with its place; `beams` are those to which the kept ones lead. */
  nodes(iteration, places, beams) {
    const {running, language} = this;
    const rows = rowsOf(iteration);
    const kept = new Set();
    for (const beam of beams) {
      for (let id = beam.node; places.has(id) && !kept.has(id); id = running.at(id).node?.parent) kept.add(id);
    }
    const drawn = (id) => {
      const {node, label: token = STRINGS[language]["node.prompt"], adds, completes, pending} = running.at(id);
      const text = {label: shorten(token), token, adds, completes, pending: hexOf(pending)};
      return {id, ...text, token_id: node?.token_id ?? null, row: rows.get(id), kept: kept.has(id)};
    };
    const inputOf = ({node, log_weight}) => {
      const own = {parent: -1, column: 0, kind: "input", ends: false, log_weight};
      return {...drawn(node), ...NO_NUMBERS, ...own, adds: running.at(node).end, completes: ""};
    };
    const belowOf = (node) => {
      return {...node, ...drawn(node.id), parent: places.get(node.parent), column: node.layer, log_weight: null};
    };
    return [...iteration.input_beams.map(inputOf), ...iteration.nodes.map(belowOf)];
  }

  /* The beams that go on and those that ended. */
  beamsAfter({layers, output_beams}) {
    const ended = layers.flatMap(({beams, finished}) => beams.filter(({node}) => finished.includes(node)));
    return [...this.ranked(output_beams, false), ...this.ranked(ended, true)];
  }

  /* Beams, best first; from now on their tokens are part of the text. */
  ranked(beams, finished) {
    const sorted = [...beams].sort((one, other) => other.log_weight - one.log_weight);
    for (const {node} of sorted) this.remember(node);
    return sorted.map((beam) => ({...beam, finished}));
  }

  remember(beam) {
    const {running, tokens} = this;
    const path = [];
    for (let at = running.at(beam); at.node && !tokens.has(at.node.id); at = running.at(at.node.parent)) path.push(at);
    for (const {node, adds, pending} of path.reverse()) {
      const {id, parent} = node;
      tokens.set(id, {id, parent, text: adds, pending: hexOf(pending), origin: this.states.get(id)});
    }
  }

  /* The likeliest pairs of a layer. */
  alternatives({layer, alive, alternatives}, places) {
    return alternatives.map(({parent, text, target_prob, draft_prob, node}) => ({
      layer,
      parent: alive.length > 1 ? (this.running.at(parent).label ?? "") : "",
      token: visible(text),
      target_prob,
      draft_prob,
      node: places.get(node) ?? -1,
    }));
  }
}

/* Records as a table that names the fields of the first one once. */
function listed(records) {
  const fields = Object.keys(records[0] ?? {});
  return {fields, rows: records.map((record) => fields.map((field) => record[field]))};
}

/* P(accepted >= k), in a likely forest P(k draws all land), for k = 1, 2, ... Greedy draws without replacement are
 * certain, so they tell which of them land. */
function chancesOf({forest_mass, acceptance_chain, layer}, {temperature, replacement, max_width}, draws) {
  if (forest_mass === null) return tailsOf(acceptance_chain);
  const own = draws.filter((draw) => draw.layer === layer);
  const areLanded = (k) => own.length >= k && own.slice(0, k).every(({landed}) => landed);
  const isCertain = temperature === 0 && !replacement;
  const chance = (k) => (isCertain ? Number(areLanded(k)) : forest_mass ** k);
  return Array.from({length: max_width}, (_, at) => chance(at + 1));
}
