import { type TestFunction, test } from "vitest";
import { scale } from "./scale.ts";

const WHY =
  "[skipped, rows about the shell alone: Docker runs them in the same image, and npm run test:deep here too]";

/**
 * `test` for the rows of a contract that are about the shell and the tools of a place, and not about the way there.
 * Where Docker has the same ones (see scale.ts) they are run by `npm run test:deep`, and are skipped otherwise.
 */
export function shellRows({ hasShellOfDocker = false }: { readonly hasShellOfDocker?: boolean }) {
  return (name: string, body: TestFunction): void => {
    if (hasShellOfDocker && !scale.podmanShellRows) test.skip(`${name} ${WHY}`, body);
    else test(name, body);
  };
}
