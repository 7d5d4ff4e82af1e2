import { changeFilesContract } from "./change-files.contract.ts";
import { copyContract } from "./copy/copy.contract.ts";
import { filesContract } from "./files.contract.ts";
import type { FilesTraits } from "./files.fixture.ts";
import { searchContract } from "./search/search.contract.ts";

/** For images without that account, which tests give files to. */
export const ADD_NOBODY =
  "grep -q ^nobody: /etc/passwd || echo nobody:x:65534:65534::/:/bin/sh >> /etc/passwd";

/** Everything that an environment promises about its files. */
export function allFilesContracts(traits: FilesTraits): void {
  filesContract(traits);
  searchContract(traits);
  copyContract(traits);
  changeFilesContract(traits);
}
