// Runs before the first paint, so that a chosen theme does not flash. It is a file of its own because inline scripts are refused.
const chosen = localStorage.getItem("hermes-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
