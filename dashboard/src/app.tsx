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
import { Overview } from "./pages/overview/overview.tsx";
import { readSessionFilter, type SessionFilter } from "./pages/sessions/session-filter.ts";
import { readSettingsSearch } from "./pages/settings/settings-search.ts";
import frame from "./shell/frame.module.css";
import { KeyProvider } from "./shell/keys.tsx";
import { takeLinkCode } from "./shell/link-code.ts";
import { Shell } from "./shell/shell.tsx";
import { words } from "./words/words.ts";

const SignIn = lazy(async () => ({ default: (await import("./shell/sign-in.tsx")).SignIn }));

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
const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings",
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import("./pages/settings/settings-page.tsx"), "SettingsPage"),
});

/** The page of the settings reads the section from the address itself. */
const settingsSectionRoute = createRoute({ getParentRoute: () => settingsRoute, path: "$section" });

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

const createAppRouter = () =>
  createRouter({
    routeTree: rootRoute.addChildren([
      overviewRoute,
      firstBoardRoute,
      boardRoute,
      sessionsRoute.addChildren([sessionRoute]),
      settingsRoute.addChildren([settingsSectionRoute]),
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
  const [code] = useState(takeLinkCode);
  const [router] = useState(createAppRouter);
  return (
    <StrictMode>
      <AppDataProvider>
        <KeyProvider>
          <ToastProvider>
            <LinkCode value={code}>
              <RouterProvider router={router} />
            </LinkCode>
          </ToastProvider>
        </KeyProvider>
      </AppDataProvider>
    </StrictMode>
  );
}

const LinkCode = createContext<string | undefined>(undefined);

/** Shows the page, or the sign-in if it is needed. */
function Root() {
  const { api, live, signedOut, onSignedIn } = useAppData();
  const code = useContext(LinkCode);
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
          <SignIn ways={me.data.ways} code={code} onSignedIn={() => void me.refetch()} />
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
            code={undefined}
            over
            onSignedIn={onSignedIn}
          />
        )}
      </Suspense>
    </dialog>
  );
}
