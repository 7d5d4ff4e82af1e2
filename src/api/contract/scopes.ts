/** What a signed-in browser may do. `work`: board, sessions, chat. `shell`: commands and sandboxes. `admin`: settings, keys, profiles. */
export const DASHBOARD_SCOPES = ["read", "work", "shell", "admin"] as const;

export type DashboardScope = (typeof DASHBOARD_SCOPES)[number];
