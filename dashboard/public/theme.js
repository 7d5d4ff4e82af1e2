// Runs before the first paint, so that the page does not flash in another theme. It is a separate file because the content
// security policy forbids inline scripts.
const chosen = localStorage.getItem("hermes-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
