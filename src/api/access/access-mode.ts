import { AppError } from "../../lib/errors.ts";
import type { SignInWay } from "../contract/access.ts";
import type { DashboardOptions } from "../options.ts";
import { isLoopback } from "./client.ts";
import { createPasswordAccount, hashPassword, type PasswordAccount } from "./password.ts";

/** Who may use a dashboard with these settings. */
export interface AccessMode {
  readonly ways: readonly SignInWay[];
  readonly account: PasswordAccount | undefined;
  /** Everybody who reaches the server may read. */
  readonly isInsecure: boolean;
}

/**
 * On loopback a link signs in, since only who can read the terminal has it. Where others can reach the server, only a password
 * does. Throws `dashboard-exposed` where there is none.
 */
export async function chooseAccess(options: DashboardOptions): Promise<AccessMode> {
  const { insecure, basic_auth: auth } = options;
  const exposure = findExposure(options);
  const hash = auth.password_hash || (auth.password === "" ? "" : await hashPassword(auth.password));
  const account = hash === "" ? undefined : createPasswordAccount(auth.username, hash);
  if (exposure !== undefined && account === undefined && !insecure)
    throw new AppError(
      "dashboard-exposed",
      `Others can reach the dashboard because of ${exposure}, and nothing would keep them out.`,
    );
  const ways: SignInWay[] = [
    ...(exposure === undefined ? (["link"] as const) : []),
    ...(account === undefined ? [] : (["password"] as const)),
  ];
  return { ways, account, isInsecure: insecure };
}

/** The setting by which others than this machine's programs can reach the server. */
function findExposure({ host, public_url: publicUrl }: DashboardOptions): string | undefined {
  if (!isLoopback(host)) return `dashboard.host (${host})`;
  if (publicUrl !== "" && !isLoopback(new URL(publicUrl).hostname))
    return `dashboard.public_url (${publicUrl})`;
  return undefined;
}
