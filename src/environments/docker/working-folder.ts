const HOST_PATHS = /^(?:\/Users\/|\/home\/|[A-Za-z]:[\\/])/;

/** Where commands start in a container: the setting, unless it is a path that only the host has. */
export function chooseWorkingFolder(setting: string, fallback: string, notices: string[]): string {
  if (setting === "") return fallback;
  if (setting === "~" || setting.startsWith("~/")) return `/root${setting.slice(1)}`;
  if (setting.startsWith("/") && !HOST_PATHS.test(setting)) return setting;
  notices.push(`terminal.cwd ${setting} is no path of the container; commands start in ${fallback}.`);
  return fallback;
}
