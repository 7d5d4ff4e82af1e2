import { Terminal } from "@xterm/headless";
import { expect, test } from "vitest";
import { screenToSvg } from "./screen-svg.ts";

async function render(output: string): Promise<string> {
  const terminal = new Terminal({ cols: 20, rows: 5, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(output, resolve));
  const svg = screenToSvg(terminal, "A <title>");
  terminal.dispose();
  return svg;
}

test("a screen becomes text with its colours, styles and columns, without the empty rows at its end", async () => {
  const svg = await render("one \u001b[31mred\u001b[0m\r\n\u001b[1;2m漢字\u001b[0m <&>");
  expect(svg).toContain("<title>A &lt;title&gt;</title>");
  expect(svg).toMatch(/<text x="14\.0" y="27\.5" textLength="25\.2">one<\/text>/);
  expect(svg).toMatch(/<text x="47\.6" y="27\.5" textLength="25\.2" fill="#e06c75">red<\/text>/);
  expect(svg).toMatch(/y="45\.5" textLength="33\.6" font-weight="bold" opacity="0\.6">漢字<\/text>/);
  expect(svg).toContain("&lt;&amp;&gt;</text>");
  expect(svg).toContain('height="64"');
});

test("an empty screen is an empty picture", async () => {
  expect(await render("")).not.toContain("<text");
});
