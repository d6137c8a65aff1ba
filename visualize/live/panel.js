/* The form of a live page: it decodes in the reader's browser and hands the growing trace to the page around it, as the
 * event dsbd-live with {trace, news, isLive}: news are the records of iterations that are new in the trace.
 *
 * An element with class dsbd-live (visualize/pages/live.html) holds the form, and its data as JSON:
 *   {base, pairs: [{name, megabytes, prompt, settings}], reads, words, isSmall}
 * The first pair is chosen at first. isSmall: only prompt and Run, in the card of a lesson; the settings are those of
 * its decode. */

import {FIELDS, Refused, sentenceOf} from "./settings.js";
import {download, filled, localised, make} from "../viewer/dom.js";

function mountLive(root, data) {
  const {words, isSmall} = data;
  const say = (key, values = {}) => filled(words[key], values);
  const kinds = new Intl.PluralRules(document.documentElement.lang);
  const counted = (name, count) => {
    const key = `${name}.${kinds.select(count)}`;
    return say(key in words ? key : `${name}.other`, {count: localised(count)});
  };
  const won = (layers, passes) => ({tokens: counted("tokens", layers), passes: counted("passes", passes)});
  let pair = null;
  let client = null;
  let trace = null;
  let running = false;

  const find = (selector) => root.querySelector(selector);
  const [prompt, pairs, methods] = ["textarea", "[data-chosen=pair]", "[data-chosen=method]"].map(find);
  const [run, save, bar, status] = [".dsbd-live-run", ".dsbd-live-save", "progress", ".dsbd-live-said"].map(find);
  const answer = find(".dsbd-live-text");
  const labels = [...root.querySelectorAll("[data-field]")];
  const fields = new Map(
    labels.map((label) => [label.dataset.field, {label, control: label.querySelector("input, select")}]),
  );
  const labelOf = (name) => words[`field.${name}`] ?? FIELDS[name]?.label ?? name;
  root.classList.add("dsbd-live-ready");

  /* Another pair: its prompt and its settings stand in the form. */
  function choose() {
    pair = data.pairs.find(({name}) => name === pairs.value);
    client?.end();
    client = new Client(data.base, pair.name, hears);
    const {settings} = pair;
    prompt.value = pair.prompt;
    methods.value = settings.method;
    for (const [name, {control}] of fields) {
      const value = settings[name] === undefined ? FIELDS[name].standard : settings[name];
      if (control.type === "checkbox") control.checked = settings[name] !== false;
      else if (control.type === "select-one") control.value = JSON.stringify(value);
      else control.value = value ?? FIELDS[name].standard ?? "";
    }
    fit();
    show();
  }

  /* Only what the method reads is shown. */
  function fit() {
    for (const [name, {label}] of fields) label.hidden = !data.reads[methods.value].includes(name);
  }

  /* The settings as the form says; an empty number takes its default. */
  function chosenSettings() {
    if (isSmall) return pair.settings;
    const read = [...fields].filter(([, {label}]) => !label.hidden);
    const values = read.map(([name, {control}]) => {
      if (control.validity.badInput) throw new Refused("unread", {name});
      if (control.type === "checkbox") return [name, control.checked];
      if (control.type === "select-one") return [name, JSON.parse(control.value)];
      return [name, control.value === "" ? undefined : Number(control.value)];
    });
    return {method: methods.value, ...Object.fromEntries(values)};
  }

  const hand = (news, isLive) =>
    root.dispatchEvent(new CustomEvent("dsbd-live", {bubbles: true, detail: {trace, news, isLive}}));

  const write = (text) => answer.replaceChildren(make("span", {text: trace.prompt.text}), text);

  const hears = {
    progress({loaded, total}) {
      Object.assign(bar, {max: total, value: loaded});
      const megabytes = (bytes) => localised(bytes / 1e6);
      status.textContent =
        loaded < total ? say("loading", {done: megabytes(loaded), all: megabytes(total)}) : words.starting;
    },
    start({start}) {
      trace = {...start, iterations: [], result: null};
    },
    iteration({iteration, best}) {
      write(best);
      const {iterations} = trace;
      iterations.push(iteration);
      const layers = iterations.reduce((sum, one) => sum + one.layers.length, 0);
      status.textContent = say("running", won(layers, iterations.length));
      hand([iteration], true);
    },
  };

  async function decode() {
    save.hidden = true;
    trace = null;
    const end = await client.run({prompt: prompt.value, settings: chosenSettings()});
    const isStopped = end.kind === "stopped";
    if (!isStopped) Object.assign(trace, end.trace);
    if (trace?.iterations.length) hand([], false);
    if (isStopped) {
      status.textContent = words.stopped;
      return;
    }
    write(trace.result.text);
    save.hidden = isSmall;
    const {layers, iterations, seconds, tokens_per_second: speed} = trace.result.stats;
    const took = {seconds: localised(seconds, 2), speed: localised(speed)};
    status.textContent = say("done", {...won(layers, iterations), ...took});
  }

  /* Run is Stop meanwhile. */
  async function going() {
    running = true;
    bar.hidden = client.loaded !== null;
    show();
    try {
      if (!prompt.value.trim()) throw new Refused("blank");
      const isFirst = client.loaded === null;
      const {kind, addresses} = await client.load();
      bar.hidden = true;
      if (kind === "stopped") status.textContent = words.stopped;
      else await decode();
      if (isFirst && addresses) keep(new URL("../service-worker.js", client.base), addresses);
    } catch (error) {
      const {lang: language} = document.documentElement;
      status.textContent = say("failed", {error: sentenceOf(error, {words, labelOf, language})});
    }
    running = false;
    bar.hidden = true;
    show();
  }

  function show() {
    const idle = client.loaded ? words.run : say("fetch", {megabytes: localised(pair.megabytes)});
    pairs.disabled = running;
    run.textContent = running ? words.stop : idle;
    root.classList.toggle("dsbd-live-running", running);
  }

  save.addEventListener("click", () => download("decode.json", JSON.stringify(trace), "application/json"));
  run.addEventListener("click", () => (running ? client.stop() : going()));
  methods.addEventListener("change", fit);
  pairs.addEventListener("change", choose);
  choose();
  if (location.protocol === "file:") {
    run.disabled = true;
    status.textContent = words.file;
  }
}

