/* The answer, above its forest: the claim, with its reasons in place, the text by who wrote it, and the rows of a
 * query. */

import {make} from "../viewer/dom.js";
import {drawPays} from "./pays.js";
import {turnIn} from "../viewer/tokens.js";
import {capital} from "../viewer/words.js";

const ORIGINS = {
  accepted: "a guess that was kept",
  carried: "a guess, kept with those before it",
  guessed: "a guess that is what the large model picked",
  recovered: "picked by the large model, where no guess was kept",
  fresh: "picked by the large model, where no guess was kept",
  bonus: "picked by the large model, where no guess was left to check",
};

const LONGEST = 240; // characters of a prompt that stand before its answer

export class Answer {
  constructor(element, facts) {
    this.element = element;
    this.facts = facts;
    this.find = (name) => element.querySelector(name);
    this.stillTrace = null; // it is read, so its scrolling stays
  }

  /* trace: what is shown. text, clock: of the viewer. settled: how many tokens are final. rows: markup of the server,
   * escaped there. beside: what the server says of the decode beside the large model alone; null if nothing is
   * compared. costs: of passes, in seconds, where they were measured. guessed: what the server says of a text that was
   * guessed from: which {tokens} of the answer stand in it, and {words}. */
  show({trace, text, clock, settled, isLive, rows, beside, costs, guessed}) {
    this.element.hidden = false;
    const say = (name, words) => (this.find(name).textContent = words);
    const [low, high] = beside?.speed ?? [];
    const ratio = low < 1 && high > 1 ? 1 : clock.ratio; // no winner that the spread does not carry
    const written = text.tokens.length + Number(text.ended);
    const claim = headline(trace, ratio, beside?.speed && beside.measured, written);
    say(".headline", claim);
    say(".distinct", distinct(trace, costs, clock));
    const {words, brief, isExact} = kept(trace.settings, this.facts, Boolean(beside?.parts));
    say(".same", [`${capital(beside?.same || brief)}.`, guessed?.words, further(trace)].filter(Boolean).join(" "));
    say(".kept-words", `${words}.`);
    const isRaced = isExact && !isLive && isUsual(trace, this.facts);
    const raced = isRaced ? this.facts.raced[trace.models.target.id] : "";
    const source = claim.includes(": about ") && "calculated for this answer";
    const told = beside ? [!beside.speed && source && "calculated", beside.measured] : [source, raced];
    say(".measured", capital(told.filter(Boolean).join("; ")));
    say(".compared", beside?.sentences ?? "");
    say(".costs", costs && trace.settings.method !== "mjgd" ? costsSaid(costs) : UNMEASURED);
    drawPays(this.find(".pays svg"), [...this.facts.paying, ...ownPoint(trace, clock.ratio)]);
    const isChat = turnIn(trace.prompt) !== null;
    this.find("[data-do=further]").hidden = isChat || isLive || (trace.result?.beams[0].finished ?? true);
    const isTried = trace.iterations.some(({trials}) => trials.length);
    this.find("[data-do=why]").hidden = !isExact || !isTried;
    const isText = !isChat && typedIn(text.prompt, this.facts) === text.prompt; // a question stands above its answer
    const [box, line] = [".answer-text", ".running-line"].map(this.find);
    for (const one of [box, line]) one.style.minHeight = isLive ? `${one.offsetHeight}px` : ""; // what is below stays
    line.replaceChildren(...this.pieces(text, isText, settled, isLive, guessed?.tokens));
    if (isLive) line.scrollTop = line.scrollHeight;
    else if (trace !== this.stillTrace) line.scrollTop = 0;
    this.stillTrace = isLive ? null : trace;
    this.find(".answer-rows").innerHTML = rows ?? "";
  }

  /* The words of the pass that is shown: from the first to the last, from 1. */
  mark([first, last]) {
    this.element.querySelectorAll(".running-line .mark").forEach((word, at) => {
      word.classList.toggle("in-pass", at + 1 >= first && at + 1 <= last);
    });
  }

  pieces({prompt, tokens, ended}, isShown, settled, isLive, standing = []) {
    const before = prompt.length > LONGEST ? `… ${prompt.slice(-LONGEST)}` : prompt;
    const parts = isShown ? [make("bdi", {class: "text-prompt", text: before})] : [];
    tokens.forEach(({text, origin}, at) => {
      const word = at || parts.length ? text : text.trimStart();
      const [look, note] = at < settled ? ["", ""] : [" mark-open", ", may still change"];
      if (at === settled) parts.push(make("span", {class: "text-edge"}));
      const [mark, more] = standing.includes(at) ? [" mark-stands", "; it stands in what was guessed from"] : ["", ""];
      const title = ORIGINS[origin] + note + more;
      parts.push(make("span", {class: `mark mark-${origin}${look}${mark}`, title, text: word}));
    });
    if (ended) parts.push(make("span", {class: "text-end", text: " ∎"}));
    if (isLive) parts.push(make("span", {class: "text-caret"}));
    return parts;
  }
}

