/* The scene of a trace: every iteration as the viewer draws it, and the decode as one text. It is made from the plain
 * trace, dsbd-trace/2 (dsbd/tracing/records.py says what each field means), and may grow.
 *
 *   const scene = new Scene(trace);   scene.add(records);   scene.end(result);
 */

import {YIELDED} from "./dom.js";
import {tailsOf} from "./distribution.js";
import {rowsOf} from "./layout.js";
import {checkHead, checkIteration, checkNamed} from "./reading.js";
import {RunningText, columnsOf, decodePiece, flowing, hexOf, shorten, visible} from "./tokens.js";

/** @import {Beam, Fact, Hypothesis, Iteration, Layer, Look, Node, Result, SceneLayer, SceneNode, Settings, Step, Token,
 *   Trace} from "./types" */

const PHASES = ["draft", "score", "verify", "commit"];
const NO_NUMBERS = {target_prob: null, draft_prob: null, target_log_prob: null, draft_log_prob: null};

export class Scene {
  /** @param {Trace} trace */
  constructor({format, prompt, settings, models: {target, draft}, iterations, result}) {
    checkHead({format, settings});
    this.settings = settings;
    this.models = [target, draft].filter(Boolean).map(({id}) => id);
    this.isCopied = draft?.attention === "copies" && settings.method !== "mjgd"; // from the text
    this.running = new RunningText(prompt);
    this.prompt = this.running.prompt;
    this.memory = prompt.memory ? memoryOf(prompt.memory) : null;
    /** @type {Map<number, Token>} */ this.tokens = new Map(); // of all beams, by id
    /** @type {Map<number, Node>} */ this.known = new Map(); // the records of all nodes, by id
    /** @type {Map<number, string>} */ this.states = new Map(); // of all nodes, by id
    this.bands = []; // the positions of the text that each iteration brought
    /** @type {SceneIteration[]} */ this.iterations = [];
    this.add(iterations);
    this.end(result);
  }

  /** Takes the next records of iterations. @param {Iteration[]} records */
  add(records) {
    for (const record of records) {
      const {index, nodes, layers} = record;
      checkIteration(record, this.known);
      this.running.take(nodes);
      for (const node of nodes) this.known.set(node.id, node);
      const before = this.bands.at(-1)?.last ?? 0;
      const iteration = new SceneIteration(record, this, before);
      this.bands.push({iteration: index, first: before + 1, last: before + layers.length});
      this.iterations.push(iteration);
    }
  }

  /** Takes the result; null while the decode runs, and where it was stopped. @param {Result | null} result */
  end(result) {
    this.result = result?.beams ?? [];
    checkNamed(this.result, "the result", (node) => this.known.has(node));
    this.final = new Set(this.result.length ? this.path(this.best.node).map(({id}) => id) : []);
  }

  /* The best hypothesis: the returned one, else the one that is best so far; undefined before the first iteration. */
  get best() {
    if (this.result.length) return this.result[0];
    const after = this.iterations.map(({beams_after}) => beams_after);
    const beams = after.flat().filter(({finished}) => finished);
    beams.push(...(after.at(-1) ?? []).filter(({finished}) => !finished));
    const lengthOf = ({node}) => Math.max(this.path(node).length, 1);
    const score = (beam) => beam.log_weight / lengthOf(beam) ** this.settings.length_penalty;
    return beams.reduce((best, beam) => (best && score(best) >= score(beam) ? best : beam), undefined);
  }

  /* The best text so far: {prompt, tokens: [{text, origin}], ended}. */
  text() {
    const {node, finished = false} = this.best ?? {};
    const tokens = this.path(node).map(({text, pending, origin}) => ({text, pending, origin}));
    const last = tokens.at(-1);
    if (last) last.text = finished ? "" : last.text + last.pending;
    const begun = this.memory ? `… ${this.memory.segments.at(-1).text.trimStart()}` : this.prompt;
    return {prompt: begun, tokens: tokens.map(({text, origin}) => ({text, origin})), ended: finished};
  }

