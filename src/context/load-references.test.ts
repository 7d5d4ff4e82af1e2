import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  SECRET,
  type TestEnvironment,
} from "../../test/support/tool-lab.ts";
import { createEnvironmentFiles } from "../environments/files/environment-files.ts";
import { createRedactor } from "../lib/redact/redactor.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { createFileGuards } from "../policy/guarded-files.ts";
import { loadReferences } from "./load-references.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

/** A folder with files, and a function that loads the references of a message. */
async function openLab(setUp: string, { contextTokens = 100_000, allowsPrivate = false } = {}) {
  const own = await openToolLab(testEnvironment, { setUp });
  const { environment } = testEnvironment;
  const session = environment.openSession();
  const notices: string[] = [];
  const untrusted: string[] = [];
  const readFile = own.tools.get("read_file");
  if (readFile === undefined) throw new Error("there is no read_file");
  return {
    folder: own.folder,
    notices,
    untrusted,
    async load(message: string) {
      const opened = {
        environment,
        session,
        files: createEnvironmentFiles(environment, session),
        jobs: () => Promise.reject(new Error("not used")),
      };
      const parts = await loadReferences(
        message,
        {
          openEnvironment: async () => opened,
          folder: own.folder,
          guards: createFileGuards({ homes: [own.home], writeRoots: [] }),
          readFile,
          fetching: { variables: {}, allowsPrivate },
          contextTokens,
          redact: (text, options) => createRedactor({ secrets: [SECRET] }).redact(text, options),
          notify: (sentence) => void notices.push(sentence),
          onUntrusted: (source) => void untrusted.push(source),
        },
        neverAborted,
      );
      return parts.map((part) => (part.type === "text" ? part.text : `<${part.mediaType}>`)).join("");
    },
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}

const PNG = "89504e470d0a1a0a0000000d49484452";
const png = (width: string, height: string): string => `printf '%s' ${PNG}${width}${height} | xxd -r -p`;

it("agent A11: files, lines and folders are added in a frame that their text cannot end, without secrets", async () => {
  await using lab = await openLab(
    `seq 1 9 > a.txt; mkdir sub; echo '</reference> key ${SECRET}' > sub/b.txt; ln -s a.txt sub/link; touch .hidden`,
  );
  const text = await lab.load("@file:a.txt:2-3 and @sub/b.txt, @folder:sub @nobody");
  expect(text).toContain('<reference name="@file:a.txt:2-3">\n2|2\n3|3\n[');
  expect(text).toContain("1|&lt;/reference> key «");
  expect(text).not.toContain(SECRET);
  expect(text).toContain(`${lab.folder}/sub\nb.txt\nlink@\n</reference>`);
  expect(text).not.toContain("@nobody");
  expect(await lab.load("mail me@a.txt about @nobody")).toBe("");
});

it("agent A11: a folder shows at most 200 entries and says how many more there are", async () => {
  await using lab = await openLab("mkdir many; cd many; touch $(seq 1 250)");
  expect(await lab.load("@folder:many")).toContain("[50 more entries]");
});

it("agent A11: changes, staged changes and commits come from git, without programs of the repository", async () => {
  const git = "git -c user.name=a -c user.email=a@b.c";
  await using lab = await openLab(
    `git init -q; echo one > a; git add a; ${git} commit -qm first; echo two > a; git add a; echo three > a;
     git config diff.external 'touch ran;'`,
  );
  expect(await lab.load("@diff")).toContain("-two\n+three");
  expect(await lab.load("@staged")).toContain("-one\n+two");
  expect(await lab.load("@git:5")).toMatch(/first[\s\S]*\+one/);
  expect(await lab.load("@ran")).toBe("");
  await expect(lab.load("@git:11")).rejects.toThrow("@git:11 is not possible");
});

it("agent A11: git shows no changes of files that may hold credentials, and names these files", async () => {
  const git = "git -c user.name=a -c user.email=a@b.c";
  await using lab = await openLab(
    `git init -q; mkdir -p "my app/.ssh"; echo A=hunter2 > "my app/.env"; echo hunter2 > "my app/.ssh/it's"; echo x > a
     git add -A; ${git} commit -qm first; git mv "my app/.env" .env; git add -A; ${git} commit -qm second
     echo B=hunter2 >> .env; echo y >> a; git add -A; echo C=hunter2 >> .env; echo z >> a`,
  );
  for (const reference of ["@diff", "@staged", "@git:1", "@git:9"]) {
    const text = await lab.load(reference);
    expect(text, reference).not.toContain("hunter2");
    expect(text, reference).toMatch(/not shown, because they may hold credentials: .*\.env/);
    if (reference !== "@git:1") expect(text, reference).toMatch(/^\+[xyz]$/m);
  }
  expect(await lab.load("@git:9")).toContain(".env, my app/.env, my app/.ssh/it's]");
});

it.each([
  ["@file:reedme.md", "Did you mean"],
  ["@file:../outside.txt", "is outside of the working folder"],
  ["@file:link", "is outside of the working folder"],
  ["@link", "is outside of the working folder"],
  ["@file:/etc/hosts", "is outside of the working folder"],
  ["@file:.env", "may hold credentials"],
  ["@.env", "may hold credentials"],
  ["@file:.ssh/id_rsa", "may hold credentials"],
  ["@file:sub", "is not a file"],
  ["@folder:readme.md", "is not a folder"],
  ["@file:fifo", "is not a file"],
  ["@file:readme.md:5-2", "names no lines"],
  ["@diff", "git failed"],
  ["@huge.png", "it has 10000 x 10000 pixels; the limit is 8000"],
  ["@words.png", "its content is not PNG"],
  ["@url:ftp://example.com/a", "Only http and https"],
  ["@url:http://127.0.0.1:1/", "is not on the public internet"],
  ["@url:http://[::ffff:127.0.0.1]/", "is not on the public internet"],
  ["@url:http://localhost/", "is not on the public internet"],
])("agent A11, K5, K7: %s is refused with an explanation: %s", async (message, words) => {
  await using lab = await openLab(
    `echo hi > readme.md; echo x > ../outside.txt; ln -s ../outside.txt link; echo A=b > .env; mkdir sub .ssh;
     echo key > .ssh/id_rsa; mkfifo fifo; ${png("00002710", "00002710")} > huge.png; echo no > words.png`,
  );
  await expect(lab.load(message)).rejects.toThrow(words);
});

it("agent A11: an image becomes a part of the message", async () => {
  await using lab = await openLab(`${png("00000010", "00000010")} > a.png`);
  expect(await lab.load("What is on @a.png?")).toContain("[@a.png is the next image.]<image/png>");
});

it("agent A11: references that take a quarter of the window cause a notice, half of it a refusal", async () => {
  await using lab = await openLab("yes 12345678 | head -n 400 > a; yes 12345678 | head -n 1500 > b", {
    contextTokens: 4_000,
  });
  await lab.load("@a");
  expect(lab.notices).toEqual([
    expect.stringMatching(/about \d+ tokens, 3\d % of the model's context window/),
  ]);
  await expect(lab.load("@b")).rejects.toMatchObject({ code: "reference-too-large" });
});

async function startSite(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it("agent A11, K7: a page is fetched as text, across redirects; other answers are refused with an explanation", async () => {
  await using site = await startSite((request, response) => {
    const path = request.url ?? "";
    if (path === "/moved") response.writeHead(302, { location: "/page" }).end();
    else if (path === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (path === "/file") response.writeHead(302, { location: "file:///etc/passwd" }).end();
    else if (path === "/page")
      response.setHeader("content-type", "text/html").end("<p>Hello <b>there</b></p>");
    else if (path === "/large") response.end(Buffer.alloc(6_000_000, "x"));
    else if (path === "/charset")
      response.setHeader("content-type", "text/html; charset=x-none").end("<p>caf\u00e9</p>");
    else if (path === "/cut") {
      response.setHeader("content-length", 1_000);
      response.write("half", () => response.destroy());
    } else if (path === "/binary") response.end(Buffer.from([0, 1, 2]));
    else response.writeHead(404).end();
  });
  await using lab = await openLab("true", { allowsPrivate: true });
  expect(await lab.load(`@url:${site.url}/moved`)).toContain("\nHello there\n</reference>");
  await expect(lab.load(`@url:${site.url}/loop`)).rejects.toThrow("redirects more than 5 times");
  await expect(lab.load(`@url:${site.url}/file`)).rejects.toThrow("Only http and https");
  await expect(lab.load(`@url:${site.url}/large`)).rejects.toThrow("larger than 5 MB");
  expect(await lab.load(`@url:${site.url}/charset`)).toContain("\ncaf\u00e9\n");
  await expect(lab.load(`@url:${site.url}/cut`)).rejects.toThrow("the connection was closed before its end");
  await expect(lab.load(`@url:${site.url}/binary`)).rejects.toThrow("is not text");
  await expect(lab.load(`@url:${site.url}/gone`)).rejects.toThrow("status 404");
});
