/* The worker of a live page: the models, the tokenizer and the decoder run here, so that the page never stutters.
 *
 *   in:  {kind: "load", base, pair}   {kind: "run", prompt, settings, expected}   {kind: "stop"}
 *   out: {kind: "progress", loaded, total}   {kind: "ready", addresses}   {kind: "start", start}
 *        {kind: "iteration", iteration, best}   {kind: "done", trace}   {kind: "stopped"}
 *        {kind: "failed", text, key, values}
 *
 * start is what a trace says before its first iteration, iteration a record of it. */

import {loadPair} from "./model.js";
import {decode} from "./trace.js";

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

async function run({prompt, settings, expected}) {
  const text = pair.asPrompt(prompt);
  const tokens = {text, ids: pair.tokenizer.encode(text)};
  const behind = (one) => pair.tokenizer.encode(text + one).slice(tokens.ids.length);
  const guess = expected ? [expected, ` ${expected}`].map(behind) : []; // models differ in how they begin
  for await (const news of decode(pair, tokens, settings, {check: unlessStopped, guess})) {
    const [kind] = Object.keys(news);
    tell(kind === "trace" ? "done" : kind, news);
    await breathe();
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
