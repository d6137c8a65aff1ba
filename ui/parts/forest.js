/* The viewer on the page. While a decode runs, only new iterations arrive. The first paint, which the server drew, is
 * removed when the viewer has drawn the first scene. */
const {follow, isAsked, plotly} = globalThis.DsbdPage;
const place = element.querySelector(".forest-mount");
let viewer = null;
let scene = null;
let waiting = null;
let isTold = false;
globalThis.DsbdPage.shown = () => viewer;

/* Where a link to a run leads, once the run is there. */
let goal = isAsked ? location.hash : "";

/* The viewer asks for Plotly when its charts are opened. */
const {DsbdLanguage} = globalThis;
const options = {start: location.hash.slice(1), fetchPlotly: plotly, language: DsbdLanguage.now};
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
  const {whole, live, first} = waiting;
  const follow = live && (first || atEnd()); // computed now: the visitor may have stepped back since the news came
  waiting = null;
  if (viewer) viewer.setScene(scene, {follow});
  else viewer = globalThis.DsbdViewer.mount(place, scene, options);
  unveil();
  shown = scene.iterations.length;
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
  const won = scene.iterations.map((iteration) => iteration.layers.length);
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
    scene = bulk;
    document.dispatchEvent(new Event("dsbd-scene"));
    draw({whole: true, live: message.live, first: message.first});
  } else if (scene && message.since <= scene.iterations.length) {
    // After a lost message there is a gap: then wait for the whole scene, which comes at the end of a decode.
    const iterations = scene.iterations.slice(0, message.since).concat(bulk.iterations);
    scene = {...scene, ...bulk, iterations};
    draw({live: true});
  }
}
follow(props, watch, take, {news: isAsked});
if (isAsked) unveil();

/* A decode that ran in this browser (live.js). */
document.addEventListener("dsbd-live-scene", ({detail: {scene: made, isLive}}) => {
  const first = isLive && made.iterations.length === 1;
  scene = made;
  document.dispatchEvent(new Event("dsbd-scene"));
  draw({whole: first || !isLive, live: true, first: !isLive ? false : first});
});

/* Another drawing of this decode asks for an iteration, or for a node in it. */
document.addEventListener("dsbd-open", ({detail: {iteration, node}}) => {
  const it = scene?.iterations.findIndex((entry) => entry.index === iteration) ?? -1;
  if (!viewer || it < 0) return;
  viewer.pause();
  viewer.goto(node === null ? {it, step: 0} : {it, step: Infinity, node});
});
