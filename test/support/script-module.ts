import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { bundleOf } from "./child.ts";

/**
 * Bundles the module at `url` and returns the URL of the bundle, for scripts that tests pass to `node --eval`: compiling the
 * module at each start would take several times as long as the rest of the script.
 */
export async function scriptModule(url: URL): Promise<string> {
  const outfile = bundleOf(url);
  if (!existsSync(outfile)) {
    await build({
      entryPoints: [url.pathname],
      outfile,
      bundle: true,
      packages: "external",
      platform: "node",
      target: "node20.19",
      format: "esm",
      logLevel: "warning",
    });
  }
  return pathToFileURL(outfile).href;
}
