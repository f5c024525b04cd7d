// The template of a Python tool, as a server of a rollout: with the machine's Python, and with uv if it is installed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { it } from 'node:test';
import { fill } from '../../src/host/templates/template.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { PYTHONS } from '../../src/tools/processes/processTree.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { until } from '../e2e/support/poll.ts';
import { callContext, callTool, toolBench } from '../support/tools.ts';

const runs = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore', timeout: 20_000 }).status === 0;
const python = PYTHONS.find((name) => runs(name, '-c', 'import sys; assert sys.version_info >= (3, 9)'));
const template = readFileSync(path.resolve(import.meta.dirname, '../../media/templates/tool.py.txt'), 'utf8');

async function tryServer(command: string, args: string[]): Promise<void> {
  const bench = await toolBench();
  try {
    const more =
      '\n\n@tool("Fails.", {"n": {"type": "integer"}}, required=[])\ndef fails(n=0):\n    print("about to ' +
      'fäil")\n    raise ValueError(f"no {n}")\n\n\n# The MCP protocol.\n';
    await writeFile(
      path.join(bench.cwd, 'count_words.py'),
      fill(template, { NAME: 'count_words' }).text.replace('\n# The MCP protocol.\n', more),
    );
    const tools = await openTools(
      [{ kind: 'mcp', name: 'words', shared: false, server: { command, args: [...args, 'count_words.py'], env: {} } }],
      bench.environment,
    );
    assert.deepEqual(
      tools.specs.map(({ name, effect, idempotent, parameters }) => ({
        name,
        effect,
        idempotent,
        required: parameters['required'],
      })),
      [
        { name: 'count_words', effect: 'pure', idempotent: true, required: ['text'] },
        { name: 'fails', effect: 'irreversible', idempotent: undefined, required: [] },
      ],
    );
    assert.deepEqual((await callTool(tools, 'count_words', { text: 'ein schönes 日本' })).response, { words: 3 });
    const context = callContext();
    await assert.rejects(
      callTool(tools, 'fails', { n: 7 }, context),
      (error) => error instanceof ClassedError && error.class === 'tool_error' && error.message === 'ValueError: no 7',
    );
    // Its output arrives over another pipe than its answers.
    await until(
      () => /about to f.+il[^]*ValueError: no 7/.test([...bench.late, ...context.logs].join('')),
      30_000,
      'what it printed',
    );
    await tools.close();
    assert.equal(bench.groups.size, 0, 'the server ended with its rollout');
  } finally {
    await bench.close();
  }
}

it('a Python tool runs with plain Python', { skip: python === undefined ? 'needs Python 3.9 or newer' : false }, () =>
  tryServer(python ?? '', []),
);
it('a Python tool runs with uv', { skip: runs('uv', '--version') ? false : 'needs uv' }, () =>
  tryServer('uv', ['run', '--quiet']),
);
