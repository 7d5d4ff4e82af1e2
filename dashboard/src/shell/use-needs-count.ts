import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { NeedsChange } from "../../../src/api/contract/overview.ts";
import { useApi, useLive } from "../data/app-data.tsx";
import { overviewQuery } from "../data/queries.ts";
import { useProfile } from "./profile.tsx";

/** How many things wait for a person, kept current by events. */
export function useNeedsCount(): number {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  const profile = useProfile();
  useEffect(() => {
    const { queryKey } = overviewQuery(api, profile);
    return live.onEvent(({ name, data }) => {
      if (name !== "needs-change") return;
      const { needs } = data as NeedsChange;
      client.setQueryData(
        queryKey,
        (old) => old && { ...old, needs, facts: { ...old.facts, needs: needs.length } },
      );
    });
  }, [api, live, client, profile]);
  const { data = 0 } = useQuery({ ...overviewQuery(api, profile), select: ({ facts }) => facts.needs });
  return data;
}
