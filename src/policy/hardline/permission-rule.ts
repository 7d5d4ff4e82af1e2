import type { Invocation } from "../shell-reader/invocation.ts";
import { findProtectedFolder } from "./protected-folders.ts";
import type { Refusal } from "./refusal.ts";

const CHANGERS = new Set(["chmod", "chown", "chgrp", "setfacl"]);

/** Refuses to change the permissions or owner of everything below the root or a system folder, which breaks the system. */
export function checkPermissions(
  { name, args, cwd }: Invocation,
  home: string | undefined,
): Refusal | undefined {
  if (!CHANGERS.has(name) || !args.some((word) => /^-[a-zA-Z]*R|^--recursive$/.test(word))) return undefined;
  const target = args.find((word) => {
    const place = word.startsWith("-") ? undefined : findProtectedFolder(word, { cwd, home });
    return place === "root" || place === "system";
  });
  if (target === undefined) return undefined;
  return {
    rule: "break-permissions",
    effect: `change the permissions or owner of everything in ${target}`,
    advice: "Name the exact files or folders below it that need other permissions.",
  };
}
