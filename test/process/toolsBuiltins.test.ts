// The built-in tools in a real working directory, with real processes.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { hasEnded } from '../support/cli.ts';
import { isClass } from '../support/stubServer.ts';
import type { ToolBench } from '../support/tools.ts';
import { callContext, callTool, toolBench } from '../support/tools.ts';

const posix = process.platform === 'win32' ? 'needs a POSIX shell' : false;
let bench: ToolBench;
let tools: ToolHost;

before(async () => {
  bench = await toolBench();
  tools = await openTools(
    (['terminal', 'code', 'calculator', 'files'] as const).map((name) => ({ kind: 'builtin', name })),
    bench.environment,
  );
});
after(async () => {
  await tools.close();
  assert.equal(bench.groups.size, 0);
  await bench.close();
});

describe('execute_command', { skip: posix }, () => {
  it('returns exit code and output, in the working directory', async () => {
    assert.deepEqual(
      (await callTool(tools, 'execute_command', { command: 'pwd; echo problem >&2; exit 3' })).response,
      { exit_code: 3, output: `${bench.cwd}\nproblem\n` },
    );
  });

  it('sees the allowed environment only', async () => {
    process.env['NOT_FOR_COMMANDS'] = 'secret';
    assert.deepEqual((await callTool(tools, 'execute_command', { command: 'echo "[$NOT_FOR_COMMANDS]"' })).response, {
      exit_code: 0,
      output: '[]\n',
    });
  });

  it('stops at its time-out, with the output until then', async () => {
    const { response } = await callTool(tools, 'execute_command', { command: 'echo begun; sleep 60', timeout: 0.3 });
    assert.deepEqual(response, { exit_code: null, output: 'begun\n', timed_out: true });
  });

  it('ends with all its children when the call is aborted', async () => {
    const pidFile = path.join(bench.cwd, 'pid');
    const cancel = new AbortController();
    const call = callTool(
      tools,
      'execute_command',
      { command: `sleep 60 & echo $! > ${pidFile}; wait` },
      callContext(cancel.signal),
    );
    while (!existsSync(pidFile) || (await readFile(pidFile, 'utf8')) === '')
      await new Promise((resolve) => setTimeout(resolve, 5));
    const begun = performance.now();
    cancel.abort();
    await assert.rejects(call, isClass('cancelled', /cancelled/));
    assert.ok(performance.now() - begun < 1000);
    assert.ok(await hasEnded(Number(await readFile(pidFile, 'utf8')), 30_000));
  });

  it('leaves nothing running in the background', async () => {
    const { response } = await callTool(tools, 'execute_command', { command: 'sleep 60 > /dev/null 2>&1 & echo $!' });
    assert.ok(await hasEnded(Number((response as { output: string }).output), 30_000));
  });

  it('does not wait for a child that holds its output', async () => {
    const begun = performance.now();
    await callTool(tools, 'execute_command', { command: 'sleep 60 & echo out' });
    assert.ok(performance.now() - begun < 2000);
  });

  it('keeps the beginning of a long output, and the whole separately', async () => {
    const outcome = await callTool(tools, 'execute_command', {
      command: `"${process.execPath}" -e "process.stdout.write('z'.repeat(3_000_000))"`,
    });
    const { output } = outcome.response as { output: string };
    assert.match(output.slice(-40), /\[1951424 more bytes were cut\]$/);
    assert.equal(outcome.full?.length, 3_000_000);
  });

  it('survives endless output', async () => {
    const outcome = await callTool(tools, 'execute_command', { command: 'yes', timeout: 1 });
    assert.ok((outcome.cut ?? 0) > 0);
    assert.ok((outcome.full?.length ?? 0) <= 64 * 1024 * 1024);
  });

  it('ends running processes with the rollout', async () => {
    const own = await openTools([{ kind: 'builtin', name: 'terminal' }], bench.environment);
    const call = assert.rejects(
      callTool(own, 'execute_command', { command: 'sleep 60' }),
      isClass('cancelled', /The rollout has ended/),
    );
    while (bench.groups.size === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await own.close();
    await call;
    assert.equal(bench.groups.size, 0);
  });
});

describe('run_code', () => {
  it('runs JavaScript, with import and require', async () => {
    const imported = await callTool(tools, 'run_code', {
      code: 'import os from "node:os"; console.log(await Promise.resolve(typeof os.cpus));',
    });
    assert.deepEqual(imported.response, { exit_code: 0, output: 'function\n' });
    const required = await callTool(tools, 'run_code', {
      code: 'console.log(typeof require("fs").readFileSync, process.cwd())',
    });
    assert.deepEqual(required.response, { exit_code: 0, output: `function ${bench.cwd}\n` });
  });

  it('returns errors as the program prints them', async () => {
    const { response } = await callTool(tools, 'run_code', { code: 'throw new Error("no")' });
    assert.match(JSON.stringify(response), /"exit_code":1.*Error: no/);
  });

  it('runs Python where it is installed', async (test) => {
    const schema = tools.specs.find((spec) => spec.name === 'run_code')?.parameters as {
      properties: { language: { enum: string[] } };
    };
    if (!schema.properties.language.enum.includes('python')) {
      test.skip('no Python here');
      return;
    }
    assert.deepEqual(
      (await callTool(tools, 'run_code', { language: 'python', code: 'print(sum(range(10)), "ü")' })).response,
      { exit_code: 0, output: '45 ü\n' },
    );
  });

  it('refuses an unsupported language', async () => {
    await assert.rejects(
      callTool(tools, 'run_code', { language: 'cobol', code: 'x' }),
      isClass('invalid_arguments', /^language: /),
    );
  });
});

describe('files', () => {
  it('writes, reads, edits, lists, and deletes', async () => {
    await callTool(tools, 'write_file', { path: 'a/b.txt', content: 'one\ntwo\nthree\n' });
    await callTool(tools, 'write_file', { path: 'a/b.txt', content: 'four\n', append: true });
    assert.equal((await callTool(tools, 'read_file', { path: 'a/b.txt' })).response, 'one\ntwo\nthree\nfour\n');
    assert.equal(
      (await callTool(tools, 'read_file', { path: 'a/b.txt', first_line: 2, lines: 2 })).response,
      'two\nthree',
    );
    await callTool(tools, 'edit_file', { path: 'a/b.txt', find: 'two', replace: 'zwei' });
    await assert.rejects(
      callTool(tools, 'edit_file', { path: 'a/b.txt', find: 'e', replace: 'x' }),
      isClass('tool_error', /occurs \d times/),
    );
    await assert.rejects(
      callTool(tools, 'edit_file', { path: 'a/b.txt', find: 'two', replace: 'x' }),
      isClass('tool_error', /does not occur/),
    );
    assert.deepEqual((await callTool(tools, 'list_files', { path: 'a' })).response, {
      entries: [{ path: 'b.txt', kind: 'file', bytes: 20 }],
    });
    await assert.rejects(callTool(tools, 'delete_file', { path: 'a' }), isClass('tool_error', /not empty/));
    await callTool(tools, 'delete_file', { path: 'a/b.txt' });
    await callTool(tools, 'delete_file', { path: 'a' });
    await assert.rejects(
      callTool(tools, 'read_file', { path: 'a/b.txt' }),
      isClass('tool_error', /a\/b\.txt: no such file/),
    );
  });

  it('returns images to look at, and refuses other bytes', async () => {
    await writeFile(path.join(bench.cwd, 'p.png'), Buffer.from([1, 2, 3]));
    await writeFile(path.join(bench.cwd, 'x.bin'), Buffer.from([0, 1]));
    assert.deepEqual((await callTool(tools, 'read_file', { path: 'p.png' })).parts, [
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'AQID' },
    ]);
    await assert.rejects(callTool(tools, 'read_file', { path: 'x.bin' }), isClass('tool_error', /not a text file/));
  });

  it('stays in the working directory', async () => {
    const outside = path.dirname(bench.cwd);
    await writeFile(path.join(outside, 'secret.txt'), 'secret');
    await mkdir(path.join(bench.cwd, 'in'), { recursive: true });
    if (posix === false) {
      await symlink(outside, path.join(bench.cwd, 'out'));
      await symlink(path.join(outside, 'not-there.txt'), path.join(bench.cwd, 'dangling'));
      await symlink(path.join(bench.cwd, 'in'), path.join(bench.cwd, 'inner'));
    }
    const linked = posix === false ? ['out/secret.txt', 'out/new.txt', 'dangling', 'inner/../../secret.txt'] : [];
    for (const file of ['../secret.txt', path.join(outside, 'secret.txt'), 'in/../../secret.txt', ...linked]) {
      await assert.rejects(
        callTool(tools, 'read_file', { path: file }),
        isClass('tool_error', /outside the working directory/),
        file,
      );
      await assert.rejects(
        callTool(tools, 'write_file', { path: file, content: 'x' }),
        isClass('tool_error', /outside the working directory/),
        file,
      );
    }
    for (const file of ['..', '.', 'in/../..', ...(posix === false ? ['out/secret.txt'] : [])]) {
      await assert.rejects(
        callTool(tools, 'delete_file', { path: file }),
        isClass('tool_error', /outside the working directory/),
        file,
      );
    }
    assert.equal(await readFile(path.join(outside, 'secret.txt'), 'utf8'), 'secret');
    if (posix === false) {
      await callTool(tools, 'write_file', { path: 'inner/fine.txt', content: 'x' });
      assert.equal((await callTool(tools, 'read_file', { path: path.join(bench.cwd, 'in/fine.txt') })).response, 'x');
      // The link is deleted, its target stays.
      await callTool(tools, 'delete_file', { path: 'out' });
      assert.ok(existsSync(path.join(outside, 'secret.txt')));
    }
  });
});

it('calculate returns a number, or an error', async () => {
  assert.equal((await callTool(tools, 'calculate', { expression: '2 * (3 + sqrt(16)) ^ 2' })).response, 98);
  await assert.rejects(callTool(tools, 'calculate', { expression: '1 / 0' }), isClass('tool_error', /infinite/));
});
