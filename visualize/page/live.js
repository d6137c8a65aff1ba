/* Decodes in the visitor's own browser: no queue, no server. The models are fetched at the first click. It runs what
 * the form asks for, pass by pass (play.js); and the sliders below the forest decode again what is shown. */
const {DsbdPage} = globalThis;
const {base, pairs, first, words} = JSON.parse(element.querySelector("[data-live]").dataset.live);
const find = (name) => document.querySelector(`.play ${name}`);
const say = (sentence) => (find(wanted ? ".touch-note" : ".live-note").textContent = sentence);
let client = null;
let clientPair = null;
let isRunning = false;
let wanted = null; // the settings that the sliders ask for, while they decode
let layers = 0;
let passes = 0;
const progress = () => `${DsbdPage.counted(layers, "token")} in ${DsbdPage.counted(passes, "pass")}`;

/* What was said of another decode. */
DsbdPage.forgetLive = () => [".live-note", ".touch-note"].forEach((name) => (find(name).textContent = ""));

async function questionOf() {
  const [pair, prompt, method, ...values] = await DsbdPage.form();
  const {fields, reads, none} = DsbdPage.facts;
  if (!prompt.trim()) throw new Error("The prompt is blank; type a few words, or choose an example.");
  const settings = {method};
  for (const name of reads[method]) {
    const value = values[fields.indexOf(name)];
    settings[name] = value === none[name] ? null : value;
  }
  const expected = document.querySelector("#expected textarea")?.value.trim(); // no box where the method cannot guess
  return {prompt, settings, expected, pair: pairs[pair]};
}

const listeners = {
  progress({loaded, total}) {
    const share = Math.round((100 * loaded) / total);
    say(loaded < total ? `Fetching the models: ${share} % of ${Math.round(total / 1e6)} MB` : "Starting the models");
  },
  start({start}) {
    if (wanted) return;
    [layers, passes] = [0, 0];
    DsbdPage.showLive({head: start});
    document.querySelector("#forest").scrollIntoView({block: "nearest"});
  },
  iteration({iteration}) {
    if (wanted) return;
    layers += iteration.layers.length;
    passes += 1;
    say(`In this browser: ${progress()} so far`);
    DsbdPage.showLive({iteration});
  },
};

async function run({pair, ...request}) {
  if (clientPair !== pair) {
    client?.end();
    await import(new URL(`${base}live.js`, document.baseURI).href).catch(() => {
      throw new Error("The server does not answer, and this browser has no models yet. Try again when it is back.");
    });
    client = new globalThis.DsbdLive.Client(new URL(base, document.baseURI).href, pair, listeners);
    clientPair = pair;
  }
  return client.run(request);
}

async function decode() {
  const end = await run(await questionOf());
  if (end.kind === "stopped") return "Stopped.";
  DsbdPage.showLive({whole: end.trace});
  const {seconds} = end.trace.result.stats;
  const took = seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`;
  return `Decoded in this browser: ${progress()}, ${took}.`;
}

function show(running) {
  isRunning = running;
  find("[data-do=live]").textContent = running ? "Stop" : "Run in my browser";
}

DsbdPage.live = async () => {
  if (isRunning) {
    client?.stop();
    return;
  }
  show(true);
  try {
    say("");
    say(await decode());
  } catch (error) {
    say(sentenceOf(error));
  }
  show(false);
};

function sentenceOf(error) {
  const labelOf = (name) => DsbdPage.facts.labels[name] ?? name;
  return error.key ? globalThis.DsbdLive.sentenceOf(error, {words, labelOf, language: "en"}) : error.message;
}

/* ---- the sliders below the forest ---------------------------------------------------------------------------- */

const sliders = () => [...document.querySelectorAll("[data-touch]")];

/* They show the settings of the decode that is shown, where a browser can decode it again. */
DsbdPage.showTouch = ({settings, models}) => {
  const pair = Object.keys(pairs).find((name) => DsbdPage.facts.targets[name] === models.target.id);
  const isOffered = Boolean(pair) && settings.method === "dsbd" && settings.min_width === settings.max_width;
  find(".touch").hidden = !isOffered;
  if (!isOffered || wanted) return;
  for (const slider of sliders()) {
    slider.value = settings[slider.dataset.touch];
    slider.nextElementSibling.value = slider.value;
  }
};

/* The settings of a decode, with what the sliders say. */
function touched({settings}) {
  const named = DsbdPage.facts.reads.dsbd.map((name) => [name, settings[name]]);
  const asked = Object.fromEntries(sliders().map(({dataset, value}) => [dataset.touch, Number(value)]));
  const width = {min_width: asked.max_width, draft_width: Math.max(asked.max_width, 1)};
  return {...Object.fromEntries(named), method: "dsbd", ...asked, ...width};
}

/* "The same text in 4 passes, before in 2". */
function describeChange(before, now) {
  const text = now.result.text === before.result?.text ? "The same text" : "Another text, with the same seed,";
  return `${text} in ${DsbdPage.counted(now.iterations.length, "pass")}, before in ${before.iterations.length}`;
}

/* Decodes until it has decoded what the sliders say now. */
async function touch() {
  const trace = DsbdPage.shownTrace();
  const isBusy = wanted !== null || isRunning;
  wanted = touched(trace);
  if (isBusy) return;
  const pair = Object.keys(pairs).find((name) => DsbdPage.facts.targets[name] === trace.models.target.id);
  const prompt = DsbdPage.typedIn(trace.prompt.text, DsbdPage.facts);
  try {
    for (let settings = null; settings !== wanted;) {
      settings = wanted;
      const before = DsbdPage.shownTrace();
      const {trace: now} = await run({prompt, settings, pair: pairs[pair]});
      DsbdPage.showTouched(now);
      say(describeChange(before, now));
    }
  } catch (error) {
    say(sentenceOf(error));
  }
  wanted = null;
}

document.addEventListener("input", ({target: slider}) => {
  if (!slider.matches("[data-touch]")) return;
  slider.nextElementSibling.value = slider.value;
  touch();
});

/* The button is there for the pairs that a browser has. */
DsbdPage.offerLive = (pair) => {
  const button = find("[data-do=live]");
  if (button) button.hidden = !pairs[pair];
  else requestAnimationFrame(() => DsbdPage.offerLive(pair));
};
DsbdPage.offerLive(first);

document.addEventListener("dsbd-no-place", () => {
  if (!find("[data-do=live]").hidden) say("The server cannot take this run now. Your own browser can decode it.");
});
