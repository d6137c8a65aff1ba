/* The string tables, one per language; the first is the one to fall back to. */

import styles from "./styles.json" with {type: "json"};
import en from "./strings.en.json" with {type: "json"};

export const STYLES = styles;
const tables = {en};

export const STRINGS = Object.fromEntries(Object.entries(tables).filter(([, table]) => table));  // a page may carry fewer
export const NAMES = {en: "English", zh: "中文", es: "Español", de: "Deutsch", fr: "Français", ja: "日本語", ar: "العربية"};
