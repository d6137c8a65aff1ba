/* Two traces of one prompt side by side, stepped together, with the first place where they differ. */

import {button, make} from "./base/dom.js";
import {Viewer} from "./viewer.js";
import {Words} from "./base/words.js";

export class Diff {
  constructor(element, scene, options) {
    this.element = element;
    this.options = options;
    this.together = true;
    this.root = make("div", {class: "dsbd-diff"});
    element.replaceChildren(this.root);
    this.setScene(scene);
  }

  setScene(scene) {
    this.viewers?.forEach((viewer) => viewer.destroy());
    this.scene = scene;
    this.words = new Words(scene.language);
    const say = (this.say = (key, values) => this.words.say(key, values));
    const holders = [make("div"), make("div")];
    const jump = button({text: say("diff.jump"), onclick: () => this.goto(scene.divergence)});
    const change = (event) => {
      this.together = event.target.checked;
    };
    const box = make("input", {type: "checkbox", checked: "", onchange: change});
    const field = make("label", {class: "dsbd-field"}, box, make("span", {text: say("diff.together")}));
    const sentence = make("p", {class: "dsbd-sentence", text: this.sentence()});
    const settings = make("p", {class: "dsbd-small", text: this.settings()});
    const head = make(
      "div",
      {class: "dsbd dsbd-diff-head"},
      make("div", {}, sentence, settings),
      make("div", {class: "dsbd-tools"}, ...(scene.divergence ? [jump] : []), field),
    );
    head.dir = this.words.table.direction;
    this.root.replaceChildren(head, make("div", {class: "dsbd-pair-of-viewers"}, ...holders));
    this.viewers = holders.map((holder, side) => {
      const viewer = new Viewer(holder, {
        ...this.options,
        hash: this.options.hash ? ["left", "right"][side] : false,
        onchange: (place) => this.follow(side, place),
      });
      viewer.setScene([scene.left, scene.right][side]);
      return viewer;
    });
    head.dataset.theme = this.viewers[0].root.dataset.theme;
    this.mark();
  }

  sentence() {
    const {divergence} = this.scene;
    if (!divergence) return this.say("diff.same");
    const where = divergence.layer
      ? this.say("layer.title", {layer: divergence.layer})
      : this.say(`phase.${divergence.phase}`);
    return this.say("diff.first", {index: divergence.iteration + 1, where, step: divergence.step + 1});
  }

  /* The settings in which the two differ. */
  settings() {
    const [one, other] = [this.scene.left.settings, this.scene.right.settings];
    const told = (value) => (value === null ? "–" : String(value));
    return Object.keys(one)
      .filter((name) => told(one[name]) !== told(other[name]))
      .map((name) => `${name} ${told(one[name])} | ${told(other[name])}`)
      .join(" · ");
  }

  /* The other side goes to the same place, if it has it. */
  follow(side, place) {
    this.mark();
    if (!side) this.options.onchange?.(place);
    if (!this.together || this.following || this.viewers?.length !== 2) return;
    const {it, step} = this.viewers[side].where();
    const other = this.viewers[1 - side];
    this.following = true;
    if (it < other.scene.iterations.length) other.goto({it, step});
    this.following = false;
  }

  /* Marks both sides from the first different step on. */
  mark() {
    const {divergence} = this.scene;
    this.viewers?.forEach((viewer) => {
      const {it, step} = viewer.where();
      const isIn = divergence?.it === it;
      const isParted = isIn ? step >= divergence.step : it > divergence?.it;
      viewer.root.classList.toggle("dsbd-parted", isParted);
      viewer.root.classList.toggle("dsbd-parting", isIn && step === divergence.step);
    });
  }

  goto({it, step, layer, node}) {
    this.viewers.forEach((viewer) => viewer.goto({it, step, layer, node}));
  }

  destroy() {
    this.viewers.forEach((viewer) => viewer.destroy());
    this.root.remove();
  }
}
