import { type TestFunction, test } from "vitest";
import { scale } from "./scale.ts";

const WHY =
  "[skipped, rows about the shell only: Docker runs them in the same image, and npm run test:deep runs them here]";

/**
 * `test` for rows of a contract that test only the shell and tools of an environment, not the connection to it. Where
 * Docker has the same shell and tools (see scale.ts), only `npm run test:deep` runs them.
 */
export function shellRows({ hasShellOfDocker = false }: { readonly hasShellOfDocker?: boolean }) {
  return (name: string, body: TestFunction): void => {
    if (hasShellOfDocker && !scale.podmanShellRows) test.skip(`${name} ${WHY}`, body);
    else test(name, body);
  };
}
