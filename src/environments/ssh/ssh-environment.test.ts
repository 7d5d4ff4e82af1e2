import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, sshSettings } from "../../../test/support/services.ts";
import { collect, environmentContract } from "../environment.contract.ts";
import { terminalOptions } from "../options.ts";
import { openSshEnvironment } from "./ssh-environment.ts";

describeWith("ssh", "the ssh environment", (service) => {
  const profileId = randomBytes(8).toString("hex");
  const folder = join(tmpdir(), `hermes-ssh-${profileId}`); // the server of the tests runs on this machine
  beforeAll(async () => void (await mkdir(folder)));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const open = (overrides: object = {}, variables: Record<string, string> = {}) =>
    openSshEnvironment({
      options: terminalOptions.parse({ ...sshSettings(service), ...overrides }),
      variables: { PATH: process.env["PATH"], ...variables },
      profileId,
      extraArguments: ["-F", "none", "-o", `UserKnownHostsFile=${service.knownHosts}`],
    });

  environmentContract({ name: "ssh", shell: "bash", folder, open: () => open() });

  test("E7: only variables named in env_passthrough reach the host, never a provider's keys, and no value appears in a command line", async () => {
    const secret = `s-${randomBytes(8).toString("hex")}`;
    await using environment = await open(
      { env_passthrough: ["GIVEN", "OPENAI_API_KEY"] },
      { GIVEN: secret, NOT_GIVEN: "not this", OPENAI_API_KEY: "nor this" },
    );
    const print = [
      'echo "$GIVEN|$NOT_GIVEN$OPENAI_API_KEY"',
      'all=$(cat /proc/[0-9]*/cmdline | tr "\\0" " ")',
      'case $all in *"$GIVEN"*) echo leaked ;; *) echo clean ;; esac',
    ].join("; ");
    expect((await collect(environment, print)).stdout).toBe(`${secret}|\nclean\n`);
  });

  test.each([{ ssh_host: "" }, { ssh_user: "" }, { ssh_host: "-oProxyCommand=evil" }, { ssh_host: "a b" }])(
    "incomplete or hostile settings are refused: %j",
    async (overrides) => {
      await expect(open(overrides)).rejects.toMatchObject({ code: "config-invalid" });
    },
  );
});
