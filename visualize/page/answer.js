/* The answer, above its forest: the headline, what is kept of the large model's distribution, the text by who wrote it,
 * the rows of a query, and why fewer passes are faster. */

import {make} from "../viewer/dom.js";
import {turnIn} from "../viewer/tokens.js";

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
  }

  /* trace: what is shown. text: of the viewer. settled: how many tokens are final. rows: markup of the server, escaped
   * there. beside: what the server says of the decode beside the large model alone; null if nothing is compared. */
  show({trace, text, settled, isLive, rows, beside}) {
    this.element.hidden = false;
    this.find(".headline").textContent = headline(trace, beside);
    const {words, isExact} = kept(trace.settings, this.facts, Boolean(beside?.parts));
    this.find(".kept-words").textContent = words;
    const raced =
      isExact && !isLive && trace.settings.method === "dsbd" ? this.facts.raced[trace.models.target.id] : "";
    this.find(".compared").textContent = beside ? beside.sentences : (raced ?? "");
    const isChat = turnIn(trace.prompt) !== null;
    this.find("[data-do=further]").hidden = isChat || (trace.result?.beams[0].finished ?? true);
    const isTried = trace.iterations.some(({trials}) => trials.length);
    this.find("[data-do=why]").hidden = !isExact || !isTried;
    const isText = !isChat && typedIn(text.prompt, this.facts) === text.prompt; // a question stands above its answer
    this.find(".running-line").replaceChildren(...this.pieces(text, isText, settled, isLive));
    this.find(".marks-open").hidden = !isLive;
    this.find(".answer-rows").innerHTML = rows ?? "";
    this.drawPasses(beside?.passes ?? this.facts.passes[trace.models.target.id]);
  }

  pieces({prompt, tokens, ended}, isShown, settled, isLive) {
    const before = prompt.length > LONGEST ? `… ${prompt.slice(-LONGEST)}` : prompt;
    const parts = isShown ? [make("bdi", {class: "text-prompt", text: before})] : [];
    tokens.forEach(({text, origin}, at) => {
      const word = at || parts.length ? text : text.trimStart();
      const [look, note] = at < settled ? ["", ""] : [" mark-open", ", may still change"];
      if (at === settled) parts.push(make("span", {class: "text-edge"}));
      parts.push(make("span", {class: `mark mark-${origin}${look}`, title: ORIGINS[origin] + note, text: word}));
    });
    if (ended) parts.push(make("span", {class: "text-end", text: " ∎"}));
    if (isLive) parts.push(make("span", {class: "text-caret"}));
    return parts;
  }

  /* Two bars: a pass that writes one word, and one that checks several. */
  drawPasses(passes) {
    const unknown =
      "A pass reads the whole model, for one word or for several. How long each takes here was not measured.";
    this.find(".fewer figcaption").textContent = passes?.sentence ?? unknown;
    const bar = ([words, seconds, label], _, all) => {
      const blocks = make("span", {class: "fewer-blocks"}, ...Array.from({length: words}, () => make("i")));
      blocks.style.width = `${Math.round((100 * seconds) / Math.max(...all.map(([, one]) => one)))}%`;
      const took = make("b", {text: `${(1000 * seconds).toFixed(1)} ms`});
      return make("div", {class: "fewer-bar"}, make("span", {class: "fewer-label", text: label}), blocks, took);
    };
    const bars = passes?.bars ?? [];
    this.find(".fewer-bars").replaceChildren(...bars.map(bar));
  }
}

/* What a visitor typed: of a pair that answers questions the question alone, which stands above its answer. */
export const typedIn = (prompt, {question}) => {
  const [before, after] = question.split("{}");
  const isQuestion = prompt.startsWith(before) && prompt.endsWith(after);
  return isQuestion ? prompt.slice(before.length, -after.length) : prompt;
};

export const counted = (count, word) => `${count} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;

/* "22 passes instead of 64, 1.5 to 1.8 × as fast, the same answer" */
export function headline({iterations, settings, result}, beside) {
  let all = 0;
  const befores = iterations.map(({layers}) => (all += layers.length) - layers.length);
  const words = result?.token_ids.length ?? all; // other versions may go on behind the answer
  const passes = befores.filter((before) => before < words).length;
  const more = iterations.length - passes;
  const further = more ? [`${counted(more, "more pass")} for other versions`] : [];
  if (!passes) return "";
  if (!settings.draft_depth) {
    return [`${counted(passes, "pass")} of the large model, one for each word`, ...further].join(", ");
  }
  const calls = result ? `, ${counted(result.stats.target_calls, "pass")} of the large model` : "";
  const own = settings.method === "mjgd" ? `${counted(passes, "block")} of words${calls}` : counted(passes, "pass");
  const saves = settings.method !== "mjgd" && words > passes;
  return [saves ? `${own} instead of ${words}` : own, ...further, ...(beside?.headline ?? [])].join(", ");
}

/* The preset whose kind these settings are; null if it is another one. */
export function presetOf({method, draft_width, min_width, max_width, input_beams}) {
  if (method === "beam_sampling") return "plain";
  if (method !== "dsbd" || input_beams) return null;
  return min_width === (max_width || draft_width) ? "exact" : "fast";
}

/* What a method keeps of the large model's distribution: of the whole text, of each token, or nothing. parts: whether
 * rounding turned a draw, and the text of the large model alone is another one. */
export function kept(settings, {methods, plain}, parts = false) {
  const {method, lossless, draft_depth, max_width, input_beams} = settings;
  if (method === "mjgd") return {words: "The likeliest block of words, again and again: no distribution is kept."};
  if (!lossless) return {words: "Guesses that are likely enough pass: no distribution is kept."};
  if (!draft_depth) return {words: `The large model alone: ${methods[method].toLowerCase()}.`};
  if (method === "dsbd" && presetOf(settings) !== "exact") {
    const how = input_beams
      ? `each pass goes on from the best ${input_beams} only`
      : "a narrower search where it is sure";
    return {words: `Fast setting: each token by the large model; ${how}.`};
  }
  const beams = method === "dsbd" ? ` with ${counted(max_width, "beam")}` : "";
  const of = (methods[plain[method]] ?? "").toLowerCase() + beams;
  if (settings.forest === "coupled") {
    const words = parts
      ? `Exact setting: drawn as ${of} draws with this seed, but for rounding.`
      : `Exact setting: the same text, token for token, as ${of} writes with this seed.`;
    return {words, isExact: true};
  }
  return {words: `Exact setting, same quality: each text as likely as in ${of}.`, isExact: true};
}

const isFixed = ({min_width, max_width, replacement, landing, input_beams}) =>
  min_width === max_width && replacement && landing && !input_beams;

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
export const program = ({settings, prompt, models}, facts) => {
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
    `result = dsbd.decode(pair, ${literal(prompt.text)}, settings, record=True)`,
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
