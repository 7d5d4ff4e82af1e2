import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { CardsAnswer } from "../../../../src/api/contract/boards.ts";
import type { SessionsAnswer } from "../../../../src/api/contract/sessions.ts";
import type { IconName } from "../../components/controls/icon.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { useApi, useAppData } from "../../data/app-data.tsx";
import { boardsQuery, profilesQuery } from "../../data/queries.ts";
import { LANGUAGES, language } from "../../words/language.ts";
import { words } from "../../words/words.ts";
import { changeLanguage } from "../appearance-menu.tsx";
import { labelOf, PAGES } from "../pages.ts";
import { useChooseProfile, useProfile } from "../profile.tsx";
import { chooseTheme, THEMES } from "../theme.ts";
import { useNewTask } from "../use-new-task.ts";

/** An entry of the palette: something to open or to do. */
export interface Command {
  readonly id: string;
  readonly group: string;
  readonly label: string;
  readonly icon: IconName;
  /** Shown at the end, less prominent. */
  readonly fact?: string | undefined;
  run(): void;
}

const { palette } = words.shell;
const GATHER_MS = 150;
const SHOWN = 6;
const LEAST_LETTERS = 2;

/** Pages and actions; they need no request. */
export function useCommands(onKeys: () => void): readonly Command[] {
  const navigate = useNavigate();
  const { api, live } = useAppData();
  const profile = useProfile();
  const chooseProfile = useChooseProfile();
  const newTask = useNewTask();
  const profiles = useQuery(profilesQuery(api)).data?.profiles ?? [];
  const { theme } = words.shell;
  const pages = PAGES.flat().map(
    (page): Command => ({
      id: page.path,
      group: palette.pages,
      label: labelOf(page),
      icon: page.icon,
      fact: `g ${page.letter}`,
      run: () => void navigate({ to: page.path }),
    }),
  );
  const others = profiles
    .filter(({ name }) => name !== profile)
    .map(
      ({ name, description }): Command => ({
        id: `profile ${name}`,
        group: palette.actions,
        label: palette.showProfile(name),
        icon: "switch",
        fact: description,
        run: () => chooseProfile(name),
      }),
    );
  const themes = THEMES.map(
    (name): Command => ({
      id: `theme ${name}`,
      group: palette.actions,
      label: palette.theme(theme[name]),
      icon: ({ system: "contrast", light: "sun", dark: "moon" } as const)[name],
      run: () => chooseTheme(name),
    }),
  );
  const languages = LANGUAGES.filter((name) => name !== language).map(
    (name): Command => ({
      id: `language ${name}`,
      group: palette.actions,
      label: palette.language(words.shell.language[name]),
      icon: "language",
      run: () => changeLanguage(name),
    }),
  );
  const actions: readonly Command[] = [
    {
      id: "new task",
      group: palette.actions,
      label: words.shell.newTask,
      icon: "plus",
      fact: "c",
      run: newTask,
    },
    { id: "keys", group: palette.actions, label: palette.keys, icon: "enter", fact: "?", run: onKeys },
    {
      id: "sign-out",
      group: palette.actions,
      label: palette.signOut,
      icon: "right",
      run: async () => {
        live.stop();
        await api.send("POST", "sign-out");
        location.reload();
      },
    },
  ];
  return [...pages, ...actions, ...others, ...themes, ...languages];
}

/** Tasks and sessions that match the typed text; late answers to earlier text are ignored. */
export function useFound(typed: string): readonly Command[] {
  const api = useApi();
  const navigate = useNavigate();
  const profile = useProfile();
  const q = useRested(typed.trim());
  const isAsked = q.length >= LEAST_LETTERS && q === typed.trim();
  const boards = useQuery(boardsQuery(api)).data?.boards ?? [];
  const slugs = boards.map(({ slug }) => slug);
  const tasks = useQuery({
    queryKey: ["palette tasks", slugs, q],
    enabled: isAsked && slugs.length > 0,
    queryFn: async ({ signal }) => {
      const answers = await Promise.all(
        slugs.map(async (board) => {
          const path = `boards/${encodeURIComponent(board)}/cards?q=${encodeURIComponent(q)}`;
          const { columns } = await api.get<CardsAnswer>(path, signal);
          return columns.flatMap(({ cards }) => cards.map((card) => ({ board, card })));
        }),
      );
      return answers.flat();
    },
  });
  const sessions = useQuery({
    queryKey: ["palette sessions", profile, q],
    enabled: isAsked,
    queryFn: ({ signal }) =>
      api.get<SessionsAnswer>(
        `profiles/${encodeURIComponent(profile)}/sessions?q=${encodeURIComponent(q)}`,
        signal,
      ),
  });
  if (!isAsked) return [];
  return [
    ...(tasks.data ?? []).slice(0, SHOWN).map(
      ({ board, card }): Command => ({
        id: `task ${board} ${card.id}`,
        group: palette.tasks,
        label: plainText(card.title),
        icon: card.status === "blocked" ? "asks" : card.status,
        fact: `#${card.seq}`,
        run: () => void navigate({ to: "/board/$board/{-$task}", params: { board, task: card.id } }),
      }),
    ),
    ...(sessions.data?.sessions ?? []).slice(0, SHOWN).map(
      ({ id, title, opening, source }): Command => ({
        id: `session ${id}`,
        group: palette.sessions,
        label: plainText(title ?? opening),
        icon: "sessions",
        fact: source,
        run: () => void navigate({ to: "/sessions/$profile/$id", params: { profile, id } }),
      }),
    ),
  ];
}

/** The typed text, after a pause in typing. */
function useRested(typed: string): string {
  const [rested, setRested] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setRested(typed), GATHER_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return rested;
}

/** Whether the label contains every word, in any order. */
export function fits(label: string, typed: string): boolean {
  const text = label.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
