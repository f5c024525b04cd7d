/**
 * Starts and stops a real vLLM for a test and stops it when the test ends, however it ends: it reads commands (`up`,
 * `down`) from its standard input, answers each with a line, and ends with it. Arguments: the folder with the scripts,
 * then options of vLLM.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);
const [kit = '', ...options] = process.argv.slice(2);

async function script(name: 'up' | 'down', args: readonly string[] = []): Promise<string> {
  return (await run(path.join(kit, name), args, { maxBuffer: 16 * 1024 * 1024 })).stdout.trim();
}

async function obey(command: string): Promise<Record<string, string>> {
  try {
    return { done: command === 'up' ? await script('up', options) : await script('down') };
  } catch (error) {
    const said = (error as { stderr?: unknown }).stderr; // execFile puts it there
    return { failed: `${command}: ${typeof said === 'string' && said !== '' ? said : String(error)}` };
  }
}

// The terminal's Ctrl-C reaches this process too; only the end of standard input ends it.
process.on('SIGINT', () => undefined);
process.stdout.on('error', () => undefined); // the reader is gone; the end of standard input reports that too
const commands = readline.createInterface({ input: process.stdin });
let last: Promise<unknown> = Promise.resolve();
commands.on('line', (command) => {
  last = last.then(async () => process.stdout.write(`${JSON.stringify(await obey(command))}\n`));
});
commands.on('close', () => {
  // An engine that is starting ends `up` when it is stopped; what that leaves is stopped once more.
  void script('down')
    .catch(() => undefined)
    .then(() => last)
    .then(() => script('down'))
    .finally(() => process.exit(0));
});
