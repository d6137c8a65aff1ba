/* The viewer: draws a scene (visualize/scenes/records.py) and steps through it. No framework.
 *
 *   const handle = mount(element, scene, {hash, start, bare, story, fetchPlotly, onchange});
 *   handle.setScene(scene, {follow: true});  handle.goto({it: 2, layer: 1});  handle.move(1);  handle.destroy();
 *
 * handle.picture() saves the decode as a picture to share, handle.gif() as a film of its two lanes.
 * handle.replay() plays the two lanes once.
 * handle.lanes(true) plays the two lanes over the strip, where they stay until handle.lanes(false).
 * handle.cutFill({it, layer}) returns an element: why nothing is lost, as a picture of one layer that the reader drags.
 *
 * handle.language(code) says everything in another language; mount.languages has their names and the reader's choice.
 *
 * bare: sentence, forest and card only, for slides.
 * story: the opening story of eight seconds, once; handle.story() tells it later. Places in goto count from 0.
 *
 * language: the one to begin with; else the reader's choice on this site, else the scene's.
 * hash: true keeps the place in the address of the page, a name keeps it there below that name, for pages with several.
 * start: the place where the address names none, as iteration=4&step=10, counted from 1 as in addresses.
 * Positions and recorded numbers come from the scene, sentences from the tables of languages.js. Token text is
 * untrusted: it enters the page as text only. The forest is SVG; the charts take Plotly from the page, or ask
 * fetchPlotly for it, a function that returns a promise.
 */

import {NAMES, remember, remembered} from "./base/languages.js";
import {saveGif, savePicture} from "./page/exports.js";
import {guest} from "./base/theme.js";
import {Viewer} from "./viewer.js";
import {cutFill} from "./views/cut_fill.js";

export function mount(element, scene = null, options = {}) {
  const viewer = new Viewer(element, options);
  viewer.setScene(scene);
  if (options.story) viewer.story.start();
  return {
    setScene: (next, how = {}) => viewer.setScene(next, how),
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
    gif: () => (viewer.strip.lanes.race ? saveGif(viewer) : savePicture(viewer)),
    cutFill: ({it, layer}) => guest(viewer, cutFill(viewer, viewer.iteration(it).layer(layer))),
    show: (view) => viewer.parts.views.show(view),
    language: (code) => viewer.setLanguage(code),
    where: () => viewer.where(),
    destroy: () => viewer.destroy(),
  };
}

mount.languages = {NAMES, remember, remembered};
