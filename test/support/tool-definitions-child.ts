import { definitionsOf } from "../../src/conversation/first-prompt.ts";
import { openLocalPlace, openToolLab } from "./tool-lab.ts";

// Prints what another process would offer to a model.
await using place = await openLocalPlace();
await using lab = await openToolLab(place, { ask: async () => [], pastSessions: JSON.parse("{}") });
process.stdout.write(JSON.stringify(definitionsOf(lab.tools)));