  /* What the tokens up to a node write, as it is; null where the last character is not whole. */
  written(id) {
    const nodes = [];
    for (let node = this.known.get(id); node; node = this.known.get(node.parent)) nodes.unshift(node);
    const [text, pending] = nodes.reduce(
      ([before, bytes], node) => {
        const [adds, rest] = decodePiece(node, bytes);
        return [before + adds, rest];
      },
      ["", []],
    );
    return pending.length ? null : text;
  }

  /* The tokens behind the prompt that lead to a node, itself included: {id, parent, text, pending, origin}. */
  path(node) {
    /** @type {Token[]} */ const path = [];
    for (let token = this.tokens.get(node); token; token = this.tokens.get(token.parent)) path.push(token);
    return path.reverse();
  }

  /* Whether a node is part of the final text; a guess that is still open does not count. */
  becomes(node, {state}) {
    return this.final.has(node.id) && (state === "input" || YIELDED.includes(state));
  }

  /* Puts the tokens on the way to a beam into the table of the running text. */
  remember(beam) {
    const {running, tokens} = this;
    const path = [];
    for (let at = running.at(beam); at.node && !tokens.has(at.node.id); at = running.at(at.node.parent)) path.push(at);
    for (const {node, adds, pending} of path.reverse()) {
      const {id, parent} = node;
      tokens.set(id, {id, parent, text: adds, pending: hexOf(pending), origin: this.states.get(id)});
    }
  }
}

/* One iteration. A node is named by its index in `nodes`, and how every node looks at a step follows from the steps. */
export class SceneIteration {
  /** @param {Iteration} record @param {Scene} scene
   * @param {number} before how many tokens of the text earlier iterations brought */
  constructor(record, scene, before) {
    const {index, nodes: members, trials, draws, layers, phases, input_beams} = record;
    const roots = input_beams.map(({node}) => node);
    const indices = new Map([...roots, ...members.map(({id}) => id)].map((id, at) => [id, at]));
    const {steps, scored, widths, looks} = stepsOf(record, indices, scene.settings);
    for (const {id} of members) scene.states.set(id, looks.get(id)?.state ?? scene.known.get(id).kind);
    /** @type {Step[]} */ this.steps = steps;
    this.index = index;
    this.before = before;
    this.scoredStep = scored;
    this.number = index + 1; // readers count from 1
    this.beams_before = ranked(input_beams, false, scene);
    this.beams_after = beamsAfter(record, scene);
    this.nodes = nodesOf(record, members, indices, this.beams_after, scene);
    this.last_column = Math.max(0, ...this.nodes.map(({column}) => column));
    this.last_row = Math.max(0, ...this.nodes.map(({row}) => row));
    this.trials = trials.map((trial) => ({...trial, node: indices.get(trial.node)}));
    this.draws = draws.map((draw) => ({...draw, node: indices.get(draw.node)}));
    const example = this.trials.find(({verdict}) => verdict === "rejected") ?? this.trials[0];
    this.example = example?.node ?? this.nodes.findIndex(({column}) => column === 1); // whose card is shown at first
    /** @type {SceneLayer[]} */
    this.layers = layers.map((layer, at) => ({
      ...layer,
      chances: tailsOf(layer.accepted_distribution),
      alternatives: alternativesOf(layer, scene.running),
      step: widths[at],
    }));
    this.seconds = Object.fromEntries(PHASES.map((name) => [name, phases[`${name}_seconds`]]));
    /** @type {Fact[][]} */ this.facts = this.nodes.map(() => []);
    steps.forEach((step, at) => {
      if (FACTS[step.phase]) this.facts[step.focus].push({step: at, ...this.factOf(step)});
    });
  }

  get landed() {
    return this.layers.some(({outcome}) => outcome === "landed");
  }

  layer(number) {
    return this.layers.find((entry) => entry.layer === number);
  }

  /** The trial or the draw that a step tells of. @param {Step} step @returns {Fact} */
  factOf({phase, about: [index]}) {
    return {[phase]: this[FACTS[phase]][index]};
  }

  /** The look of every node at a step; undefined for nodes that are not there yet. @returns {Look[]} */
  looksAt(last) {
    const looks = [];
    for (const step of this.steps.slice(0, last + 1)) {
      for (const {node, ...look} of step.changes) looks[node] = look;
    }
    return looks;
  }

