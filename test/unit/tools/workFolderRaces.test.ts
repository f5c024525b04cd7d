/**
 * A program of the agent replaces something in the working directory with a link, or back, between any two steps of
 * what the worker does there.
 */
import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../../src/common/json.ts';
import { removeTree } from '../../../src/disk/removeTree.ts';
import { copyForUpload, profileOf } from '../../../src/tools/builtins/browser/profile.ts';
import { bytesOf } from '../../../src/tools/builtins/bytes.ts';
import { fileTools } from '../../../src/tools/builtins/files.ts';
import type { ToolEnvironment } from '../../../src/tools/environment.ts';
import { WorkFolder } from '../../../src/tools/workFolder.ts';
import { makeWorkDirectory } from '../../../src/worker/run/workDirectory.ts';
import { files, inSteps } from '../../support/fsSteps.ts';
import { callContext } from '../../support/tools.ts';

const skip = process.platform === 'linux' ? false : 'macOS and Windows guarantee less';

const FILES = ['top/dir/file.txt', 'top/dir/sub/deep.txt', 'top/other.txt'];
const FOLDERS = ['top/dir/empty'];

let base: string;
let cwd: string;
let outside: string;
let aside: string;
before(() => {
  // In memory, if possible: there are thousands of set-ups.
  base = files.mkdtempSync(path.join(files.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'races-'));
  cwd = path.join(base, 'work', 'cwd');
  outside = path.join(base, 'outside');
  aside = path.join(base, 'aside');
  tree(outside, 'secret', ['outer.txt', 'top/outer.txt', 'top/dir/outer.txt', 'top/dir/sub/outer.txt']);
});
after(() => files.rmSync(base, { recursive: true, force: true }));

function tree(root: string, text: string, more: readonly string[]): void {
  for (const folder of FOLDERS) files.mkdirSync(path.join(root, folder), { recursive: true });
  for (const file of [...FILES, ...more]) {
    files.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    files.writeFileSync(path.join(root, file), text);
  }
}

/** A fresh working directory. Outside, everything in it exists as well, and more. */
function setUp(): void {
  for (const folder of [path.dirname(cwd), aside]) files.rmSync(folder, { recursive: true, force: true });
  files.mkdirSync(aside);
  tree(cwd, 'own', []);
  files.mkdirSync(profileOf(cwd));
}

function snapshot(folder: string): string[] {
  return files
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const at = path.join(folder, name);
      const stats = files.lstatSync(at);
      return [name, stats.mode, stats.isFile() ? files.readFileSync(at, 'utf8') : ''].join(' ');
    });
}

/** Takes turns between what is at `name` in the working directory and a link to the same name outside. */
class Swap {
  readonly #at: string;
  readonly #link: string;
  readonly #own: string;

  constructor(name: string) {
    this.#at = path.join(cwd, name);
    this.#own = path.join(aside, 'own');
    this.#link = path.join(outside, name);
  }

  there(): void {
    attempt(() => files.renameSync(this.#at, this.#own)); // it may not exist
    attempt(() => files.symlinkSync(this.#link, this.#at));
  }

  back(): void {
    attempt(() => files.unlinkSync(this.#at));
    attempt(() => files.renameSync(this.#own, this.#at));
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // The worker has deleted it, or has created something there.
  }
}

const call = async (name: string, args: JsonObject): Promise<unknown> => {
  const tool = fileTools({ cwd } as ToolEnvironment).find(({ spec }) => spec.name === name) ?? assert.fail(name);
  return tool.run(args, callContext());
};

const FILE = 'top/dir/file.txt';
const USES: Readonly<Record<string, () => Promise<unknown>>> = {
  'reads a file': () => call('read_file', { path: FILE }),
  'reads a document': async () => (await bytesOf(cwd, FILE, 1000)).toString(),
  'copies an upload': async () => files.readFileSync(await copyForUpload(cwd, FILE), 'utf8'),
  'replaces a file': () => call('write_file', { path: FILE, content: 'new' }),
  'continues a file': () => call('write_file', { path: FILE, content: 'new', append: true }),
  'creates a file': () => call('write_file', { path: 'top/dir/new', content: 'new' }),
  'creates a file in new folders': () => call('write_file', { path: 'top/dir/new/a/file.txt', content: 'new' }),
  'creates only a new file': () => new WorkFolder(cwd).write('top/dir/new', 'new', 'create'),
  'finds a file': () => new WorkFolder(cwd).exists('top/dir/outer.txt').then((found) => (found ? 'outer.txt' : '')),
  'edits a file': () => call('edit_file', { path: FILE, find: 'own', replace: 'new' }),
  'lists a folder': () => call('list_files', { path: 'top', recursive: true }),
  'lists everything': () => call('list_files', { recursive: true }),
  'deletes a file': () => call('delete_file', { path: FILE }),
  'deletes a folder': () => call('delete_file', { path: 'top/dir/empty' }),
  'removes the directory': () => removeTree(cwd, { retries: 1, retryMs: 1 }),
};
const SWAPPED = ['', 'top', 'top/dir', FILE, 'top/dir/empty', 'top/dir/sub', 'top/dir/new'];

describe('while a program replaces names with links, nothing outside is used by what', { skip }, () => {
  for (const [what, use] of Object.entries(USES))
    it(what, async () => {
      const kept = snapshot(outside);
      /** Runs it with an act before each step. Returns the number of steps. */
      const run = async (where: string, act: (step: number) => void): Promise<number> => {
        setUp();
        let told: unknown;
        const steps = await inSteps(async () => {
          told = await use().catch((error: unknown) => error);
        }, act);
        assert.deepEqual(snapshot(outside), kept, where);
        assert.doesNotMatch(JSON.stringify(told ?? null), /secret|outer/, where);
        return steps;
      };
      const steps = await run('undisturbed', () => undefined);
      for (const name of SWAPPED)
        for (let at = 0; at < steps; at++)
          // The link stays for a step, two, or forever.
          for (const length of [1, 2, Infinity]) {
            const swap = new Swap(name);
            await run(`${name} at step ${at} of ${steps}, for ${length}`, (step) => {
              if (step === at) swap.there();
              else if (step === at + length) swap.back();
            });
          }
    });

  it('adds attachments', async () => {
    setUp();
    const kept = snapshot(outside);
    const parent = path.dirname(cwd);
    const names = ['top/dir/file.txt', 'top/other.txt', 'top/dir/new/file.txt'];
    const task = { id: 't', question: 'q', meta: {}, files: names.map((name) => ({ name, sha: name, bytes: 3 })) };
    const adding = makeWorkDirectory(parent, task, (name) => {
      const directory = files.readdirSync(parent).find((each) => /^[0-9a-f]{32}$/.test(each)) ?? assert.fail('none');
      if (name === names[1]) {
        files.renameSync(path.join(parent, directory, 'top'), aside + '/own');
        files.symlinkSync(path.join(outside, 'top'), path.join(parent, directory, 'top'));
      }
      return Promise.resolve(Buffer.from('own'));
    });
    await assert.rejects(adding, { code: 'config' });
    assert.deepEqual(snapshot(outside), kept);
    assert.deepEqual(files.readdirSync(parent).sort(), ['cwd', 'cwd.browser'], 'the directory is removed');
  });
});
