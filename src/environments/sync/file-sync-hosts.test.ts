import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { describeWithOwnSshd, openCountingProxy, openSshd, type Sshd } from "../../../test/support/sshd.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { openDockerEnvironment } from "../docker/docker-environment.ts";
import { collect } from "../environment.contract.ts";
import type { Environment } from "../environment.ts";
import { openSshEnvironment } from "../ssh/ssh-environment.ts";
import { createFileSync } from "./file-sync.ts";
import type { OfferedFile } from "./offered-file.ts";
import { syncProfileFiles } from "./profile-sync.ts";

const { PATH } = process.env;

async function createFiles(folder: string, count: number): Promise<OfferedFile[]> {
  const files: OfferedFile[] = [];
  for (let index = 0; index < count; index++) {
    const hostPath = join(folder, `${index}`);
    await writeFile(hostPath, `content of file ${index}\n`.repeat(20));
    files.push({ hostPath, targetPath: `skills/s${index % 40}/f${index}.md`, mode: 0o644 });
  }
  return files;
}

const AN_HOUR = 3_600_000;

/** An SSH environment with a sync, and the number of sync commands so far. */
async function openSyncing(server: Sshd, port: number, list: () => readonly OfferedFile[], everyMs?: number) {
  const counted = { runs: 0 };
  const environment = await openSshEnvironment({
    options: server.options({ ssh_port: port }),
    variables: { PATH },
    profileId: "p",
    extraArguments: server.extraArguments,
    temporaryFolder: server.folder,
    sync: (inner, onWarning) => {
      const run: Environment["run"] = (request, signal) => {
        counted.runs++;
        return inner.run(request, signal);
      };
      return createFileSync({
        environment: { openSession: () => inner.openSession(), run },
        owner: "p",
        list: async () => ({ files: list(), problems: [] }),
        onWarning,
        clock: systemClock,
        ...(everyMs === undefined ? {} : { everyMs }),
      });
    },
  });
  return { environment, counted, [Symbol.asyncDispose]: () => environment[Symbol.asyncDispose]() };
}

