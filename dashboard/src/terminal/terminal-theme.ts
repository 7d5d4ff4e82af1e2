import type { ITheme } from "@xterm/xterm";

/** The colours of programs, dark enough for the light theme and light enough for the dark one. */
const LIGHT = ["#1c1a16", "#b1281f", "#2e6b1f", "#855300", "#1f5aa8", "#6a4a9c", "#0a675c", "#6b665a"];
const DARK = ["#3f3d37", "#f38d82", "#8fcf7a", "#e6b450", "#7fb2f0", "#bda3ec", "#62cbb8", "#d8d3c7"];
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
const BRIGHT = [
  ...(["brightBlack", "brightRed", "brightGreen", "brightYellow"] as const),
  ...(["brightBlue", "brightMagenta", "brightCyan", "brightWhite"] as const),
];

/** The colours of the app as they are now, which an element of the page resolves. */
export function readTerminalTheme(element: HTMLElement): ITheme {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const resolve = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    ...{ background: resolve("sunken"), foreground: resolve("ink"), cursor: resolve("accent") },
    ...{ cursorAccent: resolve("sunken"), selectionBackground: resolve("accent-line") },
  };
  probe.style.color = "light-dark(#000000, #ffffff)";
  const isDark = getComputedStyle(probe).color === "rgb(255, 255, 255)";
  probe.remove();
  const palette = isDark ? DARK : LIGHT;
  const named = [...NAMES, ...BRIGHT].map((name, index) => [name, palette[index % palette.length]]);
  return { ...colours, ...Object.fromEntries(named) };
}
