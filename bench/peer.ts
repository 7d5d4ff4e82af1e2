import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

/**
 * Fetches the modules of a program that ours is compared with, once per checkout, and returns their folder. A peer is not a
 * dependency, so the folder is separate from our node_modules.
 */
export async function fetchPeer(packageName: string, version: string): Promise<string> {
  const folder = resolve(
    "node_modules/.cache",
    `hermes-bench-${packageName.replaceAll("/", "-")}-${version}`,
  );
  const modules = join(folder, "node_modules");
  if (existsSync(join(modules, packageName))) return modules;
  process.stderr.write(`fetching ${packageName}@${version}…\n`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), "{}\n");
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", `${packageName}@${version}`];
  execFileSync("npm", install, { cwd: folder, stdio: ["ignore", 2, 2] });
  return modules;
}
