/* Decodes a prompt with a pair of models, and records the decode as a trace. */

import {idsOf, ranked} from "./hypotheses.js";
import {iterations} from "./iterations.js";
import {generatorOf} from "./random.js";
import {Refused} from "./refused.js";
import {resolved} from "./settings.js";
import {Recorder} from "./trace.js";

/* Decodes to the end. Yields {start}, what is known before; after each iteration {iteration, best}, plain data of its
 * record, and the text of the beam that is best so far; then {trace}. `check` throws to stop, and is
 * called before each call of a model; `now` gives milliseconds. */
export async function* decode(pair, prompt, settings, {check = () => {}, now = () => performance.now()} = {}) {
  const chosen = resolved(settings);
  if (chosen.draft_depth > 0 && !pair.draft) {
    throw new Error(
      `method ${chosen.method} needs a draft model; choose sampling, greedy, beam_sampling or beam_search`,
    );
  }
  if (!prompt.ids.length) throw new Error("the prompt has no tokens; give some text");
  const context = Math.min(pair.target.context ?? Infinity, pair.draft?.context ?? Infinity);
  if (prompt.ids.length + chosen.max_new_tokens > context) {
    const [size, value] = [prompt.ids.length, chosen.max_new_tokens];
    throw new Refused("room", {name: "max_new_tokens", size, value, context});
  }
  const recorder = new Recorder(pair, prompt, chosen);
  const run = iterations(pair, prompt.ids, chosen, {generator: generatorOf(chosen.seed), now});
  yield {start: recorder.start()};
  let step = run.next();
  while (!step.done) {
    if (typeof step.value === "function") {
      check();
      step = run.next(await step.value());
    } else {
      const iteration = recorder.add(step.value);
      const [{node}] = ranked(step.value, chosen);
      yield {iteration, best: pair.tokenizer.decode(idsOf(node))};
      step = run.next();
    }
  }
  yield {trace: await recorder.trace(step.value)};
}
