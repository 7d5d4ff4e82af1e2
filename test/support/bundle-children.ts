import { chmodSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { CHILDREN_FOLDER } from "./child.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Runs before all tests: bundles the programs that tests start as separate processes. Tests start hundreds of them, and
 * compiling one at each start takes five times as long as the start itself.
 */
export async function setup(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "hermes-test-children-"));
  chmodSync(folder, 0o755); // some are started as another user
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await build({
    absWorkingDir: ROOT,
    entryPoints: ["test/support/*-child.ts"],
    outdir: folder,
    outbase: ROOT,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true, // modules that are loaded on demand must stay separate
    packages: "external",
    platform: "node",
    target: "node20.19",
    format: "esm",
    logLevel: "warning",
  });
  process.env[CHILDREN_FOLDER] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
