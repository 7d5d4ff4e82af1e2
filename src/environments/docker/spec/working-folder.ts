const HOST_PATHS = /^(?:\/Users\/|\/home\/|[A-Za-z]:[\\/])/;

/** The folder in which commands start in a container: the setting, unless it is a path of the host. */
export function chooseWorkingFolder(setting: string, fallback: string, notices: string[]): string {
  if (setting === "") return fallback;
  if (setting === "~" || setting.startsWith("~/")) return `/root${setting.slice(1)}`;
  if (setting.startsWith("/") && !HOST_PATHS.test(setting)) return setting;
  notices.push(`terminal.cwd ${setting} is not a path in the container; commands start in ${fallback}.`);
  return fallback;
}
