/* The forest as a tree of words, for the keyboard and for screen readers. */

import {make, obey} from "../base/dom.js";
import {number} from "../base/words.js";

export class TreePanel {
  key = "tree";

  build(sheet) {
    const {viewer} = this;
    const {below, roots} = viewer.now.children();
    const items = (this.items = []);
    this.tree = make("ul", {class: "dsbd-tree", role: "tree", "aria-label": viewer.say("ui.tree")});
    this.tree.addEventListener("keydown", (event) => this.onKey(event));
    const item = (at, level) => {
      const label = make("span");
      const entry = (items[at] = make("li", {role: "treeitem", tabindex: "-1", "aria-level": level}, label));
      entry.label = label;
      entry.addEventListener("click", (event) => {
        event.stopPropagation();
        this.focus(at);
      });
      if (below[at].length) {
        entry.setAttribute("aria-expanded", "true");
        entry.append(make("ul", {role: "group"}, ...below[at].map((child) => item(child, level + 1))));
      }
      return entry;
    };
    this.tree.append(...roots.map((at) => item(at, 1)));
    if (roots.length) items[roots[0]].tabIndex = 0;
    sheet.replaceChildren(this.tree);
  }

  update() {
    const {viewer} = this;
    const scored = viewer.step >= viewer.now.scoredStep;
    viewer.now.nodes.forEach((node, at) => {
      const look = viewer.look[at];
      const entry = this.items[at];
      entry.hidden = !look;
      if (!look) return;
      const said = nodeSaid(viewer, node, look, scored);
      if (entry.label.textContent !== said) entry.label.textContent = said;
      entry.label.style.setProperty("--dsbd-mark", `var(--dsbd-${viewer.mark(look.state).mark})`);
      entry.setAttribute("aria-selected", String(at === viewer.pinned));
    });
  }

  focus(at) {
    this.items.forEach((entry, place) => {
      entry.tabIndex = place === at ? 0 : -1;
    });
    this.items[at].focus();
    this.viewer.pin(at);
  }

  onKey(event) {
    const shown = [...this.tree.querySelectorAll("[role=treeitem]")].filter((entry) => entry.offsetParent !== null);
    const at = shown.indexOf(event.target.closest("[role=treeitem]"));
    if (at < 0) return;
    const here = shown[at];
    const open = here.getAttribute("aria-expanded");
    const to = (entry) => {
      if (entry) this.focus(this.items.indexOf(entry));
    };
    obey(event, {
      ArrowDown: () => to(shown[at + 1]),
      ArrowUp: () => to(shown[at - 1]),
      Home: () => to(shown[0]),
      End: () => to(shown[shown.length - 1]),
      ArrowRight: () => (open === "false" ? here.setAttribute("aria-expanded", "true") : open && to(shown[at + 1])),
      ArrowLeft: () =>
        open === "true"
          ? here.setAttribute("aria-expanded", "false")
          : to(here.parentElement.closest("[role=treeitem]")),
      Enter: () => to(here),
    });
  }
}

/* One node in words: token, state, and the probabilities known so far. */
function nodeSaid(viewer, node, look, scored) {
  const {say} = viewer;
  const [times, final] = viewer.notesOf(node, look);
  const name = say("node.aria", {token: viewer.labelOf(node, "token"), state: viewer.mark(look.state).name});
  const target = scored && node.target_prob !== null ? `${say("ui.target")} ${number(node.target_prob)}` : "";
  const draft = node.draft_prob === null ? "" : `${say("ui.draft")} ${number(node.draft_prob)}`;
  return [name, times, target, draft, final].filter(Boolean).join(", ");
}
