import { expect, it } from "vitest";
import { readHtml } from "./html-text.ts";

it("agent A11: a page becomes its title, headings, lists, links and tables, without scripts and styles", () => {
  const page = `<html><head><title>A &amp; B</title><style>p{}</style></head><body>
    <h1>Head&shy;ing</h1><script>alert("x")</script><p>One   <b>bold</b>
    word, <a href="/a?b=1">link</a> <a href="javascript:x">no</a>.</p>
    <ul><li>first<li>second</ul><pre>a
  b</pre><table><tr><td>1</td><td>2</td></tr></table></body></html>`;
  expect(readHtml(page, "https://example.com/x/").text).toBe(
    [
      "A & B",
      "# Head\u00ading",
      "One bold word, link (https://example.com/a?b=1) no.",
      "- first\n\n- second",
      "a\n  b",
      "1\t2",
    ].join("\n\n"),
  );
});
