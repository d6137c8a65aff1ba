/* Around the viewers of a page: unpacks what the page carries, mounts a viewer in every place, and answers messages.
 * It asks the network for nothing.
 *
 *   DsbdHost.start().then((viewers) => ...)        a viewer per element with data-scene
 *
 * Messages (postMessage) from the page around the frame, such as a slide:
 *   {dsbd: "hello"}   {dsbd: "first"}   {dsbd: "previous"}   {dsbd: "next"}   {dsbd: "last"}
 *   {dsbd: "goto", it, step, layer, node}      whole numbers from 0; what is left out stays
 *   {dsbd: "shown"}                            the frame was hidden until now: draw again
 * Each is answered, and every later step is told to the page that spoke last, as
 *   {dsbd: "place", it, step, iterations, first, last}
 * A viewer that is ready says {dsbd: "ready"} to the page around it, whoever that is, and no more.
 * Only the page around the frame and the page itself are heard; the answer goes to their origin alone.
 */
globalThis.DsbdHost = (() => {
  "use strict";

  const WAIT_MS = 100;
  const WAIT_TIMES = 150; // for Plotly in another frame of the page

  /* Another viewer's frame on the same page carries Plotly for all that say "shared". */
  function besideMe() {
    for (let at = 0; at < parent.frames.length; at++) {
      try {
        const found = parent.frames[at].document.getElementById("dsbd-plotly");
        if (found && found.textContent) return found.textContent;
      } catch {
        /* a frame of somebody else */
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

  /* Only the charts of the viewer need Plotly, so nothing waits for it. */
  async function loadPlotly() {
    const plotly = document.getElementById("dsbd-plotly");
    if (!plotly || globalThis.Plotly) return;
    const packed = await packedPlotly(plotly);
    if (packed) dsbdRun(await dsbdUnpack(packed));
  }

  /* ---- one viewer ------------------------------------------------------------------------- */

  /* A viewer with its scene. `listeners` hear every step. A lone viewer keeps its place in the address. */
  async function opened(element) {
    const scene = JSON.parse(await dsbdUnpack(document.getElementById(element.dataset.scene).textContent));
    const listeners = [];
    const iterations = scene.iterations?.length ?? 0;
    const onchange = (place) => listeners.forEach((hear) => hear(place));
    const {dataset} = element;
    const bare = "bare" in dataset || new URLSearchParams(location.search).has("bare");
    if (bare) document.documentElement.classList.add("framed");
    const options = {hash: "address" in dataset, exact: "exact" in dataset, bare, onchange};
    const handle = globalThis.DsbdViewer.mount(element, scene, options);
    const where = () => (iterations ? handle.where() : {it: 0, step: 0});
    const stay = () => handle.goto(where());
    const steps = (it) => scene.iterations[it].steps.rows.length;
    const atFirst = () => !iterations || (where().it === 0 && where().step === 0);
    const atLast = () => !iterations || (where().it === iterations - 1 && where().step === steps(iterations - 1) - 1);
    return {
      element,
      handle,
      listeners,
      iterations,
      where,
      atFirst,
      atLast,
      first: () => handle.goto({it: 0, step: 0}),
      last: () => handle.goto({it: iterations - 1, step: Infinity}),
      next: () => (atLast() ? stay() : handle.move(1)),
      previous: () => (atFirst() ? stay() : handle.move(-1)),
      shown() {
        globalThis.dispatchEvent(new Event("resize"));
        stay();
      },
    };
  }

  /* ---- places ----------------------------------------------------------------------------- */

  const PLACE = ["it", "step", "layer", "node"];
  const ADDRESS = ["iteration", "step", "layer", "node"];
  const named = (text) => ADDRESS.some((name) => new URLSearchParams(text).has(name));

  /* Addresses count iterations and steps from 1, the viewer from 0. */
  function placeIn(text) {
    const found = new URLSearchParams(text);
    const {
      iteration = 1,
      step,
      ...place
    } = Object.fromEntries(
      ADDRESS.filter((name) => /^\d{1,9}$/.test(found.get(name) || "")).map((name) => [name, Number(found.get(name))]),
    );
    return {...place, it: Math.max(0, iteration - 1), ...(step === undefined ? {} : {step: Math.max(0, step - 1)})};
  }

  /* ---- messages --------------------------------------------------------------------------- */

  function answer(viewer) {
    let listener = null;
    const whole = (value) => Number.isInteger(value) && value >= 0;
    const tell = () => {
      if (!listener) return;
      const {it, step} = viewer.where();
      const place = {
        dsbd: "place",
        it,
        step,
        iterations: viewer.iterations,
        first: viewer.atFirst(),
        last: viewer.atLast(),
      };
      // A file, or a frame without an origin, cannot be named as the one to be told.
      listener.page.postMessage(place, listener.origin === "null" ? "*" : listener.origin);
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
      const asked = "address" in element.dataset && named(location.hash.slice(1));
      const viewer = await opened(element);
      if (element.dataset.place && !asked) viewer.handle.goto(placeIn(element.dataset.place));
      viewers.push(viewer);
    }
    if (viewers.length === 1 && "address" in viewers[0].element.dataset) {
      answer(viewers[0]);
      if (parent !== window) parent.postMessage({dsbd: "ready"}, "*");
    }
    loadPlotly();
    return viewers;
  }

  return {start};
})();
