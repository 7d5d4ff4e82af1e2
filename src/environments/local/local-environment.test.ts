import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { collect, environmentContract } from "../environment.contract.ts";
import { terminalOptions } from "../options.ts";
import { openLocalEnvironment } from "./local-environment.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "hermes-local-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = (
  options: object = { shell_init_files: ["/dev/null"] },
  variables: Record<string, string> = {},
  initFilesMs?: number,
) =>
  openLocalEnvironment({
    ...(initFilesMs !== undefined && { initFilesMs }),
    options: terminalOptions.parse(options),
    variables: { PATH: process.env["PATH"], HOME: folder, ...variables },
    profileHome: folder,
    cwd: folder,
  });

environmentContract({ name: "local", shell: "bash", folder, open: () => open() });

test("E7: keys of providers and accounts are withheld; env_passthrough allows keys of accounts, but not of providers", async () => {
  const secrets = {
    OPENAI_API_KEY: "1",
    ANTHROPIC_BASE_URL: "2",
    TELEGRAM_BOT_TOKEN: "3",
    GH_TOKEN: "4",
    HERMES_MODEL_API_KEY: "5",
    AWS_PROFILE: "6",
    openai_api_key: "7",
  };
  const print =
    'echo "$OPENAI_API_KEY|$ANTHROPIC_BASE_URL|$TELEGRAM_BOT_TOKEN|$GH_TOKEN|$HERMES_MODEL_API_KEY|$AWS_PROFILE$openai_api_key"';
  await using closed = await open({ shell_init_files: ["/dev/null"] }, secrets);
  expect((await collect(closed, print)).stdout).toBe("|||||6\n");
  await using opened = await open(
    { shell_init_files: ["/dev/null"], env_passthrough: ["GH_TOKEN", "OPENAI_API_KEY", "openai_api_key"] },
    secrets,
  );
  expect((await collect(opened, print)).stdout).toBe("|||4||6\n");
});

test("F37: an init file that overwrites PATH does not hide existing tools, and its functions are defined", async () => {
  const file = join(folder, "init.sh");
  writeFileSync(
    file,
    "echo noise; PATH=/only/this; export FROM_INIT=1; tool() { echo from init; }; set -eu; trap 'echo bye' EXIT\n",
  );
  await using environment = await open({ shell_init_files: [file] });
  const run = await collect(
    environment,
    'tool; echo "$FROM_INIT"; command -v ls >/dev/null && echo "$PATH" | cut -d: -f1',
  );
  expect(run).toMatchObject({ stdout: "from init\n1\n/only/this\n", exitCode: 0 });
});

test("a shell that is aborted while its init files run is ended with all their processes", async () => {
  const [file, mark] = [join(folder, "slow.sh"), join(folder, "slow-began")];
  writeFileSync(file, `sleep 3600 & echo "$$ $!" > ${mark}; wait\n`);
  await using environment = await open({ shell_init_files: [file] });
  const stop = new AbortController();
  const opened = environment.warm(stop.signal);
  await expect.poll(() => existsSync(mark) && readFileSync(mark, "utf8")).toMatch(/\d+ \d+\n/);
  stop.abort();
  await expect(opened).rejects.toThrow();
  const pids = readFileSync(mark, "utf8").split(" ").map(Number);
  for (const pid of pids) await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 60_000); // reaped by init
});

test("slow init files are skipped with a notice that names them and a remedy; later commands do not wait again", async () => {
  const file = join(folder, "stuck.sh");
  const starts = join(folder, "stuck-starts");
  writeFileSync(file, `echo x >> ${starts}; sleep 3600\n`);
  await using environment = await open({ shell_init_files: [file] }, {}, 1_000);
  const run = await collect(environment, "echo ran");
  expect(run.stdout).toBe("ran\n");
  expect(run.notices.join()).toMatch(
    /init files took longer than 1 s.*without them \(.*stuck\.sh\).*bash -xlc true/,
  );
  const begun = readFileSync(starts, "utf8");
  expect((await collect(environment, "echo again")).notices).toEqual([]);
  expect(readFileSync(starts, "utf8")).toBe(begun);
});

test("a program that an init file started can remove its lock when the shell is ended early", async () => {
  const [file, lock] = [join(folder, "locking.sh"), join(folder, "lock")];
  writeFileSync(file, `bash -c 'trap "rm -f ${lock}" EXIT; touch ${lock}; sleep 3600'\n`);
  await using environment = await open({ shell_init_files: [file] });
  const stop = new AbortController();
  const opened = environment.warm(stop.signal);
  await expect.poll(() => existsSync(lock), { timeout: 60_000 }).toBe(true);
  stop.abort();
  await expect(opened).rejects.toThrow();
  expect(existsSync(lock)).toBe(false);
});

test("an init file that exits the shell is skipped with a notice", async () => {
  const file = join(folder, "fatal.sh");
  writeFileSync(file, "exit 1\n");
  await using environment = await open({ shell_init_files: [file] });
  const run = await collect(environment, "echo ran");
  expect(run.stdout).toBe("ran\n");
  expect(run.notices.join()).toContain("init files exit the shell");
});

test("home_mode profile gives commands their own HOME and sets HERMES_REAL_HOME to the real one", async () => {
  await using environment = await open({ shell_init_files: ["/dev/null"], home_mode: "profile" });
  expect((await collect(environment, 'echo "$HOME|$HERMES_REAL_HOME"')).stdout).toBe(
    `${folder}/home|${folder}\n`,
  );
});

test("a configured folder that does not exist is replaced by its nearest existing parent", async () => {
  await using environment = await open({ shell_init_files: ["/dev/null"], cwd: join(folder, "gone/deep") });
  expect((await collect(environment, "pwd")).stdout).toBe(`${folder}\n`);
});

test("a copy of a secret of the environment is not saved under another name", async () => {
  const secrets = {
    AWS_SECRET_ACCESS_KEY: 'quoted "and" $odd',
    SHORT_PASSWORD: "abc",
    EDITOR: "nano",
  };
  await using environment = await open({ shell_init_files: ["/dev/null"] }, secrets);
  const session = environment.openSession();
  const copies = [
    "COPY=$AWS_SECRET_ACCESS_KEY",
    "PART=before:$AWS_SECRET_ACCESS_KEY:after",
    "ENCODED=$(printf %s $AWS_SECRET_ACCESS_KEY | base64)",
    "BRIEF=$SHORT_PASSWORD",
    "OTHER=$EDITOR",
  ];
  await collect(environment, `export ${copies.map((copy) => copy.replace(/=(.*)/, '="$1"')).join(" ")}`, {
    session,
  });
  expect(session.save((text) => text)).toMatchObject({
    variables: { OTHER: "nano" },
    withheld: ["BRIEF", "COPY", "ENCODED", "PART"],
  });
});
