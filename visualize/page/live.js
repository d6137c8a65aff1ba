/* Decodes what the form asks for in the visitor's own browser: no queue, no server. The models are fetched at the first
 * click, and the viewer shows the decode pass by pass (play.js). */
const {DsbdPage} = globalThis;
const {base, pairs, first, words} = JSON.parse(element.querySelector("[data-live]").dataset.live);
const find = (name) => document.querySelector(`.play ${name}`);
const say = (sentence) => (find(".live-note").textContent = sentence);
let client = null;
let clientPair = null;
let isRunning = false;
let layers = 0;
let passes = 0;
const progress = () => `${DsbdPage.counted(layers, "token")} in ${DsbdPage.counted(passes, "pass")}`;

async function questionOf() {
  const [pair, prompt, method, ...values] = await DsbdPage.form();
  const {fields, reads, none} = DsbdPage.facts;
  if (!prompt.trim()) throw new Error("The prompt is blank; type a few words, or choose an example.");
  const settings = {method};
  for (const name of reads[method]) {
    const value = values[fields.indexOf(name)];
    settings[name] = value === none[name] ? null : value;
  }
  return {prompt, settings, pair: pairs[pair]};
}

const listeners = {
  progress({loaded, total}) {
    const share = Math.round((100 * loaded) / total);
    say(loaded < total ? `Fetching the models: ${share} % of ${Math.round(total / 1e6)} MB` : "Starting the models");
  },
  start({start}) {
    [layers, passes] = [0, 0];
    DsbdPage.showLive({head: start});
    document.querySelector("#forest").scrollIntoView({block: "nearest"});
  },
  iteration({iteration}) {
    layers += iteration.layers.length;
    passes += 1;
    say(`In this browser: ${progress()} so far`);
    DsbdPage.showLive({iteration});
  },
};

async function decode() {
  const {prompt, settings, pair} = await questionOf();
  if (clientPair !== pair) {
    client?.end();
    await import(new URL(`${base}live.js`, document.baseURI).href).catch(() => {
      throw new Error("The server does not answer, and this browser has no models yet. Try again when it is back.");
    });
    client = new globalThis.DsbdLive.Client(new URL(base, document.baseURI).href, pair, listeners);
    clientPair = pair;
  }
  const end = await client.run({prompt, settings});
  if (end.kind === "stopped") return "Stopped.";
  DsbdPage.showLive({whole: end.trace});
  const {seconds} = end.trace.result.stats;
  const took = seconds < 0.1 ? "under 0.1 s" : `${seconds.toFixed(1)} s`;
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
    const called = (name) => DsbdPage.facts.labels[name] ?? name;
    say(error.key ? globalThis.DsbdLive.sentenceOf(error, {words, called, language: "en"}) : error.message);
  }
  show(false);
};

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
