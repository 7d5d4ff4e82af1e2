import { useState } from "react";
import { Menu, type MenuItem } from "../components/controls/menu.tsx";
import { chooseLanguage, LANGUAGES, readChosenLanguage } from "../words/language.ts";
import { words } from "../words/words.ts";
import { chooseTheme, readTheme, THEMES } from "./theme.ts";

const ICONS = { system: "contrast", light: "sun", dark: "moon" } as const;

/** Chooses the theme and the language of this browser. */
export function AppearanceMenu({ className }: { readonly className: string | undefined }) {
  const [theme, setTheme] = useState(readTheme);
  const { shell } = words;
  return (
    <Menu
      name={shell.appearance}
      kind="quiet"
      small
      icon={ICONS[theme]}
      aria-label={shell.appearance}
      className={className}
      items={[
        ...THEMES.map((name) => ({
          label: shell.theme[name],
          checked: name === theme,
          run: () => {
            chooseTheme(name);
            setTheme(name);
          },
        })),
        "line",
        ...languageItems(),
      ]}
    />
  );
}

function languageItems(): readonly MenuItem[] {
  const chosen = readChosenLanguage();
  return [undefined, ...LANGUAGES].map((name) => ({
    label: words.shell.language[name ?? "system"],
    checked: name === chosen,
    run: () => changeLanguage(name),
  }));
}

/** Shows the page again in another language. Drafts survive that. */
export function changeLanguage(name: Parameters<typeof chooseLanguage>[0]): void {
  chooseLanguage(name);
  location.reload();
}
