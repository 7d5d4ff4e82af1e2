// Bundles the command into dist/ and notes there the name of the Node that it compiled for, as setup.sh gives it.
// Plain JavaScript, because it runs before anything is built.
import { execFile } from "node:child_process";
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
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";

const KEEP_OLD_MS = 60 * 60 * 1_000;
const COMPILE_WITHIN_MS = 60_000;
const KINDS = ["sandbox", "kanban", "task"]; // as in src/load-program.ts

/** Zod brings its messages in fifty languages, more than half of its code, and ours are in one. */
const oneLocale = {
  name: "one-locale",
  setup(building) {
    building.onLoad({ filter: /zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/** The cookies of undici, which nobody here uses, ask for Node's `Headers`, and that loads a second undici: Node's own. */
const oneUndici = {
  name: "one-undici",
  setup(building) {
    building.onLoad({ filter: /undici[/\\]lib[/\\]web[/\\]cookies[/\\]index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace("globalThis.Headers", "undefined"),
    }));
  },
};

/** The tables of the tokenizer are as large as all the rest, and one command reads them. */
const tokenizerBeside = (file) => ({
  name: "tokenizer-beside",
  setup(building) {
    building.onResolve({ filter: /^gpt-tokenizer\// }, () => ({ path: `./${file}`, external: true }));
  },
});

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const staging = join(dist, `.new-${process.pid}`);
const started = new Date();
mkdirSync(staging, { recursive: true });

const bundle = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20.19",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  charset: "ascii", // so that one byte is one character
  logLevel: "warning",
};

try {
  const chunks = join(staging, "chunks");
  const chunk = {
    ...bundle,
    outdir: chunks,
    entryNames: "[name]-[hash]",
    outExtension: { ".js": ".cjs" },
    format: "cjs",
  };
  await build({ ...chunk, entryPoints: { tokenizer: "gpt-tokenizer/encoding/o200k_base" } });
  const [tokenizer = ""] = readdirSync(chunks);
  await build({
    ...chunk,
    entryPoints: { program: "src/cli/run.ts" },
    external: ["@vscode/ripgrep"],
    supported: { "dynamic-import": false }, // compiled code does not know who imports, but requires as usual
    plugins: [oneLocale, oneUndici, tokenizerBeside(tokenizer)],
    // An expression, whose value is the function that loadProgram() calls.
    banner: { js: "(function (exports, require, module, __filename, __dirname, lazily) {" },
    footer: { js: "})" },
  });
  const program = readdirSync(chunks).find((name) => name !== tokenizer);
  const file = join(chunks, program);
  writeFileSync(file, lazyBuiltins(escapePatterns(readFileSync(file, "utf8"))));
  await build({
    ...bundle,
    entryPoints: ["src/main.ts"],
    outfile: join(staging, "main.cjs"),
    format: "cjs", // Node's loader of ES modules alone would take a tenth of a short command
    define: { PROGRAM_FILE: JSON.stringify(`chunks/${program}`) },
  });
  const compiler = join(staging, "compile-program.mjs");
  await build({ ...bundle, entryPoints: ["scripts/compile-program.ts"], outfile: compiler, format: "esm" });
  mkdirSync(join(dist, "chunks"), { recursive: true });
  for (const name of [tokenizer, program]) renameSync(join(chunks, name), join(dist, "chunks", name));
  // Where it will be run: compiled code remembers its path.
  await Promise.all(KINDS.map((kind) => compile(compiler, join(dist, "chunks", program), kind)));
  publish([program, tokenizer]);
} finally {
  rmSync(staging, { recursive: true, force: true });
}

/**
 * esbuild leaves regular expressions as they are, and loadProgram() takes each byte for a character: a pattern with `«` in it
 * would never match.
 */
function escapePatterns(text) {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[\u0080-\uffff]/g, escaped);
}

/**
 * Large modules of Node that many of ours import and few commands use are loaded with their first use. That is safe for what
 * was an import, of which only single names are read, and for the one of commander.
 */
function lazyBuiltins(text) {
  const names = "child_process|crypto|dgram|dns|http|https|http2|net|readline|tls|zlib";
  const assigned = new RegExp(`\\b(import_node_\\w+|childProcess)=require\\("node:(${names})"\\)`, "g");
  return text.replace(assigned, '$1=lazily("node:$2")');
}

function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** Without it the program starts more slowly, and that is all: a machine where it fails gets a build nevertheless. */
async function compile(compiler, program, kind) {
  const compiling = promisify(execFile)(process.execPath, [compiler, program, kind], {
    timeout: COMPILE_WITHIN_MS,
  });
  await compiling.catch(({ stderr }) => {
    process.stderr.write(`hermes: the program was not compiled ahead for ${kind}: ${stderr}\n`);
  });
}

/**
 * Puts the entry in place by one rename. Programs carry their content's hash, and old ones stay for a while: a process may
 * have read the old entry and not its program yet.
 */
function publish(used) {
  const isNew = !readIfThere(join(dist, "main.cjs")).includes(used[0]);
  // Dated when the build began: what is edited meanwhile must still count as newer.
  utimesSync(join(staging, "main.cjs"), started, started);
  renameSync(join(staging, "main.cjs"), join(dist, "main.cjs"));
  for (const name of readdirSync(dist)) {
    if (isNew && name.startsWith(".node-")) rmSync(join(dist, name)); // what others compiled is of no use to a new program
  }
  writeFileSync(join(dist, `.node-${process.argv[2]}`), "");
  for (const name of readdirSync(join(dist, "chunks"))) {
    const path = join(dist, "chunks", name);
    if (!used.some((file) => name.startsWith(file)) && Date.now() - statSync(path).mtimeMs > KEEP_OLD_MS)
      rmSync(path);
  }
}
