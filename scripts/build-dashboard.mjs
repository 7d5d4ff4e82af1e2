// Builds the browser app into dist/dashboard/, if one of its files is newer. Plain JavaScript, like build.mjs, which calls it.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";

/** The files that the app is built from. It imports only types of our other code, which do not become part of it. */
const SOURCES = ["dashboard", "package-lock.json", "scripts/build-dashboard.mjs"];

/**
 * Publishes the page by one rename, after the files that it names. Files of the previous build are kept for `keepOldMs`, because
 * an open page may still ask for one of its chunks.
 */
export async function buildDashboard({ root, dist, staging, keepOldMs }) {
  const target = join(dist, "dashboard");
  const page = join(target, "index.html");
  if (existsSync(page) && newest(SOURCES.map((name) => join(root, name))) <= statSync(page).mtimeMs) return;
  const started = new Date();
  const { build } = await import("vite"); // not at the top, because loading it takes seconds
  const built = join(staging, "dashboard");
  await build({
    configFile: join(root, "dashboard/vite.config.ts"),
    build: { outDir: built, emptyOutDir: true },
  });
  utimesSync(join(built, "index.html"), started, started); // files edited during the build count as newer
  const assets = join(target, "assets");
  mkdirSync(assets, { recursive: true });
  const names = readdirSync(join(built, "assets"));
  for (const name of names) renameSync(join(built, "assets", name), join(assets, name));
  for (const name of readdirSync(built)) {
    if (name !== "assets" && name !== "index.html") cpSync(join(built, name), join(target, name));
  }
  renameSync(join(built, "index.html"), page);
  for (const name of readdirSync(assets)) {
    const path = join(assets, name);
    if (!names.includes(name) && Date.now() - statSync(path).mtimeMs > keepOldMs) rmSync(path);
  }
}

/** The latest modification time of the files below these paths. */
function newest(paths) {
  return Math.max(
    ...paths.map((path) => {
      const { mtimeMs } = statSync(path);
      if (!statSync(path).isDirectory()) return mtimeMs;
      return Math.max(mtimeMs, newest(readdirSync(path).map((name) => join(path, name))));
    }),
  );
}
