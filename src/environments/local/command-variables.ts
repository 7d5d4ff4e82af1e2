import { isProviderVariable } from "../passed-variables.ts";

/** Keys of messaging accounts and services, which commands do not need. */
const ACCOUNT =
  /^(TELEGRAM|DISCORD|SLACK|WHATSAPP|SIGNAL|MATRIX|MATTERMOST|TWILIO|EMAIL|SMTP|IMAP|IRC|WEBHOOK|FEISHU|DINGTALK|WECOM|MODAL|DAYTONA|VERCEL|TAVILY|EXA|FIRECRAWL|BROWSERBASE|ELEVENLABS|LANGFUSE)_.*(TOKEN|SECRET|KEY|PASSWORD|ID)$/;
const SINGLE = new Set([
  "API_SERVER_KEY",
  "GH_TOKEN",
  "GITHUB_TOKEN",
  "GITHUB_APP_PRIVATE_KEY",
  "AWS_BEARER_TOKEN_BEDROCK",
  "SUDO_PASSWORD",
]);

const STANDARD_PATH = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

export interface CommandVariablesParts {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Names that the user allows. Keys of model providers are withheld even if they are named here. */
  readonly passthrough: readonly string[];
  /** HOME of commands, if it is not the user's own. */
  readonly home: string | undefined;
}

/** The variables of local commands: the user's own, except the secrets of the agent. */
export function commandVariables({
  variables,
  passthrough,
  home,
}: CommandVariablesParts): Record<string, string> {
  const allowed = new Set(passthrough);
  const kept = Object.entries(variables).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      (!isWithheld(entry[0]) || (allowed.has(entry[0]) && !isProviderVariable(entry[0]))),
  );
  const found: Record<string, string> = { GIT_PAGER: "cat", PAGER: "cat", ...Object.fromEntries(kept) };
  found["PATH"] = completePath(found["PATH"] ?? "");
  found["HERMES"] = "1";
  if (home !== undefined) {
    found["HERMES_REAL_HOME"] = found["HOME"] ?? "";
    found["HOME"] = home;
  }
  return found;
}

function isWithheld(name: string): boolean {
  if (isProviderVariable(name) || ACCOUNT.test(name) || SINGLE.has(name)) return true;
  return /^HERMES_.*(KEY|TOKEN|SECRET|PASSWORD|DATABASE_URL)$/.test(name);
}

/** Adds the standard folders to the minimal PATH of a service manager; existing entries come first. */
function completePath(path: string): string {
  const entries = path.split(":").filter((entry) => entry !== "");
  if (entries.includes("/usr/bin")) return path;
  return [...entries, ...STANDARD_PATH.filter((entry) => !entries.includes(entry))].join(":");
}
