/* The viewer on the page. While a decode runs, only new iterations arrive. The first paint, which the server drew, is
 * removed when the viewer has drawn the first trace. */
const {follow, isAsked} = globalThis.DsbdPage;
const place = element.querySelector(".forest-mount");
let viewer = null;
let trace = null; // with all that has come
let drawn = null; // the trace that the viewer has, and of how many iterations
let waiting = null;
let isTold = false;
globalThis.DsbdPage.shown = () => viewer;

/* Where a link to a run leads, once the run is there. */
let goal = isAsked ? location.hash : "";

const {DsbdLanguage} = globalThis;
const options = {start: location.hash.slice(1), language: DsbdLanguage.now};
document.addEventListener("dsbd-language", () => {
  options.language = DsbdLanguage.now;
  viewer?.language(DsbdLanguage.now);
});

/* Follow the decode unless the visitor has stepped back. */
let shown = 0;
const atEnd = () => !viewer || viewer.where().it >= shown - 1;

/* News may come faster than the browser draws, so only the newest state is drawn. */
function draw(how) {
  const planned = waiting !== null;
  waiting = {...waiting, ...how};
  if (!planned) requestAnimationFrame(show);
}

function show() {
  const {whole, live, first, here} = waiting;
  const follow = live && (first || atEnd()); // computed now: the visitor may have stepped back since the news came
  waiting = null;
  if (!viewer) viewer = globalThis.DsbdViewer.mount(place, trace, options);
  else if (drawn === trace) viewer.add(trace.iterations.slice(shown), {result: trace.result, follow});
  else viewer.setTrace(trace, {follow});
  drawn = trace;
  unveil();
  shown = trace.iterations.length;
  if (here) {
    document.dispatchEvent(new CustomEvent("dsbd-live-shown", {detail: {text: viewer.text(), isRunning: here.isLive}}));
  }
  if (whole && !live) begin();
  else if (whole && follow && !first) openEnd();
}

/* Remove the first paint when the form above the forest is there too: Gradio fetches each part separately. */
function unveil() {
  if (document.querySelector(".ask-line")) document.querySelector("#first-paint")?.remove();
  else requestAnimationFrame(unveil);
}

/* A recording opens at its first step; the first recording of a visit plays its story. If the visitor stepped through
 * it while the page was starting, it stands where it was. */
function begin() {
  const stood = !isTold && /^#iteration=/.test(location.hash) && !/^#iteration=1&step=1\b/.test(location.hash);
  if (!stood) viewer.goto({it: 0, step: 0});
  if (!isTold && !stood) viewer.story?.();
  isTold = true;
}

/* The end of a run: the place that its link names, else the two lanes, and the iteration with the most tokens. */
function openEnd() {
  const asked = /^#iteration=(\d{1,9})&step=(\d{1,9})$/.exec(goal);
  goal = "";
  if (asked) viewer.goto({it: asked[1] - 1, step: asked[2] - 1});
  else {
    openAtVerdicts(richest());
    viewer.replay();
  }
}

/* The iteration with the most tokens. */
function richest() {
  const won = trace.iterations.map((iteration) => iteration.layers.length);
  return won.indexOf(Math.max(...won));
}

/* One step before the end: everything is decided and nothing has faded yet. */
function openAtVerdicts(it) {
  viewer.goto({it, step: Infinity});
  viewer.goto({step: viewer.where().step - 1});
}

function take(message, bulk) {
  document.querySelector(".play").classList.remove("is-live");
  if (message.kind === "whole") {
    trace = bulk;
    document.dispatchEvent(new Event("dsbd-scene"));
    draw({whole: true, live: message.live, first: message.first});
  } else if (trace && message.since <= trace.iterations.length) {
    // After a lost message there is a gap: then wait for the whole trace, which comes at the end of a decode.
    trace.iterations.push(...bulk.slice(trace.iterations.length - message.since));
    draw({live: true});
  }
}
follow(props, watch, take, {news: isAsked});
if (isAsked) unveil();

/* A decode that ran in this browser (live.js). */
document.addEventListener("dsbd-live", ({detail: {trace: made, isLive}}) => {
  const first = isLive && made.iterations.length === 1;
  trace = made;
  document.dispatchEvent(new Event("dsbd-scene"));
  draw({whole: first || !isLive, live: true, first, here: {isLive}});
});

/* Another drawing of this decode asks for an iteration, or for a node in it. */
document.addEventListener("dsbd-open", ({detail: {iteration, node}}) => {
  const it = trace?.iterations.findIndex((entry) => entry.index === iteration) ?? -1;
  if (!viewer || it < 0) return;
  viewer.pause();
  viewer.goto(node === null ? {it, step: 0} : {it, step: Infinity, node});
});
