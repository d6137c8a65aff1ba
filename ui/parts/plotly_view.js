/* Interactive Plotly figures with tools and frames: the forests, and the whole decode. A click opens an iteration. */
const {follow, onTheme, make, plotly} = globalThis.DsbdPage;
const holder = element.querySelector(".plotly-mount");
const CONFIG = {
  responsive: true,
  displaylogo: false,
  displayModeBar: true,
  showSendToCloud: false,
  modeBarButtonsToAdd: ["select2d", "lasso2d"],
  toImageButtonOptions: {format: "svg", filename: "dsbd"},
};

function clear() {
  for (const figure of holder.querySelectorAll(".js-plotly-plot")) globalThis.Plotly.purge(figure);
  holder.replaceChildren();
}

const isShown = () => document.querySelector(".play").classList.contains("as-plotly");

follow(props, watch, async (message, figures) => {
  const Plotly = await plotly();
  clear();
  for (const {data, layout, frames} of figures) {
    const place = make("div", "figure");
    holder.append(place);
    await Plotly.newPlot(place, {data, layout: {...layout, autosize: true}, frames, config: CONFIG});
    place.on("plotly_click", ({points}) => {
      const [iteration, node] = points[0].customdata ?? [];
      if (iteration !== undefined) goTo(iteration, node);
    });
  }
});

/* The forest of a pass here, and in the viewer when the visitor goes back to it. */
function goTo(iteration, node) {
  const still = {mode: "immediate", frame: {duration: 0, redraw: true}, transition: {duration: 0}};
  globalThis.Plotly.animate(holder.children[0], [String(iteration + 1)], still);
  document.dispatchEvent(new CustomEvent("dsbd-open", {detail: {iteration, node}}));
  element.scrollIntoView({block: "nearest", behavior: "smooth"});
}

/* After another decode or another theme the figures are old; they are drawn again when they are seen. */
function renew() {
  clear();
  if (isShown()) draw();
}

function draw() {
  if (holder.children.length) return;
  const waits = make("p", "said", "Drawing …");
  waits.setAttribute("role", "status");
  holder.append(waits);
  document.querySelector("#plotly-draw").click();
}

document.addEventListener("dsbd-plotly", draw);
document.addEventListener("dsbd-scene", renew);
let isDark = document.body.classList.contains("dark");
onTheme(() => {
  if (isDark === document.body.classList.contains("dark")) return;
  isDark = !isDark;
  renew();
});
