import { createHash, randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";
import { describeWith, pathOf, type RunningPart } from "../support/services.ts";

const MAX_MEMORY_KB = 250_000;
const CHUNK_BYTES = 64 * 1024;

/** The behaviour of `hermes sandbox exec` with piped input, in every environment. */
function inputContract(name: string, settings: Readonly<Record<string, string>>, knownHosts?: string): void {
  describe(`${name} keeps the contract of piped input`, () => {
    let home: Awaited<ReturnType<typeof tempHome>>;
    // The full counts need more than the default time of a command on a busy machine.
    const start = (command: string) =>
      home.start(["sandbox", "exec", "--timeout", "3600", "--", command], { env: settings, stdin: "open" });
    const exec = async (command: string) => {
      const run = await home.hermes(["sandbox", "exec", "--", command], { env: settings });
      expect(run).toMatchObject({ exitCode: 0 });
      return run.stdout.trim();
    };

    beforeAll(async () => {
      home = await tempHome();
      if (knownHosts !== undefined) {
        await mkdir(join(home.folder, ".ssh"));
        await writeFile(join(home.folder, ".ssh/known_hosts"), await readFile(knownHosts));
      }
      await exec("true");
    });
    afterAll(async () => {
      await home.hermes(["sandbox", "rm", "--force"], { env: settings }); // fails if there is no sandbox to remove
      await home[Symbol.asyncDispose]();
    });

    test("a pause in the input changes nothing", async () => {
      const { child, ended } = start("cat");
      child.stdin.write("begin\n");
      await once(child.stdout, "data");
      for (const ms of scale.pausesMs) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        child.stdin.write("more\n");
      }
      child.stdin.end();
      const stdout = `begin\n${"more\n".repeat(scale.pausesMs.length)}`;
      expect(await ended).toEqual(expect.objectContaining({ exitCode: 0, stdout, stderr: "" }));
    });

    test("large input arrives complete, and memory stays bounded", async () => {
      const { child, ended } = start("sha256sum");
      const hash = createHash("sha256");
      const chunk = randomBytes(CHUNK_BYTES);
      let peakKb = 0;
      for (let sent = 0; sent < scale.streamBytes; sent += chunk.length) {
        chunk.writeUInt32LE(sent / CHUNK_BYTES);
        hash.update(chunk);
        if (!child.stdin.write(Buffer.from(chunk))) await once(child.stdin, "drain");
        const status = await readFile(`/proc/${child.pid}/status`, "utf8");
        peakKb = Math.max(peakKb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]));
      }
      child.stdin.end();
      expect((await ended).stdout.split(" ")[0]).toBe(hash.digest("hex"));
      expect(peakKb).toBeGreaterThan(0);
      expect(peakKb).toBeLessThan(MAX_MEMORY_KB);
    });

    test("a process that is killed while it passes on input leaves no result that looks complete", async () => {
      const folder = `/tmp/hermes-input-${randomBytes(6).toString("hex")}`;
      await exec(`mkdir ${folder}`);
      for (let round = 0; round < scale.kills; round++) {
        const { child, ended } = start(
          `echo started; sh -c 'cat > ${folder}/part; mv ${folder}/part ${folder}/whole-${round}'`,
        );
        child.stdin.on("error", () => undefined);
        await once(child.stdout, "data");
        const feeding = setInterval(() => child.stdin.write(randomBytes(CHUNK_BYTES)), 1);
        await new Promise((resolve) => setTimeout(resolve, randomInt(200)));
        child.kill("SIGKILL");
        clearInterval(feeding);
        await ended;
        const running = `grep -l '[w]hole-${round}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l`;
        await expect.poll(() => exec(running)).toBe("0");
        expect(await exec(`ls ${folder} | grep whole | wc -l`)).toBe("0");
      }
      await exec(`rm -rf ${folder}`);
    });
  });
}

function dockerSettings(service: RunningPart<"docker">, image: string): Record<string, string> {
  return {
    TERMINAL_ENV: "docker",
    PATH: pathOf(service.client),
    DOCKER_HOST: service.host,
    TERMINAL_DOCKER_IMAGE: image,
    TERMINAL_CONTAINER_DISK: "0",
  };
}

inputContract("local", { TERMINAL_ENV: "local" });

describeWith("docker", "input piped into docker", (service) => {
  inputContract("docker/bash", dockerSettings(service, service.images.bash));
  inputContract("docker/busybox", dockerSettings(service, service.images.busybox));
});

describeWith("podman", "input piped into podman", (service) => {
  inputContract("podman", {
    TERMINAL_ENV: "podman",
    HERMES_DOCKER_BINARY: service.client,
    TERMINAL_DOCKER_IMAGE: service.images.bash,
    TERMINAL_CONTAINER_DISK: "0",
    ...service.env,
  });
});

describeWith("ssh", "input piped over ssh", (service) => {
  const settings = {
    TERMINAL_ENV: "ssh",
    TERMINAL_SSH_HOST: service.host,
    TERMINAL_SSH_USER: service.user,
    TERMINAL_SSH_PORT: `${service.port}`,
    TERMINAL_SSH_KEY: service.identityFile,
  };
  inputContract("ssh", settings, service.knownHosts);
});
