/* The cards of a lesson as slides: one card a screen, in type as large as fits, beside a large forest. Arrows, Page Up
 * and Page Down (a presenter's clicker) turn; F fills the screen, Escape ends the slides.
 *
 *   DsbdSlides.start({root, forward, back, onswitch})      forward and back turn one card, or show its answer
 *   .arrange()      after every change of the card          .turn(on)      begin or end
 */
globalThis.DsbdSlides = (() => {
  "use strict";

  const SHARES = ["36%", "50%", "100%"]; // of the screen's width for the text; with all of it the forest is hidden
  const LARGEST = 1 / 24; // of the screen's height, the size of the type
  const SMALLEST = 1 / 36;
  const COLUMN = 106; // pixels that a layer of the forest takes at least, as in viewer/forest/geometry.js
  const BESIDE = 140; // and the prompt, with the edges
  const NARROWEST = 450; // below, the forest would stand upright
  const PART = 540; // pixels of a screen where cut and fill, and the lab, have their own size
  const TALL = 475; // pixels of sentence and forest

  function start({root, forward, back, onswitch}) {
    const cards = root.querySelector(".cards");
    const room = root.querySelector(".forest");
    const set = (name, value) => root.style.setProperty(`--slide-${name}`, value);
    const isOn = () => root.classList.contains("slides");
    const fits = () => cards.scrollHeight <= cards.clientHeight && cards.scrollWidth <= cards.clientWidth;

    /* The forest stays if the text finds room beside it. */
    function arrange() {
      if (!isOn()) return;
      set("part", innerHeight / PART);
      const alone = root.querySelector("article:not([hidden]) :is(.cut, .lab, .text img)");
      for (const share of alone ? SHARES.slice(-1) : SHARES) {
        root.classList.toggle("alone", share === "100%");
        set("text", share);
        for (let size = Math.floor(innerHeight * LARGEST); size >= Math.floor(innerHeight * SMALLEST); size--) {
          set("type", `${size}px`);
          if (fits()) return enlarge();
        }
      }
      cards.scrollTop = 0;
    }

    function enlarge() {
      const layers = room.querySelectorAll(".dsbd-forest .dsbd-layer").length;
      const wide = Math.max(NARROWEST, BESIDE + layers * COLUMN);
      set("zoom", Math.max(1, Math.min(room.clientWidth / wide, room.clientHeight / TALL)));
    }

    function turn(on) {
      if (on === isOn()) return;
      root.classList.toggle("slides", on);
      root.classList.remove("alone");
      room.querySelector(".dsbd").classList.toggle("dsbd-bare", on);
      if (!on && document.fullscreenElement) document.exitFullscreen();
      onswitch(on);
      arrange();
    }

    function fill() {
      if (document.fullscreenElement) document.exitFullscreen();
      else document.documentElement.requestFullscreen().catch(() => {}); // a frame may not
    }

    const isRight = document.documentElement.dir === "rtl";
    const ACTS = {
      ArrowRight: isRight ? back : forward,
      ArrowLeft: isRight ? forward : back,
      PageDown: forward,
      PageUp: back,
      f: fill,
      F: fill,
      Escape: () => turn(false),
    };
    /* In the capture phase: the viewer has its own arrows. A field keeps all keys but those of a clicker. */
    document.addEventListener(
      "keydown",
      (event) => {
        const {key, target} = event;
        if (!isOn() || !ACTS[key] || event.altKey || event.ctrlKey || event.metaKey) return;
        if (!/^(Page|Esc)/.test(key) && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
        event.preventDefault();
        event.stopPropagation();
        ACTS[key]();
      },
      true,
    );
    addEventListener("resize", arrange);
    root.querySelector("button.slides").addEventListener("click", () => turn(true));
    root.querySelector("button.end").addEventListener("click", () => turn(false));
    root.querySelector("button.full").addEventListener("click", fill);
    return {arrange, turn, isOn};
  }

  return {start};
})();
