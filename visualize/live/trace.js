/* Decodes a prompt with a pair of models, and records the decode as a trace, dsbd-trace/2, as plain data:
 * dsbd/tracing/records.py says what each field means. It has no digest: that is made of the JSON that Python writes. */

import {GENERATOR, generatorOf, iterations, ranked} from "./decode.js";
import {COUNTED} from "./verify.js";
import {idsOf} from "./lookup.js";
import {Refused, resolved} from "./settings.js";
import {bestOf} from "../viewer/distribution.js";

/** @import {Iteration, Layer, LiveNode, LivePair, Node, VerifiedLayer} from "../viewer/types" */

const ROOT = 0; // the id of the end of the prompt
const ALTERNATIVES = 5;

/** Decodes to the end. Yields {start}, the trace before its first iteration; then for each iteration {iteration, best}:
 * its record and the text of the best beam so far; at last {trace}. `check` throws to stop, and is called before each
 * call of a model; `now` gives milliseconds; `guess`: the ids of texts that are expected.
 * @param {LivePair} pair @param {{text: string, ids: number[]}} prompt
 * @param {any} wishes the settings as a form or a trace has them
 * @param {{check?: () => void, now?: () => number, guess?: number[][]}} options */
export async function* decode(pair, prompt, wishes, options = {}) {
  const {check = () => {}, now = () => performance.now(), guess = []} = options;
  const settings = resolved(wishes);
  const context = Math.min(pair.target.context ?? Infinity, pair.draft?.context ?? Infinity);
  if (prompt.ids.length + settings.max_new_tokens > context) {
    const [size, value] = [prompt.ids.length, settings.max_new_tokens];
    throw new Refused("room", {name: "max_new_tokens", size, value, context});
  }
  const recorder = new Recorder(pair, prompt, settings);
  const run = iterations(pair, prompt.ids, settings, {generator: generatorOf(settings.seed), now, guess});
  yield {start: recorder.start()};
  let step = run.next();
  while (!step.done) {
    if (typeof step.value === "function") {
      check();
      step = run.next(await step.value());
    } else {
      const [{node}] = ranked(step.value, settings);
      yield {iteration: recorder.add(step.value), best: pair.tokenizer.decode(idsOf(node))};
      step = run.next();
    }
  }
  const head = {format: "dsbd-trace/2", software: {generator: GENERATOR}, ...recorder.start()};
  const expected = guess.length ? {guess} : {};
  yield {trace: {...head, iterations: recorder.iterations, result: recorder.result(step.value), ...expected}};
}

class Recorder {
  /** @type {Iteration[]} */ iterations = [];
  /** @type {Map<LiveNode, number>} */ ids = new Map();

  /** @param {LivePair} pair */
  constructor(pair, prompt, settings) {
    this.pair = pair;
    this.prompt = prompt;
    this.settings = settings;
  }

  /* What a trace says before the first iteration. */
  start() {
    const {pair, prompt, settings} = this;
    const {tokenizer} = pair;
    const modelOf = ({id, revision, ...model}) => {
      const {dtype, device, vocabulary: vocabulary_size, attention} = model;
      return {id, revision, dtype, device, vocabulary_size, attention};
    };
    const pieces = prompt.ids.map((id) => {
      const [text, bytes] = tokenizer.piece(id);
      return {token_id: id, text, bytes, special: tokenizer.isSpecial(id)};
    });
    const models = {target: modelOf(pair.target), draft: pair.draft ? modelOf(pair.draft) : null};
    return {models, settings, seed: settings.seed, prompt: {text: prompt.text, pieces}};
  }

  result(end) {
    const beams = ranked(end, this.settings).map(({node, ...beam}) => {
      const token_ids = idsOf(node);
      return {node: this.ids.get(node), text: this.pair.tokenizer.decode(token_ids), token_ids, ...beam};
    });
    const [{text, token_ids}] = beams;
    return {text, token_ids, beams, stats: this.stats(token_ids.length, end)};
  }

  stats(new_tokens, {prefill_seconds, states, draft_calls}) {
    const {iterations, prompt} = this;
    const sumOf = (numberOf) => iterations.reduce((sum, one) => sum + numberOf(one), 0);
    const ratio = (part, whole) => (whole ? part / whole : null);
    const verdict = (name) => sumOf(({trials}) => trials.filter((one) => one.verdict === name).length);
    const drawn = (name) => sumOf(({draws}) => draws.filter((one) => one.kind === name).length);
    const counts = Object.fromEntries([
      ...COUNTED.verdict.map((name) => [name, verdict(name)]),
      ...COUNTED.kind.map((name) => [name, drawn(name)]),
      ["landed", sumOf(({draws}) => draws.filter(({landed}) => landed).length)],
      ["iterations", iterations.length],
      ["layers", sumOf(({layers}) => layers.length)],
    ]);
    const phases = Object.keys(iterations[0].phases).map((phase) => [phase, sumOf((one) => one.phases[phase])]);
    const seconds = phases.reduce((sum, [, spent]) => sum + spent, 0);
    const widths = sumOf(({layers}) => layers.reduce((sum, {width}) => sum + width, 0));
    const forPrompt = Number(prompt.ids.length > 1);
    const bytes = (state) => (state ? state.peak * state.bytesPerSlot : 0);
    return {
      new_tokens,
      ...counts,
      acceptance_rate: ratio(counts.accepted, counts.accepted + counts.rejected),
      layers_per_iteration: ratio(counts.layers, iterations.length),
      mean_width: ratio(widths, counts.layers),
      target_calls: iterations.length + forPrompt,
      draft_calls: states.draft ? draft_calls + forPrompt : 0,
      seconds: prefill_seconds + seconds,
      prefill_seconds,
      ...Object.fromEntries(phases),
      tokens_per_second: seconds > 0 ? counts.layers / seconds : 0,
      kv_peak_slots: Math.max(...iterations.map(({kept}) => kept.slots_scored)),
      kv_peak_bytes: bytes(states.target) + bytes(states.draft),
    };
  }

