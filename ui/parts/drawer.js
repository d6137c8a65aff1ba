/* Opens and closes the drawer with the settings. Escape closes it, and the focus goes back to the switch. */
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
document.addEventListener("keydown", (event) => {
  const inside = drawer()?.contains(document.activeElement) || control === document.activeElement;
  if (event.key === "Escape" && inside && !event.defaultPrevented) show(false);
});
