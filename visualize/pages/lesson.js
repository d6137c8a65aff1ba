/* The cards of a lesson as slides: one card a screen, in type as large as fits, beside a large forest. Arrows, Page Up
 * and Page Down (a presenter's clicker) turn; F fills the screen, Escape ends the slides.
 *
 *   .arrange()      after every change of the card          .turn(on)      begin or end */

const LAYOUTS = {beside: "36%", half: "50%", above: "100%"}; // of the screen's width for the text
const LARGEST = 1 / 24; // of the screen's height, the size of the type
const SMALLEST = 1 / 36;
const NARROWEST = 450; // pixels; below, the forest would stand upright
const PART = 540; // pixels of a screen where cut and fill, and the lab, have their own size

/* forward and back turn one card, or show its answer. */
function slidesOf({root, forward, back, onswitch}) {
  const cards = root.querySelector(".cards");
  const room = root.querySelector(".forest");
  const set = (name, value) => root.style.setProperty(`--slide-${name}`, value);
  const isOn = () => root.classList.contains("slides");
  const fits = () => cards.scrollHeight <= cards.clientHeight && cards.scrollWidth <= cards.clientWidth;

  /* The pixels of the smaller of text and labels; 0 if the card is cut off. */
  function tried(layout, size) {
    root.dataset.layout = layout;
    set("text", LAYOUTS[layout] ?? "100%");
    set("type", `${size}px`);
    if (!fits()) return 0;
    if (layout === "alone") return size;
    const [width, height] = [room.clientWidth, room.clientHeight];
    const label = DsbdCards.enlarge(root, {width, height, text: size, least: NARROWEST});
    return Math.min(size, label || (layout === "above" ? 0 : 1));
  }

  /* Text and forest stand where both can be read from the last row; the text alone if there is no room for both. */
  function arrange() {
    if (!isOn()) return;
    set("part", innerHeight / PART);
    const least = Math.floor(innerHeight * SMALLEST);
    const sizes = Array.from({length: Math.floor(innerHeight * LARGEST) - least + 1}, (_, at) => least + at).reverse();
    const best = (layouts) =>
      layouts
        .flatMap((layout) => sizes.map((size) => [tried(layout, size), layout, size]))
        .reduce((one, other) => (other[0] > one[0] ? other : one));
    const isAlone = root.querySelector("article:not([hidden]) :is(.cut, .lab, .text img)");
    const [seen, layout, size] = isAlone ? [0] : best(Object.keys(LAYOUTS));
    const [fit, , alone] = seen ? [] : best(["alone"]);
    tried(seen ? layout : "alone", seen ? size : fit ? alone : least);
    cards.scrollTop = 0;
  }

  function turn(on) {
    if (on === isOn()) return;
    root.classList.toggle("slides", on);
    delete root.dataset.layout;
    room.querySelector(".dsbd").classList.toggle("dsbd-bare", on);
    if (!on && document.fullscreenElement) document.exitFullscreen();
    onswitch(on);
    arrange();
  }

  function fill() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen().catch(() => {}); // a frame may not
  }

  const isRight = document.documentElement.dir === "rtl";
  const arrows = {ArrowRight: isRight ? back : forward, ArrowLeft: isRight ? forward : back};
  const ACTS = {...arrows, PageDown: forward, PageUp: back, f: fill, F: fill, Escape: () => turn(false)};
  /* In the capture phase: the viewer has its own arrows. A field keeps all keys but those of a clicker. */
  const onKey = (event) => {
    const {key, target} = event;
    if (!isOn() || !ACTS[key] || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!/^(Page|Esc)/.test(key) && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    event.preventDefault();
    event.stopPropagation();
    ACTS[key]();
  };
  document.addEventListener("keydown", onKey, true);
  root.querySelector("button.slides").addEventListener("click", () => turn(true));
  root.querySelector("button.end").addEventListener("click", () => turn(false));
  root.querySelector("button.full").addEventListener("click", fill);
  return {arrange, turn, isOn};
}

/* A lesson: one card at a time beside the viewer. A question stops the viewer one step before its verdict until it is
 * answered; teacher mode hides nothing. The address remembers card and mode. */
