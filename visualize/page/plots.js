/* The decode as Plotly figures, which the server draws: each forest as a frame, and the whole decode as one tree.
 *
 * A figure lies still, and finger and wheel scroll the page over it, until Zoom or Pan is chosen above it; the house
 * shows all of it again, and the page scrolls. */
const {DsbdPage} = globalThis;
const CONFIG = {
  responsive: true,
  displaylogo: false,
  displayModeBar: true,
  scrollZoom: true,
  modeBarButtonsToRemove: ["resetScale2d"],
  toImageButtonOptions: {format: "svg", filename: "dsbd"},
};
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
    const own = {...layout, autosize: true, dragmode: false};
    await Plotly.newPlot(figure, {data, layout: own, frames, config: {...CONFIG, ...wayBack(Plotly, layout)}});
    const still = {mode: "immediate", transition: {duration: 0}, frame: {duration: 0}};
    if (frames) await Plotly.animate(figure, [frames[DsbdPage.shownPass()].name], still);
    for (const kind of ["wheel", "touchstart"]) figure.addEventListener(kind, leave, {capture: true, passive: true});
    figure.on("plotly_click", ({points}) => {
      const [iteration, node] = points[0].customdata ?? [];
      if (iteration !== undefined) DsbdPage.goTo({it: iteration, step: Infinity, node});
    });
  }
});

/* Plotly would keep the page from scrolling. */
function leave(event) {
  const isStill = !event.currentTarget.layout.dragmode;
  if (isStill && event.target.closest(".draglayer")) event.stopPropagation();
}

function wayBack(Plotly, {xaxis, yaxis}) {
  const whole = {"xaxis.range": [...xaxis.range], "yaxis.range": [...yaxis.range], dragmode: false};
  const click = (figure) => Plotly.relayout(figure, structuredClone(whole));
  return {modeBarButtonsToAdd: [{name: "whole", title: "All of it again", icon: Plotly.Icons.home, click}]};
}

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
