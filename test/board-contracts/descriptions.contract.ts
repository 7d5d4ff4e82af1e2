import { describe, expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, codeOf, exportedLines, openSqliteLab, openStage } from "../support/board-lab.ts";

export function descriptionsContract(openLab: () => Promise<BoardLab>): void {
  describe("descriptions of boards and tasks", () => {
    test("A1: a board returns its description, and each change is recorded in one event", async () => {
      await using stage = await openStage(openLab);
      const said = {
        name: " The shop ",
        description: "for sale",
        icon: "🛒",
        color: "#fff",
        defaultWorkdir: "/srv",
      };
      expect(await stage.operator.describeBoard(said, neverAborted)).toMatchObject({
        slug: stage.lab.location.slug,
        name: "The shop",
        description: "for sale",
        icon: "🛒",
        color: "#fff",
        default_workdir: "/srv",
      });
      await stage.operator.describeBoard(said, neverAborted);
      expect(await stage.operator.describeBoard({ defaultWorkdir: null }, neverAborted)).toMatchObject({
        name: "The shop",
        default_workdir: null,
      });
      const events = await stage.store.events(0, 10, neverAborted);
      expect(events.map(({ kind, payload }) => [kind, payload])).toEqual([
        ["board_described", { fields: ["name", "description", "icon", "color", "default_workdir"] }],
        ["board_described", { fields: ["default_workdir"] }],
      ]);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test.each([
      [{ name: "  " }],
      [{ name: "a\nb" }],
      [{ defaultWorkdir: "relative/path" }],
      [{ color: "\u0007" }],
    ])("A1: a board refuses the description %j", async (wrong) => {
      await using stage = await openStage(openLab);
      const before = await stage.store.board(neverAborted);
      expect(await codeOf(stage.operator.describeBoard(wrong, neverAborted))).toBe("task-input-invalid");
      expect(await stage.store.board(neverAborted)).toEqual(before);
    });

    test("an agent may not describe the board", async () => {
      await using stage = await openStage(openLab);
      const agent = stage.store.as({ kind: "agent", profile: "coder" });
      expect(await codeOf(agent.describeBoard({ name: "x" }, neverAborted))).toBe("board-action-denied");
    });

    test("a search finds words in upper and lower case, in any script", async () => {
      await using stage = await openStage(openLab);
      for (const title of ["Äpfel kaufen", "GRÖSSE MESSEN", "Ελλάδα", "добавить Поиск", "100%_done"])
        await stage.add(title);
      const found = async (...words: string[]) =>
        (await stage.store.search(words, { archived: false }, neverAborted)).map(({ title }) => title);
      for (const word of ["Äpfel", "äpfel", "ÄPFEL", "pfel"])
        expect(await found(word), word).toEqual(["Äpfel kaufen"]);
      for (const word of ["grösse", "GRÖSSE", "Grösse"])
        expect(await found(word, "messen"), word).toEqual(["GRÖSSE MESSEN"]);
      for (const word of ["Ελλάδα", "ελλάδα"]) expect(await found(word), word).toEqual(["Ελλάδα"]);
      for (const word of ["поиск", "Поиск", "ДОБАВИТЬ"])
        expect(await found(word), word).toEqual(["добавить Поиск"]);
      expect(await found("0%_d")).toEqual(["100%_done"]);
      expect(await found("%")).toEqual(["100%_done"]);
      expect(await found("epfel")).toEqual([]);
    });

    test("a task is found by its number, or by an id prefix of at least four digits", async () => {
      await using stage = await openStage(openLab);
      const [one, other] = [await stage.add("one"), await stage.add("other")];
      const rename = (from: string, to: string) =>
        stage.lab.raw(`update task set id = '${to}' where id = '${from}'`);
      await rename(one.id, "t_abcd00000001");
      await rename(other.id, "t_abcdf0000001");
      const found = async (text: string) =>
        (await stage.store.findTasks(text, neverAborted)).map(({ title }) => title);
      expect(await found("abcd")).toEqual(["one", "other"]);
      expect(await found(" T_ABCD0 ")).toEqual(["one"]);
      expect(await found("t_abcdf0000001")).toEqual(["other"]);
      expect([await found(`#${one.seq}`), await found(String(other.seq))]).toEqual([["one"], ["other"]]);
      for (const none of [
        "abc",
        "t_abc",
        "abce",
        "abcd%",
        "t_",
        "",
        "#",
        "#9999",
        "0",
        "-1",
        "abcdf00000011",
      ])
        expect(await found(none), none).toEqual([]);
    });

    test("D1: tasks are counted by assignee and status", async () => {
      await using stage = await openStage(openLab);
      const [a] = [await stage.add("a"), await stage.add("b")];
      await stage.add("c", { assignee: "none" });
      await stage.operator.complete(a.id, {}, neverAborted);
      expect(await stage.store.countByAssignee(neverAborted)).toEqual({
        "": { ready: 1 },
        worker: { done: 1, ready: 1 },
      });
    });

    test("D1: the reason of an unblock is also a comment", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      for (const reason of [" use this ", "  "]) {
        await stage.operator.block(task.id, "why?", undefined, neverAborted);
        if ((await stage.statusOf(task.id)) === "blocked")
          await stage.operator.unblock(task.id, reason, neverAborted);
      }
      const { comments, events } = await stage.store.show(task.id, neverAborted);
      expect(comments.map(({ author, body }) => [author, body])).toEqual([
        ["alice", "why?"],
        ["alice", "use this"],
        ["alice", "why?"],
      ]);
      expect(events.find(({ kind }) => kind === "unblocked")?.payload).toEqual({
        status: "ready",
        reason: "use this",
      });
    });

    test("A5: the event of a completion names its artifacts", async () => {
      await using stage = await openStage(openLab);
      const [kept, none] = [await stage.add("a"), await stage.add("b")];
      const artifacts = [{ path: "out/a.txt", attachment: "a.txt" }];
      await stage.operator.complete(kept.id, { summary: "s", metadata: { artifacts } }, neverAborted);
      await stage.operator.complete(none.id, { metadata: { artifacts: "mine" } }, neverAborted);
      const completedOf = async (id: string) =>
        (await stage.store.show(id, neverAborted)).events.find(({ kind }) => kind === "completed")?.payload;
      expect(await completedOf(kept.id)).toMatchObject({ artifacts: ["a.txt"] });
      expect(await completedOf(none.id)).not.toHaveProperty("artifacts");
    });

    test("A5: discarded workspace files are recorded as an event while their task exists", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const sample = [{ file: "x", bytes: 2_000 }];
      const discarded = { path: "/w", total_bytes: 2_000, file_count: 1, sample, moved_to: "/q" };
      expect(await stage.system.recordDiscarded(task.id, discarded, neverAborted)).toBe(true);
      expect(await stage.system.recordDiscarded("t_gone", discarded, neverAborted)).toBe(false);
      const { events } = await stage.store.show(task.id, neverAborted);
      expect(events.at(-1)).toMatchObject({ kind: "workspace_discarded_content", payload: discarded });
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("A1: a portable export contains no claims, processes, paths or subscriptions", async () => {
      await using stage = await openStage(openLab);
      await stage.operator.describeBoard({ defaultWorkdir: "/secret/place" }, neverAborted);
      const done = await stage.add("done", { workspaceKind: "dir", workspacePath: "/secret/place" });
      const busy = await stage.add("busy");
      await stage.claim(done.id, { supervisorPid: 4711 });
      await stage.operator.archive(done.id, neverAborted);
      await stage.claim(busy.id, { supervisorPid: 4712 });
      await stage.operator.subscribe(busy.id, { platform: "irc", chatId: "#hidden" }, neverAborted);
      const file = { filename: "x.txt", storedPath: "/secret/place/x", size: 3 };
      await stage.operator.attach(busy.id, file, neverAborted);
      const lines = await exportedLines(stage.store, { portable: true });
      for (const word of ["/secret", "4711", "4712", "host-1", "#hidden"])
        expect(lines.join("\n")).not.toContain(word);
      await using there = await openStage(openSqliteLab);
      await there.store.import({ kind: "system", name: "import" }, { lines }, neverAborted);
      expect(await there.store.check(neverAborted)).toEqual([]);
      expect(await there.statusOf(busy.id)).toBe("ready");
      expect((await there.claim(busy.id)).task.id).toBe(busy.id);
      expect(await stage.statusOf(busy.id)).toBe("running");
    });
  });
}
