/* Decodes by DSBD: docs/algorithm.md, *One iteration*, with landing. The trials read P, Q, c and S as the audit of a
 * trace does, and what is returned has the fields of a trace, so that the audit can decide it again. */

import {acceptanceOf, residualOf, restOf} from "../../viewer/law/residual.js";
import {START, beamsAt, drawFrom, jointLaw} from "./beams.js";

/* pair: {layers, target, draft}, two tables. settings: {depth, guesses, width, accept_all}. random() is in [0, 1).
 * Returns the last beams and all passes of the target, each a list of layers. */
export function decode(pair, settings, random) {
  const passes = [];
  let beams = START;
  for (let length = 0; length < pair.layers; length += passes[passes.length - 1].length) {
    const depth = Math.min(settings.depth, pair.layers - length - 1);
    const pass = verified(drafted(beams, pair.draft, depth, settings.guesses, random), beams, pair, settings, random);
    passes.push(pass);
    beams = pass[pass.length - 1].beams;
  }
  return {beams, passes};
}

/* The draft model's beam sampling from the target's beams: a law and its drafts for every layer. */
function drafted(beams, table, depth, guesses, random) {
  const forest = [];
  let above = beams;
  for (let layer = 0; layer < depth; layer++) {
    const law = jointLaw(above, table);
    const drafts = Array.from({length: guesses}, () => drawFrom(law.probs, random()).at);
    forest.push({law, drafts});
    above = beamsAt(law, drafts);
  }
  return forest;
}

function verified(forest, beams, pair, settings, random) {
  const layers = [];
  let alive = beams;
  for (const draft of forest) {
    const layer = new Layer(alive, pair.target, draft, random);
    if (!layer.isReached()) break;
    layers.push(layer.decided(settings));
    if (layer.outcome === "short") return layers;
    alive = layer.beams;
  }
  layers.push(new Layer(alive, pair.target, {law: {paths: [], probs: []}, drafts: []}, random).bonus(settings));
  return layers;
}

class Layer {
  constructor(alive, table, {law, drafts}, random) {
    const chances = new Map(law.paths.map((path, at) => [path, law.probs[at]]));
    this.law = jointLaw(alive, table);
    this.draft = this.law.paths.map((path) => chances.get(path) ?? 0);
    this.drafts = drafts.map((at) => ({path: law.paths[at], draft_prob: law.probs[at]}));
    this.drafted = law.paths;
    this.alive = alive.map(({path}) => path);
    this.random = random;
    this.taken = [];
    this.restart();
  }

  restart() {
    this.c = 0;
    this.S = restOf(this.law.probs, this.draft, 0);
  }

  isReached() {
    return this.drafted.some((path) => this.isAlive(path));
  }

  isAlive(path) {
    return this.alive.includes(path.slice(0, -1));
  }

  decided(settings) {
    this.trials = this.drafts.map((draft) => this.trial(draft, settings));
    this.accepted = this.taken.length;
    this.fill("fresh", settings.width);
    this.outcome = this.draws.length ? (this.draws.every((draw) => draw.landed) ? "landed" : "short") : "passed";
    return this;
  }

  bonus({width}) {
    this.trials = [];
    this.accepted = 0;
    this.fill("bonus", width);
    this.outcome = "bonus";
    return this;
  }

  trial({path, draft_prob}, {width, accept_all}) {
    const trial = {path, draft_prob, verdict: "unneeded", c: null, S: null};
    Object.assign(trial, {residual_prob: null, acceptance: null, uniform: null});
    if (this.taken.length === width) return trial;
    const at = this.law.paths.indexOf(path);
    Object.assign(trial, {c: this.c, S: this.S, verdict: "orphaned"});
    if (this.isAlive(path)) {
      trial.residual_prob = at < 0 ? 0 : residualOf(this.law.probs[at], draft_prob, this.c, this.S);
      trial.acceptance = accept_all && at >= 0 ? 1 : acceptanceOf(trial.residual_prob, draft_prob);
      trial.uniform = this.random();
      trial.verdict = trial.uniform < trial.acceptance ? "accepted" : "rejected";
    }
    // Where rounding leaves nothing after a rejection, P' = Q: the draft is accepted instead.
    if (trial.verdict !== "accepted" && !this.reject() && trial.verdict === "rejected" && at >= 0) {
      Object.assign(trial, {verdict: "accepted", acceptance: 1});
    }
    if (trial.verdict === "accepted") {
      this.taken.push(at);
      this.restart();
    }
    return trial;
  }

  reject() {
    const c = this.c + this.S;
    const rest = restOf(this.law.probs, this.draft, c);
    if (rest <= 0) return false;
    Object.assign(this, {c, S: rest});
    return true;
  }

  /* Draws what is missing: one beam from the residual where drafts were rejected, the others from P. */
  fill(kind, width) {
    const {law, draft} = this;
    this.draws = [];
    while (this.taken.length < width) {
      const {c, S} = this;
      const uniform = this.random();
      const {at, low, high} = drawFrom(
        law.probs.map((prob, pair) => residualOf(prob, draft[pair], c, S)),
        uniform,
      );
      const path = law.paths[at];
      const landed = this.drafts.some((drawn) => drawn.path === path);
      const told = {kind: c > 0 ? "recovered" : kind, path, landed, target_prob: law.probs[at], draft_prob: draft[at]};
      this.draws.push({...told, c, S, uniform, cdf_low: low, cdf_high: high});
      this.taken.push(at);
      this.restart();
    }
    this.beams = beamsAt(law, this.taken);
  }
}
