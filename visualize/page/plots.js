/* The decode as Plotly figures, which the server draws: each forest as a frame, and the whole decode as one tree. */
const {DsbdPage} = globalThis;
const CONFIG = {responsive: true, displaylogo: false, toImageButtonOptions: {format: "svg", filename: "dsbd"}};
const mount = element.querySelector(".plotly-mount");
const tab = () => document.querySelector(".play");
const isOn = () => tab().classList.contains("as-plotly");
const say = (text) => mount.replaceChildren(DsbdPage.make("p", {class: "said", text}));

function draw() {
  if (mount.children.length || DsbdPage.recording() === null) return;
  say("Drawing …");
  trigger("submit");
}

/* The server draws its recordings and this visitor's last run, which it keeps; the rest is in this browser only. */
DsbdPage.plotted = () => [DsbdPage.recording(), DsbdPage.isDark(), null];

DsbdPage.follow(props, watch, async (message, figures) => {
  const Plotly = await DsbdPage.plotly();
  mount.replaceChildren();
  if (!figures.length) say("Plotly draws recorded decodes and your last run here.");
  for (const {data, layout, frames} of figures) {
    const figure = DsbdPage.make("div", {class: "figure"});
    mount.append(figure);
    await Plotly.newPlot(figure, {data, layout: {...layout, autosize: true}, frames, config: CONFIG});
    figure.on("plotly_click", ({points}) => {
      const [iteration, node] = points[0].customdata ?? [];
      if (iteration !== undefined) DsbdPage.goTo({it: iteration, step: Infinity, node});
    });
  }
});

/* Another decode is shown, or in other colours. */
DsbdPage.clearPlots = () => {
  for (const figure of mount.querySelectorAll(".js-plotly-plot")) globalThis.Plotly.purge(figure);
  mount.replaceChildren();
  if (isOn()) draw();
};

document.addEventListener("click", ({target: button}) => {
  const chosen = button.closest(".forest-switch button");
  if (!chosen) return;
  const [steps, plotly] = chosen.parentElement.children;
  tab().classList.toggle("as-plotly", chosen === plotly);
  steps.setAttribute("aria-pressed", String(chosen === steps));
  plotly.setAttribute("aria-pressed", String(chosen === plotly));
  if (isOn()) draw();
});

let wasDark = DsbdPage.isDark();
new MutationObserver(() => {
  if (wasDark === DsbdPage.isDark()) return;
  wasDark = DsbdPage.isDark();
  DsbdPage.clearPlots();
}).observe(document.body, {attributeFilter: ["class"]});
