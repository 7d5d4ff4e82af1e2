import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Client } from "../access/client.ts";

/** The files of the app, and its page, which is the same for everybody and contains no data. */
export interface AppFiles {
  /** Answers a GET outside `/api`; a path that is no file is a page of the app. */
  answer(path: string, client: Client, headers: Headers): Promise<Response>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

const PACKED = new Set([".css", ".html", ".js", ".json", ".map", ".svg", ".txt", ".wasm", ".webmanifest"]);
const pack = promisify(gzip);

/** Names of files below `assets/` contain the hash of their content. */
const HASHED = /^\/assets\//;

const NOT_BUILT =
  "The pages of the dashboard are not built in this checkout. Build them with `npm run build`, then load this page again.\n";

/** Serves a folder that was built by us. Paths are looked up in the list of its files, so that no path leaves the folder. */
export function openAppFiles(folder: string): AppFiles {
  const packed = new Map<string, Promise<Buffer>>(); // the files of a build never change their content
  let listed: { readonly paths: ReadonlySet<string>; readonly changedAt: number } | undefined;

  /** The list as of the last build; a build replaces `index.html` last. */
  const list = async (): Promise<ReadonlySet<string> | undefined> => {
    const changedAt = (await stat(join(folder, "index.html")).catch(() => undefined))?.mtimeMs;
    if (changedAt === undefined) return undefined;
    if (listed?.changedAt === changedAt) return listed.paths;
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = new Set(
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replaceAll("\\", "/")),
    );
    listed = { paths, changedAt };
    packed.clear();
    return paths;
  };

  const read = async (path: string, isPacked: boolean): Promise<Buffer> => {
    const content = await readFile(join(folder, path));
    return isPacked ? await pack(content) : content;
  };
  /** Each file is packed once, when it is first asked for. */
  const readPacked = (path: string): Promise<Buffer> => {
    const reading = packed.get(path) ?? read(path, true);
    packed.set(path, reading);
    reading.catch(() => packed.delete(path));
    return reading;
  };

  return {
    async answer(path, client, asked) {
      const paths = await list();
      if (paths === undefined) return text(503, NOT_BUILT);
      if (paths.has(path) && path !== "/index.html") {
        const isText = PACKED.has(extname(path));
        const isPacked = isText && /\bgzip\b/.test(asked.get("Accept-Encoding") ?? "");
        const content = isPacked ? await readPacked(path) : await read(path, false);
        const headers = {
          "Content-Type": TYPES[extname(path)] ?? "application/octet-stream",
          "Cache-Control": HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
          ...(isText && { Vary: "Accept-Encoding" }),
          ...(isPacked && { "Content-Encoding": "gzip" }),
        };
        return new Response(new Uint8Array(content), { headers });
      }
      if (extname(path) !== "" || path.startsWith("/assets/")) return text(404, "There is no such file.\n");
      const page = await readFile(join(folder, "index.html"), "utf8");
      return new Response(withBase(page, client.prefix), {
        headers: { "Content-Type": "text/html; charset=utf-8" },
      });
    },
  };
}

/** Everything in the app is relative to this one address. */
function withBase(page: string, prefix: string): string {
  return page
    .replace(/<base\b[^>]*>/i, "")
    .replace(/<head\b[^>]*>/i, (head) => `${head}<base href="${prefix}/">`);
}

function text(status: number, content: string): Response {
  return new Response(content, { status, headers: { "Content-Type": "text/plain; charset=utf-8" } });
}
