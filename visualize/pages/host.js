/* The page around viewers: unpacks the scenes, mounts a viewer for each, and answers messages. It loads nothing from
 * the network.
 *
 *   DsbdHost.start().then((viewers) => ...)        a viewer per element with data-scene
 *
 * Messages (postMessage) from the page around the frame, such as a slide:
 *   {dsbd: "hello"}   {dsbd: "first"}   {dsbd: "previous"}   {dsbd: "next"}   {dsbd: "last"}
 *   {dsbd: "goto", it, step, layer, node}      whole numbers from 0; what is left out stays
 *   {dsbd: "shown"}                            the frame was hidden until now: draw again
 * It answers each, and reports every later step to the page that spoke last, with
 *   {dsbd: "place", it, step, iterations, first, last}
 * A viewer that is ready sends {dsbd: "ready"} to the page around it, of any origin, and nothing else.
 * It listens only to the page around the frame and to its own page, and answers only to their origin.
 */
globalThis.DsbdHost = (() => {
  "use strict";

  const PLACE = ["it", "step", "layer", "node"];
  const SLIDE = 850; // pixels across that forest and card side by side take
  const WAIT_MS = 100;
  const WAIT_TIMES = 150; // for Plotly in another frame of the page

  /* Another viewer's frame on the same page carries Plotly for all that say "shared". */
  function besideMe() {
    for (let at = 0; at < parent.frames.length; at++) {
      try {
        const found = parent.frames[at].document.getElementById("dsbd-plotly");
        if (found && found.textContent) return found.textContent;
      } catch {
        /* a frame of another site */
      }
    }
    return "";
  }

  async function packedPlotly(holder) {
    if (holder.dataset.from !== "page") return holder.textContent;
    for (let time = 0; time < WAIT_TIMES; time++) {
      const found = besideMe();
      if (found) return found;
      await new Promise((next) => setTimeout(next, WAIT_MS));
    }
    return "";
  }

  /* Only the charts of the viewer need Plotly, so nothing waits for it. It is fetched once. */
  let plotlyComes = null;
  const loadPlotly = () => (plotlyComes ??= unpackPlotly());
  async function unpackPlotly() {
    const plotly = document.getElementById("dsbd-plotly");
    if (!plotly || globalThis.Plotly) return;
    const packed = await packedPlotly(plotly);
    if (packed) dsbdRun(await dsbdUnpack(packed));
  }

  /* ---- one viewer ------------------------------------------------------------------------- */

  /* A slide is read from the tenth row: a bare viewer is as large as its frame has room, pass by pass. */
  function fillFrame(element, listeners) {
    let turn = 0;
    let shown = -1;
    const fill = async () => {
      const mine = ++turn;
      let zoom = Math.max(1, innerWidth / SLIDE);
      for (;;) {
        element.style.zoom = zoom;
        for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame); // the forest is drawn again
        if (mine !== turn || zoom === 1 || document.documentElement.scrollHeight <= innerHeight) return;
        zoom = Math.max(1, zoom * 0.93);
      }
    };
    listeners.push(({it}) => it !== shown && fill((shown = it)));
    addEventListener("resize", fill);
    fill();
  }

  /* A viewer with its scene. `listeners` hear every step. A lone viewer keeps its place in the address. */
  async function opened(element) {
    const recorded = JSON.parse(await dsbdUnpack(document.getElementById(element.dataset.scene).textContent));
    const listeners = [];
    let scene = recorded;
    const count = () => scene.iterations?.length ?? 0;
    const onchange = (place) => listeners.forEach((hear) => hear(place));
    const {dataset} = element;
    const bare = new URLSearchParams(location.search).has("bare");
    if (bare) document.documentElement.classList.add("framed");
    const options = {hash: "address" in dataset, start: dataset.place, bare, onchange, fetchPlotly: loadPlotly};
    const handle = globalThis.DsbdViewer.mount(element, scene, options);
    if (bare) fillFrame(element, listeners);
    const stay = () => handle.goto(handle.where());
    return {
      element,
      handle,
      listeners,
      place() {
        const {it, step} = handle.where();
        const iterations = count();
        const first = !iterations || (it === 0 && step === 0);
        const last = !iterations || (it === iterations - 1 && step === scene.iterations[it].steps.rows.length - 1);
        return {dsbd: "place", it, step, iterations, first, last};
      },
      first: () => handle.goto({it: 0, step: 0}),
      last: () => handle.goto({it: count() - 1, step: Infinity}),
      next: () => (count() && handle.move(1)) || stay(),
      previous: () => (count() && handle.move(-1)) || stay(),
      isRecorded: () => scene === recorded,
      /* Another decode, made in this browser (visualize/live/panel.js). It ends one step before the end of its best
       * pass: there everything is decided, and nothing has faded yet. */
      show({scene: made, isLive}) {
        scene = made;
        handle.setScene(scene, {follow: isLive});
        if (isLive || !count()) return;
        const won = scene.iterations.map((iteration) => iteration.layers.length);
        handle.goto({it: won.indexOf(Math.max(...won)), step: Infinity});
        handle.move(-1);
      },
      showRecorded() {
        if (scene !== recorded) handle.setScene((scene = recorded));
      },
      shown() {
        globalThis.dispatchEvent(new Event("resize"));
        stay();
      },
    };
  }

  /* ---- messages --------------------------------------------------------------------------- */

  function answer(viewer) {
    let listener = null;
    const whole = (value) => Number.isInteger(value) && value >= 0;
    const tell = () => {
      // A file, or a frame without an origin, cannot be named as the receiver.
      listener?.page.postMessage(viewer.place(), listener.origin === "null" ? "*" : listener.origin);
    };
    viewer.listeners.push(tell);
    addEventListener("message", ({data, source, origin}) => {
      if (!data || typeof data.dsbd !== "string" || (source !== parent && source !== window)) return;
      if (data.dsbd === "place") return;
      listener = {page: source, origin};
      if (data.dsbd === "goto") {
        viewer.handle.goto(
          Object.fromEntries(PLACE.filter((name) => whole(data[name])).map((name) => [name, data[name]])),
        );
      } else if (["first", "previous", "next", "last", "shown"].includes(data.dsbd)) viewer[data.dsbd]();
      else if (data.dsbd === "hello") tell();
    });
  }

  async function start() {
    if (parent !== window) document.documentElement.classList.add("framed");
    const viewers = [];
    for (const element of document.querySelectorAll("[data-scene]")) {
      viewers.push(await opened(element));
    }
    if (viewers.length === 1 && "address" in viewers[0].element.dataset) {
      answer(viewers[0]);
      if (parent !== window) parent.postMessage({dsbd: "ready"}, "*");
    }
    document.addEventListener("dsbd-live-scene", ({detail}) => viewers[0]?.show(detail));
    loadPlotly();
    return viewers;
  }

  return {start};
})();
