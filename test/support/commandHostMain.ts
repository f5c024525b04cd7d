/**
 * Runs `rollout` commands one after another in this process: `commandHostMain.ts CLI END`. Requests are lines on file
 * descriptor 3. Everything is the bundle's own code: its main module is evaluated again for each command, the modules
 * that it imports are not. After a command, END and its exit code follow on both outputs.
 */
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { CommandRequest } from './commandHost.ts';

/** If a command leaves something running, this process ends when that ends, as the command's own process would. */
const TURNS = 40;

const [cli = '', end = ''] = process.argv.slice(2);
const [, main] = /\bimport\("(\.\/chunks\/main-\w+\.mjs)"\)/.exec(readFileSync(cli, 'utf8')) ?? [];
if (main === undefined) throw new Error(`${cli} does not import its main module`);
const mainUrl = new URL(main, pathToFileURL(cli)).href;

const requests = new Socket({ fd: 3 });
requests.once('end', () => process.exit());
const lines = createInterface({ input: requests })[Symbol.asyncIterator]();

const nextTurn = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns whether only the requests keep this process alive. */
async function isIdle(before: number): Promise<boolean> {
  for (let turn = 0; turn < TURNS; turn++) {
    await nextTurn(turn);
    if (process.getActiveResourcesInfo().length <= before) return true;
  }
  return false;
}

const exitCode = (): number => Number(process.exitCode ?? 0);

/** Where a command listens that does not remove its listeners. */
const LISTENED: readonly (readonly [NodeJS.EventEmitter, string])[] = [
  [process, 'SIGINT'],
  [process, 'SIGTERM'],
  [process.stdout, 'error'],
  [process.stderr, 'error'],
];

for (let run = 0; ; run++) {
  await nextTurn(0);
  const idle = process.getActiveResourcesInfo().length;
  const { value: line, done } = await lines.next();
  if (done === true) break;
  const { cwd, args } = JSON.parse(line) as CommandRequest;
  process.chdir(cwd);
  process.argv = [process.execPath, cli, ...args];
  process.exitCode = undefined;
  requests.unref(); // a command that waits for nothing ends its process
  await import(`${mainUrl}?${run}`);
  requests.ref();
  for (const [emitter, event] of LISTENED) emitter.removeAllListeners(event);
  if (!(await isIdle(idle))) {
    requests.destroy();
    break;
  }
  for (const stream of [process.stdout, process.stderr]) stream.write(`${end}${exitCode()}\n`);
}
