/* Turns a decode into a trace, dsbd-trace/1, as plain data: dsbd/tracing/records.py says what each field means. */

import {bestOf} from "../viewer/law/joint.js";
import {countsOf} from "./counts.js";
import {digestOf} from "./digest.js";
import {idsOf, ranked} from "./hypotheses.js";
import {GENERATOR} from "./random.js";

const ROOT = 0; // the id of the end of the prompt
const ALTERNATIVES = 5;

export class Recorder {
  constructor(pair, prompt, settings) {
    Object.assign(this, {pair, prompt, settings, iterations: [], ids: new Map()});
  }

  /* The record of an iteration as `iterations` yields it. */
  add(step) {
    if (!this.ids.size) this.ids.set(step.input_beams[0].node, ROOT);
    const iteration = new IterationWriter(this, step).write();
    this.iterations.push(iteration);
    return iteration;
  }

  /* What a trace says before the first iteration. */
  start() {
    const {pair, prompt, settings} = this;
    const pieces = prompt.ids.map((id) => {
      const [text, bytes] = pair.tokenizer.piece(id);
      return {token_id: id, text, bytes, special: pair.tokenizer.isSpecial(id)};
    });
    const models = {target: modelRecord(pair.target), draft: pair.draft ? modelRecord(pair.draft) : null};
    return {models, settings, seed: settings.seed, prompt: {text: prompt.text, pieces}};
  }

  /* The whole trace; `end` is what `iterations` returns. */
  async trace(end) {
    const trace = {
      format: "dsbd-trace/1",
      software: {generator: GENERATOR},
      ...this.start(),
      iterations: this.iterations,
      result: this.result(end),
    };
    return {...trace, digest: await digestOf(trace)};
  }

  result(end) {
    const beams = ranked(end, this.settings).map(({node, ...beam}) => {
      const token_ids = idsOf(node);
      return {node: this.ids.get(node), text: this.pair.tokenizer.decode(token_ids), token_ids, ...beam};
    });
    const [{text, token_ids}] = beams;
    return {text, token_ids, beams, stats: this.stats(token_ids.length, end)};
  }

  stats(new_tokens, {prefill_seconds, rows}) {
    const {iterations, prompt} = this;
    const counts = countsOf(iterations);
    const sumOf = (numberOf) => iterations.reduce((sum, one) => sum + numberOf(one), 0);
    const phases = Object.keys(iterations[0].phases).map((phase) => [phase, sumOf((one) => one.phases[phase])]);
    const forPrompt = Number(prompt.ids.length > 1);
    const bytes = (row) => (row ? row.peak * row.bytesPerSlot : 0);
    return {
      new_tokens,
      ...counts,
      target_calls: iterations.length + forPrompt,
      // a layer below which nothing lives takes no forward; it counts as one, as in Python
      draft_calls: rows.draft ? sumOf((one) => one.draft_depth) + forPrompt : 0,
      seconds: prefill_seconds + counts.seconds,
      prefill_seconds,
      ...Object.fromEntries(phases),
      tokens_per_second: counts.seconds > 0 ? counts.layers / counts.seconds : 0,
      kv_peak_slots: Math.max(...iterations.map(({kept}) => kept.slots_scored)),
      kv_peak_bytes: bytes(rows.target) + bytes(rows.draft),
    };
  }
}

function modelRecord({id, revision, dtype, device, vocabulary, attention}) {
  return {id, revision, dtype, device, vocabulary_size: vocabulary, attention};
}

/* Writes one iteration, and gives new nodes their ids. */
class IterationWriter {
  constructor(recorder, step) {
    Object.assign(this, {recorder, step, ids: recorder.ids, nodes: []});
    this.eos = recorder.pair.eos;
    this.piece = (id) => recorder.pair.tokenizer.piece(id);
  }

