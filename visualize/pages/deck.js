/* For a deck of reveal.js slides: every step fragment of a slide moves its viewer one step, forwards and backwards.
 *
 *   section[data-dsbd-it][data-dsbd-step] > iframe.dsbd-frame, span.fragment.dsbd-step, span.fragment.dsbd-step, ...
 *
 * A slide sends its step whenever it is shown: then a frame that was hidden draws, and jumps in the deck end at the
 * right step. Frames get only whole numbers.
 */
globalThis.DsbdDeck ??= (() => {
  "use strict";

  function tell(slide) {
    if (!("dsbdIt" in (slide?.dataset ?? {}))) return;
    const shown = slide.querySelectorAll(".dsbd-step.visible").length;
    const place = {dsbd: "goto", it: Number(slide.dataset.dsbdIt), step: Number(slide.dataset.dsbdStep) + shown};
    for (const frame of slide.querySelectorAll("iframe.dsbd-frame")) {
      frame.contentWindow?.postMessage({dsbd: "shown"}, "*");
      frame.contentWindow?.postMessage(place, "*");
    }
  }

  const slideOf = (event) => (event.fragment || event.currentSlide)?.closest("section");
  const begin = () => {
    for (const name of ["ready", "slidechanged", "fragmentshown", "fragmenthidden"]) {
      Reveal.on(name, (event) => tell(slideOf(event)));
    }
    addEventListener("message", ({data, source}) => {
      if (!data || data.dsbd !== "ready") return;
      for (const frame of document.querySelectorAll("iframe.dsbd-frame")) {
        if (frame.contentWindow === source) tell(frame.closest("section"));
      }
    });
  };
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin);
  return {tell};
})();
