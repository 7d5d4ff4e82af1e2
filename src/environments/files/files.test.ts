import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { quoteWord } from "../channel/quote.ts";
import { collect } from "../environment.contract.ts";
import { openLocalEnvironment } from "../local/local-environment.ts";
import { terminalOptions } from "../options.ts";
import { allFilesContracts } from "./all-files.contract.ts";
import { createEnvironmentFiles } from "./environment-files.ts";
import { findBundledRipgrep } from "./search/bundled-ripgrep.ts";

const ripgrep = await findBundledRipgrep();
if (ripgrep === undefined) throw new Error("@vscode/ripgrep has no program for this machine");

describe("the local environment", () => {
  let home = "";
  // Not during collection: no hook would remove the folder then.
  beforeAll(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), "hermes-files-")));
  });
  afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const open = () =>
    openLocalEnvironment({
      options: terminalOptions.parse({ shell_init_files: ["/dev/null"] }),
      variables: { PATH: process.env["PATH"], HOME: home },
      profileHome: home,
      cwd: home,
    });
  // Tests need a folder that other users can traverse; the temporary home is private.
  allFilesContracts({ name: "local", folder: "/tmp", ripgrep, open });

  test("F58: BSD tools are sufficient: another stat, no sha256sum, no flock", async () => {
    await using temp = await tempFolder();
    await using environment = await open();
    const same = "sh cat head tail od cut wc mv rm mkdir ln readlink chown chgrp chmod find sleep openssl dd";
    const own = {
      stat: `[ "$1" = -f ] && [ "$2" = '%z %Mp%Lp %u %g %m' ] || exit 1; exec "$REAL_STAT" -c '%s 0%a %u %g %Y' "$3"`,
    };
    const setUp = [
      `cd ${temp.path}`,
      `for tool in ${same}; do ln -s "$(command -v $tool)" . || exit 1; done`,
      ...Object.entries(own).map(
        ([tool, body]) => `printf '#!/bin/sh\\n%s\\n' ${quoteWord(body)} > ${tool}; chmod 755 ${tool}`,
      ),
      `printf %s "$(command -v stat)"`,
    ].join("\n");
    const { stdout: realStat } = await collect(environment, setUp);
    const { openSession } = environment;
    const files = createEnvironmentFiles(
      {
        openSession,
        run: (request, signal) =>
          environment.run({ ...request, variables: { PATH: temp.path, REAL_STAT: realStat } }, signal),
        warm: async () => undefined,
        runningCommands: 0,
        [Symbol.asyncDispose]: async () => undefined,
      },
      openSession(),
    );
    const path = temp.file("new/f");
    const first = await files.write(path, Buffer.from("a\nb\n"), { mode: 0o640 }, neverAborted);
    if (first.kind !== "written") throw new Error(first.message);
    const second = [1, 2].map((index) =>
      files.write(path, Buffer.from(`c${index}\n`), { expected: first.digest }, neverAborted),
    );
    const kinds = (await Promise.all(second)).map((outcome) => outcome.kind);
    expect(kinds.toSorted()).toEqual(["changed-meanwhile", "written"]);
    expect(await files.stat(path, neverAborted)).toMatchObject({ mode: 0o640, size: 3, type: "file" });
    const read = await files.read(path, {}, neverAborted);
    const bytes = await files.readBytes(path, 10, neverAborted);
    expect(read).toMatchObject({ lines: [expect.stringMatching(/^c[12]$/)], totalLines: 1 });
    expect(read).toHaveProperty("digest", (bytes as { digest?: string }).digest);
    expect(await files.list(temp.file("new"), {}, neverAborted)).toMatchObject({
      entries: [{ name: "f" }],
      total: 1,
    });
    expect(await files.remove(path, {}, neverAborted)).toMatchObject({ kind: "removed" });
  });
});
