import { mkdir, readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * Whether this process may create a cgroup that can be killed as a whole. Does not use the program's own check: if that check
 * were broken, the tests that depend on this one would be skipped instead of failing.
 */
export async function mayCreateCgroup(): Promise<boolean> {
  try {
    const [, own = ""] = /^0::(.*)$/m.exec(await readFile("/proc/self/cgroup", "utf8")) ?? [];
    const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
    const mount = mounts.find((line) => line.includes(" - cgroup2 "))?.split(" ")[4];
    if (mount === undefined) return false;
    const probe = join(mount, own, `test-probe-${process.pid}`);
    await mkdir(probe);
    const files = await readdir(probe);
    await rmdir(probe);
    return files.includes("cgroup.kill");
  } catch {
    return false; // no cgroup2, or no permission
  }
}
