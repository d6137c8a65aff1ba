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
import {forestPlaces, keptBy, membersOf} from "./members.js";
import {
  NODE,
  PHASES,
  alternativesOf,
  beamTable,
  decisions,
  layersOf,
  nodeRow,
  secondsOf,
  cacheSlotsOf,
  table,
} from "./packed.js";
import {RunningText} from "./running.js";
import {stepsOf} from "./steps.js";
import {flowing} from "./tokens.js";
import {bestNode, join, wholeTree} from "./whole.js";

const COUNTED = "accepted rejected orphaned unneeded recovered fresh bonus landed".split(" ");

export class SceneBuilder {
  constructor({prompt = null, settings = null, title = "", models = [], language = "en"}) {
    Object.assign(this, {settings, title, models});
    this.language = STRINGS[language] ? language : "en";
    this.running = new RunningText(prompt);
    this.iterations = [];
    this.joined = new Map(); // the nodes of the whole tree
    this.bands = [];
    this.finished = []; // beams
    this.alive = [];
    this.slots = null; // in use after the last iteration
    this.counts = {iterations: 0, layers: 0, widths: 0, seconds: 0};
    for (const name of COUNTED) this.counts[name] = 0;
  }

  /* Takes the next iteration. */
  add(iteration) {
    const {running, settings} = this;
    const before = this.counts.layers;
    for (const node of iteration.nodes) running.nodes.set(node.id, node);
    const members = membersOf(iteration, running.nodes);
    const {columns, rows} = forestPlaces(iteration, members);
    const ids = [...columns.keys()];
    const places = new Map(ids.map((id, place) => [id, place]));
    const {steps, scoredStep, widthSteps, looks} = stepsOf(iteration, places, settings);
    for (const id of members.keys()) if (looks.has(id)) running.origins.set(id, looks.get(id)[0]);
    const after = this.beamsAfter(iteration);
    const kept = keptBy(after, members);
    const weights = new Map(iteration.input_beams.map((beam) => [beam.node, beam.log_weight]));
    const drawn = ids.map((id) => ({
      id,
      parent: members.has(id) ? places.get(members.get(id).parent) : -1,
      state: looks.get(id)?.[0] ?? members.get(id).kind,
      column: columns.get(id),
      row: rows.get(id),
      isKept: kept.has(id),
      logWeight: weights.get(id) ?? null,
    }));
    join(this.joined, drawn, iteration.index);
    this.bands.push([iteration.index, before + 1, before + iteration.layers.length]);
    const isJoint = iteration.trials.some(({joint}) => joint);
    const root = STRINGS[this.language]["node.prompt"];
    this.iterations.push({
      index: iteration.index,
      before,
      last_column: Math.max(0, ...columns.values()),
      last_row: Math.max(0, ...rows.values()),
      scored_step: scoredStep,
      nodes: table(
        NODE,
        drawn.map((node) => nodeRow(node, running, isJoint, root)),
      ),
      ...decisions(iteration, places),
      layers: layersOf(iteration, places, widthSteps, settings),
      alternatives: alternativesOf(iteration, places, running.nodes),
      steps: table("phase layer focus about changes".split(" "), steps),
      beams_before: beamTable(this.ranked(iteration.input_beams, false)),
      beams_after: beamTable(after),
      seconds: secondsOf(iteration),
      slots: cacheSlotsOf(iteration, iteration.index ? this.slots : iteration.kept.prompt_slots, places),
    });
    this.slots = iteration.kept.slots_kept;
    this.count(iteration);
  }

  /* The scene so far. result: of the trace, once there is one. last: only this many of the newest iterations; the text
   * stays whole. evidence: what an audit of the trace found, {passed, checks, failure}, or null. */
  scene({result = null, last = null, evidence = null} = {}) {
    const {language, title, models, settings, running, iterations, joined, finished, alive} = this;
    const beams = (result?.beams ?? []).map((beam) => {
      const {node, log_weight, score} = beam;
      return {node, text: flowing(beam.text), log_weight, score, finished: beam.finished};
    });
    const best = beams.length
      ? beams[0].node
      : bestNode([...finished, ...alive], joined, settings?.length_penalty ?? 1);
    return {
      format: "dsbd-scene/3",
      language,
      title,
      models,
      settings: settings ?? {},
      prompt: running.prompt,
      tokens: table("id parent text pending origin".split(" "), [...running.tokens.values()]),
      whole: wholeTree(joined, [...this.bands], best),
      iterations: iterations.slice(last === null ? 0 : Math.max(0, iterations.length - last)),
      statistics: this.statistics(),
      result: beams,
      evidence,
    };
  }

  statistics() {
    const {counts} = this;
    const ratio = (part, whole) => (whole ? part / whole : null);
    return {
      ...counts,
      acceptance_rate: ratio(counts.accepted, counts.accepted + counts.rejected),
      layers_per_iteration: ratio(counts.layers, counts.iterations),
      mean_width: ratio(counts.widths, counts.layers),
    };
  }

  count({layers, trials, draws, phases}) {
    const {counts} = this;
    counts.iterations += 1;
    counts.layers += layers.length;
    for (const {width} of layers) counts.widths += width;
    counts.seconds += PHASES.reduce((sum, phase) => sum + phases[`${phase}_seconds`], 0);
    for (const {verdict} of trials) counts[verdict === "carried" ? "accepted" : verdict] += 1;
    for (const {kind, landed} of draws) {
      counts[kind] += 1;
      counts.landed += Number(landed);
    }
  }

  /* The beams that go on and those that ended, best first. */
  beamsAfter({layers, output_beams}) {
    const ended = layers.flatMap(({beams, finished}) => beams.filter(({node}) => finished.includes(node)));
    this.alive = this.ranked(output_beams, false);
    const over = this.ranked(ended, true);
    this.finished.push(...over);
    return [...this.alive, ...over];
  }

  /* Beams, best first; their tokens are part of the text from now on. */
  ranked(beams, isFinished) {
    const sorted = [...beams].sort((one, other) => other.log_weight - one.log_weight);
    for (const {node} of sorted) this.running.remember(node);
    return sorted.map((beam) => ({...beam, isFinished}));
  }
}
