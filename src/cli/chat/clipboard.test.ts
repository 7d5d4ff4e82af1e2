import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { copyText } from "./clipboard.ts";

/** A PATH with only the named programs; each writes its input to a file of the same name. */
async function openLab(programs: readonly string[]) {
  const folder = await tempFolder();
  for (const name of programs) {
    const path = join(folder.path, name);
    await writeFile(path, `#!/bin/sh\n/bin/cat > "${path}.copied"\n`);
    await chmod(path, 0o755);
  }
  let written = "";
  return {
    written: () => written,
    copied: (name: string) => readFile(join(folder.path, `${name}.copied`), "utf8"),
    copy: (text: string, variables: Readonly<Record<string, string>>) =>
      copyText(text, {
        variables: { PATH: folder.path, ...variables },
        write(bytes) {
          written += bytes;
        },
        file: join(folder.path, "copied.md"),
      }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("C15: in tmux a text is copied by tmux, which may set the clipboard of the terminal", async () => {
  await using lab = await openLab(["tmux", "xclip"]);
  expect(await lab.copy("text", { TMUX: "/tmp/x", SSH_TTY: "/dev/pts/1", DISPLAY: ":0" })).toContain("tmux");
  expect(await lab.copied("tmux")).toBe("text");
  expect(lab.written()).toBe("");
});

test("C15: over SSH a text of up to 100 kB goes through the terminal, a longer one into a file", async () => {
  await using lab = await openLab([]);
  expect(await lab.copy("text", { SSH_TTY: "/dev/pts/1" })).toBe("Copied through the terminal (OSC 52).");
  expect(lab.written()).toBe(`\u001b]52;c;${Buffer.from("text").toString("base64")}\u0007`);
  expect(await lab.copy("x".repeat(100_001), { SSH_TTY: "/dev/pts/1" })).toMatch(
    /the text is in .*copied\.md/,
  );
});

test("C15: on a desktop the first program that works is used and named; without one, the text is written to a file", async () => {
  await using lab = await openLab(["xclip"]);
  expect(await lab.copy("text", { DISPLAY: ":0" })).toBe("Copied with xclip.");
  expect(await lab.copied("xclip")).toBe("text");
  await using bare = await openLab([]);
  expect(await bare.copy("text", {})).toMatch(/There is no clipboard here; the text is in .*copied\.md/);
  expect(bare.written()).toBe("");
});
