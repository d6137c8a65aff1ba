/* The decode on the stage. While one runs, the records of new iterations arrive and the viewer adds them. This browser
 * keeps the traces: of this visit's runs, of opened files, and the recorded ones, which the server lends. */
const {DsbdPage, DsbdViewer} = globalThis;
const {make} = DsbdPage;
const facts = JSON.parse(element.querySelector(".stage").dataset.facts);
const [mount, plotlyMount, line] = [".forest-mount", ".plotly-mount", ".running-line"].map((name) =>
  element.querySelector(name),
);
const find = (name) => document.querySelector(`.play ${name}`);
const addressOf = (name) => new URL(`${facts.own}/${name}`, document.baseURI).href;
const MOST_KEPT = 10;
const ORIGINS = {
  accepted: "a guess of the small model that was kept",
  carried: "a guess of the small model, kept with those before it",
  recovered: "picked by the large model, where the guesses ran out",
  fresh: "picked by the large model, to keep as many versions as planned",
  bonus: "picked by the large model, after every guess had passed",
};

let viewer = null;
let trace = null; // what is shown
let name = ""; // of the decode that is shown: recorded, or run-1, run-2, ... of this visit
let running = null; // the trace of the run that goes on
let settled = Infinity; // how many tokens of the text are final
let isTold = new URLSearchParams(location.search).has("prompt"); // the story of the opening; a link runs at once
let goal = isTold ? location.hash : "";
const kept = new Map(); // the decodes of this visit, by name
let count = 0;

/* ---- the viewer and the text ------------------------------------------------------------- */

/* Follow the decode unless the visitor has stepped back. */
const atEnd = () => viewer.where().it >= viewer.where().iterations - 1;

function draw(next, how = {}) {
  trace = next;
  if (viewer) viewer.setTrace(trace, how);
  else viewer = DsbdViewer.mount(mount, trace, {start: location.hash.slice(1), language: "en"});
  showText();
  if (find("#python")?.open) showPython();
  clearPlotly();
}

function showText(isLive = false) {
  const {prompt, tokens, ended} = viewer.text();
  const parts = [make("span", "text-prompt", prompt)];
  tokens.forEach(({text, origin}, at) => {
    const span = make("span", `mark mark-${origin}${at < settled ? "" : " mark-open"}`, text);
    span.title = `${ORIGINS[origin]}${at < settled ? "" : ", may still change"}`;
    if (at === settled) parts.push(make("span", "text-edge"));
    parts.push(span);
  });
  if (ended) parts.push(make("span", "text-end", " ∎"));
  if (isLive) parts.push(make("span", "text-caret"));
  line.replaceChildren(...parts);
}

/* A recording opens at its first step; the first of a visit plays its story. If the visitor stepped through it while
 * the page was starting, it stands where it was. */
function begin() {
  const stood = !isTold && /^#iteration=/.test(location.hash);
  if (!stood) viewer.goto({it: 0, step: 0});
  if (!isTold && !stood) viewer.story();
  isTold = true;
}

/* The end of a run: the place that its link names, else the two lanes, and the iteration with the most tokens, one step
 * before its end: everything is decided and nothing has faded yet. */
function openEnd() {
  const asked = /^#iteration=(\d{1,9})&step=(\d{1,9})$/.exec(goal);
  goal = "";
  if (asked) {
    viewer.goto({it: asked[1] - 1, step: asked[2] - 1});
    return;
  }
  const won = trace.iterations.map(({layers}) => layers.length);
  viewer.goto({it: won.indexOf(Math.max(...won)), step: Infinity});
  viewer.goto({step: viewer.where().step - 1});
  if (trace.models.draft) viewer.replay();
}

/* Add records of the decode that runs; `whole` is its trace without iterations, once it has ended. */
function grow(news, now, whole) {
  if (trace !== running) return; // a frame that comes after Stop, or while another decode is shown
  const follow = atEnd();
  settled = whole ? Infinity : now;
  trace.iterations.push(...news);
  if (whole) Object.assign(trace, {...whole, iterations: trace.iterations});
  viewer.add(news, {result: trace.result, follow});
  showText(!whole);
  if (!whole) return;
  running = null;
  keep("Your run");
  if (follow) openEnd();
  if (find("#python")?.open) showPython();
}

function startRun(head) {
  name = `run-${(count += 1)}`;
  isTold = true;
  settled = 0;
  draw({...head, iterations: [], result: null});
  running = trace;
}

function take(message, bulk) {
  if (message.kind === "show") {
    name = message.name;
    settled = Infinity;
    if (!goal) {
      draw(bulk);
      begin();
    }
    offer();
  } else if (message.kind === "begin") startRun(bulk);
  else if (message.kind === "more") grow(bulk.iterations, message.settled, bulk.trace);
  else if (trace?.iterations.length && !trace.result) {
    [running, settled] = [null, Infinity];
    showText();
    keep("Stopped run");
  }
}
DsbdPage.follow(props, watch, take);

/* ---- the decodes that can be looked at ------------------------------------------------------ */

let target = Object.values(facts.targets)[0];

function keep(what, file) {
  kept.set(name, {label: labelOf(what), trace, file});
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  offer();
}

