"""How the page looks: light and dark by the reader's preference, from 400 to 1600 pixels, and on paper."""

_LIGHT = """
  --back: #ffffff; --raised: #f5f7f9; --line: #d3dae1; --text: #1b2027; --dim: #545e69;
  --link: #0b57a4; --bad: #b0221a; --good: #176b31; --mark: #7a5000;
  --evidence: #fff3cf; --heat: #4f93d8; --bar: #4f93d8; --life: #8b97a3;
"""
_DARK = """
  --back: #10151b; --raised: #181f27; --line: #323c47; --text: #e4eaf0; --dim: #a3adb8;
  --link: #79b8ff; --bad: #ff8f85; --good: #74d68e; --mark: #eec15a;
  --evidence: #3a3013; --heat: #3f7fc4; --bar: #4d8fd6; --life: #6d7985;
"""

STYLE = (
    ":root { color-scheme: light dark;"
    + _LIGHT
    + "}\n@media (prefers-color-scheme: dark) { :root {"
    + _DARK
    + "} }\n"
    + """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--back); color: var(--text); overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Roboto, Arial, sans-serif; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: .9em; }
header, main, footer { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
section:focus { outline: none; }
.skip { position: absolute; left: -999em; }
.skip:focus { left: 12px; top: 8px; padding: 8px 12px; background: var(--back); z-index: 1; }
.markers { position: absolute; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.dim { color: var(--dim); }
.bad, .fault { color: var(--bad); font-weight: 600; }
.good { color: var(--good); font-weight: 600; }
.mark { color: var(--mark); }

.brand { margin: 28px 0 0; color: var(--dim); font-weight: 600; letter-spacing: .02em; }
h1 { margin: 2px 0 16px; font-size: clamp(1.4rem, 1.1rem + 1.4vw, 2rem); line-height: 1.25; }
h1 code { font-size: .82em; font-weight: 500; }
h2 { margin: 48px 0 12px; font-size: 1.35rem; }
h3 { margin: 20px 0 8px; font-size: 1rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 10px 24px;
  margin: 0; padding: 14px 16px; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; }
.facts dt { color: var(--dim); font-size: .85rem; }
.facts dd { margin: 0; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 14px 0 0; padding: 0; list-style: none; }
nav a { display: inline-block; padding: 6px 0; }
.notes p { margin: 10px 0 0; }
.note { padding-left: 12px; border-left: 3px solid var(--line); color: var(--dim); }
.note strong { color: var(--text); }
footer { margin-top: 56px; padding-bottom: 40px; color: var(--dim); font-size: .9rem; }
footer p { border-top: 1px solid var(--line); padding-top: 14px; }

summary { cursor: pointer; }
.finding { margin: 0 0 14px; border: 1px solid var(--line); border-left: 4px solid var(--bad); border-radius: 8px; }
.finding.known { border-left-color: var(--life); }
.finding > summary { display: grid; grid-template-columns: 14px 1fr auto; align-items: baseline; gap: 2px 10px;
  padding: 12px 16px; list-style: none; }
.finding > summary::-webkit-details-marker { display: none; }
.finding > summary::before { content: "▸"; color: var(--dim); }
.finding[open] > summary::before { content: "▾"; }
.finding[open] > summary { border-bottom: 1px solid var(--line); background: var(--raised);
  border-radius: 0 8px 0 0; }
.finding > summary h3 { margin: 0; line-height: 1.45; font-weight: 600; }
.finding > summary h3 code { color: var(--bad); margin-right: 8px; }
.finding.known > summary h3 code { color: var(--text); }
.sentence { font-weight: 500; }
.badges { white-space: nowrap; }
.badge { display: inline-block; padding: 0 8px; border: 1px solid var(--line); border-radius: 999px;
  color: var(--dim); background: var(--back); font-size: .8rem; }
.finding > :not(summary) { margin-left: 16px; margin-right: 16px; }
.about { display: grid; grid-template-columns: max-content 1fr; gap: 6px 16px; margin-top: 14px; max-width: 900px; }
.about dt { color: var(--dim); }
.about dd { margin: 0; }
.script { font-weight: 600; }
.again p { margin: 14px 0 4px; color: var(--dim); }
.more { margin-top: 10px; }
.more:last-child { margin-bottom: 16px; }
.more > summary { padding: 4px 0; color: var(--link); }
pre { margin: 0; padding: 10px 12px; background: var(--raised); border: 1px solid var(--line); border-radius: 6px;
  overflow-wrap: normal; }

figure { margin-top: 18px; margin-bottom: 0; max-width: 900px; }
figcaption { color: var(--dim); }
.sequence { display: block; overflow: hidden; }
.sequence text { fill: var(--text); font-size: 13px; }
.sequence .actor { font-weight: 600; font-size: 14px; }
.sequence .time { fill: var(--dim); font-variant-numeric: tabular-nums; font-size: 12.5px; }
.life { stroke: var(--life); stroke-width: 1.5; }
.life.gap { stroke-dasharray: 2 5; }
.arrow { stroke: var(--text); stroke-width: 1.5; }
.arrow.fault { stroke: var(--bad); stroke-dasharray: 7 3; }
.head { fill: var(--text); }
.head.fault { fill: var(--bad); }
.dot { fill: var(--text); }
.dot.silence { fill: var(--back); stroke: var(--bad); stroke-width: 2; }
rect.evidence { fill: var(--evidence); }
.label { padding: 0 12px; font-size: 13px; line-height: 20px; white-space: pre; overflow: hidden;
  text-overflow: ellipsis; color: var(--text); }
.label.fault { color: var(--bad); font-weight: 500; }
.label.beside { color: var(--dim); font-size: 12.5px; }
.label.beside strong { color: var(--mark); font-weight: 600; }
.label.end { text-align: right; }
.label.pause { color: var(--dim); font-size: 12.5px; font-style: italic; }

.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; overflow-wrap: normal; }
th, td { padding: 6px 12px 6px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--dim); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; }
.number { text-align: right; font-variant-numeric: tabular-nums; padding-left: 12px; }
.matrix { width: auto; }
.matrix tbody th { position: sticky; left: 0; background: var(--back); }
.matrix .number { min-width: 84px; padding-right: 12px; }
.matrix tbody td { border-left: 1px solid var(--line); }
.heat { background: color-mix(in srgb, var(--heat) calc(var(--share) * .45), transparent); }
.checks .wide { min-width: 280px; padding-left: 12px; }
.checks thead th:last-child { padding-left: 12px; }
.checks td:nth-child(2) { white-space: nowrap; }
.timeline td { padding-right: 18px; }
.timeline td:first-child { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.timeline td:nth-child(2), .timeline td:last-child { white-space: nowrap; }
.timeline td:nth-child(3) { min-width: 300px; overflow-wrap: anywhere; }
tr.evidence td { background: var(--evidence); }

.vocabulary { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 250px), 1fr)); gap: 8px;
  margin: 0; padding: 0; list-style: none; }
.vocabulary li { display: grid; grid-template-columns: 1fr auto; align-content: start; gap: 2px 10px; padding: 8px 12px;
  border: 1px solid var(--line); border-radius: 6px; font-size: .9rem; }
.vocabulary code { font-weight: 600; }
.vocabulary .dim { grid-column: 1 / -1; font-size: .85rem; line-height: 1.35; }
.vocabulary .never { border-style: dashed; background: var(--raised); }
.vocabulary .never .times { color: var(--mark); font-weight: 600; }
.times { font-variant-numeric: tabular-nums; }
.bar { grid-column: 1 / -1; height: 4px; border-radius: 2px;
  background: linear-gradient(90deg, var(--bar) var(--share), var(--line) var(--share)); }

@media (max-width: 620px) {
  header, main, footer { padding: 0 14px; }
  .finding > summary { grid-template-columns: 14px 1fr; padding: 10px 12px; }
  .badges { grid-column: 2; }
  .finding > :not(summary) { margin-left: 12px; margin-right: 12px; }
  .about { grid-template-columns: 1fr; gap: 0; }
  .about dd { margin-bottom: 10px; }
  .label { padding: 0 9px; }
}
@media print {
  nav, .skip { display: none; }
  .finding { break-inside: avoid-page; }
  .scroll { overflow: visible; }
}
"""
)
