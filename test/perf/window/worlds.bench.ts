/**
 * The Worlds view of VS Code with 1,000 published scenarios (about 500 MB): the first rows, searches, a World page, and
 * the memory of the extension host and of the command line. The baseline reads all bytes once.
 */
import { spawn } from 'node:child_process';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../../../src/build/bundles.ts';
import { VsCode } from '../../e2e/support/vscode.ts';
import { SCENARIOS, writeLargeFolder } from '../support/largeFolder.ts';
import { rounds, spread, table } from '../support/table.ts';

const WAIT_MS = 120_000;
const SEARCHES = 5;
const WORLD = 'version: 1\nname: shelves\nkind: code\nformat: awm\nfrom: ../data/awm\n';
/** How often the memory of a process is read. */
const SAMPLE_MS = 20;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** The processes of this machine, as far as they can be read. */
function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1] ?? 0);
        return [{ pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8') }];
      } catch {
        return []; // it has ended
      }
    });
}

/** Returns the extension host that this process started. */
function extensionHost(): number {
  const all = processes();
  const byPid = new Map(all.map((each) => [each.pid, each]));
  const isOurs = ({ parent }: Process): boolean => {
    const above = byPid.get(parent);
    return parent === process.pid || (above !== undefined && isOurs(above));
  };
  const host = all.find((each) => each.command.includes('--type=extensionHost') && isOurs(each));
  if (host === undefined) throw new Error('There is no extension host.');
  return host.pid;
}

/** Megabytes of a process: `VmRSS` now, `VmHWM` at most so far. undefined: it has ended. */
function megabytes(pid: number, which: 'VmRSS' | 'VmHWM'): number | undefined {
  try {
    const found = new RegExp(String.raw`^${which}:\s*(\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return found === null ? undefined : Number(found[1]) / 1024;
  } catch {
    return undefined;
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Returns the largest size of the command line while it searches. */
async function commandLine(folder: string): Promise<number> {
  const child = spawn(process.execPath, [path.join(root, 'dist/cli.mjs'), 'world', 'list', folder, 'shelf', '777'], {
    stdio: 'ignore',
  });
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, megabytes(child.pid ?? 0, 'VmHWM') ?? 0)), SAMPLE_MS);
  await new Promise((resolve) => child.once('close', resolve));
  clearInterval(timer);
  return most;
}

if (!existsSync(path.join(root, 'dist', 'rollout-studio.vsix')))
  throw new Error('There is no package to install: npm run package makes one.');
const workspaceFolder = mkdtempSync(path.join(os.tmpdir(), 'rollout-bench-'));
const folder = path.join(workspaceFolder, 'data', 'awm');
const columns = {
  plain: [] as number[],
  rows: [] as number[],
  index: [] as number[],
  search: [] as number[],
  page: [] as number[],
  before: [] as number[],
  host: [] as number[],
  cli: [] as number[],
};
try {
  writeLargeFolder(folder);
  mkdirSync(path.join(workspaceFolder, 'worlds'));
  writeFileSync(path.join(workspaceFolder, 'worlds', 'shelves.world.yaml'), WORLD);
  const files = readdirSync(folder).map((name) => path.join(folder, name));
  const size = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
  for (let round = 0; round < rounds(3); round++) {
    columns.plain.push(
      await timed(async () => {
        for (const file of files) for await (const _ of createReadStream(file));
      }),
    );
    const code = await VsCode.start({ workspaceFolder });
    try {
      const { workbench } = code;
      await workbench.command('Rollout: Focus on Worlds View');
      const world = workbench.treeItem(/^World shelves/);
      await world.waitFor({ timeout: WAIT_MS });
      const host = extensionHost();
      columns.before.push(megabytes(host, 'VmRSS') ?? Number.NaN);
      columns.rows.push(
        await timed(async () => {
          await world.locator('.monaco-tl-twistie').click();
          await workbench.treeItem(/^Scenario shelf_0,/).waitFor({ timeout: WAIT_MS });
        }),
      );
      await workbench.command('Rollout: Open World…');
      const search = (index: number): Promise<number> =>
        timed(async () => {
          await workbench.input.fill(`shelf_${index} rename_box`);
          await workbench.picks
            .filter({ hasText: `shelf_${index}` })
            .first()
            .waitFor({ timeout: WAIT_MS });
        });
      columns.index.push(await search(1));
      for (let turn = 1; turn <= SEARCHES; turn++) columns.search.push(await search(SCENARIOS - turn));
      columns.page.push(
        await timed(async () => {
          await workbench.pick(/shelf_995/);
          const text = workbench.webview().getByText('Rename the red box to crimson box.');
          await text.first().waitFor({ timeout: WAIT_MS });
        }),
      );
      columns.host.push(megabytes(host, 'VmHWM') ?? Number.NaN);
    } finally {
      await code.close();
    }
    columns.cli.push(await commandLine(folder));
  }
  const grown = columns.host.map((most, round) => most - (columns.before[round] ?? 0));
  console.log(
    table(
      [
        [`${size.toFixed(0)} MB, ${SCENARIOS} scenarios`, 'min / median / max'],
        ['baseline: read all bytes once, ms', spread(columns.plain, 0)],
        ['first rows of the view, ms (bound: 1,000)', spread(columns.rows, 0)],
        ['first search, which reads names of tables and tools, ms', spread(columns.index, 0)],
        ['search, ms (bound: 300)', spread(columns.search, 0)],
        ['page of a scenario, ms', spread(columns.page, 0)],
        ['extension host with the view closed, MB', spread(columns.before, 0)],
        ['extension host at most, MB', spread(columns.host, 0)],
        ['of it by the worlds, MB (bound: 200)', spread(grown, 0)],
        ['command line at most, MB (bound: 200)', spread(columns.cli, 0)],
      ],
      [1],
    ),
  );
} finally {
  rmSync(workspaceFolder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
