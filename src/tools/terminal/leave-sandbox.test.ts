import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeWith } from "../../../test/support/services.ts";
import {
  openLocalTestEnvironment,
  openToolLab,
  type TestEnvironment,
} from "../../../test/support/tool-lab.ts";

describeWith("bubblewrap", "tools in the local sandbox", () => {
  let testEnvironment: TestEnvironment;
  let home: string;
  beforeAll(async () => {
    testEnvironment = await openLocalTestEnvironment("workspace");
    home = dirname(testEnvironment.folder);
    await mkdir(join(home, ".ssh"));
    await writeFile(join(home, ".ssh", "config"), "Host x\n");
  });
  afterAll(() => testEnvironment[Symbol.asyncDispose]());

  it("agent K10: a command that the sandbox has refused runs outside if the call says so", async () => {
    await using lab = await openToolLab(testEnvironment, { hasSandbox: true });
    const command = `echo x > ${home}/note`;
    const refused = (await lab.call("terminal", { command })).json();
    expect(refused).toMatchObject({ exit_code: 1 });
    expect(refused["notices"]).toContain("outside_sandbox: true");
    expect(await lab.call("terminal", { command, outside_sandbox: true })).toMatchObject({ failed: false });
    expect((await lab.call("terminal", { command: `cat ${home}/note` })).json()["output"]).toBe("x");
  });

  it("agent K10: functions and variables that sandboxed commands defined have no effect outside, but the folder is the same", async () => {
    await using lab = await openToolLab(testEnvironment, { hasSandbox: true });
    await lab.call("terminal", {
      command: "mkdir sub; cd sub; ls() { echo evil; }; export LD_PRELOAD=x EVIL=1",
    });
    const found = await lab.call("terminal", { command: 'pwd; ls; echo "$EVIL"', outside_sandbox: true });
    expect(found.json()["output"]).toBe(`${lab.folder}/sub`);
  });

  it("agent K10: the effects of a call show that it leaves the sandbox; without a sandbox, no call does", async () => {
    await using lab = await openToolLab(testEnvironment, { hasSandbox: true });
    await using plain = await openToolLab(testEnvironment);
    const input = JSON.stringify({ command: "ls", outside_sandbox: true });
    expect(lab.tools.get("terminal")?.effectsOf?.(input)).toMatchObject({ leavesSandbox: true });
    expect(plain.tools.get("terminal")?.effectsOf?.(input)).toMatchObject({ leavesSandbox: false });
    expect(JSON.stringify(plain.tools.get("terminal")?.inputSchema)).not.toContain("outside_sandbox");
  });

  it("agent K10: a background command cannot leave the sandbox", async () => {
    await using lab = await openToolLab(testEnvironment, { hasSandbox: true });
    const call = await lab.call("terminal", { command: "ls", background: true, outside_sandbox: true });
    expect(call.json()["error"]).toContain("cannot leave the sandbox");
  });

  it("agent K8: file tools write only in the project; the refusal says how to allow other folders", async () => {
    await using lab = await openToolLab(testEnvironment, { hasSandbox: true });
    expect(await lab.call("write_file", { path: "inside", content: "x" })).toMatchObject({ failed: false });
    const refused = await lab.call("write_file", { path: `${home}/outside`, content: "x" });
    expect(refused.failed).toBe(true);
    expect(refused.text).toContain("terminal.local_sandbox_writable");
  });
});
