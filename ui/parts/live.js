/* Decodes what the form asks for in the visitor's own browser: no queue, no server. The models are fetched at the first
 * click, and the viewer shows the decode pass by pass (forest.js). */
const {base, pairs, fields, reads, labels, words, zeroIsNull} = JSON.parse(
  element.querySelector("[data-live]").dataset.live,
);
const run = element.querySelector("button");
const said = element.querySelector("[role=status]");
const NO_PLACE = "The server cannot take this run now. Your own browser can decode it.";
const {DsbdLanguage} = globalThis;
let client = null;
let clientPair = null;
let isRunning = false;
let trace = null;

/* What the form holds, also below a closed fold; Gradio's script in this browser knows it (ui/play/live_run.py). */
const form = () =>
  new Promise((done) => {
    document.addEventListener("dsbd-live-asked", ({detail}) => done(detail), {once: true});
    document.querySelector("#live-ask").click();
  });

async function asked() {
  const [key, prompt, method, ...values] = await form();
  if (!prompt.trim()) throw new Error("The prompt is blank; type a few words, or choose an example.");
  if (!reads[method]) throw new Error("A browser does not decode with this method; choose another one.");
  if (!pairs[key]) {
    throw new Error(
      "A browser decodes with the bundled pairs for stories and for SQL only; choose one under Settings.",
    );
  }
  const settings = {method};
  for (const name of reads[method]) {
    const value = values[fields.indexOf(name)];
    settings[name] = value === 0 && zeroIsNull.includes(name) ? null : value;
  }
  return {prompt, settings, pair: pairs[key]};
}

function hand(news, isLive) {
  document.querySelector(".play").classList.add("is-live");
  document.dispatchEvent(new CustomEvent("dsbd-live", {detail: {trace, news, isLive}}));
}

/* The forest is seen, and no longer why the server did not take the run. */
function begins() {
  document.dispatchEvent(new Event("dsbd-live-begins"));
  document.querySelector("#forest").scrollIntoView({block: "nearest"});
}

const hears = {
  progress({loaded, total}) {
    const share = Math.round((100 * loaded) / total);
    said.textContent =
      loaded < total ? `Fetching the models: ${share} % of ${Math.round(total / 1e6)} MB` : "Starting the models";
  },
  start({start}) {
    trace = {...start, iterations: [], result: null};
  },
  iteration({iteration}) {
    const {iterations} = trace;
    if (!iterations.length) begins();
    iterations.push(iteration);
    const layers = iterations.reduce((sum, one) => sum + one.layers.length, 0);
    said.textContent = `In this browser: ${layers} tokens in ${iterations.length} passes so far`;
    hand([iteration], true);
  },
};

async function fetched(script) {
  try {
    await import(script);
  } catch {
    throw new Error("The server does not answer, and this browser has no models yet. Try again when it is back.");
  }
}

async function decode() {
  const {prompt, settings, pair} = await asked();
  if (clientPair !== pair) {
    client?.end();
    await fetched(new URL(`${base}live.js`, document.baseURI).href);
    [client, clientPair] = [new globalThis.DsbdLive.Client(base, pair, hears), pair];
  }
  trace = null;
  const end = await client.run({prompt, settings, isWatched: true});
  if (end.kind === "done") Object.assign(trace, end.trace);
  if (trace?.iterations.length) hand([], false);
  if (end.kind === "stopped") return "Stopped.";
  const {layers, iterations, seconds} = end.trace.result.stats;
  return `Decoded in this browser: ${layers} tokens in ${iterations} passes, ${seconds.toFixed(2)} s. Run brings figures and sharing back.`;
}

function show(running) {
  isRunning = running;
  run.textContent = running ? "Stop" : "Run in my browser";
  run.classList.toggle("is-running", running);
}

run.title = "Fetches the models once (about 35 MB); what you type stays in your browser";
run.addEventListener("click", async () => {
  if (isRunning) {
    client?.stop();
    return;
  }
  show(true);
  try {
    said.textContent = "";
    said.textContent = await decode();
  } catch (error) {
    const called = (name) => (labels[name] ? DsbdLanguage.said(labels[name]) : name);
    const how = {words: DsbdLanguage.live ?? words, called, language: DsbdLanguage.now};
    said.textContent = error.key ? globalThis.DsbdLive.sentenceOf(error, how) : error.message;
  }
  show(false);
});

/* A decode of the server is shown again. */
document.addEventListener("dsbd-scene", () => {
  if (!document.querySelector(".play").classList.contains("is-live")) said.textContent = "";
});

document.addEventListener("dsbd-no-place", () => {
  said.textContent = NO_PLACE;
  element.scrollIntoView({block: "nearest"});
});
