/* Saves the drawing as SVG or PNG, the decode as a picture or GIF to share, and the nodes as CSV; the browser makes the
 * files. */

import {download, draw} from "../base/dom.js";
import {HEAD} from "../forest/geometry.js";
import {gifOf} from "./gif.js";

const PAINT = [
  ..."fill stroke stroke-width stroke-dasharray opacity visibility".split(" "),
  ..."font-family font-size font-weight text-decoration white-space".split(" "),
];
const SHARED = {width: 1200, height: 630}; // pixels of the previews of links
const CSV = [
  ..."id parent layer token token_id kind state slots landed kept ends target_prob draft_prob".split(" "),
  ..."target_log_prob draft_log_prob".split(" "),
];

/* The forest with its head as one stand-alone document: the styles are copied onto the elements. */
function forestSheet(viewer) {
  const {forest} = viewer;
  const {width, height, upright} = forest.geometry;
  const top = upright ? 0 : HEAD;
  const paper = getComputedStyle(viewer.root).getPropertyValue("--dsbd-paper").trim();
  const whole = sheet(width, height + top, draw("title", {text: viewer.altText()}));
  whole.append(draw("rect", {width, height: height + top, fill: paper}));
  if (!upright) whole.append(painted(forest.head));
  whole.append(draw("g", {transform: `translate(0,${top})`}, painted(forest.body)));
  return whole;
}

const textOf = (svg) => new XMLSerializer().serializeToString(svg);

const sheet = (width, height, ...inside) =>
  draw("svg", {xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`}, ...inside);

function painted(source) {
  const group = draw("g");
  for (const child of source.children) if (!child.hasAttribute("hidden")) group.append(copied(child));
  return group;
}

function copied(source) {
  const copy = source.cloneNode(false);
  const css = getComputedStyle(source);
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  for (const name of PAINT) copy.setAttribute(name, css.getPropertyValue(name));
  for (const child of source.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.cloneNode());
    else if (!child.hasAttribute("hidden") && !child.classList.contains("dsbd-hit")) copy.append(copied(child));
  }
  return copy;
}

export function saveSvg(viewer) {
  download(`${name(viewer)}.svg`, textOf(forestSheet(viewer)), "image/svg+xml");
}

export async function savePng(viewer, scale = 2) {
  const {width, height, upright} = viewer.forest.geometry;
  const canvas = await raster(forestSheet(viewer), scale * width, scale * (height + (upright ? 0 : HEAD)));
  download(`${name(viewer)}.png`, await pngOf(canvas), "image/png");
}

const pngOf = (canvas) => new Promise((done) => canvas.toBlob(done, "image/png"));

async function raster(svg, width, height) {
  const canvas = document.createElement("canvas");
  const image = new Image();
  Object.assign(canvas, {width, height});
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(svg))}`;
  await image.decode();
  canvas.getContext("2d", {willReadFrequently: true}).drawImage(image, 0, 0, width, height);
  return canvas;
}

/* The two lanes, 1200 × 630. */
export async function saveGif(viewer) {
  const {width, height} = SHARED;
  const pictures = [];
  await viewer.strip.lanes.film(async (element, milliseconds) => {
    const canvas = await still(element);
    pictures.push({pixels: canvas.getContext("2d").getImageData(0, 0, width, height).data, milliseconds});
  });
  download("dsbd-two-lanes.gif", gifOf(width, height, pictures), "image/gif");
}

/* The end of the two lanes as one picture; without lanes the forest that is shown. */
export async function savePicture(viewer) {
  const {lanes} = viewer.strip;
  if (!lanes.race) return savePng(viewer);
  const take = async (element) => download("dsbd-decode.png", await pngOf(await still(element)), "image/png");
  return lanes.film(take, Infinity);
}

function still(element) {
  const {x, width, height} = element.viewBox.baseVal;
  const drawn = draw("g", {transform: `translate(${-x},0)`}, painted(element));
  return raster(sheet(width, height, drawn), SHARED.width, SHARED.height);
}

/* All nodes after the last step, the same text as visualize.nodes_csv. */
export function csvText(iteration, prompt) {
  const looks = iteration.looksAt(Infinity);
  const lines = iteration.nodes.map((node, at) => {
    const look = looks[at] ?? {state: node.kind, slots: 0, landed: false};
    const row = {
      ...node,
      ...look,
      token: node.id === 0 ? prompt : node.token,
      parent: node.parent < 0 ? null : iteration.nodes[node.parent].id,
      layer: node.column,
    };
    return CSV.map((field) => cell(row[field])).join(",");
  });
  return `${CSV.join(",")}\r\n${lines.join("\r\n")}\r\n`;
}

/* Text that a spreadsheet would read as a formula gets an apostrophe before it. */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "1" : "0";
  if (typeof value === "number") return String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function saveCsv(viewer) {
  download(`${name(viewer)}.csv`, `\ufeff${csvText(viewer.now, viewer.say("node.prompt"))}`, "text/csv");
}

const name = (viewer) => `dsbd-iteration-${viewer.now.index}`;
