import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const ANSWERS = { answers: [{ text: "yes", times: 99 }] };

test("a resumed session stays with its model and address, a flag given now wins for good, and a new address is followed whole", async () => {
  await using home = await tempHome();
  await using first = await startScriptedServer(ANSWERS);
  let knowsModel = true;
  await using second = await startScriptedServer(ANSWERS, {
    misbehave: () => (knowsModel ? undefined : { type: "answer", status: 404, body: "{}" }),
  });
  const env = { HERMES_AGENT_API_MAX_RETRIES: "0" };
  await mkdir(home.path);
  const asked: string[] = [];
  const heard = { first: 0, second: 0 };
  const run = async (...args: readonly string[]): Promise<string> => {
    const { stderr } = await home.hermes(args, { cwd: home.folder, env });
    for (const [name, server] of Object.entries({ first, second })) {
      const key = name as keyof typeof heard;
      for (const { body } of server.requests.slice(heard[key]))
        asked.push(`${name} ${String(body["model"])}`);
      heard[key] = server.requests.length;
    }
    return stderr;
  };
  const last = () => asked.at(-1);
  const settle = (model: object) => writeFile(join(home.path, "config.yaml"), JSON.stringify({ model }));

  await settle({ base_url: `${first.url}/v1`, default: "m1" });
  expect(await run("-z", "a")).toBe("");
  expect(last()).toBe("first m1");

  // Another model of the settings is for new sessions, and the difference is told in one line.
  await settle({ base_url: `${first.url}/v1`, default: "m2" });
  expect(await run("-c", "-z", "b")).toBe(
    "hermes: This session goes on with m1 (custom); new ones begin with m2 (custom). Change it with -m.\n",
  );
  expect(last()).toBe("first m1");

  // A flag wins, whichever it is, and is remembered once it has answered.
  expect(await run("-c", "-m", "m3", "-z", "c")).toBe("");
  expect(last()).toBe("first m3");
  expect(await run("-c", "-z", "d")).toContain("goes on with m3 (custom)");
  expect(last()).toBe("first m3");
  expect(await run("--model.default", "m9", "-c", "-z", "e")).toBe("");
  expect(last()).toBe("first m9");
  await run("-c", "-z", "f");
  expect(last()).toBe("first m9");
  expect(await run("--model.base_url", `${second.url}/v1`, "--model.default", "n1", "-c", "-z", "g")).toBe(
    "",
  );
  expect(last()).toBe("second n1");

  // The name of a model means nothing at another server.
  expect(await run("-c", "-z", "h")).toBe(
    `hermes: The address of the settings is another one than this session's: it goes on with m2 at ${first.url}/v1, no longer with n1 at ${second.url}/v1.\n`,
  );
  expect(last()).toBe("first m2");
  await settle({ base_url: `${second.url}/v1`, default: "n2" });
  await run("-c", "-z", "i");
  expect(last()).toBe("second n2");
  expect(await run("-c", "-z", "j")).toBe("");
  expect(last()).toBe("second n2");

  // A model that never answered is not remembered.
  knowsModel = false;
  await run("-c", "-m", "typo", "-z", "wrong");
  expect(last()).toBe("second typo");
  knowsModel = true;
  await run("-c", "-z", "k");
  expect(last()).toBe("second n2");

  await settle({ default: "n2" });
  expect(await run("-c", "-z", "l")).toContain(
    `This session was answered by n2 at ${second.url}/v1, and model.base_url is no longer set.`,
  );
});
