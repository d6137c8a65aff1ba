/* The decode on the stage. While one runs, the records of new iterations arrive and the viewer adds them. This browser
 * keeps the traces: of this visit's runs, of opened files, and the recorded ones, which the server lends. */
import {openAt} from "./opening.js";
import {forestOf, isAnswerTo, remember, remembered} from "./question.js";
import {SavedDecodes, openedTrace} from "./saved.js";
import {Second} from "./second.js";
import {EMBED, addressOf, copyLine, copyText, linkTo, pageOf, saveTrace, sayShared} from "./sharing.js";

const {DsbdPage} = globalThis;
const facts = JSON.parse(element.querySelector(".answer").dataset.facts);
const answer = new DsbdPage.Answer(element.querySelector(".answer"), facts);
const find = (name) => document.querySelector(`.play ${name}`);
const saved = new SavedDecodes(facts);
const stages = element.querySelector(".stages");
const second = new Second(stages, saved);
DsbdPage.trigger = trigger; // an event of the stage, which play.py answers

/* A decode: {name, trace, settled, rows, guessed, beside, label, file}. Its name is that of a recording, or run-1, ...
 * of this visit; settled: how many tokens of the text are final; waits: until its first pass nothing of it is shown. */
let viewer = null;
let shown = null;
let running = null; // the decode that goes on; another one may be shown meanwhile
let served = null; // the last one of the server
let goal = new URLSearchParams(location.search).has("prompt") ? location.hash : ""; // a link runs at once
let stands = /^#iteration=/.test(location.hash); // the place that an address names, in the first decode

/* Follow the decode unless the visitor has stepped back. */
const atEnd = () => viewer.where().it >= viewer.where().iterations - 1;

function draw(decode, how = {}) {
  if (decode !== running) DsbdPage.forgetLive?.();
  if (viewer) viewer.setTrace(decode.trace, how);
  else {
    const start = location.hash.slice(1);
    const onchange = ({words}) => answer.mark(words);
    const tools = element.querySelector(".forest-switch");
    const below = element.querySelector(".touch");
    const options = {start, language: "en", onchange, oncontinue: further, tools, below};
    viewer = DsbdPage.mount(element.querySelector(".forest-mount"), decode.trace, options);
  }
  shown = decode;
  showAnswer();
  showWhetherOlder();
  if (find("#python")?.open) showPython();
  DsbdPage.clearPlots?.();
}

/* ---- the question ------------------------------------------------------------------------- */

const beforeReload = remembered(); // what this tab asked before it was loaded again
let question = null; // what the form asks: {pair, prompt}

/* The answer to another question than that of the form is dimmed. Returns the note beside the examples. */
function showWhetherOlder() {
  const isOlder = Boolean(shown && shown !== running && question && !isAnswerTo(question, shown.trace, facts));
  answer.element.classList.toggle("is-older", isOlder);
  find(".older").hidden = !isOlder;
  if (running) return STAYS;
  return isOlder ? "" : DsbdPage.recording() ? facts.note : STAYS;
}

DsbdPage.ask = (pair, prompt) => {
  question = {pair, prompt};
  target = facts.targets[pair];
  remember(question);
  return showWhetherOlder();
};

/* Returns the prompt of an example and its note; its recording with the chosen preset is shown, if there is one. */
DsbdPage.example = (index, pair, preset) => {
  const prompt = facts.examples[pair][index];
  const note = DsbdPage.ask(pair, prompt);
  const example = saved.recordingOf(target, preset, prompt);
  if (running || !example || DsbdPage.presetOf(example.settings) !== preset) return [prompt, note];
  DsbdPage.choose(example.name, false);
  return [prompt, facts.note];
};

function showAnswer() {
  const {trace} = shown;
  const {id} = trace.models.target;
  const costs = facts.costs[id] ?? null;
  viewer.setCosts(costs);
  const own = DsbdPage.asMeasured(costs, viewer.clock().ratio, shown.beside?.speed);
  if (own !== costs) viewer.setCosts(own);
  answer.show({...shown, text: viewer.text(), clock: viewer.clock(), isLive: shown === running, costs: own});
  answer.mark(viewer.where().words);
  DsbdPage.showTouch(trace);
  second.compare(shown);
}

