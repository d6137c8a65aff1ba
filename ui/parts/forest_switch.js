/* Shows the forest step by step, or as Plotly figures, which are drawn at their first look (plotly_view.js). */
const [steps, plotly] = element.querySelectorAll("button");

function show(isPlotly) {
  document.querySelector(".play").classList.toggle("as-plotly", isPlotly);
  steps.setAttribute("aria-pressed", String(!isPlotly));
  plotly.setAttribute("aria-pressed", String(isPlotly));
  if (isPlotly) document.dispatchEvent(new Event("dsbd-plotly"));
}

steps.addEventListener("click", () => show(false));
plotly.addEventListener("click", () => show(true));
