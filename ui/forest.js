/* The viewer in its place on the page. While a decode runs only news arrive; what is there stays. */
const viewer = globalThis.DsbdViewer.mount(element.querySelector(".forest-mount"));
let scene = null;

/* Follow the decode unless the visitor has stepped back to look at something. */
const atEnd = () => !scene || !scene.iterations.length || viewer.where().it >= scene.iterations.length - 1;

globalThis.DsbdPage.follow(props, watch, (message, bulk) => {
  if (message.kind === "whole") {
    scene = bulk;
    viewer.setScene(scene, {follow: message.live});
    // A recording opens where its first iteration has been decided: all the verdicts at one look.
    if (!message.live) viewer.goto({it: 0, step: Infinity});
    return;
  }
  // A message that went missing leaves a gap: wait for the whole scene, which ends every decode.
  if (!scene || message.since > scene.iterations.length) return;
  const follow = atEnd();
  const iterations = scene.iterations.slice(0, message.since).concat(bulk.iterations);
  scene = {...scene, ...bulk, iterations};
  viewer.setScene(scene, {follow});
});
