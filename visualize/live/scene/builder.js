/* Builds the scene of a decode that ran in the browser, iteration by iteration, as the plain data that the viewer draws
 * (dsbd-scene/3). Twin of visualize/scenes/: equal to Python's scene_json(build_scene(trace)).
 *
 *   const builder = new SceneBuilder({prompt, settings, title, models, language});
 *   builder.add(iteration);
 *   viewer.setScene(builder.scene({last: 1}), {follow: true});
 *
 * prompt, settings, iterations and the result are plain data of a trace (dsbd-trace/1); prompt and settings may be
 * null. title: shown above the drawing, the method's name. models: their names, the target's first. */

import {STRINGS} from "../../viewer/base/languages.js";
import {markOf} from "../../viewer/base/marks.js";
import {memoryOf} from "./memory.js";
import {alternativesOf, beamTable, decisions, layersOf, listed, nodeTable, rowsOf} from "./packed.js";
import {significant} from "./rounding.js";
import {RunningText} from "./running.js";
import {stepsOf} from "./steps.js";
import {flowing, hexOf} from "./tokens.js";
import {bestNode, join, place} from "./whole.js";

const TIMED = ["draft", "score", "verify", "commit"];
const COUNTED = "iterations layers widths seconds accepted rejected orphaned unneeded recovered fresh bonus landed";

export class SceneBuilder {
  constructor({prompt, settings, title, models, language}) {
    Object.assign(this, {settings, title, models});
    this.language = STRINGS[language] ? language : "en";
    this.running = new RunningText(prompt);
    this.memory = memoryOf(prompt);
    this.tokens = new Map(); // of all beams, by id
    this.states = new Map(); // of all nodes, by id
    this.joined = new Map(); // the nodes of the whole tree, by id
    this.bands = [];
    this.iterations = [];
    this.alive = []; // beams
    this.finished = [];
    this.slots = null; // in use after the last iteration
    this.counts = Object.fromEntries(COUNTED.split(" ").map((name) => [name, 0]));
  }

  /* Takes the next iteration. */
  add(iteration) {
    const {running, settings, counts} = this;
    const {index, input_beams, nodes, layers, phases, kept} = iteration;
    running.take(nodes);
    const ids = [...input_beams.map(({node}) => node), ...nodes.map(({id}) => id)];
    const places = new Map(ids.map((id, at) => [id, at]));
    const {steps, scored, widths, looks} = stepsOf(iteration, places, settings);
    for (const node of nodes) {
      const [state] = looks.get(node.id);
      this.states.set(node.id, state);
      if (state !== "cover") join(this.joined, node, markOf(state), index);
    }
    const before = counts.layers;
    const after = this.beamsAfter(iteration);
    const nodePlaces = this.placesOf(iteration, places, after);
    const isJoint = iteration.trials.some(({joint}) => joint);
    this.bands.push({iteration: index, first: before + 1, last: before + layers.length});
    this.iterations.push({
      index,
      before,
      last_column: Math.max(0, ...nodes.map(({layer}) => layer)),
      last_row: Math.max(0, ...nodePlaces.map(({row}) => row)),
      scored_step: scored,
      nodes: nodeTable(nodePlaces, running, isJoint, STRINGS[this.language]["node.prompt"]),
      ...decisions(iteration, places),
      layers: layersOf(iteration, places, widths, settings),
      alternatives: alternativesOf(iteration, places, running),
      steps: listed("phase layer focus about changes", steps),
      beams_before: beamTable(this.ranked(input_beams, false)),
      beams_after: beamTable(after),
      seconds: Object.fromEntries(TIMED.map((phase) => [phase, significant(phases[`${phase}_seconds`])])),
      slots: {
        prompt: kept.prompt_slots,
        before: index ? this.slots : kept.prompt_slots,
        scored: kept.slots_scored,
        kept: kept.slots_kept,
        nodes: kept.nodes.flatMap((id) => places.get(id) ?? []).sort((one, other) => one - other),
      },
    });
    this.slots = kept.slots_kept;
    this.count(iteration);
  }

  /* The scene so far. result: of the trace, once there is one. last: only this many of the newest iterations; the text
   * stays whole. */
  scene({result = null, last = Infinity}) {
    const {language, title, models, settings, running, joined, bands, iterations, counts} = this;
    const beams = (result?.beams ?? []).map((beam) => {
      const {node, log_weight, score, finished} = beam;
      return {node, text: flowing(beam.text), log_weight, score, finished};
    });
    const best = beams[0]?.node ?? bestNode([...this.finished, ...this.alive], joined, settings?.length_penalty ?? 1);
    const sizes = place(joined, best);
    const ratio = (part, whole) => (whole ? part / whole : null);
    return {
      format: "dsbd-scene/3",
      language,
      title,
      models,
      settings: settings ?? {},
      prompt: running.prompt,
      ...this.memory,
      tokens: listed("id parent text pending origin", [...this.tokens.values()]),
      whole: {
        ...sizes,
        last_position: Math.max(sizes.last_position, counts.layers),
        nodes: listed("id parent position row mark iteration", [...joined.values()]),
        bands: listed("iteration first last", bands),
      },
      iterations: iterations.slice(Math.max(0, iterations.length - last)),
      statistics: {
        ...counts,
        acceptance_rate: ratio(counts.accepted, counts.accepted + counts.rejected),
        layers_per_iteration: ratio(counts.layers, counts.iterations),
        mean_width: ratio(counts.widths, counts.layers),
      },
      result: beams,
      evidence: null,
    };
  }

  /* Where each node stands, and whether it is on the way to one of these beams. */
  placesOf(iteration, places, beams) {
    const {input_beams, nodes} = iteration;
    const rows = rowsOf(iteration);
    const kept = new Set();
    for (const beam of beams) {
      for (let id = beam.node; places.has(id) && !kept.has(id); id = this.running.at(id).node?.parent) kept.add(id);
    }
    const own = (id) => ({id, row: rows.get(id), kept: Number(kept.has(id))});
    return [
      ...input_beams.map(({node, log_weight}) => ({...own(node), parent: -1, column: 0, log_weight})),
      ...nodes.map(({id, parent, layer}) => ({
        ...own(id),
        parent: places.get(parent),
        column: layer,
        log_weight: null,
      })),
    ];
  }

  /* The beams that go on and those that ended. */
  beamsAfter({layers, output_beams}) {
    this.alive = this.ranked(output_beams, false);
    const ended = layers.flatMap(({beams, finished}) => beams.filter(({node}) => finished.includes(node)));
    const over = this.ranked(ended, true);
    this.finished.push(...over);
    return [...this.alive, ...over];
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

  count({layers, trials, draws, phases}) {
    const {counts} = this;
    counts.iterations += 1;
    counts.layers += layers.length;
    for (const {width} of layers) counts.widths += width;
    counts.seconds += TIMED.reduce((sum, phase) => sum + phases[`${phase}_seconds`], 0);
    for (const {verdict} of trials) counts[verdict === "carried" ? "accepted" : verdict] += 1;
    for (const {kind, landed} of draws) {
      counts[kind] += 1;
      counts.landed += Number(landed);
    }
  }
}
