/* The decode as Plotly figures, which the server draws: each forest as a frame, and the whole decode as one tree. */

const CONFIG = {responsive: true, displaylogo: false, toImageButtonOptions: {format: "svg", filename: "dsbd"}};

/* recording: what the server calls the decode that is shown, "" if it is no recording, null if nothing is shown; goTo
 * shows a place of it. Returns what clears the figures, for another decode is shown. */
export function plotsIn(mount, {recording, goTo}) {
  const {DsbdPage} = globalThis;
  const tab = () => document.querySelector(".play");
  const isOn = () => tab().classList.contains("as-plotly");
  const say = (text) => mount.replaceChildren(DsbdPage.make("p", {class: "said", text}));

  function ask() {
    if (mount.children.length || recording() === null) return;
    say("Drawing …");
    document.querySelector("#plotly-ask").click();
  }

  function clear() {
    for (const figure of mount.querySelectorAll(".js-plotly-plot")) globalThis.Plotly.purge(figure);
    mount.replaceChildren();
    if (isOn()) ask();
  }

  /* The server draws its recordings and the last run of this visitor; the rest is in this browser only. */
  DsbdPage.plotlyAsked = () => [recording(), DsbdPage.isDark()];
  DsbdPage.drawPlotly = async (figures) => {
    const Plotly = await DsbdPage.plotly();
    mount.replaceChildren();
    if (!figures.length) say("Plotly draws recorded decodes and your last run here.");
    for (const {data, layout, frames} of figures) {
      const figure = DsbdPage.make("div", {class: "figure"});
      mount.append(figure);
      await Plotly.newPlot(figure, {data, layout: {...layout, autosize: true}, frames, config: CONFIG});
      figure.on("plotly_click", ({points}) => {
        const [iteration, node] = points[0].customdata ?? [];
        if (iteration !== undefined) goTo({it: iteration, step: Infinity, node});
      });
    }
  };

  document.addEventListener("click", ({target: button}) => {
    const chosen = button.closest(".forest-switch button");
    if (!chosen) return;
    const [steps, plotly] = chosen.parentElement.children;
    tab().classList.toggle("as-plotly", chosen === plotly);
    steps.setAttribute("aria-pressed", String(chosen === steps));
    plotly.setAttribute("aria-pressed", String(chosen === plotly));
    if (isOn()) ask();
  });
  let wasDark = DsbdPage.isDark();
  new MutationObserver(() => {
    if (wasDark === DsbdPage.isDark()) return;
    wasDark = DsbdPage.isDark();
    clear();
  }).observe(document.body, {attributeFilter: ["class"]});
  return clear;
}
