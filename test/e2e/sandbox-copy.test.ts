import { randomBytes } from "node:crypto";
import {
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type HermesRun, tempHome } from "../support/hermes.ts";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";

interface CopyLab {
  /** A folder on this machine. */
  readonly here: string;
  /** A folder in the sandbox. */
  readonly there: string;
  sandbox(...args: readonly string[]): Promise<Pick<HermesRun, "exitCode" | "stdout" | "stderr">>;
}

/** Tests the same command in every kind of environment. */
async function copiesBothWays({ here, there, sandbox }: CopyLab): Promise<void> {
  const content = randomBytes(2_000_000);
  await mkdir(join(here, "project/src"), { recursive: true });
  await writeFile(join(here, "project/src/a b"), content);
  await writeFile(join(here, "project/run"), "#!/bin/sh\n");
  await chmod(join(here, "project/run"), 0o755);
  await symlink("src/a b", join(here, "project/link"));

  const into = await sandbox("cp", "--json", join(here, "project/src/a b"), `:${there}/one`);
  expect(into.stderr.replace(/^hermes: .* copied so far\n/gm, "")).toBe("");
  expect(JSON.parse(into.stdout)).toEqual({
    path: `${there}/one`,
    type: "file",
    files: 1,
    bytes: content.length,
    skipped: 0,
    skippedNames: [],
  });
  const folder = await sandbox("cp", join(here, "project"), `:${there}/`);
  expect(folder).toMatchObject({ exitCode: 0, stdout: "" });
  expect(folder.stderr).toContain(`Copied 2 files, 2.0 MB, to ${there}/project.`);
  const listed = await sandbox("exec", "--", `cd ${there}; cmp one 'project/src/a b'; ls -A . project`);
  expect(listed.stdout).toBe(".:\none\nproject\n\nproject:\nlink\nrun\nsrc\n");

  expect(await sandbox("cp", `:${there}/project`, join(here, "back"))).toMatchObject({ exitCode: 0 });
  expect((await readFile(join(here, "back/link"))).equals(content)).toBe(true);
  expect((await stat(join(here, "back/run"))).mode & 0o777).toBe(0o755);
  expect(await sandbox("cp", `:${there}/one`, here)).toMatchObject({ exitCode: 0 });
  expect((await readFile(join(here, "one"))).equals(content)).toBe(true);

  const missing = await sandbox("cp", `:${there}/none`, join(here, "none"));
  expect(missing).toMatchObject({ exitCode: 1, stdout: "" });
  expect(missing.stderr).toMatch(/In the sandbox: .*none does not exist/);
  const absent = await sandbox("cp", join(here, "none"), `:${there}/none`);
  expect(absent.exitCode).toBe(1);
  expect(absent.stderr).toMatch(/none does not exist/);
  expect((await readdir(here)).filter((name) => name.startsWith(".hermes-"))).toEqual([]);
  expect((await sandbox("exec", "--", `ls -A ${there}`)).stdout).toBe("one\nproject\n");
}

/** Copies that take longer than a heartbeat, and a copy that is killed midway. */
async function copiesMuch(
  { here, there, sandbox }: CopyLab,
  start: (...args: string[]) => { kill(): void; ended: Promise<unknown> },
): Promise<void> {
  await writeFile(join(here, "sparse"), "");
  await truncate(join(here, "sparse"), scale.sparseBytes);
  await mkdir(join(here, "many"));
  for (let file = 0; file < scale.copiedFiles; file++) await writeFile(join(here, `many/${file}`), `${file}`);

  expect(await sandbox("cp", join(here, "sparse"), `:${there}/sparse`)).toMatchObject({ exitCode: 0 });
  expect(await sandbox("cp", join(here, "many"), `:${there}/many`)).toMatchObject({ exitCode: 0 });
  const shown = await sandbox("exec", "--", `stat -c %s ${there}/sparse; ls ${there}/many | wc -l`);
  expect(shown.stdout.split(/\s+/)).toEqual([`${scale.sparseBytes}`, `${scale.copiedFiles}`, ""]);
  expect(await sandbox("cp", `:${there}/sparse`, join(here, "sparse-back"))).toMatchObject({ exitCode: 0 });
  expect(await sandbox("cp", `:${there}/many`, join(here, "many-back"))).toMatchObject({ exitCode: 0 });
  expect((await stat(join(here, "sparse-back"))).size).toBe(scale.sparseBytes);
  expect(await readdir(join(here, "many-back"))).toHaveLength(scale.copiedFiles);

  await sandbox("exec", "--", `mkdir ${there}/killed`);
  for (let round = 0; round < scale.kills; round++) {
    const copy = start("cp", join(here, round % 2 === 0 ? "sparse" : "many"), `:${there}/killed/target`);
    const countCopied = `ls -A ${there}/killed | wc -l`;
    await expect.poll(async () => (await sandbox("exec", "--", countCopied)).stdout.trim()).not.toBe("0");
    copy.kill();
    await copy.ended;
    const left = `cd ${there}/killed; rm -rf target; ls -A`;
    await expect.poll(async () => (await sandbox("exec", "--", left)).stdout).toBe("");
  }
}

