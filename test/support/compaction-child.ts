import { setTimeout as sleep } from "node:timers/promises";
import { playRole, print } from "./child-role.ts";
import { createWindowedModel, isSummaryRequest, openCompactionLab } from "./compaction-lab.ts";

/** A process that talks in one session until it is killed; started by `startChild`. */
const ROLES = {
  async "talk-forever"({ path, sessionId }: { path: string; sessionId: string }) {
    let steps = 0;
    const model = createWindowedModel(8_000, (request) => {
      if (isSummaryRequest(request))
        return { text: "## Goal\nThe user keeps asking, and every question was answered." };
      return steps++ % 4 < 3 ? { tool: "fetch", input: { size: 3_000 } } : { text: "answered" };
    });
    const slow = {
      ...model,
      async *stream(...[request, signal]: Parameters<typeof model.stream>) {
        if (isSummaryRequest(request)) {
          print("compacting");
          await sleep(Math.random() * 20);
        }
        yield* model.stream(request, signal);
      },
    };
    using lab = await openCompactionLab(path, slow, { sessionId });
    for (let turn = 0; ; turn++) await lab.say(`question ${process.pid}-${turn}`);
  },
};

await playRole(ROLES);
