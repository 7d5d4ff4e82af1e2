/** The style of an exported page, for light and dark screens and for paper. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1d2330; --dim: #667085; --line: #e1e5eb;
  --prompt: #eaf1fe; --accent: #2f6fde; --code: #f2f4f7; --added: #116b35; --added-back: #dff5e6; --removed: #a5281c;
  --removed-back: #fde7e4; }
@media (prefers-color-scheme: dark) { :root { --page: #12151b; --card: #1a1f27; --text: #e4e8ef; --dim: #97a1b2;
  --line: #2d3440; --prompt: #1c2a42; --accent: #7fadff; --code: #11151b; --added: #86dea3; --added-back: #14301f;
  --removed: #ff9d92; --removed-back: #3a1c1a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", sans-serif; overflow-wrap: anywhere; }
header, main { max-width: 860px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 40px; }
h1 { font-size: 28px; line-height: 1.25; margin: 0 0 16px; }
dl { display: flex; flex-wrap: wrap; gap: 8px 24px; margin: 0 0 24px; padding-bottom: 20px; border-bottom: 1px solid var(--line); }
dt { color: var(--dim); font-size: 12px; }
dd { margin: 0; font-size: 14px; }
main { padding-bottom: 60px; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 12px 20px 16px; margin: 0 0 16px; }
article:target { border-color: var(--accent); }
article.user { background: var(--prompt); border-color: transparent; margin-left: 48px; }
article > h2 { font-size: 13px; font-weight: 600; margin: 0 0 8px; display: flex; gap: 8px; align-items: baseline; }
article > h2 a { color: var(--dim); font-weight: 400; text-decoration: none; }
time { margin-left: auto; color: var(--dim); font-weight: 400; font-size: 12px; }
h3, h4, h5, h6 { line-height: 1.3; margin: 20px 0 8px; }
h3 { font-size: 19px; } h4 { font-size: 17px; } h5, h6 { font-size: 15px; }
p, ul, ol, blockquote, .plain { margin: 0 0 10px; }
article > :last-child { margin-bottom: 0; }
.plain { white-space: pre-wrap; }
a { color: var(--accent); }
blockquote { border-left: 3px solid var(--line); padding-left: 14px; color: var(--dim); }
hr { border: 0; border-top: 1px solid var(--line); }
code { font: 0.875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; background: var(--code);
  border-radius: 4px; padding: 0.1em 0.3em; }
pre { position: relative; background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px;
  margin: 0 0 12px; overflow: auto; max-height: 70vh; font-size: 13px; line-height: 1.45; }
pre code { background: none; padding: 0; font-size: inherit; line-height: inherit; overflow-wrap: normal; }
pre[data-language]::before { content: attr(data-language); position: absolute; top: 4px; right: 10px; color: var(--dim);
  font-size: 11px; }
.wide { overflow-x: auto; margin: 0 0 12px; }
table { border-collapse: collapse; font-size: 14px; }
th, td { border: 1px solid var(--line); padding: 4px 10px; text-align: left; }
th { background: var(--code); }
img { max-width: 100%; border-radius: 8px; display: block; margin: 8px 0; }
details { border: 1px solid var(--line); border-radius: 8px; margin: 8px 0; }
summary { cursor: pointer; padding: 6px 12px; font-size: 14px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
summary::marker { color: var(--dim); }
summary code { background: none; color: var(--dim); }
summary i { color: var(--removed); font-style: normal; }
details > :not(summary) { margin: 8px 12px; }
.thought, .input { color: var(--dim); }
pre .added, pre .removed, pre .meta { display: inline-block; min-width: 100%; }
.added { color: var(--added); background: var(--added-back); }
.removed { color: var(--removed); background: var(--removed-back); }
.meta { color: var(--dim); }
@media (max-width: 600px) { article.user { margin-left: 16px; } header { padding-top: 20px; } }
@media print { body { background: none; } article { break-inside: avoid; } pre { max-height: none; white-space: pre-wrap; } }
`;
