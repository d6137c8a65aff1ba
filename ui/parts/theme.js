/* Light and dark by hand; the start follows the system. */
element.querySelector("button").addEventListener("click", () => document.body.classList.toggle("dark"));
