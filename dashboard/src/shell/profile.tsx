import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { createContext, useContext } from "react";
import { Icon } from "../components/controls/icon.tsx";
import { Menu } from "../components/controls/menu.tsx";
import { useApi } from "../data/app-data.tsx";
import { profilesQuery } from "../data/queries.ts";
import { words } from "../words/words.ts";
import styles from "./profile.module.css";

/** The profile that the server was started with. */
export const OwnProfile = createContext("default");

/** The profile whose sessions, spending and sandboxes are shown. The address names it unless it is the server's own. */
export function useProfile(): string {
  const own = useContext(OwnProfile);
  const { profile } = useSearch({ strict: false }) as { profile?: string };
  return profile ?? own;
}

/** The title of a page about the profile, with its name unless it is the server's own. */
export function useProfileTitle(title: string): string {
  const own = useContext(OwnProfile);
  const profile = useProfile();
  return profile === own ? title : `${title} · ${profile}`;
}

export function useChooseProfile(): (name: string) => void {
  const own = useContext(OwnProfile);
  const navigate = useNavigate();
  return (name) =>
    void navigate({
      to: ".",
      search: (earlier: Record<string, unknown>) => ({
        ...earlier,
        profile: name === own ? undefined : name,
      }),
    });
}

export function ProfileSwitcher() {
  const profile = useProfile();
  const choose = useChooseProfile();
  const { data } = useQuery(profilesQuery(useApi()));
  const names = data?.profiles ?? [];
  return (
    <Menu
      name={words.shell.chooseProfile}
      className={styles.who}
      items={names.map(({ name }) => ({ label: name, checked: name === profile, run: () => choose(name) }))}
    >
      <span className={styles.face} aria-hidden="true">
        {profile.slice(0, 1)}
      </span>
      <span className="unseen">{words.shell.profile} </span>
      <b className="clip">{profile}</b>
      <Icon name="switch" />
    </Menu>
  );
}
