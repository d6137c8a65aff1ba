/* The time machine: first, back, play, forward, last, speed, two sliders, and a bar of phases to jump to. */

import {glyph, make} from "../base/dom.js";

const PLAY_MS = 1100;
const SPEEDS = [0.5, 1, 2, 4];

export class Controls {
  constructor(viewer) {
    this.viewer = viewer;
    this.timer = null;
    this.speed = 1;
    const {say} = viewer;
    this.play = this.button("play", () => (this.timer ? this.stop() : this.start()));
    this.steps = this.slider("ui.step", (step) => viewer.goto({step}));
    this.iterations = this.slider("ui.iteration", (it) => viewer.goto({it, step: 0}));
    this.stepCount = make("span", {class: "dsbd-count"});
    this.iterationCount = make("span", {class: "dsbd-count"});
    this.phases = make("div", {class: "dsbd-phases", role: "group", "aria-label": say("ui.phases")});
    const speed = make(
      "select",
      {
        "aria-label": say("ui.speed"),
        title: say("ui.speed"),
        onchange: (event) => {
          this.speed = Number(event.target.value);
          if (this.timer) this.start();
        },
      },
      ...SPEEDS.map((value) => make("option", {value, text: `${value}×`})),
    );
    speed.value = "1";
    const scrub = (key, track, count) =>
      make(
        "div",
        {class: "dsbd-scrub"},
        make("span", {class: "dsbd-name", text: say(key)}),
        make("div", {class: "dsbd-track"}, track),
        count,
      );
    this.element = make(
      "div",
      {class: "dsbd-controls"},
      make(
        "div",
        {class: "dsbd-buttons", role: "group", "aria-label": say("ui.step")},
        this.button("first", () => this.go(0)),
        this.button("back", () => this.move(-1)),
        this.play,
        this.button("forward", () => this.move(1)),
        this.button("last", () => this.go(Infinity)),
        speed,
      ),
      scrub("ui.step", this.steps, this.stepCount),
      scrub("ui.iteration", this.iterations, this.iterationCount),
      this.phases,
    );
  }

  button(name, act) {
    const label = this.viewer.say(`ui.${name}`);
    return make(
      "button",
      {type: "button", class: `dsbd-${name}`, "aria-label": label, title: label, onclick: act},
      glyph(name),
    );
  }

  slider(key, act) {
    return make("input", {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": this.viewer.say(key),
      oninput: (event) => {
        this.stop();
        act(Number(event.target.value));
      },
    });
  }

  go(step) {
    this.stop();
    this.viewer.goto({step});
  }

  /* One step on or back, over the edge of an iteration; false at either end. */
  move(by, playing = false) {
    if (!playing) this.stop();
    const {viewer} = this;
    const step = viewer.step + by;
    if (step >= 0 && step < viewer.now.steps.length) {
      viewer.goto({step});
      return true;
    }
    const it = viewer.it + by;
    if (it < 0 || it >= viewer.scene.iterations.length) return false;
    viewer.goto({it, step: by > 0 ? 0 : Infinity});
    return true;
  }

  start() {
    clearInterval(this.timer);
    this.timer = setInterval(() => this.move(1, true) || this.stop(), PLAY_MS / this.speed);
    this.showPlaying(true);
  }

  stop() {
    if (this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
    this.showPlaying(false);
  }

  showPlaying(playing) {
    const name = this.viewer.say(playing ? "ui.pause" : "ui.play");
    this.play.replaceChildren(glyph(playing ? "pause" : "play"));
    this.play.setAttribute("aria-label", name);
    this.play.title = name;
    this.viewer.showPlaying(playing);
  }

  /* One segment per phase and layer, as long as its steps. */
  build() {
    const {now, say} = this.viewer;
    this.runs = now.phases();
    this.phases.replaceChildren(
      ...this.runs.map((run) => {
        const name = run.layer ? String(run.layer) : say(`phase.${run.phase}`);
        const label = run.layer ? say("layer.title", {layer: run.layer}) : name;
        const button = make(
          "button",
          {
            type: "button",
            class: `dsbd-phase dsbd-phase-${run.phase}`,
            title: label,
            "aria-label": label,
            onclick: () => this.go(run.from),
          },
          make("span", {text: name}),
        );
        button.style.flexGrow = Math.sqrt(run.to - run.from + 1);
        return button;
      }),
    );
  }

  update(sentence) {
    const {viewer} = this;
    const count = viewer.now.steps.length;
    const iterations = viewer.scene.iterations.length;
    this.steps.max = count - 1;
    this.steps.value = viewer.step;
    this.steps.setAttribute("aria-valuetext", sentence);
    this.iterations.max = iterations - 1;
    this.iterations.value = viewer.it;
    this.stepCount.textContent = viewer.say("ui.of", {current: viewer.step + 1, count});
    this.iterationCount.textContent = viewer.say("ui.of", {current: viewer.it + 1, count: iterations});
    this.runs.forEach((run, at) => {
      const here = viewer.step >= run.from && viewer.step <= run.to;
      this.phases.children[at].classList.toggle("dsbd-current", here);
      if (here) this.phases.children[at].setAttribute("aria-current", "step");
      else this.phases.children[at].removeAttribute("aria-current");
    });
  }
}
