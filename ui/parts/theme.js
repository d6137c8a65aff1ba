/* Switches between light and dark; the page starts as the system is set. */
element.querySelector("button").addEventListener("click", () => document.body.classList.toggle("dark"));
