import { describe } from "vitest";
import { platformParts } from "../../../../test/support/platform-parts.ts";
import { startScriptedService } from "../../../../test/support/scripted-service.ts";
import { platformContract } from "../../platform.contract.ts";
import { scriptedOptions } from "./options.ts";
import { open } from "./scripted-platform.ts";

describe("scripted", () => {
  platformContract(async () => {
    const service = await startScriptedService();
    const platform = open(scriptedOptions.parse({ address: service.address }), platformParts());
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