/* The server measured what passes of a pair cost. */
DsbdPage.takeCosts = (text) => {
  const {target: id, costs} = JSON.parse(text);
  facts.costs[id] = costs ?? facts.costs[id];
  if (costs && shown?.trace.models.target.id === id) showAnswer();
};

/* If the visitor stepped through a decode while the page was starting, it stands where it was. */
function openShown() {
  if (!stands) openAt(viewer, shown.trace, stages.firstElementChild);
  stands = false;
}

/* The end of a run: the place that its link names, if it is one. */
function openEnd() {
  const linked = /^#iteration=(\d{1,9})&step=(\d{1,9})$/.exec(goal);
  goal = "";
  if (linked) viewer.goto({it: linked[1] - 1, step: linked[2] - 1});
  else openShown();
}

/* Add records of the decode that runs; `whole` is its trace without iterations, once it has ended. */
function grow(news, settled, whole, known) {
  if (!running) return; // a frame that comes after Stop
  const decode = running;
  const {trace} = decode;
  const isFirst = decode.waits;
  decode.waits = false;
  const isShown = isFirst || shown === decode;
  const follow = isFirst || (isShown && atEnd());
  Object.assign(decode, {settled: whole ? Infinity : settled, rows: known?.rows, guessed: known?.guessed});
  trace.iterations.push(...news);
  if (whole) {
    Object.assign(trace, {...whole, iterations: trace.iterations});
    running = null;
    keep(decode, "Your run");
  }
  if (!isShown) return;
  if (isFirst) draw(decode, {follow});
  else viewer.add(news, {result: trace.result, follow});
  showAnswer();
  showWhetherOlder();
  if (whole && follow) openEnd();
  if (whole && find("#python")?.open) showPython();
}

function startRun(head) {
  stands = false;
  DsbdPage.forgetLive?.();
  running = {name: saved.newName("run"), trace: {...head, iterations: [], result: null}, settled: 0, waits: true};
  offer();
  return running;
}

function stopRun() {
  const decode = running;
  running = null;
  if (!decode) return;
  decode.settled = Infinity;
  if (decode.trace.iterations.length) keep(decode, "Stopped run");
  if (shown === decode) showAnswer();
  showWhetherOlder();
}

/* The server goes on to compare its run with the large model alone. */
function compare(beside) {
  if (!served) return;
  served.beside = beside;
  if (beside?.costs) facts.costs[served.trace.models.target.id] = beside.costs;
  if (served === shown) showAnswer();
}

function take(message, bulk) {
  if (message.kind === "show") {
    if (!goal) {
      draw(recordedAs(message.name, bulk));
      openShown();
    }
    offer();
  } else if (message.kind === "begin") served = startRun(bulk);
  else if (message.kind === "more") grow(bulk.iterations, message.settled, bulk.trace, message);
  else if (message.kind === "beside") compare(message);
  else if (message.kind === "stopped") {
    stopRun();
    if (served?.beside?.goes_on) compare(null);
  }
}
DsbdPage.follow(props, watch, take);

/* ---- the decodes that can be looked at ------------------------------------------------------ */

let target = Object.values(facts.targets)[0];

const recordedAs = (name, trace) => ({name, trace, settled: Infinity, rows: saved.recording(name)?.rows});

function keep(decode, kind) {
  saved.keep(decode, kind);
  offer();
}

function offer() {
  const list = document.querySelector("#shown");
  if (!list) return requestAnimationFrame(offer);
  list.replaceChildren(...saved.options(target, running));
  list.value = shown?.name ?? "";
  if (!second.offer(document.querySelector("#second"), target)) showSecond("");
}

async function showSecond(name) {
  const decode = name ? await decodeNamed(name) : null;
  if (document.querySelector("#second").value !== name) return; // another one was chosen meanwhile
  second.show(decode, facts.costs[decode?.trace.models.target.id] ?? null);
  second.compare(shown);
  if (decode) openShown();
}

