/* The worker of a live page: the models, the tokenizer and the decoder run here, so that the page never stutters.
 *
 *   in:  {kind: "load", base, pair}   {kind: "run", prompt, settings, language}   {kind: "stop"}
 *   out: {kind: "progress", loaded, total}   {kind: "ready", addresses}   {kind: "scene", scene, isFirst, best}
 *        {kind: "done", scene, trace, seconds}   {kind: "stopped", scene}   {kind: "failed", text, key, values}
 *
 * A scene of a run that goes on holds the newest pass only. A run without `language` sends no scenes, but its trace. */

import {decode} from "./decode.js";
import {loadPair} from "./pair.js";
import {SceneBuilder} from "./scene/builder.js";

const STOPPED = "stopped";
let pair = null;
let isStopped = false;

const tell = (kind, more = {}) => globalThis.postMessage({kind, ...more});
const unlessStopped = () => {
  if (isStopped) throw new Error(STOPPED);
};

/* Lets messages in: a stop is heard between two passes. */
const {port1, port2} = new MessageChannel();
const breathe = () =>
  new Promise((next) => {
    port1.onmessage = next;
    port2.postMessage(0);
  });

async function load({base, pair: name}) {
  const progress = (loaded, total) => tell("progress", {loaded, total});
  pair = await loadPair(base, name, {progress, check: unlessStopped});
  const addresses = [globalThis.location.href, ...performance.getEntriesByType("resource").map(({name: file}) => file)];
  tell("ready", {addresses});
}

async function run({prompt, settings, language}) {
  let builder = null;
  let best = null;
  try {
    const asked = {text: prompt, ids: pair.tokenizer.encode(prompt)};
    for await (const {start, iteration, trace, ...told} of decode(pair, asked, settings, {check: unlessStopped})) {
      if (start && language) builder = new SceneBuilder(start, language);
      if (iteration && builder) {
        best = told.best;
        builder.add(iteration);
        tell("scene", {scene: builder.scene({best: best.node, last: 1}), isFirst: !iteration.index, best: best.text});
      }
      if (trace) tell("done", {scene: builder?.scene(trace.result), trace});
      await breathe();
    }
  } catch (error) {
    if (error.message !== STOPPED) throw error;
    tell("stopped", {scene: best && builder.scene({best: best.node})});
  }
}

/* One thing at a time, in the order in which it was asked for; only a stop is heard at once. */
let turn = Promise.resolve();
globalThis.onmessage = ({data}) => {
  if (data.kind === "stop") {
    isStopped = true;
    return;
  }
  isStopped = false;
  const act = data.kind === "load" ? load : run;
  turn = turn
    .then(() => act(data))
    .catch(({message, key, values}) => tell(message === STOPPED ? "stopped" : "failed", {text: message, key, values}));
};
