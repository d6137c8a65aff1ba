/* Shared by the drawing parts of the page. Served after the viewer and unpack.js (see parts/files.py). */
globalThis.DsbdPage = (() => {
  "use strict";

  /* True if the page begins with a run: of a link, or one that a refresh broke off (ui/play/following.py). */
  const isAsked =
    new URLSearchParams(location.search).has("prompt") || sessionStorage.getItem(`dsbd-run${location.search}`) !== null;

  /* Calls show(message, bulk) for each new value, in order, although unpacking takes time. With `news` the value that
   * the page came with is left out. */
  function follow(props, watch, show, {news = false} = {}) {
    let last = news && props.value ? JSON.parse(props.value).number : 0;
    let turn = Promise.resolve();
    const take = () => {
      const message = props.value ? JSON.parse(props.value) : null;
      if (!message || message.number === last) return;
      last = message.number;
      turn = turn
        .then(async () => show(message, JSON.parse(await dsbdUnpack(message.packed))))
        .catch((error) => console.error(error));
    };
    watch("value", take);
    take();
  }

  const isDark = () => document.body.classList.contains("dark");

  function onTheme(act) {
    new MutationObserver(act).observe(document.body, {attributeFilter: ["class"]});
  }

  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  /* Plotly is large, so it is fetched once, at the first use. */
  let fetched = null;
  function plotly() {
    fetched ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = document.querySelector("meta[name=dsbd-plotly]").content;
      script.onload = () => done(globalThis.Plotly);
      script.onerror = () => failed(new Error("plotly.min.js did not load"));
      document.head.append(script);
    });
    return fetched;
  }

  /* The place of the viewer, as addresses name it; forest.js sets `shown`, which returns the viewer. */
  function place() {
    const at = globalThis.DsbdPage.shown?.()?.where();
    return at ? `iteration=${at.it + 1}&step=${at.step + 1}` : "";
  }

  return {place, follow, isAsked, isDark, onTheme, make, plotly};
})();
