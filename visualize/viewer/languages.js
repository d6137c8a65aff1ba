/* The string tables, one per language, and the looks of the states. A page may carry fewer tables; English is always there. */

import styles from "./styles.json" with {type: "json"};
import ar from "./strings.ar.json" with {type: "json"};
import de from "./strings.de.json" with {type: "json"};
import en from "./strings.en.json" with {type: "json"};
import es from "./strings.es.json" with {type: "json"};
import fr from "./strings.fr.json" with {type: "json"};
import ja from "./strings.ja.json" with {type: "json"};
import zh from "./strings.zh.json" with {type: "json"};

const tables = {en, zh, es, de, fr, ja, ar};

export const STYLES = styles;
export const STRINGS = Object.fromEntries(Object.entries(tables).filter(([, table]) => table));
export const NAMES = {en: "English", zh: "中文", es: "Español", de: "Deutsch", fr: "Français", ja: "日本語", ar: "العربية"};
