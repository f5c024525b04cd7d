/**
 * Renders a team as an HTML document with an SVG. Its boxes can be clicked and focused with the keyboard.
 */
import { escapeHtml } from '../../common/pageHtml.ts';
import { CURVE_WIDTH, type GraphBox, type GraphLine, type TeamGraph } from './teamGraph.ts';

/** Maximum number of characters in a box. */
const MAX_CHARS = 20;

const STYLE = `
body { padding: 16px; color: var(--vscode-foreground); font-family: var(--vscode-font-family); }
svg { display: block; max-width: none; }
text { fill: var(--vscode-foreground); font-size: 13px; }
.about { fill: var(--vscode-descriptionForeground); font-size: 11px; }
rect {
  fill: var(--vscode-editorWidget-background);
  stroke: color-mix(in srgb, var(--vscode-descriptionForeground) 55%, transparent);
}
.team > rect { fill: none; stroke-dasharray: 4 3; stroke: var(--vscode-descriptionForeground); }
.box { cursor: pointer; outline: none; }
.box:hover > rect, .box:focus-visible > rect { stroke: var(--vscode-focusBorder); stroke-width: 2; }
.line { fill: none; stroke: var(--vscode-descriptionForeground); stroke-width: 1.5; }
marker path { fill: var(--vscode-descriptionForeground); }
`;

const SCRIPT = `
const vscode = acquireVsCodeApi();
const open = (event) => {
  const box = event.target.closest('[data-box]');
  if (box === null || (event.type === 'keydown' && event.key !== 'Enter' && event.key !== ' ')) return;
  event.preventDefault();
  vscode.postMessage({ box: Number(box.dataset.box) });
};
document.addEventListener('click', open);
document.addEventListener('keydown', open);
`;

/** @param nonce Allows only the document's own script and style. */
export function teamPage(title: string, graph: TeamGraph, nonce: string): string {
  return page(title, svgOf(title, graph), nonce);
}

/** Renders a message instead of the diagram while the file is invalid. */
export function problemPage(title: string, text: string, nonce: string): string {
  return page(title, `<p role="status">${escapeHtml(text)}</p>`, nonce);
}

function page(title: string, body: string, nonce: string): string {
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" ' +
    `content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">` +
    `<title>${escapeHtml(title)}</title><style nonce="${nonce}">${STYLE}</style></head><body>${body}<script ` +
    `nonce="${nonce}">${SCRIPT}</script></body></html>`
  );
}

function svgOf(title: string, { width, height, boxes, lines }: TeamGraph): string {
  const arrow =
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" ' +
    'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>';
  return (
    `<svg role="group" aria-label="${escapeHtml(title)}" width="${width + 2}" height="${height + 2}" viewBox="-1 ` +
    `-1 ${width + 2} ${height + 2}">${arrow}${boxes.map(boxOf).join('')}${lines.map(lineOf).join('')}</svg>`
  );
}

function boxOf({ x, y, width, height, name, detail, loop, team }: GraphBox, index: number): string {
  const details = [detail, ...(loop === undefined ? [] : [loop])].filter((text) => text !== '').join(', ');
  const label = escapeHtml(`${name}${details === '' ? '' : `, ${details}`}`);
  const mark = loop === undefined ? '' : ' ↻';
  return (
    `<g class="box${team ? ' team' : ''}" role="link" tabindex="0" data-box="${index}" ` +
    `aria-label="${label}"><title>${label}</title>` +
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="4"${team ? ' pointer-events="all"' : ''}/>` +
    `<text x="${x + 12}" y="${y + 20}">${escapeHtml(short(name) + mark)}</text><text class="about" x="${x + 12}" ` +
    `y="${y + (team ? 34 : 37)}">${escapeHtml(short(detail))}</text></g>`
  );
}

function lineOf({ from, to, sameColumn }: GraphLine): string {
  const bend = sameColumn ? Math.max(from.x, to.x) + CURVE_WIDTH : (from.x + to.x) / 2;
  return (
    `<path class="line" d="M${from.x} ${from.y} C${bend} ${from.y} ${bend} ${to.y} ${to.x} ${to.y}" ` +
    'marker-end="url(#arrow)"/>'
  );
}

function short(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text;
}
