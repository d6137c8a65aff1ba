/* The viewer: draws a trace and steps through it. No framework.
 *
 *   const viewer = DsbdViewer.mount(element, trace, {hash, start, bare, story, language, onchange});
 *   viewer.setTrace(trace, {follow: true});  viewer.add(iterations, {result, follow: true});
 *   viewer.goto({it: 2, layer: 1});  viewer.move(1);  viewer.destroy();
 *
 * A trace is the plain data of dsbd-trace/1 (Trace.to_dict() in Python). It may grow: without a result, with no
 * iterations at first. `add` takes the next records, and the result once there is one. `follow` goes to the newest
 * step; else the reader stays. A null trace clears the viewer.
 *
 * viewer.where() returns {it, step, layer, node} of the reader, and how many {iterations, steps} there are.
 * viewer.text() returns the best text so far: {prompt, tokens: [{text, origin}], ended}.
 * viewer.picture() saves the decode as a picture to share. viewer.replay() plays the two lanes once.
 * viewer.lanes(true) plays the two lanes over the strip, where they stay until viewer.lanes(false).
 * viewer.cutFill({it, layer}) returns an element: why nothing is lost, as a picture of one layer that the reader drags.
 * viewer.language(code) says everything in another language; mount.languages has their names and the reader's choice.
 *
 * bare: sentence, forest and card only, for slides.
 * story: the opening story of eight seconds, once; viewer.story() tells it later. Places in goto count from 0.
 * language: the one to begin with; else the reader's choice on this site, else the page's.
 * hash: true keeps the place in the address of the page.
 * start: the place where the address names none, as iteration=4&step=10, counted from 1 as in addresses.
 * Token text is untrusted: it enters the page as text only. */

import {cutFill} from "./cut_fill.js";
import {guest} from "./marks.js";
import {savePicture} from "./shell.js";
import {Viewer} from "./viewer.js";
import {NAMES, remember, remembered} from "./words.js";

export function mount(element, trace = null, options = {}) {
  const viewer = new Viewer(element, options);
  viewer.setTrace(trace);
  if (options.story) viewer.story.start();
  return {
    setTrace: (next, how) => viewer.setTrace(next, how),
    add: (iterations, how) => viewer.add(iterations, how),
    goto: (place) => {
      viewer.game?.close();
      viewer.goto(place);
    },
    move: (by) => viewer.controls.move(by),
    pause: () => viewer.controls.stop(),
    story: () => viewer.story.start(),
    replay: () => viewer.story.again(),
    lanes: (shown) => viewer.strip.lanes.stay(shown),
    picture: () => savePicture(viewer),
    cutFill: ({it, layer}) => guest(viewer, cutFill(viewer, viewer.scene.iterations[it].layer(layer))),
    show: (view) => viewer.parts.views.show(view),
    language: (code) => viewer.setLanguage(code),
    text: () => viewer.scene.text(),
    where: () => viewer.where(),
    destroy: () => viewer.destroy(),
  };
}

mount.languages = {NAMES, remember, remembered};