(async () => {
  "use strict";

  const words = JSON.parse(document.getElementById("lesson").textContent);
  const root = document.querySelector(".lesson");
  const articles = [...root.querySelectorAll("article")];
  const placeOf = ([it, step]) => ({it, step});
  const cards = articles.map(({dataset}) => {
    const {asks, at, answer} = JSON.parse(dataset.stop);
    return {asks, at: placeOf(at), answer: placeOf(answer)};
  });
  const find = (selector) => root.querySelector(selector);
  const state = {card: 0, teacher: false, answered: new Set()};
  const orderOf = ({it, step}) => it * 1e6 + step;

  document.documentElement.classList.add("live");
  await dsbdReady;
  const viewer = await DsbdHost.start();
  await DsbdCards.fill(root, viewer);
  const note = find(".locked");

  /* The card of the first unanswered question from here on: the viewer goes no further. */
  function barrier() {
    if (state.teacher || !viewer.isRecorded()) return null;
    const here = orderOf(cards[state.card].at);
    const isOpen = (card, at) => card.asks && !state.answered.has(at) && orderOf(card.answer) > orderOf(card.at);
    const open = cards.filter(isOpen).map(({at}) => at);
    return open.filter((at) => orderOf(at) >= here).sort((one, other) => orderOf(one) - orderOf(other))[0] ?? null;
  }

  /* The views below the forest and the CSV show a whole iteration: they stay hidden while it has open questions. */
  function conceal(limit, it) {
    root.classList.toggle("asking", Boolean(limit) && limit.it <= it);
  }

  viewer.listeners.push((place) => {
    const limit = barrier();
    conceal(limit, place.it);
    if (!limit || orderOf(place) <= orderOf(limit)) return;
    viewer.handle.goto(limit);
    note.textContent = words.locked;
  });

  function place() {
    const isShown = state.answered.has(state.card) || state.teacher;
    const here = cards[state.card][isShown ? "answer" : "at"];
    note.textContent = "";
    viewer.showRecorded();
    viewer.handle.goto(here);
    conceal(barrier(), here.it);
    arrange();
  }

  function arrange() {
    if (slides.isOn()) slides.arrange();
    else DsbdCards.enlarge(root, {width: find(".forest").clientWidth - 20, height: innerHeight, text: 16});
  }

  function show(card, focus = true) {
    state.card = Math.max(0, Math.min(articles.length - 1, card));
    articles.forEach((article, at) => article.toggleAttribute("hidden", at !== state.card));
    find("button.previous").disabled = state.card === 0;
    find("button.next").disabled = state.card === articles.length - 1;
    const wasWide = root.classList.contains("wide");
    const isWide = root.classList.toggle("wide", Boolean(articles[state.card].querySelector(".lab")));
    if (wasWide && !isWide) viewer.shown();
    find(".count").textContent = words.card.replace("{number}", state.card + 1).replace("{count}", articles.length);
    place();
    DsbdCards.show(articles[state.card], viewer);
    if (focus) articles[state.card].focus({preventScroll: true});
    remember();
  }

  /* Without a button nobody chose: a slide shows the answer. */
  function answer(article, at, button = null) {
    for (const other of article.querySelectorAll(".options button")) {
      other.disabled = true;
      other.classList.toggle("right", other.dataset.right === "yes");
    }
    button?.classList.add("chosen");
    article.classList.add("answered");
    const verdict = button?.dataset.right === "yes" ? words.right : words.wrong;
    article.querySelector(".verdict").textContent = button ? verdict : "";
    state.answered.add(at);
    place();
  }

  articles.forEach((article, at) => {
    const choose = ({currentTarget}) => answer(article, at, currentTarget);
    article.querySelectorAll(".options button").forEach((button) => button.addEventListener("click", choose));
  });

  function forward() {
    const at = state.card;
    if (cards[at].asks && !state.answered.has(at)) answer(articles[at], at);
    else show(at + 1);
  }

  addEventListener("resize", () => arrange());
  const slides = slidesOf({root, forward, back: () => show(state.card - 1), onswitch: () => teach(false)});

  function teach(on) {
    state.teacher = on;
    root.classList.toggle("teacher", on);
    find("button.teach").setAttribute("aria-pressed", String(on));
    place();
    remember();
  }

  function remember() {
    const mode = state.teacher ? "&teacher=1" : slides.isOn() ? "&slides" : "";
    const address = `#card=${state.card + 1}${mode}`;
    try {
      history.replaceState(null, "", address);
    } catch {
      /* a frame without an address */
    }
  }

  find("button.previous").addEventListener("click", () => show(state.card - 1));
  find("button.next").addEventListener("click", () => show(state.card + 1));
  find("button.teach").addEventListener("click", () => teach(!state.teacher));
  find("button.print").addEventListener("click", () => print());

  const query = new URLSearchParams(location.hash.slice(1));
  state.card = /^\d{1,4}$/.test(query.get("card") || "") ? Number(query.get("card")) - 1 : 0;
  const teacher = query.get("teacher") === "1";
  show(state.card, false);
  if (teacher) teach(true);
  slides.turn(query.has("slides") || (parent !== window && innerWidth < 1100 && innerHeight <= 500)); // a course's frame
})();
