/* The fold below the forest: a menu of linked views, the tools, and what was checked. A view is built when it is first
 * opened, and follows every step while it is open. */

import {make} from "../base/dom.js";

export class Views {
  /* open: the key of the view to begin with; unfolded: whether the fold is open. */
  constructor(viewer, panels, tools, foot, {open, unfolded}) {
    const {say} = viewer;
    this.panels = panels;
    this.options = panels.map((panel) => make("option", {value: panel.key, text: say(`tab.${panel.key}`)}));
    this.menu = make(
      "select",
      {
        class: "dsbd-view",
        "aria-label": say("ui.views"),
        title: say("ui.views"),
        onchange: (event) => this.open(event.target.value),
      },
      ...this.options,
    );
    this.sheets = panels.map((panel) =>
      make("div", {
        role: "group",
        class: `dsbd-panel dsbd-panel-${panel.key}`,
        "aria-label": say(`tab.${panel.key}`),
        tabindex: "0",
        hidden: "",
      }),
    );
    this.element = make(
      "details",
      {class: "dsbd-more", ontoggle: () => this.refresh()},
      make("summary", {text: say("ui.more")}),
      make("div", {class: "dsbd-tools"}, this.menu, ...tools),
      ...this.sheets,
      ...foot,
    );
    this.stale = panels.map(() => true);
    this.at = 0;
    this.ready = false; // becomes true with the first step
    this.element.open = unfolded;
    this.open(open);
  }

  get state() {
    return {open: this.panels[this.at].key, unfolded: this.element.open};
  }

  show(key) {
    this.element.open = true;
    this.open(key);
    this.element.scrollIntoView({block: "nearest"});
  }

  /* Builds a view again: what it needs has come. */
  renew(panel) {
    this.stale[this.panels.indexOf(panel)] = true;
    this.refresh();
  }

  open(key) {
    this.at = Math.max(
      0,
      this.panels.findIndex((panel) => panel.key === key),
    );
    this.menu.value = this.panels[this.at].key;
    this.sheets.forEach((sheet, at) => {
      sheet.hidden = at !== this.at;
    });
    this.refresh();
  }

  /* changed: another iteration is shown. news: the scene has changed. Closed views update when they are opened. */
  update(changed = false, news = false) {
    this.ready = true;
    this.panels.forEach((panel, at) => {
      this.stale[at] ||= changed || (news && Boolean(panel.whole));
      if (changed) this.options[at].disabled = panel.fits?.() === false;
    });
    this.refresh();
  }

  refresh() {
    if (!this.ready || !this.element.open) return;
    const panel = this.panels[this.at];
    if (this.stale[this.at]) panel.build(this.sheets[this.at]);
    this.stale[this.at] = false;
    panel.update?.();
  }
}
