/* Shows the errors of Gradio in the line where all other errors are, until the next action: Gradio shows a toast that
 * goes after ten seconds. */
const FULL = "The queue is full: too many calls wait for the model. Come back in a minute.";
const NO_PLACE = /^(This application is currently busy|Connection|Could not|Failed to fetch|NetworkError|Load failed)/;
const taken = new WeakSet();

function take(toast) {
  taken.add(toast);
  const words = toast.querySelector(".toast-message-text").textContent.replace(/^HTTP \d+: /, "");
  if (NO_PLACE.test(words)) document.dispatchEvent(new Event("dsbd-no-place"));
  if (element.closest(".main").offsetParent === null) return;
  toast.style.display = "none"; // it would fade out
  toast.querySelector(".toast-close").click();
  const text = /^This application/.test(words) ? FULL : words;
  props.value = globalThis.DsbdPage.make("p", {class: "problem", role: "alert", text}).outerHTML;
}

new MutationObserver(() => {
  for (const toast of document.querySelectorAll(".toast-body")) {
    const isError = toast.matches(".error") || /Connection to the server was lost/.test(toast.textContent);
    if (isError && !taken.has(toast)) take(toast);
  }
}).observe(document.body, {childList: true, subtree: true});
