import type { DashboardRoute } from "./dashboard-route.ts";
import { accessRoutes } from "./routes/access-routes.ts";
import { boardRoutes } from "./routes/boards/board-routes.ts";
import { cardRoutes } from "./routes/boards/card-routes.ts";
import { taskRoutes } from "./routes/boards/task-routes.ts";
import { taskRunRoutes } from "./routes/boards/task-run-routes.ts";
import { chatRoutes } from "./routes/chat/chat-routes.ts";
import { liveRoutes } from "./routes/live-routes.ts";
import { logRoutes } from "./routes/logs/log-routes.ts";
import { oidcRoutes } from "./routes/oidc-routes.ts";
import { overviewRoutes } from "./routes/overview/overview-routes.ts";
import { sandboxRoutes } from "./routes/sandboxes/sandbox-routes.ts";
import { sessionRoutes } from "./routes/sessions/session-routes.ts";
import { settingsRoutes } from "./routes/setup/settings-routes.ts";
import { terminalRoutes } from "./routes/terminals/terminal-routes.ts";

/** All routes that browsers call with the cookie of their sign-in. */
export const DASHBOARD_ROUTES: readonly DashboardRoute[] = [
  ...accessRoutes,
  ...oidcRoutes,
  ...liveRoutes,
  ...boardRoutes,
  ...cardRoutes,
  ...taskRoutes,
  ...taskRunRoutes,
  ...overviewRoutes,
  ...sandboxRoutes,
  ...sessionRoutes,
  ...settingsRoutes,
  ...logRoutes,
  ...chatRoutes,
  ...terminalRoutes,
];