function labelOf(what) {
  const {prompt, settings} = trace;
  const words = prompt.text.replace(/\s+/g, " ").trim();
  const begins = words.length > 28 ? `${words.slice(0, 28)}…` : words;
  return `${what} ${kept.size + 1}: ${facts.methods[settings.method] ?? settings.method}, “${begins}”`;
}

function offer() {
  const list = document.querySelector("#shown");
  if (!list) return requestAnimationFrame(offer);
  const own = [...kept].reverse().map(([key, {label}]) => new Option(label, key));
  const recorded = facts.recorded.filter(([, , made]) => made === target);
  list.replaceChildren(...own, ...recorded.map(([key, title]) => new Option(title, key)));
  list.value = name;
}

/* Another pair was chosen in the form. */
DsbdPage.offer = (pair) => {
  target = facts.targets[pair];
  offer();
};

async function choose(key) {
  name = key;
  settled = Infinity;
  if (kept.has(key)) draw(kept.get(key).trace);
  else {
    const answer = await fetch(addressOf(`traces/${key}.json.gz`));
    draw(JSON.parse(await DsbdPage.gunzipped(await answer.blob())));
  }
  begin();
  fillForm();
  offer();
}
DsbdPage.choose = choose;

/* A file of the visitor. It never leaves this browser. */
async function openFile(file) {
  const said = document.querySelector("#said");
  said.textContent = "";
  try {
    const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    const isPacked = head[0] === 0x1f && head[1] === 0x8b;
    const opened = JSON.parse(isPacked ? await DsbdPage.gunzipped(file) : await file.text());
    const isTrace = opened?.format === "dsbd-trace/1" && Array.isArray(opened.iterations) && opened.prompt?.pieces;
    if (!isTrace) throw new Error("it is no trace of the format dsbd-trace/1");
    const before = [trace, name];
    try {
      settled = Infinity;
      draw(opened);
    } catch (error) {
      draw(before[0]);
      throw error;
    }
    name = `run-${(count += 1)}`;
    keep("Your file", file);
    begin();
    fillForm();
  } catch (error) {
    said.textContent = `${file.name} cannot be opened: ${error.message}. Give a file that Trace or trace.save wrote.`;
  }
}

document.addEventListener("change", ({target: control}) => {
  if (control.id === "shown") choose(control.value);
  if (control.id === "open-trace" && control.files.length) {
    openFile(control.files[0]);
    control.value = "";
  }
});

/* ---- the form -------------------------------------------------------------------------------- */

const shownValue = (field, value) => {
  if (value === null || value === undefined) return 0;
  return Array.isArray(value) ? value.join(",") : value;
};

function valuesOf({settings}) {
  const reads = facts.reads[settings.method];
  return facts.fields.map((field) => {
    if (!reads.includes(field)) return facts.defaults[field];
    const value = shownValue(field, settings[field]);
    const [low, high] = facts.ranges[field] ?? [-Infinity, Infinity];
    return typeof value === "number" ? Math.min(Math.max(value, low), high) : value;
  });
}

/* The form follows what is shown. */
function fillForm(prompt = trace.prompt.text, seed = trace.settings.seed) {
  if (facts.reads[trace.settings.method]) {
    DsbdPage.fill([prompt, trace.settings.method, ...valuesOf({settings: {...trace.settings, seed}})]);
  }
}

function further() {
  const best = trace?.result?.beams[0];
  if (!best) return say("There is no whole decode to continue; run one first.");
  if (best.finished) return say("The text ended by itself; there is nothing to continue.");
  fillForm(trace.prompt.text + best.text, trace.settings.seed + 1);
  setTimeout(() => document.querySelector("#run").click(), 300);
}

function say(words) {
  const said = find(".share-said:not(#said)");
  said.textContent = words;
  if (said.closest("details")) said.closest("details").open = true;
}

/* ---- share --------------------------------------------------------------------------------- */

const place = () => {
  const {it, step} = viewer.where();
  return `iteration=${it + 1}&step=${step + 1}`;
};

async function link() {
  const [pair, prompt, method, ...values] = await DsbdPage.form();
  const query = new URLSearchParams({prompt, method, pair});
  facts.fields.forEach((field, at) => {
    const isOwn = facts.reads[method].includes(field) && values[at] !== facts.defaults[field];
    if (isOwn) query.set(field, values[at]);
  });
  const {settings, prompt: made} = trace;
  const isShown = made.text === prompt && settings.method === method && facts.targets[pair] === trace.models.target.id;
  const address = `${location.origin}${location.pathname}?${query}${isShown ? `#${place()}` : ""}`;
  const field = find(".share-link");
  field.hidden = false;
  field.value = address;
  field.select();
  await navigator.clipboard?.writeText(address).catch(() => {});
  say("Copied. The link runs this prompt with these settings.");
}

async function savePage() {
  const template = await (await fetch(addressOf("page.html"))).text();
  const bytes = await DsbdPage.gzipped(JSON.stringify(trace));
  let packed = "";
  for (const byte of bytes) packed += String.fromCharCode(byte);
  const whole = template.replace("TRACE-OF-THE-READER", btoa(packed)).replace("PLACE-OF-THE-READER", place());
  DsbdPage.save("dsbd.html", whole, "text/html");
}

