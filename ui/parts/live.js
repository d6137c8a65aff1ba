/* Decodes what the form asks for in the visitor's own browser: no queue, no server. The models are fetched at the first
 * click, and the viewer shows the decode pass by pass (forest.js).
 *
 * The server says what the form asks for (ui/play/live_run.py). If it is away, the form is read here; then fields below
 * a closed fold keep their defaults. */
const {base, methods, pairs} = JSON.parse(element.querySelector("[data-live]").dataset.live);
const run = element.querySelector("button");
const said = element.querySelector("[role=status]");
const NO_PLACE = "The server cannot take this run now. Your own browser can decode it.";
const WAIT_MS = 3000;
let client = null;
let clientPair = null;
let isRunning = false;
let scene = null;

/* ---- what the form asks for ----------------------------------------------------------------- */

const told = () =>
  new Promise((done) => {
    const timer = setTimeout(() => done(read()), WAIT_MS);
    const answered = ({detail}) => {
      clearTimeout(timer);
      done(JSON.parse(detail));
    };
    document.addEventListener("dsbd-live-asked", answered, {once: true});
    document.querySelector("#live-ask").click();
  });

/* What a field of the form holds: the text, the chosen one of several, or what a list shows. */
function typed(name) {
  const field = document.getElementById(name);
  return field?.querySelector("input:checked, textarea, input:not([type=radio])")?.value;
}

function read() {
  const settings = {method: methods[typed("method")]};
  for (const {id} of document.querySelectorAll("[id^=field-]")) {
    const input = document.getElementById(id).querySelector("input[type=checkbox], input");
    const value =
      input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value;
    settings[id.slice("field-".length)] = value;
  }
  for (const name of ["max_width", "input_beams"]) settings[name] ||= null;
  return {prompt: typed("prompt"), settings, pair: pairs[typed("pair") ?? "page"]};
}

/* ---- a run ---------------------------------------------------------------------------------- */

function hand(made, isLive) {
  scene = made;
  document.querySelector(".play").classList.add("is-live");
  document.dispatchEvent(new CustomEvent("dsbd-live-scene", {detail: {scene, isLive}}));
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
  scene({scene: made, isFirst}) {
    const iterations = isFirst ? made.iterations : [...scene.iterations, ...made.iterations];
    if (isFirst) begins();
    said.textContent = `In this browser: ${made.statistics.layers} tokens in ${made.statistics.iterations} passes so far`;
    hand({...made, iterations}, true);
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
  const {error, prompt, settings, pair} = await told();
  if (error) throw new Error(error);
  if (!settings.method) throw new Error("A browser does not decode with this method; choose another one.");
  if (!pair) {
    throw new Error(
      "A browser decodes with the bundled pairs for stories and for SQL only; choose one under Settings.",
    );
  }
  if (clientPair !== pair) {
    client?.end();
    await fetched(new URL(`${base}live.js`, document.baseURI).href);
    [client, clientPair] = [new globalThis.DsbdLive.Client(base, pair, hears), pair];
  }
  const end = await client.run({prompt, settings, language: "en"});
  if (end.scene) hand(end.scene, false);
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
    said.textContent = error.message;
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
