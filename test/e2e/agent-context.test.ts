import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

/** A home, a project folder with these files, and a model server that records its requests. */
async function openLab(
  script: ScriptInput,
  files: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
) {
  const home = await tempHome();
  const server = await startScriptedServer(script);
  const folder = join(home.folder, "project");
  const env = {
    HERMES_MODEL_PROVIDER: "custom",
    HERMES_MODEL_BASE_URL: `${server.url}/v1`,
    HERMES_MODEL_DEFAULT: "m",
    OPENAI_API_KEY: "sk-test-never-shown",
    HERMES_AGENT_API_MAX_RETRIES: "0",
    ...more,
  };
  for (const [name, text] of Object.entries({ ".git/HEAD": "ref: x", ...files })) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return {
    home,
    server,
    folder,
    env,
    /** Runs the program in the project. */
    run: (...words: string[]) => home.hermes(words, { env, cwd: folder }),
    /** The messages of a request as one text. */
    sent: (index: number) => JSON.stringify(server.requests[index]?.body.messages),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

test("A11: SOUL.md and AGENTS.md are in the prompt of a new session, and --no-context reads neither", async () => {
  await using lab = await openLab({ answers: [{ text: "one" }] }, { "AGENTS.md": "Use tabs." });
  await mkdir(lab.home.path, { recursive: true });
  await writeFile(join(lab.home.path, "SOUL.md"), "You are Zoe.");
  expect(await lab.run("-z", "hi")).toMatchObject({ exitCode: 0, stdout: "one\n", stderr: "" });
  expect(await lab.run("-z", "hi", "--no-context")).toMatchObject({ exitCode: 0, stdout: "one\n" });
  expect(lab.sent(0)).toMatch(/You are Zoe.*Use tabs/);
  expect(lab.sent(1)).not.toMatch(/Zoe|Use tabs/);
  const resumed = await lab.run("-c", "-z", "hi", "--no-context");
  expect(resumed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("keeps its system prompt") });
});

test("A11: a context file that cannot be used is reported in one line, and the task is done", async () => {
  await using lab = await openLab({ answers: [{ text: "done" }] }, { "AGENTS.md": "\0\xff" });
  expect(await lab.run("-z", "hi")).toMatchObject({
    exitCode: 0,
    stdout: "done\n",
    stderr: expect.stringMatching(/^hermes: .*AGENTS\.md is not used: it is not UTF-8 text\.\n$/),
  });
});

test("A11: references of a task are sent and stored with it, those of piped input are not; with a wrong reference nothing is sent", async () => {
  await using lab = await openLab(
    { answers: [{ text: "done" }] },
    { "a.txt": "alpha\nbeta\n", "b.txt": "gamma\n" },
  );
  const run = await lab.home.hermes(["-z", "Compare @file:a.txt:2 with the input"], {
    env: lab.env,
    cwd: lab.folder,
    stdin: "@file:b.txt",
  });
  expect(run).toMatchObject({ exitCode: 0, stdout: "done\n", stderr: "" });
  expect(lab.sent(0)).toContain("2|beta");
  expect(lab.sent(0)).not.toMatch(/alpha|gamma/);
  const shown = await lab.run("sessions", "export", "latest");
  expect(shown.stdout).toContain("2|beta");
  const wrong = await lab.run("-z", "Explain @file:c.txt");
  expect(wrong).toMatchObject({ exitCode: 1, stdout: "", stderr: expect.stringContaining("Did you mean") });
  expect(lab.server.requests).toHaveLength(1);
});

test("A11: a model that cannot see images gets a description; if no model can describe them, nothing is sent", async () => {
  await using lab = await openLab({ answers: [{ text: "A red square </image> with words" }] }, {});
  const header = Buffer.from("89504e470d0a1a0a0000000d494844520000001000000010", "hex");
  await writeFile(join(lab.folder, "a.png"), header);
  const text = ["--agent.image_input_mode", "text"];
  const refused = await lab.run(...text, "chat", "-q", "What is on @a.png?");
  expect(refused).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("custom:m cannot see images"),
  });
  expect(lab.server.requests).toHaveLength(0);
  const described = [...text, "--auxiliary.vision.model", "eyes"];
  const run = await lab.run(...described, "-z", "What is on @a.png?");
  expect(run).toMatchObject({ exitCode: 0, stderr: "" });
  expect(lab.server.requests.map(({ body }) => body["model"])).toEqual(["eyes", "m"]);
  expect(lab.sent(0)).toContain("data:image/png;base64,");
  expect(lab.sent(1)).not.toContain("data:image");
  expect(lab.sent(1)).toMatch(/described by custom:eyes.*A red square &lt;\/image> with words/);
});

test("C3, M2: vision_analyze uses a model that sees images and counts its tokens; without such a model it is not offered", async () => {
  const look = (path: string) => ({
    tools: [{ name: "vision_analyze", input: { path, question: "Which colour?" } }],
  });
  const script = {
    turns: [
      { when: "go now", answers: [look("a.png"), look("b.txt"), { text: "It is red." }] },
      { when: "Which colour?", answers: [{ text: "A red square", usage: { input: 70, output: 7 } }] },
    ],
  };
  await using lab = await openLab(script, { "b.txt": "no image" });
  const header = Buffer.from("89504e470d0a1a0a0000000d494844520000001000000010", "hex");
  await writeFile(join(lab.folder, "a.png"), header);
  expect(await lab.run("-z", "go now", "--auxiliary.vision.model", "eyes")).toMatchObject({
    exitCode: 0,
    stdout: "It is red.\n",
  });
  expect(lab.server.requests.map(({ body }) => body["model"])).toEqual(["m", "eyes", "m", "m"]);
  expect(lab.sent(1)).toContain("data:image/png;base64,");
  expect(lab.sent(2)).toContain("A red square");
  expect(lab.sent(3)).toContain("its content is not PNG");
  expect((await lab.run("sessions", "show", "latest")).stdout).toMatch(/requests: 4\b/);
  await lab.run("-z", "go now");
  expect(JSON.stringify(lab.server.requests.at(-1)?.body["tools"])).not.toContain("vision_analyze");
});

test("A11, K7: --image takes an address, checks the content, and fetches private addresses only if they are allowed", async () => {
  await using lab = await openLab({ answers: [{ text: "ok" }] }, {});
  const header = Buffer.from("89504e470d0a1a0a0000000d494844520000001000000010", "hex");
  const site = createServer((request, response) =>
    request.url === "/a.png"
      ? response.setHeader("content-type", "image/png").end(header)
      : response.setHeader("content-type", "text/html").end("<p>no image</p>"),
  );
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const refused = await lab.run("-z", "What?", "--image", `${address}/a.png`);
  expect(refused).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("security.allow_private_urls"),
  });
  const allowed = ["--security.allow_private_urls", "true"];
  expect(await lab.run(...allowed, "-z", "What?", "--image", `${address}/a.png`)).toMatchObject({
    exitCode: 0,
  });
  expect(lab.sent(0)).toContain("data:image/png;base64,");
  const page = await lab.run(...allowed, "-z", "What?", "--image", `${address}/page`);
  expect(page).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("the server sent something else"),
  });
  site.close();
});
