/* The viewer: draws a scene (visualize/scene.py) and steps through it. No framework.
 *
 *   const handle = mount(element, scene, {theme, language, hash, Plotly, onchange, onselect});
 *   handle.setScene(scene, {follow: true});  handle.goto({it: 2, layer: 1});  handle.move(1);  handle.destroy();
 *
 * Positions and recorded numbers come from the scene, sentences from the tables of languages.js. Token text is
 * untrusted: it enters the page as text only. The forest is SVG; the charts take Plotly from the page if it is there.
 */

import {Viewer} from "./viewer.js";

export function mount(element, scene = null, options = {}) {
  const viewer = new Viewer(element, options);
  viewer.setScene(scene, {follow: Boolean(options.follow)});
  return {
    setScene: (next, how = {}) => viewer.setScene(next, how),
    goto: (place) => viewer.goto(place),
    move: (by) => viewer.controls.move(by),
    play: () => viewer.controls.start(),
    pause: () => viewer.controls.stop(),
    show: (view) => viewer.parts.tabs.show(view),
    setLanguage: (language) => viewer.setLanguage(language),
    where: () => viewer.where(),
    destroy: () => viewer.destroy(),
  };
}
