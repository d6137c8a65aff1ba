/* Keys of the focused viewer: steps, iterations, play, size. */

export function onKey(viewer, event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || !viewer.scene?.iterations.length) {
    return;
  }
  const {controls, forest} = viewer;
  const {tagName, type} = event.target;
  const isSpace = event.key === " ";
  if (/^(SELECT|TEXTAREA)$/.test(tagName) || (isSpace && /^(BUTTON|SUMMARY)$/.test(tagName))) return;
  if (tagName === "INPUT" && !(isSpace && type === "range")) return;
  const turn = (by) => {
    controls.stop();
    viewer.goto({it: viewer.it + by, step: 0});
  };
  const acts = {
    ArrowLeft: () => controls.move(-1),
    ArrowRight: () => controls.move(1),
    Home: () => controls.go(0),
    End: () => controls.go(Infinity),
    PageUp: () => turn(-1),
    PageDown: () => turn(1),
    " ": () => controls.toggle(),
    Escape: () => viewer.pin(-1),
    "+": () => forest.zoomBy(1.25),
    "-": () => forest.zoomBy(0.8),
    0: () => forest.zoomBy(0),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}
