import { defineConfig } from "vite";

/** Builds the browser app. `scripts/build.mjs` runs it and says where the result goes. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./", // the server writes <base href>, so the build does not depend on the prefix
  logLevel: "error",
  oxc: { jsx: { runtime: "automatic" } },
  css: { modules: { generateScopedName: "[name]-[local]-[hash:base64:4]" } },
  build: {
    target: ["chrome123", "firefox121", "safari17.5"], // the first versions with light-dark()
    assetsInlineLimit: 0, // the content security policy allows no data: addresses
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
