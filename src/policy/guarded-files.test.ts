import { expect, it } from "vitest";
import { createFileGuards } from "./guarded-files.ts";

const HOME = "/home/ann/.hermes";
const own = createFileGuards({ homes: [HOME], writeRoots: [] });
const coder = createFileGuards({ homes: [`${HOME}/profiles/coder`], writeRoots: [] });

it.each([
  ...[
    "/home/ann/.ssh/id_ed25519",
    "/home/ann/.ssh/deploy",
    "/root/.aws/credentials",
    "/home/ann/.gnupg/a",
    "/x/.kube/config",
  ],
  ...[
    "/home/ann/.kube/cache/a",
    "/home/ann/.netrc",
    "/home/ann/.docker/config.json",
    "/home/ann/.config/gh/hosts.yml",
  ],
  ...[
    "/etc/sudoers",
    "/etc/sudoers.d/ann",
    "/etc/shadow",
    "/proc/12/environ",
    "/p/.env",
    "/p/.env.local",
    "/p/.envrc",
  ],
  ...[
    `${HOME}/.env`,
    `${HOME}/auth.json`,
    `${HOME}/mcp-tokens/a`,
    `${HOME}/pairing/a`,
    `${HOME}/sessions.sqlite`,
  ],
  ...[
    `${HOME}/keys.sqlite-wal`,
    `${HOME}/kanban/boards/b/board.sqlite`,
    `${HOME}/trusted-rules/a.yaml`,
    `${HOME}/checkpoints/store`,
  ],
  ...[`${HOME}/profiles/coder/config.yaml`, `${HOME}/profiles/coder/.env`],
])("agent K5: %s is neither shown nor changed", (path) => {
  expect(own.read(path)).toEqual(expect.any(String));
  expect(own.write(path)).toEqual(expect.any(String));
});

it.each([
  ...[
    "/home/ann/.ssh/config",
    "/home/ann/.ssh/known_hosts",
    "/home/ann/.ssh/id_ed25519.pub",
    "/home/ann/.aws/config",
  ],
  ...[
    "/p/.env.example",
    "/p/src/env.ts",
    "/p/ssh/id",
    "/p/data.sqlite",
    `${HOME}/config.yaml`,
    `${HOME}/SOUL.md`,
  ],
  ...[
    `${HOME}/kanban/boards/b/workspaces/12/app.sqlite`,
    `${HOME}/profiles/coder/cache/result.txt`,
    "/etc/hosts",
  ],
])("agent K5: %s is shown", (path) => {
  expect(own.read(path)).toBeUndefined();
});

it("agent K5: file tools may change the configuration of ssh, with an answer, but no other public file next to keys", () => {
  expect(own.write("/home/ann/.ssh/config")).toBeUndefined();
  for (const name of ["authorized_keys", "known_hosts", "id_ed25519.pub"])
    expect(own.write(`/home/ann/.ssh/${name}`), name).toContain("credentials");
  expect(own.write("/home/ann/.aws/config")).toContain("credentials");
});

it("agent K5: a profile may use its own files, and of other profiles only shared work", () => {
  expect(coder.read(`${HOME}/profiles/coder/SOUL.md`)).toBeUndefined();
  expect(coder.read(`${HOME}/profiles/writer/SOUL.md`)).toContain("belongs to the profile writer");
  expect(coder.write(`${HOME}/profiles/writer/cache/a`)).toBeUndefined();
});

it("agent K5: HERMES_WRITE_SAFE_ROOT limits changes but not reading, and does not permit what is refused anyway", () => {
  const limited = createFileGuards({ homes: [HOME], writeRoots: ["/srv/app", "/tmp"] });
  for (const path of ["/srv/app", "/srv/app/a/b", "/tmp/a"])
    expect(limited.write(path), path).toBeUndefined();
  for (const path of ["/srv/application", "/srv/a", "/home/ann/a", "/"])
    expect(limited.write(path), path).toContain("HERMES_WRITE_SAFE_ROOT");
  expect(limited.write("/srv/app/.env")).toContain("credentials");
  expect(limited.read("/home/ann/a")).toBeUndefined();
});

it("only files in the working folder, temporary folders and listed folders may be sent, and none with secrets", () => {
  const { send } = createFileGuards({
    homes: [HOME],
    writeRoots: [],
    sendRoots: ["/home/ann/work", "/tmp", "/home/ann/Reports"],
  });
  for (const path of [
    "/home/ann/work/report.pdf",
    "/tmp/chart.png",
    "/home/ann/Reports/q3.csv",
    `${HOME}/cache/inbound/a1/0-photo.jpg`,
    `${HOME}/kanban/workspaces/t1/out.txt`,
  ])
    expect(send(path), path).toBeUndefined();
  for (const path of ["/home/ann/Documents/tax.pdf", "/srv/data.csv", "/home/ann/workshop/x"])
    expect(send(path), path).toMatch(/outside of the folders/);
  for (const path of [`${HOME}/config.yaml`, `${HOME}/logs/agent.log`, `${HOME}/SOUL.md`])
    expect(send(path), path).toMatch(/home of Hermes/);
  for (const path of ["/home/ann/work/.env", `${HOME}/.env`, "/home/ann/.ssh/id_rsa", "/proc/1/environ"])
    expect(send(path), path).toBeDefined();
});

it("from a sandbox, every file may be sent except those of its system", () => {
  const { send } = createFileGuards({ homes: [HOME], writeRoots: [] });
  for (const path of ["/workspace/a.pdf", "/srv/a.csv", "/root/a.txt"])
    expect(send(path), path).toBeUndefined();
  for (const path of ["/etc/hostname", "/var/lib/x", "/root/.config/x", "/home/ann/.config/x"])
    expect(send(path), path).toMatch(/outside of the folders/);
});
