import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ENTRY } from "../support/built-program.ts";
import { startChild } from "../support/child.ts";
import type { NetworkReport } from "../support/network-child.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ISOLATED = ["unshare", "--net", "--mount"];
const run = promisify(execFile);

/** Whether this machine allows us to create a network namespace with an interface. */
const isolates = await run("unshare", [...ISOLATED.slice(1), "ip", "link", "add", "x0", "type", "veth"]).then(
  () => true,
  () => false,
);

test.skipIf(!isolates)(
  `M6: while a local model is chosen, no packet leaves this machine, whatever keys and proxies are set${isolates ? "" : " [skipped: may not create a network namespace]"}`,
  async () => {
    await using folder = await tempFolder();
    await mkdir(folder.file("home"), { mode: 0o700 });
    const local = ["--model.base_url", "{address}", "--model.default", "m"];
    const quiet = [
      [...local, "-z", "hello"],
      [...local, "model"],
      [...local, "model", "list"],
      [...local, "model", "list", "--all", "--refresh"],
      [...local, "model", "test"],
      [...local, "doctor"],
      [...local, "doctor", "--online"],
      [...local, "status"],
      [...local, "prompt-size"],
    ];
    const named = ["model", "list", "--provider", "openai-api"];
    const commands = [...quiet, [...local, ...named]];
    await using child = startChild(
      new URL("../support/network-child.ts", import.meta.url),
      "runCommands",
      {
        entry: ENTRY,
        folder: folder.path,
        env: {
          PATH: process.env["PATH"] ?? "",
          HOME: folder.path,
          HERMES_HOME: folder.file("home"),
          OPENAI_API_KEY: "sk-0123456789",
          ANTHROPIC_API_KEY: "sk-ant-0123456789",
          OPENROUTER_API_KEY: "sk-or-0123456789",
          HERMES_PROVIDERS: JSON.stringify({ "openai-api": { connect_timeout_seconds: 0.1 } }),
          HTTPS_PROXY: "http://192.0.2.7:3128",
          HTTP_PROXY: "http://192.0.2.7:3128",
        },
        commands,
      },
      { wrap: ISOLATED },
    );
    expect(await child.next<string>()).toBe("ready");
    const packets = new Map<string, number>();
    for (const words of commands) {
      const report = await child.next<NetworkReport>();
      packets.set(words.slice(local.length).join(" "), report.packets);
      if (words.includes("-z")) expect(report).toMatchObject({ exitCode: 0, stdout: "local\n" });
    }
    expect(packets.get(named.join(" "))).toBeGreaterThan(0); // the user named that server
    packets.delete(named.join(" "));
    expect([...packets].filter(([, count]) => count > 0)).toEqual([]);
    expect(packets.size).toBe(quiet.length);
  },
);
