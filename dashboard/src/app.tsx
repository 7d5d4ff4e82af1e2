import { useQuery } from "@tanstack/react-query";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  RouterProvider,
  retainSearchParams,
} from "@tanstack/react-router";
import { createContext, lazy, StrictMode, Suspense, useContext, useEffect, useRef, useState } from "react";
import { FailureNote } from "./components/layout/note.tsx";
import { ToastProvider } from "./components/layout/toast.tsx";
import { AppDataProvider, useApi, useAppData } from "./data/app-data.tsx";
import { meQuery } from "./data/queries.ts";
import { parseSearch as parseBoardSearch } from "./pages/board/model/board-search.ts";
import { readLogSearch } from "./pages/logs/log-search.ts";
import { Overview } from "./pages/overview/overview.tsx";
import { readSettingsSearch } from "./pages/settings/settings-search.ts";
import frame from "./shell/frame.module.css";
import { KeyProvider } from "./shell/keys/keys.tsx";
import { Shell } from "./shell/shell.tsx";
import { takeLinkCode } from "./shell/sign-in/link-code.ts";
import { takeProviderProblem } from "./shell/sign-in/provider-problem.ts";
import { readSessionFilter, type SessionFilter } from "./transcript/session-filter.ts";
import { words } from "./words/words.ts";

const SignIn = lazy(async () => ({ default: (await import("./shell/sign-in/sign-in.tsx")).SignIn }));

interface RootSearch {
  /** The profile to show, if it is not the server's own. */
  readonly profile?: string | undefined;
}

const rootRoute = createRootRoute({
  component: Root,
  validateSearch: ({ profile }: Record<string, unknown>): RootSearch =>
    typeof profile === "string" ? { profile } : {},
  search: { middlewares: [retainSearchParams(["profile"])] },
  notFoundComponent: () => <p className="soft">{words.shell.notFound}</p>,
  errorComponent: ({ error, reset }) => <FailureNote error={error} retry={reset} />,
});

const overviewRoute = createRoute({ getParentRoute: () => rootRoute, path: "/", component: Overview });
const sessionsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sessions",
  validateSearch: (
    search: Record<string, unknown>,
  ): SessionFilter & { readonly turn?: string | undefined } => ({
    ...readSessionFilter(search),
    ...(typeof search["turn"] === "string" ? { turn: search["turn"] } : {}),
  }),
  component: lazyRouteComponent(() => import("./pages/sessions/sessions.tsx"), "Sessions"),
});
const sessionRoute = createRoute({
  getParentRoute: () => sessionsRoute,
  path: "$profile/$id",
  component: lazyRouteComponent(() => import("./pages/sessions/transcript.tsx"), "Transcript"),
});
const sandboxesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sandboxes",
  component: lazyRouteComponent(() => import("./pages/sandboxes/sandboxes.tsx"), "Sandboxes"),
});
const sandboxRoute = createRoute({
  getParentRoute: () => sandboxesRoute,
  path: "$profile/$name",
  component: lazyRouteComponent(() => import("./pages/sandboxes/sandbox-view.tsx"), "SandboxView"),
});
const terminalRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/terminals/$id",
  component: lazyRouteComponent(() => import("./pages/terminal/terminal-page.tsx"), "TerminalPage"),
});
const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings",
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import("./pages/settings/settings-page.tsx"), "SettingsPage"),
});

/** The page of the settings reads the section from the address itself. */
const settingsSectionRoute = createRoute({ getParentRoute: () => settingsRoute, path: "$section" });

const newChatRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/chat",
  component: lazyRouteComponent(() => import("./pages/chat/chat.tsx"), "NewChat"),
});
const chatRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/chat/$session",
  component: lazyRouteComponent(() => import("./pages/chat/chat.tsx"), "Chat"),
});
const modelsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models",
  component: lazyRouteComponent(() => import("./pages/models/models-page.tsx"), "ModelsPage"),
});

const profilesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/profiles",
  component: lazyRouteComponent(() => import("./pages/profiles/profiles-page.tsx"), "ProfilesPage"),
});

const platformsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/platforms",
  component: lazyRouteComponent(() => import("./pages/platforms/platforms-page.tsx"), "PlatformsPage"),
});

/** Whether the board opens with the dialog of a new task. */
function readNewTask(search: Record<string, unknown>): { readonly new?: true | undefined } {
  return search["new"] === true ? { new: true } : {};
}

const firstBoardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/board",
  validateSearch: readNewTask,
  component: lazyRouteComponent(() => import("./pages/board/board-page.tsx"), "FirstBoard"),
});
const boardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/board/$board/{-$task}",
  validateSearch: (search: Record<string, unknown>) => ({
    ...parseBoardSearch(search),
    ...readNewTask(search),
  }),
  component: lazyRouteComponent(() => import("./pages/board/board-page.tsx"), "BoardPage"),
});

const logsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/logs",
  // Typed without its own fields, because links of other pages keep the search that is there.
  validateSearch: (search: Record<string, unknown>): RootSearch => readLogSearch(search) as object,
  component: lazyRouteComponent(() => import("./pages/logs/logs-page.tsx"), "LogsPage"),
});
const healthRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/health",
  validateSearch: (search: Record<string, unknown>): { readonly tab?: "audit" | undefined } =>
    search["tab"] === "audit" ? { tab: "audit" } : {},
  component: lazyRouteComponent(() => import("./pages/health/health-page.tsx"), "HealthPage"),
});

const createAppRouter = () =>
  createRouter({
    routeTree: rootRoute.addChildren([
      overviewRoute,
      firstBoardRoute,
      boardRoute,
      sessionsRoute.addChildren([sessionRoute]),
      settingsRoute.addChildren([settingsSectionRoute]),
      logsRoute,
      healthRoute,
      newChatRoute,
      chatRoute,
      sandboxesRoute.addChildren([sandboxRoute]),
      terminalRoute,
      modelsRoute,
      profilesRoute,
      platformsRoute,
    ]),
    // The path prefix that the server serves the dashboard under; nothing else needs it.
    basepath: new URL(document.baseURI).pathname,
    scrollRestoration: true,
    defaultPreload: false,
  });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}

/** The whole app. */
export function App() {
  const [arrival] = useState(() => ({ code: takeLinkCode(), providerProblem: takeProviderProblem() }));
  const [router] = useState(createAppRouter);
  return (
    <StrictMode>
      <AppDataProvider>
        <KeyProvider>
          <ToastProvider>
            <Arrival value={arrival}>
              <RouterProvider router={router} />
            </Arrival>
          </ToastProvider>
        </KeyProvider>
      </AppDataProvider>
    </StrictMode>
  );
}

/** What the address said when the app was opened. */
const Arrival = createContext<{
  readonly code?: string | undefined;
  readonly providerProblem?: string | undefined;
}>({});

/** Shows the page, or the sign-in if it is needed. */
function Root() {
  const { api, live, signedOut, onSignedIn } = useAppData();
  const arrival = useContext(Arrival);
  const me = useQuery(meQuery(api));
  const isSignedIn = me.data?.signedIn === true;
  useEffect(() => {
    if (isSignedIn) live.start();
  }, [isSignedIn, live]);

  if (me.data === undefined) {
    if (me.error === null) return null;
    return (
      <div className={frame.page}>
        <FailureNote error={me.error} retry={() => void me.refetch()} busy={me.isFetching} />
      </div>
    );
  }
  if (!me.data.signedIn) {
    return (
      <main className={frame.page}>
        <Suspense>
          <SignIn
            ways={me.data.ways}
            provider={me.data.provider}
            {...arrival}
            onSignedIn={() => void me.refetch()}
          />
        </Suspense>
      </main>
    );
  }
  return (
    <Shell me={me.data}>
      <Outlet />
      {signedOut && <SignInOverlay onSignedIn={onSignedIn} />}
    </Shell>
  );
}

/** Shown over the open page, so that no unsent text is lost. */
function SignInOverlay({ onSignedIn }: { onSignedIn(): void }) {
  const api = useApi();
  const dialog = useRef<HTMLDialogElement>(null);
  const ways = useQuery({ ...meQuery(api), queryKey: ["me", "signed out"] });
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      className={frame.over}
      aria-label={words.shell.signIn.again}
      onCancel={(event) => event.preventDefault()}
    >
      <Suspense>
        {ways.data && (
          <SignIn
            ways={ways.data.signedIn ? [] : ways.data.ways}
            provider={ways.data.signedIn ? undefined : ways.data.provider}
            code={undefined}
            over
            onSignedIn={onSignedIn}
          />
        )}
      </Suspense>
    </dialog>
  );
}
