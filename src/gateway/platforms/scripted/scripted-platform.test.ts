import { describe } from "vitest";
import { startScriptedService } from "../../../../test/support/scripted-service.ts";
import { silentLog } from "../../../../test/support/silent-log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { platformContract } from "../../platform.contract.ts";
import { scriptedOptions } from "./options.ts";
import { open } from "./scripted-platform.ts";

describe("scripted", () => {
  platformContract(async () => {
    const service = await startScriptedService();
    const platform = open(scriptedOptions.parse({ address: service.address }), {
      clock: systemClock,
      log: silentLog,
      variables: {},
      maxAttachmentBytes: 1_000,
    });
    return {
      platform,
      chat: { chatId: "anna" },
      write: async (text) => void service.write(text),
      received: (count) => service.texts(count),
      cut: async () => service.cut(),
      [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    };
  });
});
