import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useMemo, useState, useSyncExternalStore } from "react";
import { type Api, createApi } from "./api.ts";
import { createLive, type Live } from "./live.ts";
import type { LiveStatus } from "./live-status.ts";
import { Problem } from "./problem.ts";

/** What every page works with. */
interface AppData {
  readonly api: Api;
  readonly live: Live;
  /** Whether the sign-in ended while the page was open. */
  readonly signedOut: boolean;
  /** Call after signing in again: everything on the page is read again. */
  onSignedIn(): void;
}

const Data = createContext<AppData | undefined>(undefined);

/** Provides requests, the live stream and the cache of answers to the pages. */
export function AppDataProvider({ children }: { readonly children: ReactNode }) {
  const [signedOut, setSignedOut] = useState(false);
  const [parts] = useState(() => {
    const onSignedOut = (): void => setSignedOut(true);
    const api: Api = createApi({ onSignedOut, isLost: () => live.status().state === "lost" });
    const live: Live = createLive(api, onSignedOut);
    return { api, live, client: createQueryClient() };
  });
  const value = useMemo<AppData>(
    () => ({
      api: parts.api,
      live: parts.live,
      signedOut,
      onSignedIn() {
        setSignedOut(false);
        parts.live.start();
        void parts.client.invalidateQueries();
      },
    }),
    [parts, signedOut],
  );
  return (
    <QueryClientProvider client={parts.client}>
      <Data value={value}>{children}</Data>
    </QueryClientProvider>
  );
}

export function useAppData(): AppData {
  const data = useContext(Data);
  if (data === undefined) throw new Error("used outside of AppDataProvider");
  return data;
}

export const useApi = (): Api => useAppData().api;
export const useLive = (): Live => useAppData().live;

export function useLiveStatus(): LiveStatus {
  const live = useLive();
  return useSyncExternalStore(live.onStatus, live.status);
}

/** Answers do not expire, because events keep them current. Refused requests are not repeated. */
function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        retry: (count, error) => count < 2 && error instanceof Problem && error.status >= 502,
      },
    },
  });
}
