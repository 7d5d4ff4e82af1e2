import { systemClock } from "../../lib/clock.ts";
import type { Environment } from "../environment.ts";
import type { TerminalOptions } from "../options.ts";
import { findCredentialFiles } from "./credential-files.ts";
import { createFileSync, type FileSync } from "./file-sync.ts";

export interface ProfileFiles {
  readonly options: TerminalOptions;
  readonly profileId: string;
  readonly profileHome: string;
}

/** Offers the files of a profile to whatever environment asks; `tell` hears what cannot be offered. */
export function syncProfileFiles({
  options,
  profileId,
  profileHome,
}: ProfileFiles): (environment: Environment, tell: (notice: string) => void) => FileSync {
  return (environment, tell) =>
    createFileSync({
      environment,
      owner: profileId,
      list: () => findCredentialFiles(profileHome, options.credential_files),
      onWarning: tell,
      clock: systemClock,
      ...(options.force_file_sync ? { everyMs: 0 } : {}),
    });
}
