/* The linked views below the forest, as tabs. A panel is built when it is first opened, and follows every step while
 * it is open. */

import {make} from "../base/dom.js";

let mounted = 0; // makes ids unique on pages with several viewers

export class Tabs {
  constructor(viewer, panels, open) {
    this.panels = panels;
    this.prefix = `dsbd-${++mounted}`;
    this.buttons = panels.map((panel, at) =>
      make("button", {
        type: "button",
        role: "tab",
        id: `${this.prefix}-tab-${at}`,
        class: "dsbd-tab",
        "aria-controls": `${this.prefix}-panel-${at}`,
        "data-tab": panel.key,
        text: viewer.say(`tab.${panel.key}`),
        onclick: () => this.open(at),
      }),
    );
    this.sheets = panels.map((panel, at) =>
      make("div", {
        role: "tabpanel",
        id: `${this.prefix}-panel-${at}`,
        class: `dsbd-panel dsbd-panel-${panel.key}`,
        "aria-labelledby": `${this.prefix}-tab-${at}`,
        tabindex: "0",
        hidden: "",
      }),
    );
    this.list = make(
      "div",
      {class: "dsbd-tabs", role: "tablist", "aria-label": viewer.say("ui.views")},
      ...this.buttons,
    );
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.element = make("div", {class: "dsbd-views"}, this.list, ...this.sheets);
    this.stale = panels.map(() => true);
    this.at = Math.max(
      0,
      panels.findIndex((panel) => panel.key === open),
    );
    this.mark();
  }

  get open_key() {
    return this.panels[this.at].key;
  }

  open(at) {
    this.at = at;
    this.mark();
    this.refresh();
  }

  show(key) {
    this.open(this.panels.findIndex((panel) => panel.key === key));
  }

  mark() {
    this.buttons.forEach((button, at) => {
      button.setAttribute("aria-selected", String(at === this.at));
      button.tabIndex = at === this.at ? 0 : -1;
      this.sheets[at].hidden = at !== this.at;
    });
  }

  /* changed: another iteration is shown. news: the scene has changed. Closed panels take it in when they are opened. */
  update(changed = false, news = false) {
    this.panels.forEach((panel, at) => {
      this.stale[at] ||= changed || (news && Boolean(panel.whole));
    });
    this.refresh();
  }

  refresh() {
    const panel = this.panels[this.at];
    if (this.stale[this.at]) panel.build(this.sheets[this.at]);
    this.stale[this.at] = false;
    panel.update?.();
  }

  onKey(event) {
    const count = this.buttons.length;
    const rtl = getComputedStyle(this.list).direction === "rtl" ? -1 : 1;
    const to = {ArrowRight: this.at + rtl, ArrowLeft: this.at - rtl, Home: 0, End: count - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.open((to + count) % count);
    this.buttons[this.at].focus();
  }
}
