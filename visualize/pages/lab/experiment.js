/* Many decodes, in slices of a few milliseconds: the page stays live, and the counts grow before the reader's eyes. */

import {generatorOf} from "../../live/draft.js";
import {endOf, settingsOf} from "./beams.js";
import {binsOf, chiSquare, limitOf, pValue} from "./chi_square.js";
import {decodeTables} from "./decode.js";
import {exactLaw, firstLayer} from "./exact.js";

const SLICE_MS = 8;
const PAUSE_MS = 16;
const SLICES = 100; // at least as many, so that the counts are seen growing

export class Experiment {
  /* settings: {runs, seed, width, depth, guesses, decoder}; decoder is one of the lab's. */
  constructor(pair, settings) {
    const alone = settings.decoder === "draft_alone";
    this.pair = alone ? {...pair, target: pair.draft} : pair;
    this.settings = {...settings, depth: alone ? 0 : settings.depth};
    this.law = exactLaw(pair.target, Array(pair.layers).fill(settings.width), settingsOf(settings));
    this.bins = binsOf(this.law, settings.runs);
    this.freedom = this.bins.length - 1;
    this.limit = limitOf(this.freedom);
    this.formula = firstLayer(pair, settings);
    this.generator = generatorOf(settings.seed);
    this.counts = new Map();
    this.done = 0;
    this.squares = [];
    this.seen = {tried: 0, accepted: 0, first: 0, filled: 0, passes: 0};
  }

  /* Resolves when all decodes are done, or after stop(). Calls `show` after every slice. */
  async run(show) {
    const {runs} = this.settings;
    while (this.done < runs && !this.isStopped) {
      const until = performance.now() + SLICE_MS;
      const most = Math.min(runs, this.done + Math.ceil(runs / SLICES));
      do this.once();
      while (this.done < most && performance.now() < until);
      this.squares.push([this.done, chiSquare(this.bins, this.counts, this.done)]);
      show(this);
      await new Promise((next) => setTimeout(next, PAUSE_MS));
    }
  }

  stop() {
    this.isStopped = true;
  }

  once() {
    const {beams, passes} = decodeTables(this.pair, this.settings, this.generator);
    const end = endOf(beams);
    this.counts.set(end, (this.counts.get(end) ?? 0) + 1);
    this.done++;
    this.seen.passes += passes.length;
    for (const {trials} of passes.flat()) {
      this.seen.tried += trials.filter(({verdict}) => verdict === "accepted" || verdict === "rejected").length;
      this.seen.accepted += trials.filter(({verdict}) => verdict === "accepted").length;
    }
    const [{trials, accepted}] = passes[0];
    if (trials[0]?.verdict === "accepted") this.seen.first++;
    if (accepted === this.settings.width) this.seen.filled++;
  }

  get square() {
    return chiSquare(this.bins, this.counts, this.done);
  }

  get p() {
    return pValue(this.square, this.freedom);
  }
}
