/* Interactive Plotly figures with tools and frames. A click opens an iteration in the viewer. */
const {follow, onTheme, make, plotly} = globalThis.DsbdPage;
const holder = element.querySelector(".plotly-mount");
const CONFIG = {
  responsive: true,
  displaylogo: false,
  displayModeBar: true,
  modeBarButtonsToAdd: ["select2d", "lasso2d"],
  toImageButtonOptions: {format: "svg", filename: "dsbd"},
};

function clear() {
  for (const figure of holder.children) globalThis.Plotly?.purge(figure);
  holder.replaceChildren();
}

follow(props, watch, async (message, figures) => {
  const Plotly = await plotly();
  clear();
  for (const {data, layout, frames} of figures) {
    const place = make("div", "figure");
    holder.append(place);
    await Plotly.newPlot(place, {data, layout: {...layout, autosize: true}, frames, config: CONFIG});
    place.on("plotly_click", ({points}) => {
      const [iteration, node] = points[0].customdata ?? [];
      if (iteration === undefined) return;
      document.dispatchEvent(new CustomEvent("dsbd-open", {detail: {iteration, node}}));
    });
  }
});

/* After another decode or another theme the figures are old: close the fold; opening it draws them again. */
function renew() {
  clear();
  if (holder.clientWidth > 0) document.querySelector("#plotly > button").click();
}
document.addEventListener("dsbd-scene", renew);
let isDark = document.body.classList.contains("dark");
onTheme(() => {
  if (isDark === document.body.classList.contains("dark")) return;
  isDark = !isDark;
  renew();
});
