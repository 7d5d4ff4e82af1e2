import { test } from "vitest";
import { scale } from "./scale.ts";

/**
 * `test` for the rows of a contract that are about the shell and the tools of a place, and not about the way there.
 * Where Docker has the same ones (see scale.ts) they are run by `npm run test:deep`, and are skipped otherwise.
 */
export function shellRows({ hasShellOfDocker = false }: { readonly hasShellOfDocker?: boolean }) {
  return hasShellOfDocker && !scale.podmanShellRows ? test.skip : test;
}
