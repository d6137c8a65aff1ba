/* What the parts of the page share; served with the viewer as one script. It also gives each tab an
 * address, opens the settings panel, and fits the frame of a lesson. */

import {Answer, asMeasured, counted, presetOf, program, typedIn, valuesOf} from "./answer.js";
import {download, make} from "../viewer/dom.js";
import {readTrace} from "../viewer/reading.js";
import {mount} from "../viewer/viewer.js";

globalThis.DsbdPage = (() => {
  const isDark = () => document.body.classList.contains("dark");

  /* Calls show(message, bulk) for each new value, in order, although unpacking takes time. */
  function follow(props, watch, show) {
    let last = 0;
    let turn = Promise.resolve();
    const take = () => {
      const message = props.value ? JSON.parse(props.value) : null;
      if (!message || message.number === last) return;
      last = message.number;
      turn = turn
        .then(async () => show(message, JSON.parse(await globalThis.dsbdUnpack(message.packed))))
        .catch((error) => console.error(error));
    };
    watch("value", take);
    take();
  }

  /* Plotly is large, so it is fetched once, at the first use. */
  let fetched = null;
  function plotly() {
    fetched ??= new Promise((done, failed) => {
      const src = new URL("gradio_api/dsbd/plotly.min.js", document.baseURI).href;
      const onerror = () => failed(new Error("plotly.min.js did not load"));
      document.head.append(make("script", {src, onload: () => done(globalThis.Plotly), onerror}));
    });
    return fetched;
  }

  async function gzipped(text) {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  async function gunzipped(blob) {
    return new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  /* What the form holds, which Gradio alone knows: the stage triggers an event, and hears the answer. */
  let waiting = null;
  const form = () =>
    new Promise((done) => {
      waiting = done;
      globalThis.DsbdPage.trigger("select");
    });
  const answerForm = (...values) => waiting?.(values);

  /* Fill in pair, prompt, method, fields and note. */
  let filling = null;
  const fill = (values) => {
    filling = values;
    globalThis.DsbdPage.trigger("input");
  };

  const shared = {
    Answer,
    asMeasured,
    counted,
    presetOf,
    program,
    typedIn,
    valuesOf,
    make,
    mount,
    readTrace,
    save: download,
  };
  return {...shared, isDark, follow, plotly, gzipped, gunzipped, form, answerForm, fill, filling: () => filling};
})();

/* Light or dark, and an address for each tab: #race, #learn, #about; Play has none. Back goes to the tab before. */
(() => {
  const FIRST = "play";
  const LOW_FRAME = 600; // pixels up to which the page in a frame is as tall as the frame
  const tabs = () => [...document.querySelectorAll("#tabs > .tab-wrapper [role=tab]")];
  const nameOf = (tab) => tab?.dataset.tabId ?? FIRST;
  const chosen = () => nameOf(tabs().find((tab) => tab.getAttribute("aria-selected") === "true"));
  const named = () => {
    const name = location.hash.slice(1);
    return tabs().some((tab) => nameOf(tab) === name) ? name : FIRST;
  };
  let goal = null; // Gradio needs a moment to show another tab

  function goTo() {
    goal = named();
    if (goal === chosen()) goal = null;
    else {
      tabs()
        .find((tab) => nameOf(tab) === goal)
        ?.click();
    }
  }

  function remember() {
    const name = chosen();
    if (goal !== null && name !== goal) return;
    if (goal === null && name !== named()) {
      history.pushState(null, "", location.pathname + location.search + (name === FIRST ? "" : `#${name}`));
    }
    goal = null;
  }

  function begin() {
    const bar = document.querySelector("#tabs > .tab-wrapper");
    if (!tabs().length) return requestAnimationFrame(begin);
    new MutationObserver(remember).observe(bar, {subtree: true, attributeFilter: ["aria-selected"]});
    addEventListener("popstate", goTo);
    goTo();
  }
  begin();

  const panel = () => document.querySelector("#settings-panel");
  const control = () => document.querySelector(".settings-switch");
  function show(open) {
    panel().classList.toggle("is-open", open);
    control().setAttribute("aria-expanded", String(open));
    if (open) panel().querySelector(".settings-close").focus();
    else if (panel().contains(document.activeElement)) control().focus();
  }

  document.addEventListener("click", ({target}) => {
    if (target.closest(".theme-switch")) document.body.classList.toggle("dark");
    if (target.closest(".settings-switch")) show(control().getAttribute("aria-expanded") !== "true");
    if (target.closest(".settings-close")) show(false);
  });

  /* Heard before Gradio hears it: only then it can be seen that a list is open, which Escape closes first. */
  const isInPanel = (one) => panel()?.contains(one) || control() === one;
  document.addEventListener(
    "keydown",
    ({key}) => {
      const isList = panel()?.querySelector("[role=listbox]");
      if (key === "Escape" && isInPanel(document.activeElement) && !isList) show(false);
    },
    {capture: true},
  );

  /* The frame of a lesson becomes as tall as its page, so that only the tab scrolls; not on a narrow screen, where the
   * viewer's controls stay at the lower edge of the frame. */
  document.addEventListener(
    "load",
    ({target: frame}) => {
      if (!frame.matches?.(".learn-frame")) return;
      frame.previousElementSibling.hidden = true;
      const {body} = frame.contentDocument;
      const fit = () => {
        const wide = frame.contentWindow?.matchMedia("(min-width: 1100px)").matches;
        const height = Math.max(LOW_FRAME + 4, Math.ceil(body.getBoundingClientRect().height) + 4);
        frame.style.height = wide ? `${height}px` : "";
      };
      let soon = 0; // while the page is drawn its height swings
      const wait = () => {
        clearTimeout(soon);
        soon = setTimeout(fit, 150);
      };
      new frame.contentWindow.ResizeObserver(wait).observe(body);
    },
    {capture: true},
  );
})();
