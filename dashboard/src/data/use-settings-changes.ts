import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { SettingsChange } from "../../../src/api/contract/setup/settings.ts";
import { useLive } from "./app-data.tsx";

/** Repeats the queries whose keys begin with `area` and the profile when any process has changed the settings of the profile. */
export function useSettingsChanges(area: string, profile: string): void {
  const live = useLive();
  const client = useQueryClient();
  useEffect(
    () =>
      live.onEvent(({ name, data }) => {
        const isOurs = name === "settings-change" && (data as SettingsChange).profile === profile;
        if (isOurs || name === "reset") void client.invalidateQueries({ queryKey: [area, profile] });
      }),
    [live, client, area, profile],
  );
}
