import { openSync, readFileSync, readSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { constants, Script } from "node:vm";
import { opensChat } from "./cli/chat/opens-chat.ts";
import type * as Program from "./cli/run.ts";

/** Number of digits at the start of a program file, which are the length of its chunk index. */
const LENGTH_DIGITS = 8;

/** One chunk of the program, as scripts/build.mjs writes it. */
type Chunk = (
  exports: object,
  require: (name: string) => unknown,
  module: { exports: object },
  lazily: (builtin: string) => object,
) => void;

/**
 * Each kind of command has its own pack of source and compiled code, because reading code that a command does not need would
 * take longer than most commands.
 */
export const COMMAND_KINDS = ["sandbox", "kanban", "task", "chat"] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

/**
 * `settings` has the chunks that board commands need in addition if a setting is set, `turn` those that a chat needs after its first
 * prompt.
 */
export type PackName = CommandKind | "settings" | "turn";

/** Chunks by name; a string names the other pack that contains the chunk. */
type Pack = Readonly<Record<string, Chunk | PackName>>;

/** Guesses the kind of a command line; a wrong guess only costs time. */
export function guessCommandKind(args: readonly string[]): CommandKind {
  if (opensChat(args)) return "chat";
  const [command] = args[0] === "-p" || args[0] === "--profile" ? args.slice(2) : args;
  // A gateway keeps its pack in memory for days. What a turn needs, which is most of `task`, is read when the first one starts.
  if (command === "gateway") return "kanban";
  return COMMAND_KINDS.find((kind) => kind === command) ?? "task";
}

export interface LoadedProgram {
  readonly program: typeof Program;
  /** The chunks that were loaded so far. */
  readonly loaded: ReadonlyMap<string, unknown>;
  /** The source of a chunk. */
  readonly read: (name: string) => string;
  /** The scripts of the packs that were loaded so far. */
  readonly scripts: ReadonlyMap<PackName, Script>;
}

/**
 * Loads the bundled program. The chunks that a kind of command needs are in one file, its pack, which is read together with the code
 * that V8 compiled at build time, because compiling takes longer than most commands. V8 checks only its own version, and crashes on
 * code of another Node with the same V8 (20.19 and 20.20), so the name of a compiled file identifies the exact Node binary. The name
 * also contains the hash of the program, because V8 compares only the length of the source. All other chunks are read on demand from
 * a file that stays open, so that a daemon keeps running when an update replaces the file.
 */
export function loadProgram(path: string, kind: CommandKind): LoadedProgram {
  const read = openChunks(path);
  const scripts = new Map<PackName, Script>();
  const openPack = (name: PackName): Pack => {
    const script = loadPack(path, name);
    if (script) scripts.set(name, script);
    return (script?.runInThisContext() ?? {}) as Pack;
  };
  const pack = openPack(kind);
  let other: Pack | undefined;
  const findPacked = (name: string): Chunk | undefined => {
    const found = pack[name];
    if (typeof found !== "string") return found;
    other ??= openPack(found);
    return other[name] as Chunk | undefined;
  };
  const requireOther = createRequire(path);
  const lazily = (builtin: string): object =>
    new Proxy({}, { get: (_, name) => requireOther(builtin)[name] });
  const loaded = new Map<string, { exports: object }>();
  const load = (name: string): unknown => {
    if (!isChunk(name)) return requireOther(name);
    const known = loaded.get(name);
    if (known) return known.exports;
    const module = { exports: {} };
    loaded.set(name, module);
    const chunk =
      findPacked(name) ?? (scriptOf(read(name), `${path}/${name.slice(2)}`).runInThisContext() as Chunk);
    chunk(module.exports, load, module, lazily);
    return module.exports;
  };
  return { program: load("./run.js") as typeof Program, loaded, read, scripts };
}

/** Path of the pack for one kind of command. */
export function packPath(path: string, kind: PackName): string {
  return `${path}.${kind}.pack`;
}

/** Identifies the Node binary that runs this process. scripts/setup.sh computes the same name. */
export function nodeBinaryName(): string {
  const { size, mtimeMs } = statSync(process.execPath);
  return `${process.version}-${process.arch}-${size}-${Math.trunc(mtimeMs)}`;
}

/** Path of the code that this Node compiled for a pack. */
export function compiledCodePath(path: string, kind: PackName): string {
  return `${packPath(path, kind)}.${nodeBinaryName()}.compiled`;
}

/** Whether a module name is a chunk; other names are built-in modules or packages. */
function isChunk(name: string): boolean {
  return name.startsWith("./") && name.endsWith(".js");
}

function loadPack(path: string, kind: PackName): Script | undefined {
  const source = readIfExists(packPath(path, kind));
  return (
    source &&
    scriptOf(source.toString("latin1"), packPath(path, kind), readIfExists(compiledCodePath(path, kind)))
  );
}

function scriptOf(source: string, filename: string, cachedData?: Buffer): Script {
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return new Script(source, { filename, cachedData, importModuleDynamically });
}

/** Opens a program file: the length of the index, the index with offset and length of each chunk, then the chunks. */
function openChunks(path: string): (name: string) => string {
  const file = openSync(path, "r");
  const slice = (start: number, length: number): string => {
    const bytes = Buffer.allocUnsafe(length);
    readSync(file, bytes, 0, length, start);
    return bytes.toString("latin1");
  };
  let index: Readonly<Record<string, readonly [number, number]>> | undefined;
  let chunksStart = 0;
  return (name) => {
    if (index === undefined) {
      const length = Number(slice(0, LENGTH_DIGITS));
      chunksStart = LENGTH_DIGITS + length;
      index = JSON.parse(slice(LENGTH_DIGITS, length)) as NonNullable<typeof index>;
    }
    const [start, length] = index[name] ?? [0, 0];
    if (length === 0) throw new Error(`${path} has no ${name}`);
    return slice(chunksStart + start, length);
  };
}

function readIfExists(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // for instance if another Node built the program; then V8 compiles on demand
  }
}