describeWithOwnSshd("files over SSH", () => {
  test("F57: 600 files are sent in one transfer and never again, not even by a new process", async () => {
    await using server = await openSshd();
    await using proxy = await openCountingProxy(server.port);
    await using temp = await tempFolder();
    const files = await createFiles(temp.path, 600);
    const payload = 600 * Buffer.byteLength("content of file 100\n".repeat(20));
    {
      await using first = await openSyncing(server, proxy.port, () => files, 0);
      const find = "find .hermes/skills -type f | wc -l";
      const { stdout, notices } = await collect(first.environment, find);
      expect({ found: Number(stdout), notices }).toEqual({ found: 600, notices: [] });
      expect(first.counted.runs).toBe(2);
      const { bytes } = proxy.take();
      expect(bytes).toBeGreaterThan(payload);
      expect(bytes).toBeLessThan(4 * payload); // blocks of 512 bytes, and the manifest

      await collect(first.environment, "true");
      expect(first.counted.runs).toBe(3);
      expect(proxy.take().bytes).toBeLessThan(payload / 4);

      await writeFile(files[7]?.hostPath ?? "", "changed");
      expect((await collect(first.environment, "cat .hermes/skills/s7/f7.md")).stdout).toBe("changed");
      expect(first.counted.runs).toBe(5);
    }
    proxy.take();
    await using second = await openSyncing(server, proxy.port, () => files, AN_HOUR);
    for (let n = 0; n < 5; n++) await collect(second.environment, "true");
    expect(second.counted.runs).toBe(1);
    expect(proxy.take().bytes).toBeLessThan(payload / 2); // a busy machine may open a second shell
  });

  test.each([
    ["read-only", "mount --bind $HOME_THERE $HOME_THERE; mount -o remount,ro,bind $HOME_THERE", /Read-only/],
    ["full", "mount -t tmpfs -o size=64k,mode=700 tmpfs $HOME_THERE", /No space/],
  ])(
    "E9: a home folder that is %s causes a notice and does not fail the command",
    async (_, prepare, expected) => {
      await using server = await openSshd({ prepare });
      await using temp = await tempFolder();
      const files = await createFiles(temp.path, 60);
      await using side = await openSyncing(server, server.port, () => files, 0);
      const first = await collect(side.environment, "echo ran; ls -A ~/.hermes/.hermes-sync 2>/dev/null");
      expect(first).toMatchObject({ stdout: "ran\n", notices: [expect.stringMatching(expected)] });
      expect(await collect(side.environment, "echo ran")).toMatchObject({ stdout: "ran\n", notices: [] });
    },
  );

  test("E9: a host that cannot be reached is reported once, by the command", async () => {
    await using server = await openSshd();
    await using temp = await tempFolder();
    const files = await createFiles(temp.path, 1);
    await using side = await openSyncing(server, server.port, () => files, AN_HOUR);
    await server.stop();
    await expect(collect(side.environment, "true")).rejects.toMatchObject({ code: "ssh-unreachable" });
    expect(side.counted.runs).toBe(1);
    await server.start();
    expect((await collect(side.environment, "cat .hermes/skills/s0/f0.md")).exitCode).toBe(0);
  });

  test("E8: the files that terminal.credential_files names are on the host before the first command", async () => {
    await using server = await openSshd();
    await using profile = await tempFolder();
    await mkdir(profile.file("creds"));
    await writeFile(profile.file("creds/token"), "hunter2", { mode: 0o644 });
    const options = server.options({ credential_files: ["creds/token", "../outside"] });
    await using environment = await openSshEnvironment({
      options,
      variables: { PATH },
      profileId: "p",
      extraArguments: server.extraArguments,
      temporaryFolder: server.folder,
      sync: syncProfileFiles({ options, profileId: "p", profileHome: profile.path }),
    });
    const command = "cat ~/.hermes/creds/token; stat -c ' %a' ~/.hermes/creds/token";
    expect(await collect(environment, command)).toMatchObject({
      stdout: "hunter2 600\n",
      notices: [expect.stringContaining("../outside")],
    });
  });

  test("F60: changes to the copies on the remote host are never copied back", async () => {
    await using server = await openSshd();
    await using temp = await tempFolder();
    const files = await createFiles(temp.path, 1);
    const path = files[0]?.hostPath ?? "";
    const before = await readFile(path, "utf8");
    {
      await using side = await openSyncing(server, server.port, () => files, 0);
      await collect(side.environment, "echo evil > .hermes/skills/s0/f0.md; echo evil > .hermes/extra");
      await collect(side.environment, "true");
    }
    expect(await readFile(path, "utf8")).toBe(before);
  });
});

describeWith("docker", "files in a container with busybox only", (service) => {
  test("F58: files are added, changed and removed with the tools of busybox", async () => {
    await using lab = await openDockerLab(service);
    const { engine, reporter } = lab;
    await using environment = openDockerEnvironment({
      engine,
      spec: await lab.spec({ docker_image: service.images.busybox }),
      reporter,
    });
    const folder = join(lab.folder, "offered");
    await mkdir(folder);
    let files = await createFiles(folder, 30);
    const warnings: string[] = [];
    const signal = AbortSignal.timeout(300_000);
    const syncAs = (owner: string) =>
      createFileSync({
        environment,
        owner,
        base: "/tmp/base",
        list: async () => ({ files, problems: [] }),
        onWarning: (text) => void warnings.push(text),
        clock: systemClock,
        everyMs: 0,
      });
    await syncAs("a").beforeCommand(signal);
    await writeFile(files[3]?.hostPath ?? "", "changed");
    files = files.slice(0, 10).map((file) => ({ ...file, mode: 0o600 }));
    await syncAs("b").beforeCommand(signal);
    await syncAs("a").beforeCommand(signal);
    const { stdout } = await collect(
      environment,
      "cd /tmp/base; find skills -type f | wc -l; cat skills/s3/f3.md; stat -c ' %a' skills/s3/f3.md; ls -A .hermes-sync | grep -v ^lock",
    );
    expect(warnings).toEqual([]);
    expect(stdout.split("\n").map((line) => line.trim())).toEqual([
      "10",
      "changed 600",
      "a.manifest",
      "b.manifest",
      "",
    ]);
  });
});
