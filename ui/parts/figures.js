/* Charts, drawn again when the theme or the width changes. */
const {follow, isDark, onTheme, make, plotly} = globalThis.DsbdPage;
const holder = element.querySelector(".figures-mount");
const CONFIG = {displayModeBar: false, responsive: true};
let figures = [];

function draw() {
  if (!holder.clientWidth) return;
  while (holder.children.length > figures.length) holder.lastChild.remove();
  figures.forEach((figure, place) => {
    if (!holder.children[place]) holder.append(make("div", "figure"));
    const {data, layout} = structuredClone(figure[isDark() ? "dark" : "light"]);
    Object.assign(layout, {paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true});
    globalThis.Plotly.react(holder.children[place], data, layout, CONFIG);
  });
}

follow(props, watch, async (message, bulk) => {
  await plotly();
  figures = bulk;
  draw();
});
onTheme(draw);
let width = 0;
new ResizeObserver(() => {
  if (holder.clientWidth === width) return;
  width = holder.clientWidth;
  draw();
}).observe(holder);
