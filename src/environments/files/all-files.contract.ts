import type { FilesTraits } from "../../../test/support/files-lab.ts";
import { sharedEnvironment } from "../../../test/support/shared-environment.ts";
import { changeFilesContract } from "./change-files.contract.ts";
import { copyContract } from "./copy/copy.contract.ts";
import { filesContract } from "./files.contract.ts";
import { searchContract } from "./search/search.contract.ts";

/** Adds the account `nobody`, which some images lack and to which tests give files. */
export const ADD_NOBODY =
  "grep -q ^nobody: /etc/passwd || echo nobody:x:65534:65534::/:/bin/sh >> /etc/passwd";

/** All file contracts of an environment; each test gets its own folder. */
export function allFilesContracts(traits: FilesTraits): void {
  const shared = { ...traits, open: sharedEnvironment(traits.open) };
  filesContract(shared);
  searchContract(shared);
  copyContract(shared);
  changeFilesContract(shared);
}
