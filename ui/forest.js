/* The viewer in its place on the page. While a decode runs only news arrive; what is there stays. */
const viewer = globalThis.DsbdViewer.mount(element.querySelector(".forest-mount"));
let scene = null;
let waiting = null;

/* Follow the decode unless the visitor has stepped back to look at something. */
let shown = 0;
const atEnd = () => viewer.where().it >= shown - 1;

/* News may come faster than a browser draws: only the newest state is drawn. */
function draw(how) {
  const planned = waiting !== null;
  waiting = {...waiting, ...how};
  if (!planned) {
    requestAnimationFrame(() => {
      const {follow, open} = waiting;
      waiting = null;
      viewer.setScene(scene, {follow});
      shown = scene.iterations.length;
      if (open) openAtVerdicts();
    });
  }
}

/* A recording opens one step before the first commit: everything is decided and nothing has faded yet. */
function openAtVerdicts() {
  viewer.goto({it: 0, step: Infinity});
  viewer.goto({step: viewer.where().step - 1});
}

globalThis.DsbdPage.follow(props, watch, (message, bulk) => {
  if (message.kind === "whole") {
    const follow = message.live && (message.first || atEnd());
    scene = bulk;
    draw({follow, open: !message.live});
  } else if (scene && message.since <= scene.iterations.length) {
    // A message that went missing leaves a gap: then wait for the whole scene, which ends every decode.
    const iterations = scene.iterations.slice(0, message.since).concat(bulk.iterations);
    scene = {...scene, ...bulk, iterations};
    draw({follow: atEnd()});
  }
});
