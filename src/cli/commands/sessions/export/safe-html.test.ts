import fc from "fast-check";
import { expect, test } from "vitest";
import { scale } from "../../../../../test/support/scale.ts";
import { renderDiff, renderMarkdownAsHtml } from "./safe-html.ts";

test("D3: Markdown becomes headings, lists, tables, code and links", () => {
  const html = renderMarkdownAsHtml(
    "# Top\n\n1. *one* `a<b`\n2. **two**\n\n- [x] done\n\n|a|b|\n|-|-|\n|1|~~2~~|\n\n> quoted &amp; \\* AT&T\n\n[site](https://example.org/?a=1&b=2)\n\n```js\nif (a < b) x();\n```",
  );
  expect(html).toBe(
    "<h3>Top</h3><ol><li><em>one</em> <code>a&lt;b</code></li><li><strong>two</strong></li></ol><ul><li>☑ done</li></ul>" +
      '<div class="wide"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><del>2</del></td></tr></tbody></table></div>' +
      "<blockquote><p>quoted &amp; * AT&amp;T</p></blockquote>" +
      '<p><a href="https://example.org/?a=1&amp;b=2" rel="noreferrer">site</a></p>' +
      '<pre data-language="js"><code>if (a &lt; b) x();</code></pre>',
  );
});

test.each([
  "<script>alert(1)</script>",
  "a <img src=x onerror=alert(1)> b",
  "<!-- --><svg onload=alert(1)>",
  "[x](javascript:alert(1)) [y](data:text/html,x) [z](vbscript:x)",
  "![p](https://evil.example/pixel.png)",
  '```"><script>\n</code></pre><script>\n```',
  '[a](https://example.org/"onmouseover="alert(1))',
  "<https://example.org/'\"><script>>",
  '[r]: https://example.org/x "t"\n\n![r]',
])("D3: %s runs nothing and loads nothing", (text) => {
  expectSafe(renderMarkdownAsHtml(text));
});

test("D3: text made of hostile pieces yields no tag, attribute or address that we did not write", () => {
  const piece = fc.constantFrom(
    ..."<|>|\"|'|&|`|```|\n|\n\n|[a](|)|![|]|(|javascript:|https://x|<script|onload=|# |- |> |1. |**|_|~~|||\\|<b>|&lt;|&#60;|\u0000".split(
      "|",
    ),
    "|",
    "|-|-|\n",
    "a",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      expectSafe(renderMarkdownAsHtml(pieces.join("")));
    }),
    { numRuns: scale.cases },
  );
});

test("D3: text that is nested too deeply or too long for Markdown is shown as it is", () => {
  for (const text of [`${">".repeat(20_000)}x`, "*a ".repeat(150_000)]) {
    const html = renderMarkdownAsHtml(text);
    expect(html.startsWith('<div class="plain">')).toBe(true);
    expectSafe(html);
  }
});

test("D3: lines of a diff are marked as added, removed or neither", () => {
  expect(renderDiff("@@ -1 +1 @@\n-<a>\n+b\n c")).toBe(
    '<span class="meta">@@ -1 +1 @@</span>\n<span class="removed">-&lt;a&gt;</span>\n<span class="added">+b</span>\n<span class="same"> c</span>',
  );
});

const TAG =
  /^<(?:\/?(?:h[3-6]|p|em|strong|del|code|pre|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|div|span|a)|hr|br|ol start="\d+"|pre data-language="[^"<>]*"|div class="(?:plain|wide)"|span class="(?:added|removed|same|meta)"|a href="(?:https?:|mailto:|#)[^"<>]*" rel="noreferrer")>$/i;

/** Checks that every `<` starts one of our own tags, with exactly the attributes that we write. */
function expectSafe(html: string): void {
  for (const [tag] of html.matchAll(/<[^>]*>?/g)) expect(tag).toMatch(TAG);
}