  write() {
    const {index, input_beams, forest, layers, kept, slots_scored, slots_kept, phases, beams} = this.step;
    const {pair, prompt} = this.recorder;
    const input = this.beams(input_beams);
    forest.layers.forEach((layer, at) => this.forestNodes(layer, at));
    layers.forEach((layer, at) => this.drawnNodes(layer, at));
    const each = (key, write) =>
      layers.flatMap((layer, at) => layer[key].map((one, order) => write(one, at + 1, order)));
    return {
      index,
      input_beams: input,
      draft_depth: forest.layers.length,
      nodes: this.nodes,
      layers: layers.map((layer, at) => this.layer(layer, at + 1)),
      trials: each("trials", (trial, layer) => ({layer, ...this.named(trial), joint: null})),
      draws: each("draws", (draw, layer, order) => ({layer, order, ...this.named(draw)})),
      output_beams: this.beams(beams),
      kept: {
        prompt_slots: pair.target.attention === "forest" ? prompt.ids.length - 1 : 0,
        slots_scored,
        slots_kept,
        nodes: kept.map((node) => this.ids.get(node)),
      },
      phases,
    };
  }

  named(item) {
    return {...item, node: this.ids.get(item.node)};
  }

  beams(beams) {
    return beams.map((beam) => this.named(beam));
  }

  forestNodes({drafts, covers, law}, at) {
    const layer = this.step.layers[at];
    const drafted = new Set(drafts);
    const probs = new Map(law.pairs.map((pair, place) => [pair, law.probs[place]]));
    for (const node of new Set([...drafts, ...covers])) {
      const place = layer ? layer.alive.findIndex((beam) => beam.node === node.parent) : -1;
      this.add(node, at + 1, drafted.has(node) ? "drafted" : "cover", {
        draft_log_prob: finite(this.step.forest.log_probs.get(node)),
        target_prob: layer ? (layer.law.probs[layer.law.find(place, node.token)] ?? 0) : null,
        draft_prob: probs.get(law.parents.indexOf(node.parent) * law.size + node.token) ?? 0,
      });
    }
  }

  drawnNodes({draws}, at) {
    for (const {node, target_prob} of draws) {
      if (!this.ids.has(node)) this.add(node, at + 1, "drawn", {draft_log_prob: null, target_prob, draft_prob: null});
    }
  }

  add(node, layer, kind, numbers) {
    const {parent, token} = node;
    const id = this.ids.size;
    const [text, bytes] = this.piece(token);
    const target_log_prob = finite(this.step.rowOf(parent)[token]);
    const own = {id, parent: this.ids.get(parent), layer, token_id: token, text, kind, ends: this.eos.has(token)};
    this.ids.set(node, id);
    this.nodes.push({...own, target_log_prob, ...numbers, bytes});
  }

  layer(layer, number) {
    const {width, law, alive} = layer;
    return {
      layer: number,
      kind: layer.kind,
      alive: alive.map(({node}) => this.ids.get(node)),
      ...width,
      target_support: law.pairs.length,
      accepted: layer.trials.filter(({verdict}) => verdict === "accepted").length,
      outcome: layer.outcome,
      beams: this.beams(layer.beams),
      finished: layer.beams.filter(({node}) => this.eos.has(node.token)).map(({node}) => this.ids.get(node)),
      alternatives: this.alternatives(layer),
    };
  }

  /* The likeliest pairs, ties in the order of the pairs. */
  alternatives({law, alive, draft_probs}) {
    const {size} = this.step;
    return bestOf(law.probs, ALTERNATIVES).map((at) => {
      const {node: parent} = alive[Math.floor(law.pairs[at] / size)];
      const token_id = law.pairs[at] % size;
      const node = this.step.forest.find(parent, token_id);
      return {
        parent: this.ids.get(parent),
        token_id,
        text: this.piece(token_id)[0],
        target_prob: law.probs[at],
        draft_prob: draft_probs[at],
        node: node ? this.ids.get(node) : null,
      };
    });
  }
}

const finite = (number) => (Number.isFinite(number) ? number : null);