  /** The record of an iteration that `iterations` yields; new nodes get their ids. @returns {Iteration} */
  add(step) {
    const {ids, pair, prompt} = this;
    const {index, input_beams, forest, layers, kept, slots_scored, slots_kept, phases, beams} = step;
    if (!ids.size) ids.set(input_beams[0].node, ROOT);
    const named = (item) => ({...item, node: ids.get(item.node)});
    const nodes = this.nodes(step);
    const each = (key, write) =>
      layers.flatMap((layer, at) => layer[key].map((one, order) => write(one, at + 1, order)));
    const iteration = {
      index,
      input_beams: input_beams.map(named),
      draft_depth: forest.layers.length,
      nodes,
      layers: layers.map((layer, at) => this.layer(layer, at + 1, step)),
      trials: each("trials", (trial, layer) => ({layer, ...named(trial), joint: null})),
      draws: each("draws", (draw, layer, order) => ({layer, order, ...named(draw)})),
      output_beams: beams.map(named),
      kept: {
        prompt_slots: pair.target.attention === "forest" ? prompt.ids.length - 1 : 0,
        slots_scored,
        slots_kept,
        nodes: kept.map((node) => ids.get(node)),
      },
      phases,
    };
    this.iterations.push(iteration);
    return iteration;
  }

  /** The nodes of the forest, layer by layer, then those that were drawn beside it. @returns {Node[]} */
  nodes({forest, layers, nextTokensAfter}) {
    const {ids, pair} = this;
    const nodes = [];
    const add = (node, layer, kind, numbers) => {
      const {parent, token: token_id} = node;
      const [text, bytes] = pair.tokenizer.piece(token_id);
      const ends = pair.eos.has(token_id);
      const own = {id: ids.size, parent: ids.get(parent), layer, token_id, text, kind, ends};
      ids.set(node, own.id);
      nodes.push({...own, target_log_prob: finite(nextTokensAfter(parent)[token_id]), ...numbers, bytes});
    };
    forest.layers.forEach(({drafts, untested, distribution}, at) => {
      const layer = layers[at];
      const drafted = new Set(drafts);
      const probs = new Map(distribution.candidates.map((candidate, index) => [candidate, distribution.probs[index]]));
      for (const node of new Set([...drafts, ...untested])) {
        const beam = layer ? layer.alive.findIndex((one) => one.node === node.parent) : -1;
        add(node, at + 1, drafted.has(node) ? "drafted" : "cover", {
          draft_log_prob: finite(forest.log_probs.get(node)),
          target_prob: layer ? (layer.distribution.probs[layer.distribution.find(beam, node.token)] ?? 0) : null,
          draft_prob: probs.get(distribution.parents.indexOf(node.parent) * distribution.size + node.token) ?? 0,
        });
      }
    });
    layers.forEach(({draws}, at) => {
      for (const {node, target_prob} of draws) {
        if (!ids.has(node)) add(node, at + 1, "drawn", {draft_log_prob: null, target_prob, draft_prob: null});
      }
    });
    return nodes;
  }

  /** @param {VerifiedLayer} layer @param {number} number @returns {Layer} */
  layer({width, distribution, alive, kind, trials, outcome, beams, draft_probs}, number, {forest, size}) {
    const {ids, pair} = this;
    const ended = beams.filter(({node}) => pair.eos.has(node.token));
    return {
      layer: number,
      kind,
      alive: alive.map(({node}) => ids.get(node)),
      ...width,
      target_support: distribution.candidates.length,
      accepted: trials.filter(({verdict}) => verdict === "accepted").length,
      outcome,
      beams: beams.map((beam) => ({...beam, node: ids.get(beam.node)})),
      finished: ended.map(({node}) => ids.get(node)),
      alternatives: bestOf(distribution.probs, ALTERNATIVES).map((at) => {
        const {node: parent} = alive[Math.floor(distribution.candidates[at] / size)];
        const token_id = distribution.candidates[at] % size;
        const [text] = pair.tokenizer.piece(token_id);
        const node = ids.get(forest.find(parent, token_id)) ?? null;
        const probs = {target_prob: distribution.probs[at], draft_prob: draft_probs[at]};
        return {parent: ids.get(parent), token_id, text, ...probs, node};
      }),
    };
  }
}

const finite = (number) => (Number.isFinite(number) ? number : null);
