import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { workspaceRoot } from '../../client/workspace.ts';
import { StudioError } from '../../common/errors.ts';
import { bundleModule } from '../../tools/bundle.ts';
import type { Command } from '../command.ts';
import { testReporter } from '../testReporter.ts';

export const test: Command = {
  name: 'test',
  usage: 'FILE…',
  text:
    'Runs tests of tools and worlds with the Node.js test runner. Tests can import `rollout-studio` and zod without ' +
    'installing them. A file without tests is an error.',
  options: {},
  async run(context, commandLine) {
    if (commandLine.words.length === 0) throw new StudioError('usage', 'usage: rollout test FILE…');
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-test-'));
    try {
      // The runner reports real paths; the temporary folder can be behind a link.
      const realFolder = await realpath(folder);
      const names = new Map(
        await Promise.all(
          commandLine.words.map(async (word, index): Promise<[string, string]> => {
            const target = path.join(realFolder, `${index}-${path.basename(word).replace(/\.\w+$/, '')}.mjs`);
            await bundle(path.resolve(context.cwd, word), context.cwd, target);
            return [target, word];
          }),
        ),
      );
      const reporter = path.join(realFolder, 'reporter.mjs');
      await writeFile(reporter, testReporter(names));
      // If this variable is set, the runner assumes a parent test runner and prints no readable output.
      const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => name !== 'NODE_TEST_CONTEXT'));
      const child = spawn(
        process.execPath,
        [
          '--disable-warning=ExperimentalWarning',
          '--enable-source-maps',
          '--test',
          `--test-reporter=${pathToFileURL(reporter).href}`,
          ...names.keys(),
        ],
        {
          cwd: context.cwd,
          env,
          stdio: ['ignore', 'pipe', 'pipe'],
          windowsHide: true,
        },
      );
      const end = (): void => void child.kill();
      context.signal.addEventListener('abort', end, { once: true });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          if (context.json) output += `${line}\n`;
          else context.printColored(line);
        });
      }
      const [code] = (await once(child, 'close')) as [number | null];
      context.signal.removeEventListener('abort', end);
      if (context.json) context.printJson({ passed: code === 0, output });
      if (context.signal.aborted) return 130;
      return code === 0 ? 0 : 1;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Bundles a test the way tools are bundled, with a source map so that stack traces show the sources. */
async function bundle(file: string, folder: string, target: string): Promise<void> {
  const root = workspaceRoot(file, folder);
  const { code, map } = await bundleModule(file, root);
  const text = new TextDecoder();
  const source = { ...(JSON.parse(text.decode(map)) as object), sourceRoot: pathToFileURL(root + path.sep).href };
  await writeFile(`${target}.map`, JSON.stringify(source));
  await writeFile(target, `${text.decode(code)}\n//# sourceMappingURL=${path.basename(target)}.map\n`);
}
