/* Shows the errors of Gradio in the line where all other errors are, until the next action. Gradio shows a toast that
   goes after ten seconds, and an error that repeats joins the earlier toast. Here the toast is closed, and its words go
   into the line. */
const BUSY = /^This application is currently busy/;
const QUEUE_FULL = "The queue is full: too many calls wait for the model. Come back in a minute.";
const NO_PLACE = /^(This application is currently busy|Connection|Could not|Failed to fetch|NetworkError|Load failed)/;
const LOST = /Connection to the server was lost/;

const taken = new WeakSet();
let said = "";

function take(toast) {
  taken.add(toast);
  toast.style.display = "none"; // it would fade out
  toast.querySelector(".toast-close").click();
  const words = toast.querySelector(".toast-message-text").textContent.replace(/^HTTP \d+: /, "");
  const problem = globalThis.DsbdPage.make("p", "problem", BUSY.test(words) ? QUEUE_FULL : words);
  problem.setAttribute("role", "alert");
  said = props.value = problem.outerHTML;
  if (NO_PLACE.test(words)) document.dispatchEvent(new Event("dsbd-no-place"));
}

new MutationObserver(() => {
  for (const toast of document.querySelectorAll(".toast-body")) {
    if (taken.has(toast) || !LOST.test(toast.textContent)) continue;
    taken.add(toast);
    document.dispatchEvent(new Event("dsbd-no-place"));
  }
  const isShown = element.closest(".main").offsetParent !== null;
  for (const toast of isShown ? document.querySelectorAll(".toast-body.error") : []) {
    if (!taken.has(toast) && /^Error\b/.test(toast.querySelector(".toast-title").textContent)) take(toast);
  }
}).observe(document.body, {childList: true, subtree: true});

/* A run that the server refused is decoded in this browser (live.js). */
document.addEventListener("dsbd-live-begins", () => {
  said = props.value = "";
});

/* The late answer of an earlier action must not clear the words. */
for (const action of ["change", "click", "keydown"]) {
  element.closest(".workbench").addEventListener(action, () => (said = ""), true);
}
watch("value", () => {
  if (said && !props.value) props.value = said;
});
