import { systemClock } from "../../lib/time/clock.ts";
import type { Environment } from "../environment.ts";
import type { TerminalOptions } from "../options.ts";
import { findCredentialFiles } from "./credential-files.ts";
import { createFileSync, type FileSync } from "./file-sync.ts";

export interface ProfileFiles {
  readonly options: TerminalOptions;
  readonly profileId: string;
  readonly profileHome: string;
}

/** Creates the sync of a profile's files for an environment; `onNotice` receives files that cannot be copied. */
export function syncProfileFiles({
  options,
  profileId,
  profileHome,
}: ProfileFiles): (environment: Environment, onNotice: (text: string) => void) => FileSync {
  return (environment, onNotice) =>
    createFileSync({
      environment,
      owner: profileId,
      list: () => findCredentialFiles(profileHome, options.credential_files),
      onWarning: onNotice,
      clock: systemClock,
      ...(options.force_file_sync ? { everyMs: 0 } : {}),
    });
}
