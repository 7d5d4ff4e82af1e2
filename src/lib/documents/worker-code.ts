import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** The code of the document thread. The build replaces this file; from source, the thread first registers a TypeScript loader. */
export function documentWorkerCode(): URL | string {
  const loader = pathToFileURL(
    createRequire(import.meta.url)
      .resolve("tsx/esm/api")
      .replace(/cjs$/, "mjs"),
  );
  const code = new URL("./document-worker.ts", import.meta.url);
  const start = `import { register } from "${loader}"; register(); await import("${code}");`;
  return new URL(`data:text/javascript,${encodeURIComponent(start)}`);
}
