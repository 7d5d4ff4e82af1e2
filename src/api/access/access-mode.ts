import { AppError } from "../../lib/errors.ts";
import type { SignInWay } from "../contract/access.ts";
import type { DashboardOptions } from "../options.ts";
import { isLoopback } from "./client.ts";
import { createOidcProvider, type OidcProvider } from "./oidc/oidc-provider.ts";
import { createPasswordAccount, hashPassword, type PasswordAccount } from "./password.ts";

/** How browsers may sign in under these settings. */
export interface AccessMode {
  readonly ways: readonly SignInWay[];
  readonly account: PasswordAccount | undefined;
  readonly provider: OidcProvider | undefined;
  /** The gate is off: everybody who reaches the server may read. */
  readonly isInsecure: boolean;
}

/**
 * On loopback a link signs in, because only the user of the terminal has it. If others can reach the server, only a password or a
 * provider does; without one, throws `dashboard-exposed`. With a provider, links are off, because it decides who may sign in.
 */
export async function chooseAccess(options: DashboardOptions): Promise<AccessMode> {
  const { insecure, basic_auth: auth, oidc } = options;
  const exposure = findExposure(options);
  const hash = auth.password_hash || (auth.password === "" ? "" : await hashPassword(auth.password));
  const account = hash === "" ? undefined : createPasswordAccount(auth.username, hash);
  const provider = oidc.issuer === "" ? undefined : createOidcProvider(oidc);
  if (exposure !== undefined && account === undefined && provider === undefined && !insecure)
    throw new AppError(
      "dashboard-exposed",
      `Others can reach the dashboard because of ${exposure}, and nothing would keep them out.`,
    );
  const ways: SignInWay[] = [
    ...(exposure === undefined && provider === undefined ? (["link"] as const) : []),
    ...(account === undefined ? [] : (["password"] as const)),
    ...(provider === undefined ? [] : (["oidc"] as const)),
  ];
  return { ways, account, provider, isInsecure: insecure };
}

/** The setting that lets other machines reach the server. */
function findExposure({ host, public_url: publicUrl }: DashboardOptions): string | undefined {
  if (!isLoopback(host)) return `dashboard.host (${host})`;
  if (publicUrl !== "" && !isLoopback(new URL(publicUrl).hostname))
    return `dashboard.public_url (${publicUrl})`;
  return undefined;
}
