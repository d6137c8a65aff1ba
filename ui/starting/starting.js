/* Asks how far the start is, and opens the page as soon as it is there. Run waits for it. */
const PAUSE_MS = 400;
const said = document.querySelector("#starting");
const form = document.querySelector("#ask");
const field = form.querySelector("textarea");
let waits = false;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!field.value.trim()) return field.focus();
  waits = true;
  form.querySelector("button").textContent = "Waiting …";
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  form.requestSubmit();
});

function goOn() {
  if (waits) location.replace(`?${new URLSearchParams({prompt: field.value})}${location.hash}`);
  else location.reload();
}

async function ask() {
  try {
    const answer = await fetch("gradio_api/dsbd/starting", {cache: "no-store"});
    if (!answer.ok) return goOn();
    const {doing, seconds} = await answer.json();
    const then = waits
      ? "Your run begins when this is done."
      : "Meanwhile: a recorded decode. Run works as soon as this is done.";
    said.textContent = `${doing}, ${seconds} s. ${then}`;
  } catch {
    /* the page takes over in this moment */
  }
  setTimeout(ask, PAUSE_MS);
}
ask();
dsbdReady.then(() => DsbdHost.start()).then(([viewer]) => viewer.handle.story());
