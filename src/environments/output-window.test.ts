import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scale } from "../../test/support/scale.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { createOutputWindow } from "./output-window.ts";
import { createSpillFile } from "./spill-file.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const noSpill = () => createSpillFile({ home: "/nonexistent", maxBytes: 0, now: () => 0 });

async function windowOf(chunks: readonly Uint8Array[], maxBytes: number, spill = noSpill()) {
  const window = createOutputWindow({ maxBytes, spill });
  for (const chunk of chunks) await window.write(chunk);
  return window.finish();
}

function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

test("A16: output that fits is returned exactly as it was written, and no file is created", async () => {
  await using home = await tempFolder();
  const text = "\uFEFFone\r\nzwei ß 漢 👍\n\0\u001b[31m";
  const bytes = Buffer.from(text);
  for (const size of [1, 2, 3, bytes.length]) {
    const spill = createSpillFile({ home: home.path, maxBytes: 1_000, now: Date.now });
    expect(await windowOf(inPieces(bytes, size), bytes.length, spill)).toEqual({
      text,
      totalBytes: bytes.length,
      omittedBytes: 0,
      spillPath: undefined,
    });
  }
  expect(await readdir(home.path)).toEqual([]);
});

test("A16: of longer output the first 40 % and the last 60 % of the limit are shown, with a notice between", async () => {
  const bytes = Buffer.from("a".repeat(40) + "b".repeat(300) + "c".repeat(60));
  for (const size of [1, 7, 60, 101, 400]) {
    const output = await windowOf(inPieces(bytes, size), 100);
    expect(output.text).toBe(
      `${"a".repeat(40)}\n\n[Output truncated: 300 of 400 bytes are omitted.]\n\n${"c".repeat(60)}`,
    );
    expect(output).toMatchObject({ totalBytes: 400, omittedBytes: 300 });
  }
});

test("the shown parts are the exact beginning and end of the stream, whatever the chunk sizes", async () => {
  const stream = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(stream, fc.integer({ min: 1, max: 60 }), async (chunks, maxBytes) => {
      const all = Buffer.concat(chunks);
      const output = await windowOf(chunks, maxBytes);
      expect(output.totalBytes).toBe(all.length);
      if (all.length <= maxBytes) {
        expect(output.text).toBe(all.toString("utf8"));
        return;
      }
      const [head = "", tail = ""] = output.text.split(/\n\n\[Output truncated: [^\]]*\]\n\n/);
      const shownHead = Math.floor(maxBytes * 0.4);
      const heads = [0, 1, 2, 3].map((less) => all.toString("utf8", 0, Math.max(0, shownHead - less)));
      const tails = [0, 1, 2, 3].map((less) =>
        all.toString("utf8", all.length - maxBytes + shownHead + less),
      );
      expect(heads).toContain(head);
      expect(tails).toContain(tail);
    }),
    { numRuns: scale.cases },
  );
});

test("no character is split, and the bytes dropped for that are counted as omitted", async () => {
  for (const character of ["é", "漢", "👍"]) {
    const bytes = Buffer.from(character.repeat(100));
    for (const maxBytes of [20, 21, 22, 23, 24, 25]) {
      const output = await windowOf(inPieces(bytes, 3), maxBytes);
      expect(output.text).not.toContain("\uFFFD");
      const shown = [...output.text].filter((one) => one === character).length;
      expect(output.omittedBytes).toBe(bytes.length - shown * Buffer.byteLength(character));
    }
  }
});

test("an invalid byte becomes a replacement character, and its neighbours are unchanged", async () => {
  expect((await windowOf([Buffer.from([0x61, 0xff, 0x62]), Buffer.from([0xc3])], 10)).text).toBe(
    "a\uFFFDb\uFFFD",
  );
});

test("F41: memory stays flat while a long stream is written", async () => {
  await using home = await tempFolder();
  const spill = createSpillFile({ home: home.path, maxBytes: 3_000_000, now: Date.now });
  const window = createOutputWindow({ maxBytes: 50_000, spill });
  const chunk = Buffer.alloc(1_000_000, "x");
  let most = 0;
  for (let written = 0; written < scale.streamBytes; written += chunk.length) {
    const taken = window.write(chunk);
    most = Math.max(most, window.heldBytes);
    await taken;
  }
  expect(most).toBeLessThanOrEqual(50_000 + chunk.length);
  expect(window.heldBytes).toBe(50_000);
  const output = await window.finish();
  expect(output).toMatchObject({
    totalBytes: scale.streamBytes,
    omittedBytes: scale.streamBytes - 50_000,
  });
  expect(output.text.length).toBeLessThan(51_000);
});

test("F41: the whole stream is saved in a private file that the notice names", async () => {
  await using home = await tempFolder();
  const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, line) => `line ${line} ✓\n`).join(""));
  for (const size of [10, 999, 4_096]) {
    const spill = createSpillFile({ home: home.path, maxBytes: 5_000_000, now: () => Date.UTC(2026, 4, 29) });
    const output = await windowOf(inPieces(bytes, size), 1_000, spill);
    const path = output.spillPath ?? "";
    expect(output.text).toContain(`The full output is in ${path}]`);
    expect(path).toMatch(
      new RegExp(
        `^${home.path}/cache/terminal-output/out-20260529T000000Z-${process.pid}-[0-9a-f]{8}\\.log$`,
      ),
    );
    expect(await readFile(path)).toEqual(bytes);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(home.file("cache/terminal-output"))).mode & 0o777).toBe(0o700);
  }
});

