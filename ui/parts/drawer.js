/* Opens and closes the drawer with the settings. Escape closes an open list in it, or else the drawer, and the focus
 * goes back to the switch. */
const control = element.querySelector(".drawer-switch");
const drawer = () => document.querySelector("#drawer");

function show(open) {
  drawer().classList.toggle("is-open", open);
  control.setAttribute("aria-expanded", String(open));
  if (open) drawer().querySelector(".drawer-close").focus();
  else if (drawer().contains(document.activeElement)) control.focus();
}

control.addEventListener("click", () => show(control.getAttribute("aria-expanded") !== "true"));
document.addEventListener("click", (event) => event.target.closest(".drawer-close") && show(false));

/* Heard before Gradio hears it: only then it can be seen that a list is open. */
const listens = {capture: true};
document.addEventListener(
  "keydown",
  (event) => {
    const {activeElement} = document;
    const inside = drawer()?.contains(activeElement) || control === activeElement;
    if (event.key === "Escape" && inside && !drawer().querySelector("[role=listbox]")) show(false);
  },
  listens,
);