  /* Runs of steps that belong together: draft, score, each layer, commit. */
  phases() {
    const runs = [];
    this.steps.forEach(({phase, layer}, at) => {
      const verify = VERIFYING.includes(phase);
      const key = verify ? `layer ${layer}` : phase;
      const last = runs.at(-1);
      if (last?.key === key) last.to = at;
      else runs.push({key, phase: verify ? "verify" : phase, layer: verify ? layer : 0, from: at, to: at});
    });
    return runs;
  }

  /** The indices of the nodes from an input beam to a node, itself included. @param {number} index */
  pathTo(index) {
    const path = [];
    for (let at = index; at >= 0; at = this.nodes[at].parent) path.unshift(at);
    return path;
  }
}

/** The input beams and the nodes below them, each with its text, its place in the drawing and its last look.
 * @param {Iteration} record @param {Node[]} members @param {Map<number, number>} indices
 * @param {Beam[]} beams to which the kept nodes lead @param {Scene} scene @returns {SceneNode[]} */
function nodesOf({input_beams, draws}, members, indices, beams, {running, states}) {
  const columns = new Map(input_beams.map(({node}) => [node, 0]));
  for (const {id, parent} of members) columns.set(id, columns.get(parent) + 1);
  const rows = rowsOf(input_beams, members, draws);
  const kept = new Set();
  for (const {node} of beams) {
    for (let id = node; indices.has(id) && !kept.has(id); id = running.at(id).node?.parent) kept.add(id);
  }
  const drawn = (id) => {
    const {node, label: token = "", adds, completes, pending} = running.at(id);
    const label = shorten(token);
    const text = {label, label_columns: columnsOf(label), token, adds, completes, pending: hexOf(pending)};
    const place = {column: columns.get(id), row: rows.get(id), kept: kept.has(id)};
    return {id, ...text, ...place, token_id: node?.token_id ?? null};
  };
  const inputOf = ({node, log_weight}) => {
    const own = {parent: -1, kind: "input", state: "input", ends: false, log_weight};
    return {...drawn(node), ...NO_NUMBERS, ...own, adds: running.at(node).end, completes: ""};
  };
  const belowOf = (node) => {
    const own = {parent: indices.get(node.parent), state: states.get(node.id), log_weight: null};
    return {...node, ...drawn(node.id), ...own};
  };
  return [...input_beams.map(inputOf), ...members.map(belowOf)];
}

/** Beams, best first; from now on their tokens are part of the text.
 * @param {Beam[]} beams @param {boolean} finished @param {Scene} scene */
function ranked(beams, finished, scene) {
  const sorted = [...beams].sort((one, other) => other.log_weight - one.log_weight);
  for (const {node} of sorted) scene.remember(node);
  return sorted.map((beam) => ({...beam, finished}));
}

/* The beams that go on and those that ended. */
function beamsAfter({layers, output_beams}, scene) {
  const ended = layers.flatMap(({beams, finished}) => beams.filter(({node}) => finished.includes(node)));
  return [...ranked(output_beams, false, scene), ...ranked(ended, true, scene)];
}

/** The likeliest candidates of a layer. A beam is named only where several are alive.
 * @param {Layer} layer @param {RunningText} running @returns {SceneLayer["alternatives"]} */
function alternativesOf({alive, alternatives}, running) {
  return alternatives.map(({parent, text, target_prob: target, draft_prob: draft}) => {
    const beam = alive.length > 1 ? `${running.at(parent).label ?? ""} ` : "";
    return {name: beam + visible(text), target, draft};
  });
}

const memoryOf = ({segments, sensory}) => ({
  segments: segments.map((segment) => ({...segment, text: flowing(segment.text)})),
  sensory,
});

/* The steps of an iteration in the order they happened: draft (one for each layer), score, then for each layer its
 * width, its trials, its draws and its outcome, and at last the commit. */
const FACTS = {trial: "trials", draw: "draws"}; // the list that has the record of such a step
const VERIFYING = ["width", "trial", "draw", "layer"];

