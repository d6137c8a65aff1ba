/* Charts of the whole decode: widths and accepted depth, and seconds per phase. Plotly draws them
 * when they are opened. */

import {make, table} from "../base/dom.js";

const PHASES = {draft: ["#56b4e9", "/"], score: ["#b88000", ""], verify: ["#009e73", "."], commit: ["#8a939e", "x"]};

/* Readers count iterations from 1. */
const numberOf = (packed) => packed.index + 1;

export class ChartsPanel {
  key = "charts";
  whole = true; // it shows all iterations

  build(sheet) {
    const {viewer} = this;
    this.here = -1;
    if (!viewer.Plotly) {
      this.plots = [];
      sheet.replaceChildren(this.table());
      this.fetch(sheet);
      return;
    }
    if (!this.plots?.length) this.plots = [make("div", {class: "dsbd-chart"}), make("div", {class: "dsbd-chart"})];
    sheet.replaceChildren(...this.plots);
    const css = getComputedStyle(viewer.root);
    const color = (name) => css.getPropertyValue(`--dsbd-${name}`).trim();
    const {iterations} = viewer.scene;
    const x = iterations.map(numberOf);
    const range = [x[0] - 0.6, x[x.length - 1] + 0.6];
    const grid = {gridcolor: color("line"), zeroline: false, rangemode: "tozero", fixedrange: true};
    const figures = [this.widths(iterations, x, color), this.seconds(iterations, x)];
    figures.forEach(({title, data, axis}, at) => {
      const layout = {
        title: {text: title, x: 0, xref: "paper", font: {size: 14}},
        height: 300,
        margin: {l: 48, r: 8, t: 66, b: 40},
        barmode: "stack",
        bargap: 0.25,
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: {family: css.fontFamily, color: color("ink"), size: 12},
        legend: {orientation: "h", y: 1, yanchor: "bottom", x: 0},
        xaxis: {...grid, showgrid: false, range, title: {text: viewer.say("figure.iteration")}},
        yaxis: {...grid, title: {text: axis}},
      };
      const plot = this.plots[at];
      const isNew = !plot.data;
      viewer.Plotly.react(plot, data, layout, {displayModeBar: false, responsive: true});
      if (isNew) plot.on("plotly_click", ({points}) => viewer.goto({it: plot.data[0].x.indexOf(points[0].x), step: 0}));
    });
  }

  /* Asks for Plotly. The numbers stand there meanwhile, and also where it does not come. */
  async fetch(sheet) {
    const {viewer} = this;
    await viewer.options.fetchPlotly?.().catch(() => {});
    if (viewer.Plotly) viewer.parts.views.renew(this);
    else sheet.prepend(make("p", {class: "dsbd-hint", text: viewer.say("ui.no_plotly")}));
  }

  widths(iterations, x, color) {
    const {say} = this.viewer;
    const widths = iterations.map((iteration) => iteration.layers.map((layer) => layer.width));
    const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
    const dots = widths.flatMap((values, at) => values.map((value) => [x[at], value]));
    return {
      title: say("figure.width"),
      axis: "",
      data: [
        {
          type: "bar",
          x,
          y: widths.map((values) => values.length),
          name: say("figure.layers"),
          marker: {color: color("faint")},
          opacity: 0.55,
        },
        {
          type: "scatter",
          mode: "markers",
          x: dots.map(([at]) => at),
          y: dots.map(([, value]) => value),
          name: say("figure.layer_width"),
          marker: {symbol: "circle-open", size: 8, color: color("accent"), line: {width: 1.5}},
        },
        {
          type: "scatter",
          mode: "lines",
          x,
          y: widths.map(mean),
          name: say("figure.mean_width"),
          line: {color: color("accent"), width: 2},
        },
      ],
    };
  }

  seconds(iterations, x) {
    const {say} = this.viewer;
    const data = Object.entries(PHASES).map(([phase, [color, shape]]) => ({
      type: "bar",
      x,
      y: iterations.map((iteration) => iteration.seconds[phase]),
      name: say(`bar.${phase}`),
      marker: {color, pattern: {shape, size: 6, fillmode: "overlay"}},
    }));
    return {title: say("figure.timeline"), axis: say("figure.seconds"), data};
  }

  /* The same numbers where Plotly did not load. */
  table() {
    const {say, scene} = this.viewer;
    const phases = Object.keys(PHASES);
    const heads = ["figure.iteration", "figure.layers", "figure.layer_width", ...phases.map((phase) => `bar.${phase}`)];
    const rows = scene.iterations.map((iteration) => {
      const widths = iteration.layers.map((layer) => layer.width);
      const seconds = phases.map((phase) => `${(1000 * iteration.seconds[phase]).toFixed(1)} ms`);
      const texts = [numberOf(iteration), widths.length, widths.join(" "), ...seconds];
      return make("tr", {}, ...texts.map((text) => make("td", {text})));
    });
    return table(
      heads.map((key) => say(key)),
      rows,
    );
  }

  /* A line at the iteration shown. */
  update() {
    const {viewer} = this;
    if (this.here === viewer.now.number) return;
    this.here = viewer.now.number;
    const accent = getComputedStyle(viewer.root).getPropertyValue("--dsbd-accent").trim();
    const line = {
      type: "line",
      x0: this.here,
      x1: this.here,
      yref: "paper",
      y0: 0,
      y1: 1,
      line: {color: accent, width: 1.5, dash: "dot"},
    };
    for (const plot of this.plots) viewer.Plotly.relayout(plot, {shapes: [line]});
  }
}
