import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

/** A home whose model answers each prompt with the prompt's number. */
async function openLab() {
  const home = await tempHome();
  const server = await startScriptedServer({ answers: [{ text: "answer {n}", times: 99 }] });
  const env = {
    HERMES_MODEL_PROVIDER: "custom",
    HERMES_MODEL_BASE_URL: `${server.url}/v1`,
    HERMES_MODEL_DEFAULT: "m",
  };
  return {
    home,
    server,
    run: (...words: string[]) => home.hermes(words, { env, cwd: home.folder }),
    /** Texts of the messages in the last request. */
    said: () =>
      server.requests
        .at(-1)
        ?.body.messages.map(({ content }: { content: unknown }) => content)
        .slice(1),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

test("agent D2: a session is branched at a message, and both sessions continue with the shared bytes of the prompt", async () => {
  await using lab = await openLab();
  await lab.run("-z", "first question");
  const second = (await lab.run("-c", "-z", "second question", "--output-format", "json")).json<{
    session_id: string;
  }>();
  const shown = (await lab.run("sessions", "show", "latest")).stdout;
  expect(shown).toContain("#3 user:\nsecond question");
  const branched = await lab.run("sessions", "branch", "latest", "--at", "2", "--title", "Another way");
  const id = branched.stdout.trim();
  expect(branched.stderr).toContain(`hermes -r ${id} -z`);
  await lab.run("-r", "another way", "-z", "third question");
  const [, before, after] = lab.server.requests.map(({ body }) => JSON.stringify(body.messages.slice(0, 3)));
  expect(after).toBe(before);
  expect(lab.said()).toEqual(["first question", "answer 1", "third question"]);
  const path = join(lab.home.path, "sessions.sqlite");
  {
    using store = await openSessionStore(path, {}, neverAborted);
    const [shared = []] = [store.loadSession(second.session_id).prefix.slice(0, 4)];
    expect(store.loadSession(id).prefix.slice(0, 4)).toEqual(shared);
  }

  const tree = (await lab.run("sessions", "tree")).stdout.trim().split("\n");
  expect(tree).toEqual([
    expect.stringMatching(new RegExp(`^${second.session_id}  2 turns, .* ago`)),
    expect.stringMatching(new RegExp(`^└─ ${id}  2 turns, .* ago  Another way$`)),
  ]);
  expect((await lab.run("sessions", "tree", "another way", "--json")).json()).toMatchObject([
    { id: second.session_id, children: [{ id, parentLink: "branch", children: [] }] },
  ]);
});

test("agent D2: turns are undone, restored and sent again", async () => {
  await using lab = await openLab();
  await lab.run("-z", "first question");
  await lab.run("-c", "-z", "second question");
  const undone = await lab.run("sessions", "undo", "latest");
  expect(undone).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("hermes sessions redo") });
  expect((await lab.run("sessions", "show", "latest")).stdout).not.toContain("second question");
  expect((await lab.run("sessions", "show", "latest", "--undone")).stdout).toContain(
    "undone user:\nsecond question",
  );
  expect((await lab.run("sessions", "search", "second question")).stdout).toContain(
    "user (undone): [second]",
  );
  expect((await lab.run("sessions", "redo", "latest", "--json")).json()).toMatchObject({ restored: 1 });
  expect((await lab.run("sessions", "redo", "latest")).exitCode).toBe(1);
  const again = await lab.run("sessions", "retry", "latest");
  expect(again).toMatchObject({ exitCode: 0, stdout: "answer 2\n" });
  expect(lab.said()).toEqual(["first question", "answer 1", "second question"]);
  expect((await lab.run("sessions", "undo", "latest", "9")).stderr).toContain("only 2 turns to undo");
  expect((await lab.run("sessions", "undo", "latest", "2", "--json")).json()).toMatchObject({ undone: 2 });
  expect((await lab.run("sessions", "retry", "latest")).stderr).toContain("no message to send again");
  expect((await lab.run("-c", "-z", "fresh start")).stdout).toBe("answer 1\n");
  expect(lab.said()).toEqual(["fresh start"]);
});

test("agent D4: an archived session is listed only on request", async () => {
  await using lab = await openLab();
  await lab.run("-z", "first question");
  const [{ id }] = (await lab.run("sessions", "list", "--all", "--json")).json<[{ id: string }]>();
  await lab.run("sessions", "archive", id);
  expect((await lab.run("sessions", "list", "--all", "--json")).json()).toEqual([]);
  expect((await lab.run("sessions", "list", "--all", "--archived")).stdout).toContain(id);
  expect((await lab.run("-c", "-z", "more")).stderr).toContain("no session to continue");
  await lab.run("sessions", "unarchive", id);
  expect((await lab.run("sessions", "list", "--all")).stdout).toContain(id);
});

test("agent D4: unarchive latest restores what archive latest has hidden; for a session that is not archived it says so", async () => {
  await using lab = await openLab();
  await lab.run("-z", "older");
  await lab.run("-z", "newer");
  const [{ id }] = (await lab.run("sessions", "list", "--all", "--json")).json<[{ id: string }]>();
  const { stderr } = await lab.run("sessions", "archive", "latest");
  const [, listing = ""] = /with: hermes (.*)/.exec(stderr) ?? [];
  expect((await lab.run(...listing.trim().split(" "))).stdout).toContain(id);
  expect((await lab.run("sessions", "unarchive", "latest")).stderr).toContain(`${id} is in the lists again`);
  expect((await lab.run("sessions", "unarchive", id)).stderr).toContain("was not archived");
});

test("agent M5: --in resumes the latest session of a folder, and is refused where it makes no sense", async () => {
  await using lab = await openLab();
  await lab.run("-z", "first question");
  const elsewhere = await lab.home.hermes(["sessions", "list", "--all", "--in", ".", "--json"], {
    cwd: lab.home.folder,
  });
  expect(elsewhere.json()).toHaveLength(1);
  expect((await lab.run("-c", "--in", ".", "-z", "second question")).stdout).toBe("answer 2\n");
  expect((await lab.run("-c", "--in", "nowhere", "-z", "x")).stderr).toContain("no session to continue in");
  expect((await lab.run("--in", ".", "-z", "x")).stderr).toContain("-c or -r latest");
});

test("agent D5: a single run gets its title from the message without another request; rename --auto asks a model", async () => {
  await using lab = await openLab();
  for (const text of ["Which files\nare large?", "Which files"]) await lab.run("-z", text);
  const titles = async () =>
    (await lab.run("sessions", "list", "--all", "--json"))
      .json<{ title: string }[]>()
      .map(({ title }) => title);
  expect(await titles()).toEqual(["Which files #2", "Which files"]);
  expect(lab.server.requests).toHaveLength(2);
  expect((await lab.run("sessions", "rename", "which files", "--auto", "--json")).json()).toMatchObject({
    title: "answer 1",
  });
  expect(lab.server.requests).toHaveLength(3);
  expect((await lab.run("sessions", "show", "answer 1", "--json")).json()).toMatchObject({
    usage: { requests: 2 },
  });
  expect((await lab.run("sessions", "rename", "answer 1")).stderr).toContain("No title was given");
  expect((await lab.run("sessions", "rename", "answer 1", "x", "--auto")).exitCode).toBe(2);
});