/** The steps, the indices of the step that scores and of those that choose the width of each layer, and the last look
 * of each node. @param {Iteration} record @param {Map<number, number>} places the indices of the nodes, by id
 * @param {Settings} settings */
function stepsOf(record, places, {branching, forest: kindOfForest}) {
  const {input_beams, nodes, trials, draws, layers, draft_depth} = record;
  /** @type {Map<number, Look>} */ const looks = new Map();
  for (const {node, multiplicity} of input_beams) looks.set(node, {state: "input", multiplicity, landed: false});
  /** @type {Step[]} */ const steps = [];

  const add = (phase, layer, changed, about = [], focus = -1) => {
    const changes = changed.map((node) => ({node: places.get(node), ...looks.get(node)}));
    steps.push({phase, layer, focus, about, changes});
  };

  /* A beam that was yielded once stays so; a guess that failed, too, where the others were not needed. */
  const tell = (phase, at, {layer, node}, state, isInForest) => {
    const {state: before, multiplicity, landed} = looks.get(node) ?? {state, multiplicity: 0, landed: false};
    const stays = YIELDED.includes(before) || (before === "rejected" && state === "unneeded");
    const count = multiplicity + Number(YIELDED.includes(state));
    looks.set(node, {state: stays ? before : state, multiplicity: count, landed: landed || isInForest});
    add(phase, layer, [node], [at], places.get(node));
  };

  /* ---- draft, score --------------------------------------------------------------------------------------------- */

  for (let layer = 1; layer <= draft_depth; layer++) {
    const members = nodes.filter((node) => node.layer === layer && node.kind !== "drawn");
    if (!members.length) continue;
    for (const {id, kind} of members) looks.set(id, {state: kind, multiplicity: 0, landed: false});
    const cover = members.filter(({kind}) => kind === "cover").length;
    const tried = trials.filter((trial) => trial.layer === layer && !trial.joint).length;
    const drafts = branching ? branching[layer - 1] : tried;
    const shown = steps.length ? members.map(({id}) => id) : [...looks.keys()];
    add("draft", layer, shown, [drafts, members.length - (drafts ? cover : 0), cover]);
  }
  const scored = steps.length;
  const forest = nodes.filter(({kind}) => kind !== "drawn").length;
  const tested = trials.filter(({joint}) => joint).length;
  add("score", 0, scored ? [] : [...looks.keys()], tested ? [tested, 1] : [forest]);

  /* ---- verify, commit ------------------------------------------------------------------------------------------- */

  /* Drafts whose parent is not alive, in a forest drawn per parent: they have no trial. */
  const ignoredIn = ({layer, alive}) => {
    const members = branching ? nodes.filter((node) => node.layer === layer && node.kind === "drafted") : [];
    const ignored = members.filter(({parent}) => !alive.includes(parent)).map(({id}) => id);
    for (const id of ignored) looks.set(id, {state: "orphaned", multiplicity: 0, landed: false});
    return ignored;
  };

  /* The guesses of a coupled forest that no draw of their layer took. */
  const undrawnIn = ({layer, kind, beams}) => {
    if (kindOfForest !== "coupled" || kind !== "draft") return [];
    const drawn = new Set(beams.map(({node}) => node));
    const guesses = nodes.filter((node) => node.layer === layer && node.kind === "cover" && !drawn.has(node.id));
    for (const {id} of guesses) looks.set(id, {state: "undrawn", multiplicity: 0, landed: false});
    return guesses.map(({id}) => id);
  };

  const widths = layers.map((one) => {
    const place = steps.length;
    const {layer} = one;
    const ignored = ignoredIn(one);
    add("width", layer, ignored, [ignored.length]);
    trials.forEach((trial, at) => {
      // what a joint test tried below the last layer belongs to the last one
      if (Math.min(trial.layer, layers.length) === layer) tell("trial", at, trial, trial.verdict, false);
    });
    draws.forEach((draw, at) => {
      if (draw.layer === layer) tell("draw", at, draw, draw.kind, draw.landed);
    });
    add("layer", layer, undrawnIn(one));
    return place;
  });
  add("commit", 0, []);
  return {steps, scored, widths, looks};
}
