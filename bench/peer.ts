import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

/**
 * The folder with the modules of a program to measure beside ours, fetched once. It is a peer and never a dependency, so
 * it lies apart from ours.
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