/* A file that was there goes as it is: JavaScript writes 4.0 as 4, and its digest would be another one. */
async function saveTrace() {
  const {file} = kept.get(name) ?? {};
  if (file) return DsbdPage.save(file.name, file, file.type);
  const isRecorded = facts.recorded.some(([key]) => key === name);
  const packed = isRecorded
    ? await (await fetch(addressOf(`traces/${name}.json.gz`))).blob()
    : await DsbdPage.gzipped(JSON.stringify(trace));
  DsbdPage.save("trace.json.gz", packed, "application/gzip");
}

const DO = {
  further,
  link,
  page: savePage,
  picture: () => viewer.picture(),
  trace: saveTrace,
  live: () => DsbdPage.live?.(),
};
document.addEventListener("click", ({target: button}) => {
  const act = DO[button.closest(".play [data-do]")?.dataset.do];
  if (act && trace) Promise.resolve(act()).catch((error) => say(error.message));
});

/* The program that repeats what is shown. */
function showPython() {
  const {settings, prompt, models} = trace;
  const [owner] = models.target.id.split("/");
  const names = [models.target, models.draft].filter(Boolean).map(({id}) => literal(id));
  const pair = owner === "bundled" ? "" : owner.startsWith("bundled:") ? literal(owner) : names.join(", ");
  const isGiven = (field) => settings[field] !== null && literal(settings[field]) !== literal(facts.defaults[field]);
  const named = ["method", ...facts.reads[settings.method].filter(isGiven)];
  const listed = named.map((field) => `${field}=${literal(settings[field])}`).join(", ");
  find(".python-lines").textContent = [
    "import dsbd\n",
    `pair = dsbd.load_pair(${pair})`,
    `settings = dsbd.DecodingSettings(${listed})`,
    `result = dsbd.decode(pair, ${literal(prompt.text)}, settings, record=True)`,
    "print(result.text)",
    'result.trace.save("trace.json.gz")',
  ].join("\n");
}

function literal(value) {
  if (Array.isArray(value)) return `(${value.join(", ")},)`;
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}
document.addEventListener(
  "toggle",
  ({target: fold}) => fold.id === "python" && fold.open && trace && showPython(),
  true,
);

/* ---- a decode that ran in this browser (live.js) ---------------------------------------------- */

DsbdPage.showLive = ({head, iteration, whole}) => {
  if (head) startRun(head);
  if (iteration) grow([iteration], 0, null);
  if (whole) grow([], Infinity, {...whole, iterations: []});
};
DsbdPage.facts = facts;

/* ---- the decode as Plotly figures ------------------------------------------------------------- */

const CONFIG = {
  responsive: true,
  displaylogo: false,
  displayModeBar: true,
  showSendToCloud: false,
  toImageButtonOptions: {format: "svg", filename: "dsbd"},
};
const isPlotly = () => document.querySelector(".play").classList.contains("as-plotly");

function clearPlotly() {
  for (const figure of plotlyMount.querySelectorAll(".js-plotly-plot")) globalThis.Plotly.purge(figure);
  plotlyMount.replaceChildren();
  if (isPlotly()) askPlotly();
}

function askPlotly() {
  if (plotlyMount.children.length) return;
  plotlyMount.append(make("p", "said", "Drawing …"));
  document.querySelector("#plotly-ask").click();
}

/* The server draws its recordings and the last run of this visitor; the rest is in this browser only. */
DsbdPage.plotlyAsked = () => [facts.recorded.some(([key]) => key === name) ? name : "", DsbdPage.isDark()];
DsbdPage.drawPlotly = async (figures) => {
  const Plotly = await DsbdPage.plotly();
  plotlyMount.replaceChildren();
  if (!figures.length) plotlyMount.append(make("p", "said", "Plotly draws recorded decodes and your last run here."));
  for (const {data, layout, frames} of figures) {
    const figure = make("div", "figure");
    plotlyMount.append(figure);
    await Plotly.newPlot(figure, {data, layout: {...layout, autosize: true}, frames, config: CONFIG});
    figure.on("plotly_click", ({points}) => {
      const [iteration, node] = points[0].customdata ?? [];
      if (iteration !== undefined) viewer.goto({it: iteration, step: Infinity, node});
    });
  }
};

document.addEventListener("click", ({target: button}) => {
  const chosen = button.closest(".forest-switch button");
  if (!chosen) return;
  const [steps, plotly] = chosen.parentElement.children;
  document.querySelector(".play").classList.toggle("as-plotly", chosen === plotly);
  steps.setAttribute("aria-pressed", String(chosen === steps));
  plotly.setAttribute("aria-pressed", String(chosen === plotly));
  if (isPlotly() && trace) askPlotly();
});
let wasDark = DsbdPage.isDark();
new MutationObserver(() => {
  if (wasDark === DsbdPage.isDark()) return;
  wasDark = DsbdPage.isDark();
  clearPlotly();
}).observe(document.body, {attributeFilter: ["class"]});
