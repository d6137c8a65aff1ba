/* The tables of sentences, one per language, and the looks of the marks. */

import marks from "../../look/marks.json" with {type: "json"};
import ar from "../../words/ar.json" with {type: "json"};
import de from "../../words/de.json" with {type: "json"};
import en from "../../words/en.json" with {type: "json"};
import es from "../../words/es.json" with {type: "json"};
import fr from "../../words/fr.json" with {type: "json"};
import ja from "../../words/ja.json" with {type: "json"};
import zh from "../../words/zh.json" with {type: "json"};

export const STYLES = marks;
export const STRINGS = {en, zh, es, de, fr, ja, ar};
export const NAMES = {
  en: "English",
  zh: "中文",
  es: "Español",
  de: "Deutsch",
  fr: "Français",
  ja: "日本語",
  ar: "العربية",
};

/* The language that the reader chose last on this site; a frame without storage remembers none. */
const CHOSEN = "dsbd-language";

export function remember(language) {
  try {
    localStorage.setItem(CHOSEN, language);
  } catch {
    /* a frame without storage */
  }
}

export function remembered() {
  try {
    return localStorage.getItem(CHOSEN);
  } catch {
    return null;
  }
}
