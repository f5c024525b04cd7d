/** `npm run pictures`: the README's pictures, taken from the running product (the demo's own output) as SVG. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from './bundles.ts';

const COLUMNS = 100;
const CHARACTER = 8.4;
const LINE = 19;
const MARGIN = 18;
const COLOURS: readonly (readonly [RegExp, string])[] = [
  [/●|✓/g, '#4ec9a0'], [/✗/g, '#f48771'], [/⚠|◐/g, '#e2c08d'], [/▓/g, '#4fa3ff'], [/^(\$ .*|step \d+ .*|end ──.*)$/g, '#9cdcfe'],
];

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-pictures-'));
const workspace = path.join(folder, 'workspace');
const cli = (args: readonly string[]): string => {
  const done = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', path.join(root, 'dist/cli.mjs'), ...args, '--store', path.join(folder, 'store')], {
    cwd: args[0] === 'init' ? folder : workspace, encoding: 'utf8', env: { ...process.env, COLUMNS: String(COLUMNS), NO_COLOR: '1' },
  });
  if (done.status !== 0) throw new Error(done.stderr);
  return done.stdout.trimEnd();
};

try {
  cli(['init', workspace]);
  const report = cli(['run', 'batches/desk.batch.yaml']);
  write('run', `$ rollout run batches/desk.batch.yaml\n${report}\n\n$ rollout show last\n${cli(['show', 'last'])}`);
  write('show', `$ rollout show last/renew-one/1\n${cli(['show', 'last/renew-one/1'])}`);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}

function write(name: string, text: string): void {
  const lines = text.split('\n');
  const width = Math.ceil(COLUMNS * CHARACTER + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  const rows = lines.map((line, index) => `<text x="${MARGIN}" y="${MARGIN + (index + 0.75) * LINE}" xml:space="preserve">${coloured(line)}</text>`).join('\n');
  writeFileSync(path.join(root, 'media', `${name}.svg`), `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<rect width="100%" height="100%" rx="8" fill="#1e1e1e"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d4d4d4">
${rows}
</g>
</svg>
`);
}

function coloured(line: string): string {
  let text = line.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  for (const [pattern, colour] of COLOURS) text = text.replace(pattern, (found) => `<tspan fill="${colour}">${found}</tspan>`);
  return text;
}