describe("hermes sandbox cp, local", () => {
  test("E1, E3: copies files and folders both ways, and reports errors", async () => {
    await using home = await tempHome();
    const here = join(home.folder, "here");
    const there = join(home.folder, "there");
    for (const folder of [here, there]) await mkdir(folder);
    const sandbox = (...args: readonly string[]) =>
      home.hermes(["sandbox", ...args], { env: { TERMINAL_ENV: "local" } });
    await copiesBothWays({ here, there, sandbox });
  });

  test("cp writes through a link on this machine and keeps the mode of a file, and refuses streams and devices", async () => {
    await using home = await tempHome();
    const here = join(home.folder, "here");
    await mkdir(join(here, "real"), { recursive: true });
    await writeFile(join(here, "source"), "new");
    await writeFile(join(here, "real/file"), "old", { mode: 0o600 });
    await symlink("real/file", join(here, "link"));
    await symlink("real/later", join(here, "dangling"));
    const env = { TERMINAL_ENV: "local" };
    const copy = (to: string) => home.hermes(["sandbox", "cp", `:${join(here, "source")}`, to], { env });
    expect(await copy(join(here, "link"))).toMatchObject({ exitCode: 0 });
    expect(await readlink(join(here, "link"))).toBe("real/file");
    expect(await readFile(join(here, "real/file"), "utf8")).toBe("new");
    expect((await stat(join(here, "real/file"))).mode & 0o777).toBe(0o600);
    await writeFile(join(here, "private"), "old", { mode: 0o600 });
    const copyIn = ["sandbox", "cp", join(here, "source"), `:${join(here, "private")}`];
    expect(await home.hermes(copyIn, { env })).toMatchObject({ exitCode: 0 });
    expect((await stat(join(here, "private"))).mode & 0o777).toBe(0o600);
    expect(await copy(join(here, "dangling"))).toMatchObject({ exitCode: 0 });
    expect(await readlink(join(here, "dangling"))).toBe("real/later");
    expect(await readFile(join(here, "real/later"), "utf8")).toBe("new");
    const output = join(here, "output");
    await writeFile(output, "before");
    await using stream = await open(output, "a");
    for (const path of ["/dev/stdout", `/proc/${process.pid}/fd/${stream.fd}`, "/dev/null"]) {
      const refused = await copy(path);
      expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
      expect(refused.stderr).toMatch(/is an open stream|is a FIFO, socket or device/);
    }
    expect(await readFile(output, "utf8")).toBe("before");
  });

  test("names that are not UTF-8 are copied byte for byte, both ways", async () => {
    await using home = await tempHome();
    const here = join(home.folder, "here");
    await mkdir(here);
    const at = (folder: string, name: string) =>
      Buffer.concat([Buffer.from(`${join(here, folder)}/`), Buffer.from(name, "latin1")]);
    await mkdir(join(here, "source"));
    await mkdir(at("source", "d\xe9"));
    for (const name of ["a\xff", "a\xfe", "d\xe9/b\xff", "plain é"]) {
      await writeFile(at("source", name), Buffer.from(name, "latin1"));
    }
    await symlink(Buffer.from("a\xff", "latin1"), at("source", "l\xff"));
    const env = { TERMINAL_ENV: "local" };
    const copy = (...paths: string[]) => home.hermes(["sandbox", "cp", ...paths], { env });
    const folders = ["source", "in", "out"] as const;
    expect(await copy(join(here, "source"), `:${join(here, "in")}`)).toMatchObject({ exitCode: 0 });
    expect(await copy(`:${join(here, "in")}`, join(here, "out"))).toMatchObject({ exitCode: 0 });
    const [source, ...copies] = await Promise.all(
      folders.map(async (folder) => {
        const names = await readdir(join(here, folder), { encoding: "latin1", recursive: true });
        return names.toSorted();
      }),
    );
    expect(copies).toEqual([source, source]);
    expect(await readFile(at("out", "d\xe9/b\xff"), "latin1")).toBe("d\xe9/b\xff");
    expect(await readlink(at("out", "l\xff"), "latin1")).toBe("a\xff");
  });

  test("the next copy into a folder removes the remains of a killed download", async () => {
    await using home = await tempHome();
    const [from, into] = [join(home.folder, "from"), join(home.folder, "into")];
    for (const folder of [from, into, join(from, "many")]) await mkdir(folder);
    await writeFile(join(from, "many/big"), "");
    await truncate(join(from, "many/big"), scale.sparseBytes);
    await writeFile(join(from, "small"), "small");
    const env = { TERMINAL_ENV: "local" };
    const copyStarted = async (signal: AbortSignal) => {
      while ((await readdir(into)).length === 0) await delay(1, undefined, { signal });
    };
    for (const name of ["many/big", "many"]) {
      const args = ["sandbox", "cp", `:${join(from, name)}`, join(into, "target")];
      expect(await home.hermes(args, { env, killWhen: copyStarted })).toMatchObject({ exitCode: null });
      expect(await readdir(into)).toEqual([expect.stringMatching(/^\.hermes-copy-/)]);
      const next = ["sandbox", "cp", `:${join(from, "small")}`, into];
      expect(await home.hermes(next, { env })).toMatchObject({ exitCode: 0 });
      expect(await readdir(into)).toEqual(["small"]);
      await rm(join(into, "small"));
    }
  });

  test("exactly one side must be in the sandbox", async () => {
    await using home = await tempHome();
    for (const paths of [
      ["a", "b"],
      [":a", ":b"],
      [":", "b"],
    ]) {
      const run = await home.hermes(["sandbox", "cp", ...paths], { env: { TERMINAL_ENV: "local" } });
      expect(run).toMatchObject({ exitCode: 2, stdout: "" });
    }
    const help = await home.hermes(["sandbox", "cp", "--help"]);
    expect(help.stdout).toContain("hermes sandbox cp :/workspace/out ./out");
  });
});