/* The form holds what the link names; without a link, or with a wrong one, a recording is shown. */
DsbdPage.followLink = (runs) => {
  const isLink = ["pair", "prompt"].some((name) => new URLSearchParams(location.search).has(name));
  if (runs) setTimeout(pressRun, 150);
  else if (beforeReload && !isLink && facts.targets[beforeReload.pair]) askAgain(beforeReload);
  else if (!shown && saved.recordingOf(target)) DsbdPage.choose(saved.recordingOf(target).name, false);
};

/* A preset was chosen in the form, or another pair: method and fields, and with a pair its first example. */
const STAYS = {__type__: "update"};
DsbdPage.preset = (name, pair) => facts.presets[pair][name].map((value) => value ?? STAYS);
DsbdPage.fitting = (method, ...values) =>
  DsbdPage.presetOf(Object.fromEntries([["method", method], ...facts.fields.map((one, at) => [one, values[at]])]));
DsbdPage.guesses = (...values) => forestOf(values, facts);
DsbdPage.begin = (chosen, pair) => {
  const preset = chosen ?? "exact";
  const [prompt] = facts.examples[pair];
  open(pair, prompt, preset);
  return [prompt, ...begins(preset, pair)];
};

/* Method and fields with which a pair begins: a chat is cooler than a story. */
const begins = (preset, pair) => {
  const values = DsbdPage.preset(preset, pair);
  return values.with(1 + facts.fields.indexOf("temperature"), facts.temperatures[pair]);
};

function open(pair, prompt, preset) {
  DsbdPage.ask(pair, prompt);
  offer();
  const first = saved.recordingOf(target, preset, prompt) ?? saved.recordingOf(target, preset);
  const isOther = first && DsbdPage.typedIn(first.prompt, facts) !== prompt;
  if (first && !running) DsbdPage.choose(first.name, !isOther && DsbdPage.presetOf(first.settings) !== preset);
  else if (!running) answer.element.hidden = true; // with the forest below it: nothing was decoded with this pair yet
}

/* The tab was loaded again. */
function askAgain({pair, prompt}) {
  const [first] = Object.keys(facts.targets);
  open(pair, prompt, "exact");
  const stays = facts.presets[pair].exact.map(() => STAYS);
  DsbdPage.fill([pair, prompt, ...(pair === first ? stays : begins("exact", pair)), STAYS]);
}

async function decodeNamed(name) {
  if (running?.name === name) return running;
  if (saved.own.has(name)) return saved.own.get(name);
  const response = await fetch(addressOf(`traces/${name}.json.gz`, facts));
  return recordedAs(name, JSON.parse(await DsbdPage.gunzipped(await response.blob())));
}

let turn = 0;
DsbdPage.choose = async (name, fills = true) => {
  const own = (turn += 1);
  if (running) running.waits = false;
  const decode = await decodeNamed(name);
  if (own !== turn) return; // another one was chosen meanwhile
  draw(decode);
  if (shown !== running) openShown();
  if (fills) fillForm();
  offer();
};

async function openFile(file) {
  const problem = document.querySelector("#open-problem");
  problem.textContent = "";
  const before = shown;
  let trace = null;
  try {
    trace = await openedTrace(file);
    const decode = {name: saved.newName("file"), trace, settled: Infinity, file};
    draw(decode);
    keep(decode, "Your file");
    openShown();
    fillForm();
  } catch (error) {
    if (trace && before) draw(before);
    problem.textContent = `${file.name} cannot be opened: ${error.message}. Give a file that Trace or trace.save wrote.`;
  }
}

document.addEventListener("change", ({target: control}) => {
  if (control.id === "shown") DsbdPage.choose(control.value);
  if (control.id === "second") showSecond(control.value);
  if (control.id === "open-trace" && control.files.length) {
    openFile(control.files[0]);
    control.value = "";
  }
});

/* ---- the form -------------------------------------------------------------------------------- */

