/* The page in the reader's language. Server and scripts write English; here each of these texts is exchanged for its
 * line in the table of a language (ui/languages). What models or visitors wrote stands below translate="no", and the
 * viewer has its tables. Served after page.js (see parts/files.py). */
globalThis.DsbdLanguage = (() => {
  "use strict";
  const {NAMES, remember, remembered} = globalThis.DsbdViewer.mount.languages;
  const KEPT = "[translate=no], [data-testid=status-tracker], .dsbd, script, style, textarea, code, pre";
  const NAMED = ["title", "aria-label", "placeholder", "data-head"];
  const SLOT = /\{\d\}/;
  const known = (code) => (Object.hasOwn(NAMES, code) ? code : null);
  const browsers = () => navigator.languages.map((tag) => known(tag.split("-")[0])).find(Boolean);
  let now = known(remembered()) ?? browsers() ?? "en";
  let table = null;
  const missed = new Set();

  /* The texts as they were written, by node; an attribute by its name. */
  const written = new WeakMap();

  /* A table in two parts: whole texts, and those with slots, the longest first, since it says most. */
  function opened({page, live}) {
    const [plain, withSlots] = [false, true].map((has) =>
      Object.entries(page).filter(([text]) => SLOT.test(text) === has),
    );
    const slotted = withSlots
      .map(([text, own]) => ({own, pieces: text.split(SLOT)}))
      .sort((one, other) => other.pieces.join("").length - one.pieces.join("").length)
      .map(({own, pieces}) => ({own, pattern: new RegExp(`^${pieces.map(quoted).join("(.+?)")}$`, "s")}));
    return {whole: new Map(plain), slotted, live};
  }

  const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /* A text in the reader's language, or null. A text of several sentences may have a line for each of them. */
  function exchanged(text) {
    if (table.whole.has(text)) return table.whole.get(text);
    const sentences = text.split(/(?<=[.!?…]) (?=\p{Lu})/u);
    const own = sentences.length > 1 ? sentences.map(exchanged) : [null];
    if (own.every((one) => one !== null)) return own.join(" ");
    return (
      filled(text) ?? (own.some((one) => one !== null) ? own.map((one, at) => one ?? sentences[at]).join(" ") : null)
    );
  }

  /* What a slot holds is exchanged too, for instance the name of a method. */
  function filled(text) {
    for (const {pattern, own} of table.slotted) {
      const parts = pattern.exec(text);
      if (parts) return own.replace(/\{(\d)\}/g, (_, at) => exchanged(parts[Number(at) + 1]) ?? parts[Number(at) + 1]);
    }
    return null;
  }

  /* A text in the reader's language; white space around it stays, and so do numbers with their units. */
  function said(text) {
    if (!table || !/\p{L}{2}/u.test(text)) return text;
    const [, before, words, after] = /^(\s*)(.*?)(\s*)$/s.exec(text);
    const own = exchanged(words.replace(/\s+/g, " "));
    if (own === null) missed.add(words);
    return own === null ? text : before + own + after;
  }

  /* Exchanges one text, unless it stands there exchanged already. */
  function exchange(node, name, text, put) {
    const texts = written.get(node) ?? written.set(node, {}).get(node);
    if (!texts[name] || texts[name].shown !== text) texts[name] = {english: text};
    texts[name].shown = said(texts[name].english);
    if (texts[name].shown !== text) put(texts[name].shown);
  }

  function visit(node) {
    if (!node.isConnected) return;
    if (node.nodeType === Node.TEXT_NODE) {
      if (!node.parentElement?.closest(KEPT)) exchange(node, "", node.data, (own) => (node.data = own));
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    if (!node.closest(KEPT) || node.matches("textarea")) {
      for (const name of NAMED) {
        const text = node.getAttribute(name);
        if (text) exchange(node, name, text, (own) => node.setAttribute(name, own));
      }
    }
    if (!node.matches(KEPT)) node.childNodes.forEach(visit);
  }

  /* What is chosen in a list stands in a field, not in a text. */
  function visitFields() {
    for (const field of document.querySelectorAll("input[readonly][role=combobox]")) {
      exchange(field, "value", field.value, (own) => (field.value = own));
    }
  }

  const watched = {subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: NAMED};
  const observer = new MutationObserver((changes) => {
    for (const {type, target, addedNodes} of changes) (type === "childList" ? addedNodes : [target]).forEach(visit);
    visitFields();
    observer.takeRecords(); // its own
  });

  async function turn() {
    observer.disconnect();
    table = null;
    if (now !== "en") {
      const asked = now;
      const made = opened(await (await fetch(`gradio_api/dsbd/languages/${asked}.json`)).json());
      if (asked !== now) return;
      table = made;
    }
    document.documentElement.lang = now;
    document.documentElement.dir = now === "ar" ? "rtl" : "ltr";
    visit(document.body);
    visitFields();
    if (table) observer.observe(document.body, watched);
    document.dispatchEvent(new Event("dsbd-language"));
  }

  /* The list in the masthead. */
  function offer(select) {
    for (const [code, name] of Object.entries(NAMES)) {
      const option = Object.assign(document.createElement("option"), {value: code, lang: code, textContent: name});
      select.append(option);
    }
    select.value = now;
    select.addEventListener("change", () => {
      now = select.value;
      remember(now);
      turn();
    });
    if (now !== "en") turn();
  }

  return {
    offer,
    said,
    missed,
    get now() {
      return now;
    },
    get live() {
      return table?.live;
    },
  };
})();
