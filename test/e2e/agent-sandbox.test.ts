import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

const terminal = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });

describeWith("docker", "an agent in a Docker sandbox", (service) => {
  async function openHome(answers: readonly object[], settings: Readonly<Record<string, string>> = {}) {
    const home = await openSandboxHome(service, settings);
    const path = join(home.folder, "script.json");
    await writeFile(
      path,
      JSON.stringify({
        turns: [
          { when: "work", answers },
          { when: "go on", answers: [{ text: "ok" }] },
        ],
      }),
    );
    return { home, model: `scripted:${path}`, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
  }

  test("reads, changes, searches and runs in the sandbox, and not on this machine", async () => {
    await using opened = await openHome([
      { tools: [{ name: "write_file", input: { path: "/workspace/a.txt", content: "one\ntwo\n" } }] },
      { tools: [{ name: "patch", input: { path: "/workspace/a.txt", old_string: "two", new_string: "2" } }] },
      { tools: [{ name: "search_files", input: { pattern: "^2$", path: "/workspace" } }] },
      terminal("cat /workspace/a.txt; hostname"),
      { text: "done" },
    ]);
    const { home, model } = opened;
    const run = await home.startHermes(["-z", "work", "-m", model, "--json"]).ended;
    expect(run.exitCode, run.stderr).toBe(0);
    const [id = ""] = await home.containers();
    expect(run.stdout).toContain(`one\\n2\\n${id.slice(0, 12)}`);
    expect(run.stdout).toContain("a.txt:2:2");
  });

  test("M7: a stop ends the whole process tree inside the sandbox, and the next turn uses the same sandbox", async () => {
    await using opened = await openHome([
      terminal("sh -c 'sleep 1234 & setsid sleep 1235 & sleep 1236'"),
      { text: "slept" },
    ]);
    const { home, model } = opened;
    const { child, ended } = home.startHermes(["-z", "work", "-m", model]);
    const running = () => home.processes().catch(() => "");
    await expect.poll(running, { timeout: 150_000 }).toMatch(/sleep 1234[\s\S]*sleep 123/);
    const [before] = await home.containers();
    child.kill("SIGINT");
    expect((await ended).exitCode).toBe(130);
    expect(await running()).not.toMatch(/sleep 123/);
    const next = await home.startHermes(["-c", "-z", "go on", "-m", model]).ended;
    expect(next).toMatchObject({ exitCode: 0, stdout: "ok\n", stderr: "" });
    expect(await home.containers()).toEqual([before]);
  });

  test.each([
    ["shared", 1],
    ["session", 2],
    ["task", 2],
  ] as const)(
    "terminal.isolation %s: two sessions use %i sandboxes, and a resumed session uses its own again",
    async (isolation, count) => {
      const job = { tools: [{ name: "terminal", input: { command: "sleep 1237", background: true } }] };
      await using opened = await openHome([terminal("hostname"), job, { text: "done" }], {
        TERMINAL_ISOLATION: isolation,
      });
      const { home, model } = opened;
      const hostOf = async (...words: string[]) => {
        const run = await home.startHermes([...words, "-z", "work", "-m", model, "--json"]).ended;
        expect(run.exitCode, run.stderr).toBe(0);
        return {
          session: /"sessionId":"([^"]+)"/.exec(run.stdout)?.[1] ?? "",
          killJob: /`hermes (sandbox jobs kill [^`]+)`/.exec(run.stderr)?.[1]?.replaceAll("'", "") ?? "",
          host: /exit_code: 0.*?\\n\\n([0-9a-f]{12})/.exec(run.stdout)?.[1],
        };
      };
      const first = await hostOf();
      const second = await hostOf();
      const again = await hostOf("-r", first.session);
      expect(again.host).toBe(first.host);
      expect(new Set([first.host, second.host]).size).toBe(count);
      expect(await home.containers()).toHaveLength(count);
      const task = isolation === "shared" ? "default" : first.session;
      const seen = await home.sandbox(["exec", "--task", task, "--", "hostname"]);
      expect(seen.stdout.trim()).toBe(first.host);
      expect(await home.runHermes(first.killJob.split(" "))).toMatchObject({ exitCode: 0 });
    },
  );
});
