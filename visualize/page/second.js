/* Two decodes side by side: a second viewer beside the one of the decode that is shown, and the figures of both. */

import {openAt} from "./opening.js";

export class Second {
  constructor(element, saved) {
    Object.assign(this, {element, saved, decode: null});
    [this.own, this.other] = element.children;
  }

  /* A decode as play.js has it, null for none. costs: of passes, null where they were not measured. */
  show(decode, costs) {
    this.viewer?.destroy();
    Object.assign(this, {decode, viewer: null});
    this.element.classList.toggle("is-two", Boolean(decode));
    this.other.hidden = !decode;
    if (!decode) return;
    this.viewer = globalThis.DsbdPage.mount(this.other.querySelector(".second-mount"), decode.trace, {language: "en"});
    this.viewer.setCosts(costs);
    openAt(this.viewer, decode.trace, this.other);
  }

  /* The choices of a list, of which it keeps its own. Returns whether that is still there. */
  offer(list, target) {
    const name = this.decode?.name ?? "";
    list.replaceChildren(new Option("Nothing", ""), ...this.saved.options(target, null));
    list.value = name;
    if (list.selectedIndex < 0) list.value = "";
    return list.value === name;
  }

  /* Says the figures of both. */
  compare(shown) {
    if (!this.decode) return;
    for (const [place, decode] of [
      [this.own, shown],
      [this.other, this.decode],
    ]) {
      const name = this.saved.nameOf(decode);
      const textContent = `${name.split(":")[0]}: ${figuresOf(decode.trace)}`;
      Object.assign(place.querySelector(".figures"), {textContent, title: name});
    }
  }
}

/* "15 tokens in 7 passes, 2.14 layers an iteration" */
function figuresOf({iterations, result}) {
  const {counted} = globalThis.DsbdPage;
  const layers = iterations.reduce((sum, one) => sum + one.layers.length, 0);
  const tokens = counted(result?.token_ids.length ?? layers, "token");
  const each = (layers / Math.max(iterations.length, 1)).toFixed(2);
  return `${tokens} in ${counted(iterations.length, "pass")}, ${each} layers an iteration`;
}
