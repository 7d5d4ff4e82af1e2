import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { PlatformChange, PlatformsAnswer } from "../../../../src/api/contract/setup/platforms.ts";
import type { Api } from "../../data/api.ts";
import { useLive } from "../../data/app-data.tsx";

export const profilePath = (profile: string): string => `profiles/${encodeURIComponent(profile)}`;

export const platformsQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["platforms", profile],
    queryFn: ({ signal }) => api.get<PlatformsAnswer>(`${profilePath(profile)}/platforms`, signal),
  });

const GATHER_MS = 1_000;
/** A gateway that was killed writes nothing, so its state is read again after this time. */
const RECHECK_MS = 30_000;

/** Reads the platforms again when the gateway has stored something. */
export function usePlatformEvents(profile: string): void {
  const live = useLive();
  const client = useQueryClient();
  useEffect(() => {
    let timer = 0;
    const refresh = (): void => {
      timer = 0;
      if (!document.hidden) void client.invalidateQueries({ queryKey: ["platforms", profile] });
    };
    const recheck = window.setInterval(refresh, RECHECK_MS);
    document.addEventListener("visibilitychange", refresh);
    const stop = live.onEvent(({ name, data }) => {
      const isOurs =
        (name === "platform-change" || name === "settings-change") &&
        (data as PlatformChange).profile === profile;
      // A gateway stores something for each message, and one request a second is enough.
      if (isOurs || name === "reset") timer ||= window.setTimeout(refresh, GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(recheck);
      document.removeEventListener("visibilitychange", refresh);
    };
  }, [live, client, profile]);
}
