/* The page around a viewer: unpacks the trace, mounts the viewer in #viewer, and answers messages. It loads nothing
 * from the network.
 *
 *   DsbdHost.start().then((viewer) => ...)
 *
 * Messages (postMessage) from the page around the frame, such as a slide:
 *   {dsbd: "first"}   {dsbd: "previous"}   {dsbd: "next"}   {dsbd: "last"}
 *   {dsbd: "goto", it, step, node}      whole numbers from 0; what is left out stays
 *   {dsbd: "shown"}                     the frame was hidden until now: draw again
 * A viewer that is ready sends {dsbd: "ready"} to the page around it, of any origin, and nothing else.
 * It listens only to the page around the frame and to its own page.
 */
globalThis.DsbdHost = (() => {
  "use strict";

  const ACTS = ["first", "previous", "next", "last", "shown"];
  const SLIDE = 850; // pixels across that forest and card side by side take

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

  /* The viewer with its trace. `listeners` hear every step. With data-address it keeps its place in the address. */
  async function opened() {
    const element = document.getElementById("viewer");
    const recorded = JSON.parse(await dsbdUnpack(document.getElementById("dsbd-trace").textContent));
    const listeners = [];
    let trace = recorded;
    const count = () => handle.where().iterations;
    const onchange = (place) => listeners.forEach((hear) => hear(place));
    const {dataset} = element;
    const bare = new URLSearchParams(location.search).has("bare");
    if (bare) document.documentElement.classList.add("framed");
    const options = {hash: "address" in dataset, start: dataset.place, bare, onchange};
    const handle = globalThis.DsbdViewer.mount(element, recorded, options);
    if (bare) fillFrame(element, listeners);
    return {
      element,
      handle,
      listeners,
      first: () => handle.goto({it: 0, step: 0}),
      last: () => handle.goto({it: count() - 1, step: Infinity}),
      next: () => count() && handle.move(1),
      previous: () => count() && handle.move(-1),
      isRecorded: () => trace === recorded,
      text() {
        const prompt = Object.assign(document.createElement("b"), {textContent: recorded.prompt.text});
        return [prompt, recorded.result?.text ?? ""];
      },
      /* Another decode, made in this browser (visualize/live/panel.js). It ends one step before the end of its best
       * pass: there everything is decided, and nothing has faded yet. */
      show({trace: decode, news, isLive}) {
        if (trace === decode) handle.add(news, {result: decode.result, follow: isLive});
        else handle.setTrace((trace = decode), {follow: isLive});
        if (isLive || !count()) return;
        const won = trace.iterations.map((iteration) => iteration.layers.length);
        handle.goto({it: won.indexOf(Math.max(...won)), step: Infinity});
        handle.move(-1);
      },
      showRecorded() {
        if (trace !== recorded) handle.setTrace((trace = recorded));
      },
      shown() {
        globalThis.dispatchEvent(new Event("resize"));
        handle.goto(handle.where());
      },
    };
  }

  function listen(viewer) {
    const whole = (value) => (Number.isInteger(value) && value >= 0 ? value : undefined);
    addEventListener("message", ({data, source}) => {
      if (!data || (source !== parent && source !== window)) return;
      if (ACTS.includes(data.dsbd)) viewer[data.dsbd]();
      const [it, step, node] = [data.it, data.step, data.node].map(whole);
      if (data.dsbd === "goto") viewer.handle.goto({it, step, node});
    });
  }

  async function start() {
    if (parent !== window) document.documentElement.classList.add("framed");
    const viewer = await opened();
    for (const element of document.querySelectorAll(".said")) element.replaceChildren(...viewer.text());
    if ("address" in viewer.element.dataset) {
      listen(viewer);
      if (parent !== window) parent.postMessage({dsbd: "ready"}, "*");
    }
    document.addEventListener("dsbd-live", ({detail}) => viewer.show(detail));
    return viewer;
  }

  return {start};
})();

/* What cards show beside their text: cut and fill at a layer, the lab, the two lanes of the viewer; and how large. */
globalThis.DsbdCards = {
  async fill(root, viewer) {
    "use strict";
    for (const element of root.querySelectorAll(".cut")) {
      element.append(viewer.handle.cutFill({it: Number(element.dataset.it), layer: Number(element.dataset.layer)}));
    }
    const lab = document.getElementById("lab-script");
    if (lab) dsbdRun(await dsbdUnpack(lab.textContent));
  },
  show(card, viewer) {
    viewer.handle.lanes(Boolean(card.querySelector(".lanes")));
  },
  /* Enlarges the forest until it fills a room, or its labels are as large as the text. Returns their pixels; 0: it
   * is cut off. Sizes are those of viewer/forest.js: of a label, the edges beside the columns, and above all. */
  enlarge(root, {width, height, text, least = 640}) {
    const [label, beside, above] = [12.5, 43, 151];
    const forest = root.querySelector(".dsbd-forest");
    const columns = forest.querySelectorAll(".dsbd-layer").length + 0.92;
    const wide = Math.max(least, beside + forest.dataset.column * columns);
    const tall = above + Number(forest.getAttribute("height"));
    const zoom = Math.max(1, Math.min(width / wide, height / tall, text / label));
    root.style.setProperty("--zoom", zoom.toFixed(3));
    return height < tall ? 0 : label * zoom;
  },
};
