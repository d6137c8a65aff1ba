/* Light or dark, the language, and an address for each tab: #race, #learn, #about; Play has none. Back and Forward go
 * from tab to tab. */

/* The page starts as the system is set. */
element.querySelector(".theme-switch").addEventListener("click", () => document.body.classList.toggle("dark"));

globalThis.DsbdLanguage.offer(element.querySelector(".language-switch select"));

const FIRST = "play";
const tabs = () => [...document.querySelectorAll("#tabs > .tab-wrapper [role=tab]")];
const nameOf = (tab) => tab?.dataset.tabId ?? FIRST;
const chosen = () => nameOf(tabs().find((tab) => tab.getAttribute("aria-selected") === "true"));
const asked = () => {
  const name = location.hash.slice(1);
  return tabs().some((tab) => nameOf(tab) === name) ? name : FIRST;
};
const addressOf = (name) => location.pathname + location.search + (name === FIRST ? "" : `#${name}`);

/* Gradio needs a moment to show another tab; what it selects meanwhile is not the visitor's choice. */
let goal = null;

function follow() {
  goal = asked();
  if (goal !== chosen()) {
    tabs()
      .find((tab) => nameOf(tab) === goal)
      ?.click();
  } else goal = null;
}

function told() {
  const name = chosen();
  if (goal !== null && name !== goal) return;
  if (goal === null && name !== asked()) history.pushState(null, "", addressOf(name));
  goal = null;
}

function begin() {
  const bar = document.querySelector("#tabs > .tab-wrapper");
  if (!tabs().length) return requestAnimationFrame(begin);
  new MutationObserver(told).observe(bar, {subtree: true, attributeFilter: ["aria-selected"]});
  addEventListener("popstate", follow);
  follow();
}
begin();
