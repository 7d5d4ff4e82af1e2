import { randomBytes } from "node:crypto";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { never, testHost, testOptions } from "../../../test/support/docker.ts";
import { describeEachImage } from "../../../test/support/docker-images.ts";
import { describeWith } from "../../../test/support/services.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { quoteWord } from "../channel/quote.ts";
import { openDockerEnvironment } from "../docker/docker-environment.ts";
import { createEngine } from "../docker/engine.ts";
import { createSandboxSpec } from "../docker/sandbox-spec.ts";
import { collect } from "../environment.contract.ts";
import { openLocalEnvironment } from "../local/local-environment.ts";
import { terminalOptions } from "../options.ts";
import { openSshEnvironment } from "../ssh/ssh-environment.ts";
import { changeFilesContract } from "./change-files.contract.ts";
import { copyContract } from "./copy/copy.contract.ts";
import { createEnvironmentFiles } from "./environment-files.ts";
import { filesContract } from "./files.contract.ts";
import type { FilesTraits } from "./files.fixture.ts";
import { findBundledRipgrep } from "./search/bundled-ripgrep.ts";
import { searchContract } from "./search/search.contract.ts";

const ADD_NOBODY = "grep -q ^nobody: /etc/passwd || echo nobody:x:65534:65534::/:/bin/sh >> /etc/passwd";

const ripgrep = await findBundledRipgrep();
if (ripgrep === undefined) throw new Error("@vscode/ripgrep has no program for this machine");

function allContracts(traits: FilesTraits): void {
  filesContract(traits);
  searchContract(traits);
  copyContract(traits);
  changeFilesContract(traits);
}

describe("the local environment", () => {
  let home = "";
  // Not while tests are only collected: then nothing would remove it.
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
  // The folder is one that others may pass through, which the home of a test does not let them.
  allContracts({ name: "local", folder: "/tmp", ripgrep, open });

  test("F58: the tools of BSD are enough: another stat, no sha256sum, no flock", async () => {
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
        busy: 0,
        [Symbol.asyncDispose]: async () => undefined,
      },
      openSession(),
    );
    const path = temp.file("new/f");
    const first = await files.write(path, Buffer.from("a\nb\n"), { mode: 0o640 }, never);
    if (first.kind !== "written") throw new Error(first.message);
    const second = [1, 2].map((index) =>
      files.write(path, Buffer.from(`c${index}\n`), { expected: first.digest }, never),
    );
    const kinds = (await Promise.all(second)).map((outcome) => outcome.kind);
    expect(kinds.toSorted()).toEqual(["changed-meanwhile", "written"]);
    expect(await files.stat(path, never)).toMatchObject({ mode: 0o640, size: 3, type: "file" });
    const read = await files.read(path, {}, never);
    const bytes = await files.readBytes(path, 10, never);
    expect(read).toMatchObject({ lines: [expect.stringMatching(/^c[12]$/)], totalLines: 1 });
    expect(read).toHaveProperty("digest", (bytes as { digest?: string }).digest);
    expect(await files.list(temp.file("new"), {}, never)).toMatchObject({
      entries: [{ name: "f" }],
      total: 1,
    });
    expect(await files.remove(path, {}, never)).toMatchObject({ kind: "removed" });
  });
});

describeWith("docker", "the docker environment", (service) => {
  describeEachImage(service, ({ image, open }) => {
    allContracts({ name: `docker/${image}`, folder: "/tmp", smallFolder: "/run", setUp: ADD_NOBODY, open });
  });
});

describeWith("podman", "podman", (service) => {
  const engine = createEngine(service.client, { ...process.env, ...service.env });
  const profileId = randomBytes(8).toString("hex");
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hermes-files-"));
  });
  afterAll(async () => {
    const filter = `label=hermes-profile-id=${profileId}`;
    const listed = await engine.run(["ps", "-aq", "--filter", filter], { timeoutMs: 30_000 }, never);
    const ids = listed.stdout.split("\n").filter((id) => id !== "");
    if (ids.length > 0) await engine.run(["rm", "-f", ...ids], { timeoutMs: 30_000 }, never);
    await rm(folder, { recursive: true, force: true });
  });
  allContracts({
    name: "podman",
    folder: "/tmp",
    setUp: ADD_NOBODY,
    async open() {
      const options = testOptions(service.images.bash, { backend: "podman" });
      const identity = { profile: "tester", profileId, task: "default" };
      const { spec } = await createSandboxSpec(options, identity, testHost(folder));
      const reporter = { onNotice: () => undefined, onProgress: () => undefined };
      return openDockerEnvironment({ engine, spec, sandboxesFolder: folder, reporter });
    },
  });
});

describeWith("ssh", "the ssh environment", (service) => {
  const profileId = randomBytes(8).toString("hex");
  allContracts({
    name: "ssh",
    folder: "/tmp",
    open: async () =>
      openSshEnvironment({
        options: terminalOptions.parse({
          backend: "ssh",
          ssh_host: service.host,
          ssh_user: service.user,
          ssh_port: service.port,
          ssh_key: service.identityFile,
        }),
        variables: { PATH: process.env["PATH"] },
        profileId,
        extraArguments: ["-F", "none", "-o", `UserKnownHostsFile=${service.knownHosts}`],
      }),
  });
});
