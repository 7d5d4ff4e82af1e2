import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** One fenced `sh` block of a page for users. */
export interface DocumentedBlock {
  /** `README.md:12`, the line of its first command. */
  readonly name: string;
  readonly script: string;
  /** The word of `<!-- needs WORD -->` before the block. */
  readonly needs: string | undefined;
  /** The reason of `<!-- not run: REASON -->` before the block. */
  readonly notRun: string | undefined;
}

/** The pages whose commands must work as they are written. */
export function documentedPages(): string[] {
  const guide = readdirSync(join(ROOT, "docs/guide")).map((name) => `docs/guide/${name}`);
  return ["README.md", ...guide.filter((name) => name.endsWith(".md")).toSorted()];
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

export function documentedBlocks(page: string): DocumentedBlock[] {
  const lines = readPage(page).split("\n");
  return lines.flatMap((line, index) => {
    if (!/^\s*```sh\b/.test(line)) return [];
    const end = lines.findIndex((other, at) => at > index && other.trim() === "```");
    const before = lines[index - 1] ?? "";
    return [
      {
        name: `${page}:${index + 2}`,
        script: lines.slice(index + 1, end).join("\n"),
        needs: /^<!-- needs (\S+) -->$/.exec(before)?.[1],
        notRun: /^<!-- not run: (.+) -->$/.exec(before)?.[1],
      },
    ];
  });
}

/** The files that the links of a page name, relative to the project, without addresses of the web. */
export function linkedFiles(page: string): string[] {
  const links = [...readPage(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return links
    .filter((target) => !/^(https?:|#)/.test(target))
    .map((target) => relative(ROOT, join(ROOT, dirname(page), target.replace(/#.*/, ""))));
}

/** The words after `hermes` in each command of a script that starts it. */
export function hermesCommands(script: string): string[][] {
  return script.split("\n").flatMap((line) => {
    const [, rest] = /^(?:\.\/)?hermes\b(.*)$/.exec(line.replace(/\s#\s.*$/, "")) ?? [];
    if (rest === undefined) return [];
    return [
      [...rest.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
        ([, one, two, three]) => one ?? two ?? three ?? "",
      ),
    ];
  });
}

/** The words after `hermes` in each command that a program's text names in backticks; what is filled in later is left out. */
export function namedCommands(text: string): string[][] {
  return [...text.matchAll(/`hermes ([^`\\\n]+)/g)].map(([, rest = ""]) => {
    const known = rest.replace(/\S*\$\{.*$/, "");
    return known.split(/\s+/).filter((word) => word !== "");
  });
}
