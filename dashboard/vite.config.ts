import { join } from "node:path";
import { defineConfig, type Plugin, type Rolldown } from "vite";

type GetModuleInfo = Rolldown.PluginContext["getModuleInfo"];

/** Lets the browser download the app while `main.tsx`, which imports it after the texts, is still being read. */
const preloadApp: Plugin = {
  name: "preload-app",
  transformIndexHtml: {
    order: "post",
    handler(_html, { bundle = {} }) {
      const app = Object.values(bundle).find((file) => file.type === "chunk" && file.name === APP);
      if (app?.type !== "chunk") throw new Error(`the build has no chunk ${APP}`);
      const styles = [...(app.viteMetadata?.importedCss ?? [])];
      return [
        link({ rel: "modulepreload", href: `./${app.fileName}` }),
        ...styles.map((fileName) => link({ rel: "stylesheet", href: `./${fileName}` })),
      ];
    },
  },
};

const link = (attrs: Record<string, string>) => ({
  tag: "link",
  attrs: { ...attrs, crossorigin: true },
  injectTo: "head" as const,
});

const APP = "app";
const sourceOf = (name: string): string => join(import.meta.dirname, "src", name);

/** Puts what the first page needs into one chunk, except what `main.tsx` itself imports: one request instead of many. */
function nameChunk(id: string, modules: { getModuleInfo: GetModuleInfo }): string | null {
  const withImports = (entry: string): ReadonlySet<string> => {
    const found = new Set([entry]);
    for (const module of found)
      for (const other of modules.getModuleInfo(module)?.importedIds ?? []) found.add(other);
    return found;
  };
  // React loads its parts with `require`, which are not listed as imports.
  if (withImports(sourceOf("main.tsx")).has(id) || /node_modules\/(react|react-dom|scheduler)\//.test(id))
    return null;
  return withImports(sourceOf("app.tsx")).has(id) ? APP : null;
}

/** Builds the browser app. `scripts/build.mjs` runs it and says where the result goes. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./", // the server writes <base href>, so the build does not depend on the prefix
  logLevel: "error",
  plugins: [preloadApp],
  oxc: { jsx: { runtime: "automatic" } },
  css: { modules: { generateScopedName: "[name]-[local]-[hash:base64:4]" } },
  build: {
    target: ["chrome123", "firefox121", "safari17.5"], // the first versions with light-dark()
    assetsInlineLimit: 0, // the content security policy allows no data: addresses
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: { codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: nameChunk }] } },
    },
  },
});