const UNMEASURED = "How long a pass takes was not measured here, so the lanes count passes.";

const costsSaid = ({alone, node, guess, scale}) => {
  const ms = (seconds) => `${Number((1000 * seconds).toPrecision(2))} ms`;
  const own = scale ? ` With guesses this decode took ${Number(scale.toPrecision(2))} × that, as its lane shows.` : "";
  return (
    `The lanes count with what passes cost on this machine: ${ms(alone)} for the large model alone, ${ms(node)} more ` +
    `for each guess that a pass checks, and ${ms(guess)} for a layer of guesses.${own}`
  );
};

/* What a visitor typed: of a pair that answers questions the question alone, which stands above its answer. */
export const typedIn = (prompt, {question}) => {
  const [before, after] = question.split("{}");
  const isQuestion = prompt.startsWith(before) && prompt.endsWith(after);
  return isQuestion ? prompt.slice(before.length, -after.length) : prompt;
};

export const counted = (count, word) => `${count} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;

/* How many passes brought the answer; other versions may go on behind it. written: its tokens, if it was stopped. */
function answerOf({iterations, result}, written = Infinity) {
  let all = 0;
  const befores = iterations.map(({layers}) => (all += layers.length) - layers.length);
  const tokens = result?.token_ids.length ?? Math.min(all, written);
  return {tokens, passes: befores.filter((before) => before < tokens).length};
}

const further = (trace) => {
  const more = trace.iterations.length - answerOf(trace).passes;
  return more ? `${counted(more, "more pass")} for other versions.` : "";
};

/* Whether a speed that was calculated lies in the range that was measured, as exactly as it is said. */
export function agrees(ratio, range) {
  if (!ratio || !range) return true;
  const isLoss = range[1] < 1; // it is said as so many times the time
  const [said, ...ends] = [ratio, ...range].map((one) => Math.round(10 * (isLoss ? 1 / one : one)));
  return said >= Math.min(...ends) && said <= Math.max(...ends);
}

/* What passes cost, scaled to what a decode took where that was measured as another speed. */
export function asMeasured(costs, ratio, range) {
  return agrees(ratio, range) ? costs : {...costs, scale: ratio / Math.sqrt(range[0] * range[1])};
}

/* "22 passes instead of 64: about 1.7 × as fast". ratio: by the cost of passes, null where that is not known: then
 * measured says the speed. written: as in answerOf. */
export function headline(trace, ratio = null, measured = "", written = Infinity) {
  const {settings} = trace;
  const {tokens, passes} = answerOf(trace, written);
  if (!passes) return "";
  if (!settings.draft_depth) return `${counted(passes, "pass")} of the large model, one for each token`;
  if (settings.method === "mjgd") return `${counted(passes, "block")} of tokens, each found by many passes`;
  const own = counted(passes, "pass") + (tokens > passes ? ` instead of ${tokens}` : "");
  if (ratio) return `${own}: about ${speed(ratio)}`;
  return measured ? `${own}: ${measured.replace("measured: ", "")}` : own;
}

/* The decode as a dot beside those of the recorded races. */
function ownPoint(trace, ratio) {
  const {tokens, passes} = answerOf(trace);
  if (!ratio || !passes) return [];
  return [{title: "this decode", tokens: tokens / passes, cost: tokens / passes / ratio, isOwn: true}];
}

/* What distinct beams cost in this decode: "1.7 tokens from a pass of 11 ms; alone, 1 from 3.4 ms." */
export function distinct({settings, iterations}, costs, {turns}) {
  if (settings.method !== "dsbd" || settings.replacement || !iterations.length) return "";
  const layers = iterations.reduce((sum, one) => sum + one.layers.length, 0) / iterations.length;
  const ms = (time) => `${Number(time.toPrecision(2))} ms`;
  const time = costs && ` of ${ms(turns.at(-1).done / turns.length)}; alone, 1 from ${ms(1000 * costs.alone)}`;
  return `Distinct beams: ${counted(Number(layers.toPrecision(2)), "token")} from a pass${time ?? ""}.`;
}

const ALIKE = [0.9, 1.1];
function speed(ratio) {
  if (ratio > ALIKE[0] && ratio < ALIKE[1]) return "as fast";
  const [times, unit] = ratio > 1 ? [ratio, "as fast"] : [1 / ratio, "the time"];
  return `${Number(times.toPrecision(2))} × ${unit}`;
}

/* The preset whose kind these settings are; null if it is another one. */
export function presetOf(settings) {
  const {method, input_beams, forest = "default", replacement = true} = settings;
  if (method === "beam_sampling") return "plain";
  if (method !== "dsbd" || input_beams) return null;
  if (!hasOneWidth(settings)) return "fast";
  return forest === "coupled" || (forest === "default" && replacement) ? "exact" : null;
}

const hasOneWidth = ({draft_width, min_width, max_width}) => min_width === (max_width || draft_width);

/* What a method keeps of the large model's distribution, in a word and in a sentence: of the whole text, of each token,
 * or nothing. parts: whether rounding turned a draw, and the text of the large model alone is another one. */
export function kept(settings, {methods, plain}, parts = false) {
  const {method, lossless, draft_depth, max_width, input_beams} = settings;
  const all = (words, more = {}) => ({words, brief: words, ...more});
  if (method === "mjgd") return all("The likeliest block of tokens, again and again: no distribution is kept");
  if (!lossless) return all("Guesses that are likely enough pass: no distribution is kept");
  if (!draft_depth) return all(`The large model alone: ${methods[method].toLowerCase()}`);
  if (method === "dsbd" && (input_beams || !hasOneWidth(settings))) {
    const how = input_beams
      ? `each pass goes on from the best ${input_beams} only`
      : "a narrower search where it is sure";
    return all(`Each token by the large model; ${how}`);
  }
  const kind = settings.replacement === false ? "distinct beam" : "beam";
  const beams = method === "dsbd" ? ` with ${counted(max_width, kind)}` : "";
  const of = (methods[plain[method]] ?? "").toLowerCase() + beams;
  if (settings.forest !== "coupled") return all(`Each text as likely as in ${of}`, {isExact: true});
  if (parts) return all(`Drawn as ${of} draws with this seed, but for rounding`, {isExact: true});
  const words =
    "The seed fixes the random numbers of every choice before anything is guessed. The large model chooses each token " +
    "with them, and a guess is kept only if it is that token. So no guess changes the text: it is, token for token, " +
    `that of ${of} and this seed`;
  return {words, brief: "Alone, the large model writes the same text, token for token", isExact: true};
}

const isFixed = ({min_width, max_width, replacement, landing, input_beams}) =>
  min_width === max_width && replacement && landing && !input_beams;

/* Whether a decode has the settings with which its pair begins, and so those of the recorded race. */
function isUsual({settings, models}, facts) {
  const pair = Object.keys(facts.targets).find((one) => facts.targets[one] === models.target.id);
  const [method, ...usual] = facts.presets[pair]?.exact ?? [];
  const values = valuesOf(settings, facts);
  return method === settings.method && usual.every((value, at) => value === null || value === values[at]);
}

/* What the form shows for the settings of a decode; a forest that follows from its width is the default. */
export function valuesOf(settings, facts) {
  const reads = facts.reads[settings.method];
  const usual = isFixed(settings) ? "coupled" : "sampled";
  return facts.fields.map((field) => {
    if (!reads.includes(field) || (field === "forest" && settings.forest === usual)) return facts.defaults[field];
    const value = Array.isArray(settings[field]) ? settings[field].join(",") : (settings[field] ?? 0);
    const [low, high] = facts.ranges[field] ?? [-Infinity, Infinity];
    return typeof value === "number" ? Math.min(Math.max(value, low), high) : value;
  });
}

/* The program that repeats what is shown. */
export const program = ({settings, prompt, models, guess}, facts) => {
  const [owner] = models.target.id.split("/");
  const names = [models.target, models.draft].filter(Boolean).map(({id}) => literal(id));
  const pair = owner === "bundled" ? "" : owner.startsWith("bundled:") ? literal(owner) : names.join(", ");
  const defaults = facts.settings[settings.method]; // of all settings, those without a field in the form too
  const differs = (name) => literal(settings[name]) !== literal(defaults[name]);
  const named = ["method", ...Object.keys(defaults).filter(differs)];
  const listed = named.map((field) => `${field}=${literal(settings[field])}`).join(", ");
  return [
    "import dsbd\n",
    `pair = dsbd.load_pair(${pair})`,
    `settings = dsbd.DecodingSettings(${listed})`,
    `result = dsbd.decode(pair, ${literal(prompt.text)}, settings, record=True${guess ? `, guess=${JSON.stringify(guess)}` : ""})`,
    "print(result.text)",
    'result.trace.save("trace.json.gz")',
  ].join("\n");
};

function literal(value) {
  if (Array.isArray(value)) return `(${value.join(", ")},)`;
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}
