import { type TestFunction, test } from "vitest";
import { scale } from "./scale.ts";

const WHY =
  "[skipped, rows about the shell only: another environment runs them with the same shell, and npm run test:deep runs them here]";

/**
 * `test` for rows of a contract that test only the shell and tools of an environment, not the connection to it. If another
 * environment with the same shell and tools passes the contract, only `npm run test:deep` runs them here (see scale.ts).
 */
export function shellRows({ hasTestedShell = false }: { readonly hasTestedShell?: boolean }) {
  return (name: string, body: TestFunction): void => {
    if (hasTestedShell && !scale.repeatedShellRows) test.skip(`${name} ${WHY}`, body);
    else test(name, body);
  };
}