/* The form follows what is shown. */
function fillForm(prompt = shown.trace.prompt.text, seed = shown.trace.settings.seed) {
  const {settings, models} = shown.trace;
  const pair = Object.keys(facts.targets).find((one) => facts.targets[one] === models.target.id);
  const typed = DsbdPage.typedIn(prompt, facts);
  if (facts.reads[settings.method]) {
    const values = DsbdPage.valuesOf({...settings, seed}, facts);
    const note = shown === running ? STAYS : DsbdPage.recording() ? facts.note : "";
    DsbdPage.fill([pair ?? STAYS, typed, settings.method, ...values, note]);
    DsbdPage.ask(pair ?? question?.pair ?? Object.keys(facts.targets)[0], typed);
  }
}

/* The best text goes on, with other random numbers; or any version of it, from one of its tokens. */
function further(text = null) {
  const {prompt, settings, result} = shown.trace;
  fillForm(prompt.text + (text ?? result.beams[0].text), settings.seed + Number(text === null));
  setTimeout(pressRun, 300);
}

/* While a run goes on, Stop stands where Run was. */
function pressRun() {
  const button = document.querySelector("#run");
  if (button) button.click();
  else setTimeout(pressRun, 200);
}

/* ---- share --------------------------------------------------------------------------------- */

const position = () => {
  const {it, step} = viewer.where();
  return `iteration=${it + 1}&step=${step + 1}`;
};

async function link() {
  const form = await DsbdPage.form();
  const [pair, prompt, method] = form;
  const isShown = isAnswerTo({pair, prompt}, shown.trace, facts) && shown.trace.settings.method === method;
  await copyLine(linkTo(form, facts, isShown && position()), "The link runs this prompt with these settings.");
}

async function copyProgram() {
  find("[data-do=copy]").textContent = await copyText(find(".python-lines"));
}

const DO = {
  run: () => document.querySelector("#run")?.click(),
  why: () => viewer.show("cut"),
  explain: () => {
    const region = find("#why");
    region.hidden = !region.hidden;
    find("[data-do=explain]").setAttribute("aria-expanded", String(!region.hidden));
  },
  further: () => further(),
  link,
  page: async () => DsbdPage.save("dsbd.html", await pageOf(shown.trace, position(), facts), "text/html"),
  embed: () => copyLine(EMBED, "Put it into a page beside the saved one, dsbd.html."),
  picture: () => viewer.picture(),
  trace: () => saveTrace(shown, facts),
  copy: copyProgram,
  live: () => DsbdPage.live?.(),
};
document.addEventListener("click", ({target: button}) => {
  const share = find("#share");
  if (share?.open && !share.contains(button)) share.open = false;
  const act = DO[button.closest(".play [data-do]")?.dataset.do];
  if (act && shown) Promise.resolve(act()).catch((error) => sayShared(error.message));
});

function showPython() {
  find(".python-lines").textContent = DsbdPage.program(shown.trace, facts);
  find("[data-do=copy]").textContent = "Copy";
}
document.addEventListener(
  "toggle",
  ({target: fold}) => fold.id === "python" && fold.open && shown && showPython(),
  true,
);

/* ---- a decode that ran in this browser (live.js) ---------------------------------------------- */

DsbdPage.showLive = ({head, iteration, whole}) => {
  if (head) startRun(head);
  if (iteration) grow([iteration], 0, null);
  if (whole) grow([], Infinity, {...whole, iterations: []});
};
/* What is shown was decoded again with other settings: its forest becomes the new one, at the same pass. */
DsbdPage.showTouched = (trace) => {
  const {it} = viewer.where();
  const rows = trace.result.text === shown.trace.result?.text ? shown.rows : undefined;
  shown = {name: "touched", trace, settled: Infinity, rows};
  viewer.setTrace(trace, {it, morph: true});
  showAnswer();
};
DsbdPage.shownTrace = () => shown.trace;
DsbdPage.shownPass = () => viewer.where().it;
DsbdPage.facts = facts;
DsbdPage.goTo = (where) => viewer.goto(where);
/* What the server calls the decode that is shown: "" if it is no recording, null if nothing is shown. */
DsbdPage.recording = () => shown && (saved.recording(shown.name)?.name ?? "");
