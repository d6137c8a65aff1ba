/* The answer, above its forest: the headline, what is kept of the large model's distribution, the text by who wrote it,
 * the rows of a query, and why fewer passes are faster. */

import {make} from "../viewer/dom.js";
import {turnIn} from "../viewer/tokens.js";

const ORIGINS = {
  accepted: "a guess that was kept",
  carried: "a guess, kept with those before it",
  recovered: "picked by the large model, where the guesses ran out",
  fresh: "picked by the large model, to keep as many versions as planned",
  bonus: "picked by the large model, after every guess had passed",
};

export class Answer {
  constructor(element, facts) {
    this.element = element;
    this.facts = facts;
    this.find = (name) => element.querySelector(name);
  }

  /* trace: what is shown. text: of the viewer. settled: how many tokens are final. rows: markup of the server, escaped
   * there. beside: how the decode did beside the large model alone; null if that was not measured. */
  show({trace, text, settled, isLive, rows, beside}) {
    this.element.hidden = false;
    this.find(".headline").textContent = headline(trace, beside);
    const {words, isExact} = kept(trace.settings, this.facts);
    this.find(".kept-words").textContent = words;
    const raced = isExact && !isLive ? this.facts.raced[trace.models.target.id] : "";
    this.find(".compared").textContent = beside ? compared(beside) + whySlower(trace, beside) : (raced ?? "");
    const isChat = turnIn(trace.prompt) !== null;
    this.find("[data-do=further]").hidden = isChat || (trace.result?.beams[0].finished ?? true);
    const isTried = trace.iterations.some(({trials}) => trials.length);
    this.find("[data-do=why]").hidden = !isExact || !isTried;
    const isText = !isChat && typedIn(text.prompt, this.facts) === text.prompt; // a question stands above its answer
    this.find(".running-line").replaceChildren(...this.pieces(text, isText, settled, isLive));
    this.find(".marks-open").hidden = !isLive;
    this.find(".answer-rows").innerHTML = rows ?? "";
    this.drawTimes(beside?.times ?? this.facts.times[trace.models.target.id]);
  }

  pieces({prompt, tokens, ended}, isShown, settled, isLive) {
    const parts = isShown ? [make("bdi", {class: "text-prompt", text: prompt})] : [];
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
  drawTimes(times) {
    const {checked} = this.facts;
    const [one, several] = times ?? [null, null];
    const said = times
      ? `A pass reads the whole model, for 1 word or ${checked}: checking ${checked} takes ${(several / one).toFixed(1)} × as long here.`
      : `A pass reads the whole model, for 1 word or ${checked}, so both take about as long. Not measured here.`;
    this.find(".fewer figcaption").textContent = said;
    const bar = (words, seconds, label) => {
      const blocks = make("span", {class: "fewer-blocks"}, ...Array.from({length: words}, () => make("i")));
      blocks.style.width = `${Math.round((100 * seconds) / Math.max(one, several))}%`;
      const took = make("b", {text: `${(1000 * seconds).toFixed(1)} ms`});
      return make("div", {class: "fewer-bar"}, make("span", {class: "fewer-label", text: label}), blocks, took);
    };
    const bars = times ? [bar(1, one, "write 1"), bar(checked, several, `check ${checked}`)] : [];
    this.find(".fewer-bars").replaceChildren(...bars);
  }
}

/* What a visitor typed: of a pair that answers questions the question alone, which stands above its answer. */
export const typedIn = (prompt, {question}) => {
  const [before, after] = question.split("{}");
  const isQuestion = prompt.startsWith(before) && prompt.endsWith(after);
  return isQuestion ? prompt.slice(before.length, -after.length) : prompt;
};

export const counted = (count, word) => `${count} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;

/* "22 passes instead of 64, 1.7 × as fast, the same answer" */
function headline({iterations, settings}, beside) {
  const passes = iterations.length;
  const words = iterations.reduce((sum, {layers}) => sum + layers.length, 0);
  if (!passes) return "";
  if (!settings.draft_depth) return `${counted(passes, "pass")} of the large model, one for each word`;
  const parts = [words > passes ? `${counted(passes, "pass")} instead of ${words}` : counted(passes, "pass")];
  if (beside) parts.push(Math.abs(beside.ratio - 1) < 0.05 ? "as fast" : `${beside.ratio.toFixed(1)} × as fast`);
  if (beside?.is_same) parts.push("the same answer");
  return parts.join(", ");
}

/* What a method keeps of the large model's distribution: of the whole text, of each token, or nothing. */
function kept(settings, {methods, plain}) {
  const {method, lossless, draft_depth, min_width, max_width, input_beams} = settings;
  const isFixed = method !== "dsbd" || (min_width === max_width && !input_beams);
  if (!lossless) return {words: "Guesses that are likely enough pass: no distribution is kept."};
  if (!draft_depth) return {words: `The large model alone: ${methods[method].toLowerCase()}.`};
  if (!isFixed) return {words: "Fast setting: each token by the large model; a narrower search where it is sure."};
  const of = (methods[plain[method]] ?? "").toLowerCase() + (method === "dsbd" ? ` with ${max_width} beams` : "");
  return {words: `Exact setting, same quality: each text as likely as in ${of}.`, isExact: true};
}

function compared(beside) {
  const [own, alone] = beside.perplexity.map((value) => value.toFixed(value < 10 ? 2 : 1));
  const runs = counted(beside.runs, "run");
  const what = `Compared here with the large model alone (${beside.name}), ${runs} each.`;
  return `${what} Perplexity of the texts: ${own}, alone ${alone} (draws differ by chance).`;
}

/* Why guesses cost time here, from the decode's own seconds; empty where they win some. */
function whySlower({iterations}, beside) {
  if (beside.ratio >= 0.95) return "";
  const sum = (...names) =>
    iterations.reduce((total, {phases}) => names.reduce((all, one) => all + phases[`${one}_seconds`], total), 0);
  const won = iterations.reduce((total, {layers}) => total + layers.length, 0) / iterations.length;
  const spent = sum("draft", "verify", "commit") / sum("score");
  return ` Slower here: a pass brought ${won.toFixed(1)} words, and guessing and choosing took the time of ${spent.toFixed(1)} more. Beside a larger model they weigh less.`;
}

/* The program that repeats what is shown. */
export const program = ({settings, prompt, models}, facts) => {
  const [owner] = models.target.id.split("/");
  const names = [models.target, models.draft].filter(Boolean).map(({id}) => literal(id));
  const pair = owner === "bundled" ? "" : owner.startsWith("bundled:") ? literal(owner) : names.join(", ");
  const isGiven = (field) => settings[field] !== null && literal(settings[field]) !== literal(facts.defaults[field]);
  const named = ["method", ...facts.reads[settings.method].filter(isGiven)];
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
