import { createRoot } from "react-dom/client";
import { language } from "./words/language.ts";
import { loadWords } from "./words/words.ts";
import "./tokens.css";
import "./base.css";

/** Loads the app after its texts, because modules of the app read them when they are evaluated. */
async function start(): Promise<void> {
  const root = document.getElementById("app");
  if (root === null) throw new Error('index.html has no element with the id "app"');
  document.documentElement.lang = language;
  await loadWords(language);
  const { App } = await import("./app.tsx");
  createRoot(root).render(<App />);
}

void start();
