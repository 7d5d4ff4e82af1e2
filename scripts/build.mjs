// Bundles the command into dist/ and compiles it for this Node, whose name (from setup.sh) becomes part of a file name there:
//   build.mjs NODE            bundles and compiles
//   build.mjs NODE --compile  only compiles the bundle that is in dist/
// Plain JavaScript, because it runs before anything is built.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, transform } from "esbuild";
import { buildDashboard } from "./build-dashboard.mjs";

const KEEP_OLD_MS = 60 * 60 * 1_000;
const COMPILE_WITHIN_MS = 60_000;
// The same values as in src/load-program.ts.
const KINDS = ["sandbox", "kanban", "task", "chat"];
const HEAD_BYTES = 8;

/** Bundles only the English messages of zod: the other fifty languages are more than half of its code. */
const oneLocale = {
  name: "one-locale",
  setup(building) {
    building.onLoad({ filter: /zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/** The unused cookie code of undici reads Node's `Headers`, which would load Node's own copy of undici. */
const oneUndici = {
  name: "one-undici",
  setup(building) {
    building.onLoad({ filter: /undici[/\\]lib[/\\]web[/\\]cookies[/\\]index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace("globalThis.Headers", "undefined"),
    }));
  },
};

/** The browser build of grammY, which has no dependencies, reads the storage of a browser; newer versions of Node warn about that. */
const noBrowserStorage = {
  name: "no-browser-storage",
  setup(building) {
    building.onLoad({ filter: /grammy[/\\]out[/\\]web\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll(/\blocalStorage\b/g, "undefined"),
    }));
  },
};

/**
 * Only the editor and the key parser of pi-tui are used; its own terminal would load a native module. Creating its segmenter takes
 * longer than starting Node, and only text that is not ASCII needs it.
 */
const onlyEditor = {
  name: "only-editor",
  setup(building) {
    building.onLoad({ filter: /pi-tui[/\\]dist[/\\]utils\.js$/ }, ({ path }) => {
      const eager = 'const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });';
      const text = readFileSync(path, "utf8");
      if (!text.includes(eager)) throw new Error("the segmenter of pi-tui is created in another way now");
      const lazy = `let created; const segmenter = { segment: (text) =>
        (created ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })).segment(text) };`;
      return { contents: text.replace(eager, lazy) };
    });
    building.onLoad({ filter: /pi-tui[/\\]dist[/\\]terminal\.js$/ }, () => ({
      contents: "export class ProcessTerminal {}",
    }));
  },
};

/** SQLite's library searches for its native file around the file that loads it; in a bundle only a fixed path works. */
const nativeSqlite = {
  name: "native-sqlite",
  setup(building) {
    building.onResolve({ filter: /^bindings$/ }, ({ path }) => ({ path, namespace: "native-sqlite" }));
    building.onLoad({ filter: /^bindings$/, namespace: "native-sqlite" }, () => ({
      contents: 'module.exports = (name) => require("better-sqlite3-12/build/Release/" + name);',
    }));
  },
};

/** Computes the facts of the settings at build time, so that a command does not need the schema if no setting is set. */
const factsOfKeys = (facts) => ({
  name: "facts-of-keys",
  setup(building) {
    const text = JSON.stringify(JSON.stringify(facts));
    building.onLoad({ filter: /src[/\\]config[/\\]key-facts\.ts$/ }, () => ({
      contents: `export const keyFacts = () => JSON.parse(${text});`,
    }));
  },
});

/** Keeps the tables of the tokenizer in a separate file: they are as large as the rest, and only one command reads them. */
const separateTokenizer = (file) => ({
  name: "separate-tokenizer",
  setup(building) {
    building.onResolve({ filter: /^gpt-tokenizer\// }, () => ({ path: `./${file}`, external: true }));
  },
});

/** The code of the document thread is a separate file: it is large, and a thread loads it by its path. */
const separateDocuments = (file) => ({
  name: "separate-documents",
  setup(building) {
    building.onResolve({ filter: /\.path\.cjs$/ }, ({ path }) => ({ path, external: true }));
    building.onLoad({ filter: /src[/\\]lib[/\\]documents[/\\]worker-code\.ts$/ }, () => ({
      contents: `import file from "./${file}.path.cjs"; export const documentWorkerCode = () => file;`,
    }));
  },
});

const [, , nodeName, mode] = process.argv;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const staging = join(dist, `.new-${process.pid}`);
const started = new Date();
mkdirSync(staging, { recursive: true });

const TARGET = {
  target: "node20.19",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  charset: "ascii", // so that one byte is one character
  logLevel: "warning",
};
const bundle = { ...TARGET, absWorkingDir: root, bundle: true, platform: "node" };

try {
  const compiler = join(staging, "compile-program.mjs");
  await build({ ...bundle, entryPoints: ["scripts/compile-program.ts"], outfile: compiler, format: "esm" });
  const used = mode === "--compile" ? [] : await bundleProgram();
  const [program = programOf(readFileSync(join(dist, "main.cjs"), "utf8"))] = used;
  // Compiled at its final path, because the compiled code contains the path.
  await Promise.all(KINDS.map((kind) => compile(compiler, join(dist, "chunks", program), kind)));
  if (used.length > 0) publish(used);
  writeFileSync(join(dist, `.node-${nodeName}`), "");
} finally {
  rmSync(staging, { recursive: true, force: true });
}

/**
 * Bundles the program and the pages of the dashboard. The entry stays in the staging folder until the program is compiled. Returns
 * the names of the new files in dist/chunks/, the program first.
 */
async function bundleProgram() {
  const chunks = join(staging, "chunks");
  await build({
    ...bundle,
    entryPoints: { tokenizer: "gpt-tokenizer/encoding/o200k_base" },
    outdir: chunks,
    entryNames: "[name]-[hash]",
    outExtension: { ".js": ".cjs" },
    format: "cjs",
  });
  const [tokenizer = ""] = readdirSync(chunks);
  await build({
    ...bundle,
    entryPoints: { documents: "src/lib/documents/document-worker.ts" },
    outdir: chunks,
    entryNames: "[name]-[hash]",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    plugins: [oneLocale],
  });
  const documents = readdirSync(chunks).find((name) => name !== tokenizer) ?? "";
  const documentsPath = `${documents}.path.cjs`;
  writeFileSync(join(chunks, documentsPath), `module.exports=require.resolve("./${documents}");\n`);
  const facts = join(staging, "key-facts.mjs");
  await build({ ...bundle, entryPoints: ["src/config/key-facts.ts"], outfile: facts, format: "esm" });
  const { keyFacts } = await import(facts);
  const { outputFiles } = await build({
    ...bundle,
    entryPoints: { run: "src/cli/run.ts" },
    outdir: chunks,
    format: "esm", // esbuild splits only this format into chunks
    splitting: true,
    write: false,
    external: [
      "@lydell/node-pty",
      "@vscode/ripgrep",
      ...(existsSync(join(root, "node_modules/better-sqlite3-12")) ? [] : ["better-sqlite3-12"]),
    ],
    plugins: [
      oneLocale,
      oneUndici,
      noBrowserStorage,
      onlyEditor,
      nativeSqlite,
      factsOfKeys(keyFacts()),
      separateTokenizer(tokenizer),
      separateDocuments(documents),
    ],
  });
  const text = joinChunks(
    await Promise.all(
      outputFiles.map(async ({ path, text }) => [`./${basename(path)}`, await toFunction(text)]),
    ),
  );
  const program = `program-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.cjs`;
  writeFileSync(join(chunks, program), text);
  await build({
    ...bundle,
    entryPoints: ["src/main.ts"],
    outfile: join(staging, "main.cjs"),
    format: "cjs", // Node's loader of ES modules would take a tenth of the time of a short command
    define: { PROGRAM_FILE: JSON.stringify(`chunks/${program}`) },
  });
  mkdirSync(join(dist, "chunks"), { recursive: true });
  for (const name of [tokenizer, documents, documentsPath, program])
    renameSync(join(chunks, name), join(dist, "chunks", name));
  await buildDashboard({ root, dist, staging, keepOldMs: KEEP_OLD_MS });
  return [program, tokenizer, documents];
}

/** The name of the program file that a built entry loads. */
function programOf(entry) {
  return /chunks\/(program-\w+\.cjs)/.exec(entry)?.[1];
}

/** Converts a chunk to the source of the function that loadProgram() calls. */
async function toFunction(chunk) {
  const { code } = await transform(chunk, {
    ...TARGET,
    format: "cjs",
    platform: "node",
    supported: { "dynamic-import": false }, // import() does not work in compiled code, require() does
  });
  const body = lazyBuiltins(escapePatterns(code.replace(/\(0,import_chunk_\w+\.__require\)\(/g, "require(")));
  // esbuild exports a CommonJS package only as its default, but importers may use named exports.
  const whole = /\bexport default require_\w+\(\);\s*$/.test(chunk)
    ? "module.exports=Object.create(stdin_default,{default:{value:stdin_default},__esModule:{value:true}});"
    : "";
  return `(function(exports,require,module,lazily){${body}${whole}})`;
}

/** Joins the chunks to one text: the length of the index, the index with the offset and length of each chunk, the chunks. */
function joinChunks(chunks) {
  let end = 0;
  const spans = chunks.map(([name, { length }]) => {
    end += length;
    return [name, [end - length, length]];
  });
  const index = JSON.stringify(Object.fromEntries(spans));
  return `${String(index.length).padStart(HEAD_BYTES)}${index}${chunks.map(([, text]) => text).join("")}`;
}

/**
 * Escapes non-ASCII characters in regular expressions, which esbuild does not change: loadProgram() decodes each byte as one
 * character, so a pattern with `«` would never match.
 */
function escapePatterns(text) {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[\u0080-\uffff]/g, escaped);
}

/**
 * Loads large built-in modules on first use: many of our modules import them, and few commands use them. This is safe for
 * converted imports, which read only named members, and for the `require` of commander.
 */
function lazyBuiltins(text) {
  const names = "child_process|crypto|dgram|dns|http|https|http2|net|readline|tls|zlib";
  const assigned = new RegExp(`\\b(import_node_\\w+|childProcess)=require\\("node:(${names})"\\)`, "g");
  return text.replace(assigned, '$1=lazily("node:$2")');
}

function readIfExists(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** Compiles ahead of time. A failure does not fail the build: without compiled code the program only starts more slowly. */
async function compile(compiler, program, kind) {
  const compiling = promisify(execFile)(process.execPath, [compiler, program, kind], {
    timeout: COMPILE_WITHIN_MS,
  });
  await compiling.catch(({ stderr }) => {
    process.stderr.write(`hermes: the program was not compiled ahead of time for ${kind}: ${stderr}\n`);
  });
}

/**
 * Publishes the entry by one rename. Names of programs contain the hash of their content, and old ones are kept for a while,
 * because a process may have read the old entry but not yet its program.
 */
function publish(used) {
  const isNew = !readIfExists(join(dist, "main.cjs")).includes(used[0]);
  // Dated to the start of the build, so that files edited during the build count as newer.
  utimesSync(join(staging, "main.cjs"), started, started);
  renameSync(join(staging, "main.cjs"), join(dist, "main.cjs"));
  for (const name of readdirSync(dist)) {
    if (isNew && name.startsWith(".node-")) rmSync(join(dist, name)); // compiled code of the old program is useless
  }
  for (const name of readdirSync(join(dist, "chunks"))) {
    const path = join(dist, "chunks", name);
    if (!used.some((file) => name.startsWith(file)) && Date.now() - statSync(path).mtimeMs > KEEP_OLD_MS)
      rmSync(path);
  }
}
