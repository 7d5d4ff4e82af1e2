// Bundles the command into dist/. Plain JavaScript, because it runs before anything is built.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const KEEP_OLD_CHUNKS_MS = 30 * 24 * 60 * 60 * 1_000;

/** Zod brings its messages in fifty languages, more than half of its code, and ours are in one. */
const oneLocale = {
  name: "one-locale",
  setup(building) {
    building.onLoad({ filter: /zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const staging = join(dist, `.new-${process.pid}`);
const started = new Date();
mkdirSync(staging, { recursive: true });

try {
  await build({
    absWorkingDir: root,
    entryPoints: ["src/main.ts"],
    outdir: staging,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    external: ["better-sqlite3", "@vscode/ripgrep"],
    plugins: [oneLocale],
    chunkNames: "chunks/[name]-[hash]",
    // Some libraries are CommonJS and ask for node's own modules with require().
    banner: {
      js: 'import { createRequire as createNodeRequire } from "node:module"; const require = createNodeRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
  publish();
} finally {
  rmSync(staging, { recursive: true, force: true });
}

/**
 * Moves the new files in, the entry last and by one rename. Chunks carry their content's hash and old ones stay for a
 * while: a process that has been running for days may still import one.
 */
function publish() {
  mkdirSync(join(dist, "chunks"), { recursive: true });
  const fresh = readdirSync(join(staging, "chunks"));
  for (const name of fresh) renameSync(join(staging, "chunks", name), join(dist, "chunks", name));
  for (const name of readdirSync(join(dist, "chunks"))) {
    const path = join(dist, "chunks", name);
    if (!fresh.includes(name) && Date.now() - statSync(path).mtimeMs > KEEP_OLD_CHUNKS_MS) rmSync(path);
  }
  // Dated when the build began: what is edited meanwhile must still count as newer.
  utimesSync(join(staging, "main.js"), started, started);
  renameSync(join(staging, "main.js"), join(dist, "main.js"));
}
