import { hasOption } from "../arguments.ts";
import type { Match } from "../command-classes.ts";
import type { ClassRule } from "./class-rule.ts";

const FORCED = /^\/f$/i;

/** Destructive commands of Windows, also from WSL and Git Bash. */
export const checkWindows: ClassRule = ({ name, args, upstream }) => {
  const destroys = (effect: string): Match => ({ class: "windows-destruction", effect });
  const program = name.endsWith(".exe") ? name.slice(0, -".exe".length) : name;
  const line = (): string => args.slice(0, 8).join(" ").toLowerCase();
  switch (program) {
    case "del":
    case "erase":
    case "rd":
    case "rmdir":
      return hasOption(args, /^\/s$/i) ? destroys("removes folders with everything in them") : undefined;
    case "remove-item":
    case "ri":
      return hasOption(args, /^-r(?:ec(?:urse)?)?$/i)
        ? destroys("removes folders with everything in them")
        : undefined;
    case "format":
      return /^[a-z]:/i.test(args[0] ?? "") ? destroys("formats a drive") : undefined;
    case "diskpart":
    case "format-volume":
    case "clear-disk":
    case "clear-recyclebin":
      return destroys("changes disks or what is on them");
    case "vssadmin":
    case "wbadmin":
    case "bcdedit":
      return /\b(?:delete|resize|\/set|\/delete)/.test(line())
        ? destroys("removes backups or changes how Windows starts")
        : undefined;
    case "reg":
      return /^(?:delete|add|import)\b/.test(line()) ? destroys("changes the registry") : undefined;
    case "taskkill":
      return hasOption(args, FORCED) ? destroys("kills processes forcibly") : undefined;
    case "stop-process":
      return hasOption(args, /^-force$/i) ? destroys("kills processes forcibly") : undefined;
    case "set-executionpolicy":
      return destroys("lets PowerShell run every script");
    case "powershell":
    case "pwsh":
      return hasOption(args, /^-e(?:nc(?:odedcommand)?|c)?$/i)
        ? destroys("runs PowerShell that is hidden by an encoding")
        : undefined;
    case "iex":
    case "invoke-expression":
      return ["iwr", "irm", "invoke-webrequest", "invoke-restmethod", "curl", "wget"].some((source) =>
        upstream.find(source),
      ) || /download|iwr|irm|webrequest/.test(line())
        ? { class: "remote-code", effect: "runs code that it downloads" }
        : undefined;
    default:
      return undefined;
  }
};