describeWith("docker", "hermes sandbox cp, docker", (service) => {
  test.each(["bash", "busybox"] as const)(
    "E1, E3: copies files and folders both ways with the %s image",
    async (image) => {
      await using home = await openSandboxHome(service, { TERMINAL_DOCKER_IMAGE: service.images[image] });
      const here = join(home.folder, "here");
      await mkdir(here);
      await home.exec("mkdir -p /tmp/there");
      await copiesBothWays({ here, there: "/tmp/there", sandbox: (...args) => home.sandbox(args) });
    },
  );

  test.each(["bash", "busybox"] as const)(
    "large files and many files are copied both ways, and a killed copy leaves nothing, with the %s image",
    async (image) => {
      await using home = await openSandboxHome(service, { TERMINAL_DOCKER_IMAGE: service.images[image] });
      const here = join(home.folder, "here");
      await mkdir(here);
      await home.exec("mkdir -p /workspace/there");
      const lab = {
        here,
        there: "/workspace/there",
        sandbox: (...args: readonly string[]) => home.sandbox(args),
      };
      await copiesMuch(lab, (...args) => home.start(args));
    },
  );
});

describeWith("ssh", "hermes sandbox cp, ssh", (service) => {
  test("E1, E3: copies files and folders both ways", async () => {
    await using home = await tempHome();
    const here = join(home.folder, "here");
    const there = join(home.folder, "there"); // the server of the tests runs on this machine
    for (const folder of [here, there, join(home.folder, ".ssh")]) await mkdir(folder);
    await writeFile(join(home.folder, ".ssh/known_hosts"), await readFile(service.knownHosts));
    const env = {
      TERMINAL_ENV: "ssh",
      TERMINAL_SSH_HOST: service.host,
      TERMINAL_SSH_USER: service.user,
      TERMINAL_SSH_PORT: `${service.port}`,
      TERMINAL_SSH_KEY: service.identityFile,
    };
    await copiesBothWays({ here, there, sandbox: (...args) => home.hermes(["sandbox", ...args], { env }) });
    await rm(there, { recursive: true });
    await mkdir(there);
    await copiesMuch(
      { here, there, sandbox: (...args) => home.hermes(["sandbox", ...args], { env }) },
      (...args) => {
        const { child, ended } = home.start(["sandbox", ...args], { env });
        return { kill: () => void child.kill("SIGKILL"), ended };
      },
    );
  });
});
