import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attachFile } from "../../src/board/attachments/attachment-files.ts";
import { boardFolders } from "../../src/board/workspaces/board-folders.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { describeWithOwnSshd, openSshd } from "../support/sshd.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { eventually, openWorkerLab } from "../support/worker-lab.ts";

describeWithOwnSshd("a worker whose profile runs commands on another host", () => {
  test("reads the files of its task and of the parent tasks there, and leaves none behind", async () => {
    await using server = await openSshd();
    await using bin = await tempFolder();
    // ssh reads the user's home from the system, so only an argument keeps it from using the known hosts of that user.
    const ssh = `#!/bin/sh\nPATH=\${PATH#*:}\nexec ssh -F none -o UserKnownHostsFile=${server.knownHosts} "$@"\n`;
    await writeFile(bin.file("ssh"), ssh, { mode: 0o755 });
    await using lab = await openWorkerLab({ variables: { PATH: `${bin.path}:${process.env["PATH"]}` } });
    const { ssh_host, ssh_user, ssh_port, ssh_key } = server.options();
    const settings = `terminal:
  backend: ssh
  ssh_host: ${ssh_host}
  ssh_user: ${ssh_user}
  ssh_port: ${ssh_port}
  ssh_key: ${ssh_key}
`;
    const location = { ...boardFolders(lab.root, "default"), now: Date.now };
    const attach = (id: string, name: string, text: string) =>
      attachFile(
        { client: lab.operator, folders: location },
        id,
        { name, bytes: Buffer.from(text) },
        neverAborted,
      );
    const parent = await lab.add("parent");
    await attach(parent.id, "made by parent.txt", "from the parent\n");
    await lab.operator.complete(parent.id, { summary: "done" }, neverAborted);
    const child = await lab.add("child", { parents: [parent.id] });
    await attach(child.id, "brief.txt", "the brief\n");
    const there = "~/.hermes/attachments";
    const command = `cat ${there}/${child.id}/brief.txt ${there}/${parent.id}/"made by parent.txt"`;
    await lab.addProfile(
      "coder",
      {
        answers: [
          {
            tools: [
              { name: "terminal", input: { command: `${command} | tr '\\n' ';' > ~/seen; touch ~/go` } },
            ],
          },
          { tools: [{ name: "terminal", input: { command: "until [ -e ~/end ]; do sleep 0.1; done" } }] },
          { tools: [{ name: "kanban_complete", input: { summary: "done" } }] },
        ],
      },
      { settings },
    );
    const claimed = await lab.claim(child.id);
    await lab.host.start(claimed, neverAborted);
    const names = (folder: string) => readdir(join(server.home, folder)).catch((): string[] => []);
    await eventually(async () => (await names("")).includes("go"));
    expect(await names(`.hermes/attachments/${child.id}`)).toEqual(["brief.txt"]);
    expect(await readFile(join(server.home, "seen"), "utf8")).toBe("the brief;from the parent;");
    await writeFile(join(server.home, "end"), "");
    const ended = await lab.ended(claimed);
    expect(ended, await lab.logOf(claimed)).toMatchObject({ outcome: "completed" });
    expect(await names(`.hermes/attachments/${child.id}`)).toEqual([]);
    expect(await names(`.hermes/attachments/${parent.id}`)).toEqual([]);
  }, 600_000);
});