test("both streams of a command may write concurrently: writes that are not awaited stay in order", async () => {
  await using home = await tempFolder();
  const spill = createSpillFile({ home: home.path, maxBytes: 1_000_000, now: Date.now });
  await using window = createOutputWindow({ maxBytes: 10, spill });
  const chunks = Array.from({ length: 200 }, (_, index) => Buffer.from(`${index},`));
  const waits = chunks.map((chunk) => window.write(chunk));
  expect(waits.at(-1)).toBeInstanceOf(Promise);
  const { spillPath = "" } = await window.finish();
  expect(await readFile(spillPath)).toEqual(Buffer.concat(chunks));
});

test("a file that reaches its limit ends with a notice, after a complete character", async () => {
  await using home = await tempFolder();
  const bytes = Buffer.from("漢".repeat(100));
  for (const maxBytes of [30, 31, 32, 33]) {
    for (const size of [1, 2, 32, 300]) {
      const spill = createSpillFile({ home: home.path, maxBytes, now: Date.now });
      const { spillPath = "", text } = await windowOf(inPieces(bytes, size), 10, spill);
      expect(text).toContain(`The beginning of the output is in ${spillPath}]`);
      expect(await readFile(spillPath, "utf8")).toBe(
        `${"漢".repeat(Math.floor(maxBytes / 3))}\n[Truncated: only the first ${maxBytes} bytes of the output were kept.]\n`,
      );
    }
  }
});

test("a file of exactly the limit is complete", async () => {
  await using home = await tempFolder();
  const spill = createSpillFile({ home: home.path, maxBytes: 20, now: Date.now });
  const { spillPath = "", text } = await windowOf([Buffer.alloc(20, "x")], 10, spill);
  expect(await readFile(spillPath, "utf8")).toBe("x".repeat(20));
  expect(text).toContain("The full output is in");
});

test("a new file removes spill files that are older than 7 days, and nothing else", async () => {
  await using home = await tempFolder();
  const folder = home.file("cache/terminal-output");
  await mkdir(folder, { recursive: true });
  const now = Date.now();
  for (const [name, days] of [
    ["out-old.log", 7.1],
    ["out-young.log", 6.9],
    ["notes.txt", 30],
  ] as const) {
    await writeFile(`${folder}/${name}`, "x");
    await utimes(`${folder}/${name}`, new Date(now), new Date(now - days * DAY_MS));
  }
  await mkdir(`${folder}/out-folder.log`);
  await utimes(`${folder}/out-folder.log`, new Date(0), new Date(0));
  const spill = createSpillFile({ home: home.path, maxBytes: 100, now: () => now });
  const { spillPath = "" } = await windowOf([Buffer.alloc(50, "x")], 10, spill);
  expect(new Set(await readdir(folder))).toEqual(
    new Set(["out-young.log", "notes.txt", "out-folder.log", spillPath.slice(folder.length + 1)]),
  );
});

test("if no file can be created, the notice gives the reason and the output is otherwise the same", async () => {
  await using home = await tempFolder();
  await writeFile(home.file("cache"), "not a folder");
  const spill = createSpillFile({ home: home.path, maxBytes: 100, now: Date.now });
  const output = await windowOf(inPieces(Buffer.alloc(50, "x"), 5), 10, spill);
  expect(output).toMatchObject({ totalBytes: 50, omittedBytes: 40, spillPath: undefined });
  expect(output.text).toMatch(
    /^xxxx\n\n\[Output truncated: .* The full output could not be saved: Cannot use .*\]\n\nxxxxxx$/,
  );
});

test("a disk that fills up during the write leaves a notice and no partial file", async () => {
  await using home = await tempFolder();
  const script = home.file("write.mts");
  await writeFile(
    script,
    `import { createOutputWindow } from ${JSON.stringify(new URL("./output-window.ts", import.meta.url).href)};
     import { createSpillFile } from ${JSON.stringify(new URL("./spill-file.ts", import.meta.url).href)};
     const spill = createSpillFile({ home: ${JSON.stringify(home.path)}, maxBytes: 5_000_000, now: Date.now });
     const window = createOutputWindow({ maxBytes: 100, spill });
     for (let round = 0; round < 20; round++) await window.write(Buffer.alloc(100_000, "x"));
     const output = await window.finish();
     process.stdout.write(JSON.stringify(output));`,
  );
  // Writing more than this to one file fails, as on a full disk.
  const limited = `trap '' XFSZ; ulimit -f 1000; exec "$0" --import tsx "$1"`;
  const child = spawnSync("sh", ["-c", limited, process.execPath, script], { encoding: "utf8" });
  expect(child.stderr).toBe("");
  const output = JSON.parse(child.stdout);
  expect(output).toMatchObject({ totalBytes: 2_000_000 });
  expect(output).not.toHaveProperty("spillPath");
  expect(output.text).toContain("The full output could not be saved: EFBIG");
  expect(await readdir(home.file("cache/terminal-output"))).toEqual([]);
});

test("bytes written after finish are dropped", async () => {
  const window = createOutputWindow({ maxBytes: 10, spill: noSpill() });
  window.write(Buffer.from("in time"));
  const output = await window.finish();
  window.write(Buffer.from("too late"));
  expect(await window.finish()).toEqual(output);
  expect(output.text).toBe("in time");
});
