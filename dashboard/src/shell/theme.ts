export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "hermes-theme"; // also read by public/theme.js, before the first paint

export function readTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return THEMES.find((theme) => theme === stored) ?? "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(STORED);
    delete document.documentElement.dataset["theme"];
    return;
  }
  localStorage.setItem(STORED, theme);
  document.documentElement.dataset["theme"] = theme;
}