/* Keeps the page and its files for a time without network, where the browser and the address allow that. */
async function keep(script, addresses) {
  const loaded = performance.getEntriesByType("resource").map(({name}) => name);
  try {
    await navigator.serviceWorker.register(script);
    const {active} = await navigator.serviceWorker.ready;
    active.postMessage([location.href, ...loaded, ...addresses]);
  } catch {
    /* then it needs the network next time */
  }
}

/* The page's side of the worker. Nothing is fetched before the first load. */
class Client {
  /* base: address of the folder of shared files, with a slash. hear: {progress, start, iteration}, called with each
   * message. */
  constructor(base, pair, hear) {
    this.base = new URL(base, document.baseURI).href;
    this.pair = pair;
    this.hear = hear;
    this.worker = this.loaded = null;
  }

  /* Resolves with {kind: "ready", addresses}, what the worker has loaded, or with {kind: "stopped"}. */
  load() {
    this.loaded ??= this.begin().catch((error) => {
      this.end();
      throw error;
    });
    return this.loaded;
  }

  async begin() {
    if (globalThis.origin === "null") throw new Refused("sandbox");
    this.worker = new Worker(`${this.base}worker.js`, {type: "module"});
    const message = await this.ask({kind: "load", base: this.base, pair: this.pair});
    if (message.kind === "stopped") this.end();
    return message;
  }

  /* Resolves with the message that ends a run: {kind: "done", ...} or {kind: "stopped", ...}. */
  async run(request) {
    const message = await this.load();
    return message.kind === "stopped" ? message : this.ask({kind: "run", ...request});
  }

  stop() {
    this.worker?.postMessage({kind: "stop"});
  }

  /* Frees the models; the next run loads them again. */
  end() {
    this.worker?.terminate();
    this.worker = this.loaded = null;
  }

  ask(message) {
    const {worker} = this;
    return new Promise((done, failed) => {
      worker.onmessage = ({data}) => {
        if (data.kind === "failed") failed(data.key ? new Refused(data.key, data.values) : new Error(data.text));
        else if (data.kind in this.hear) this.hear[data.kind](data);
        else done(data);
      };
      worker.onerror = ({message}) =>
        failed(message ? new Error(message) : new Refused("unloaded", {path: "worker.js", said: "error"}));
      worker.postMessage(message);
    });
  }
}

for (const root of document.querySelectorAll(".dsbd-live")) {
  mountLive(root, JSON.parse(root.querySelector("script").textContent));
}
