// What tools may do wrong: each ends alone, with a classified error that says why, and the next call works.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import type { ToolHost, ToolOutcome } from '../../src/rollout/ports.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { docxFile, workbookFile } from '../support/officeFiles.ts';
import { isClass } from '../support/stubServer.ts';
import type { ToolBench } from '../support/tools.ts';
import { callContext, callTool, toolBench } from '../support/tools.ts';

let bench: ToolBench;
let tools: ToolHost;

async function fails(name: string, args: JsonObject = {}, ms?: number): Promise<ClassedError> {
  const context = callContext(ms === undefined ? undefined : AbortSignal.timeout(ms));
  const error = await callTool(tools, name, args, context).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ClassedError, `${name} should have failed with a ClassedError, not ${String(error)}`);
  return error;
}

const works = async (): Promise<void> => {
  assert.deepEqual((await callTool(tools, 'fine', { a: 1 })).response, { sum: 3 });
};

before(async () => {
  bench = await toolBench({ memoryMb: 192 });
  tools = await openTools([{ kind: 'module', module: await bench.module('hostile.ts') }], bench.environment);
});
after(() => bench.close());

describe('a tool that', () => {
  it("throws reports the error, with its place and the frames in the user's file", async () => {
    const error = await fails('throws', { text: 'hey' });
    assert.equal(error.class, 'tool_error');
    assert.equal(error.message, 'it broke: hey');
    assert.deepEqual(error.place, { file: 'hostile.ts', line: 15, column: 9 });
    assert.match(
      error.userStack ?? '',
      /^it broke: hey\n {4}at deeper \(hostile\.ts:15:9\)\n {4}at Object\.run \(hostile\.ts:18:\d+\)$/,
    );
    await works();
  });

  it('throws a value that is not an error', async () => {
    const error = await fails('throws_text');
    assert.equal(error.message, 'It threw only text');
    assert.equal(error.place?.file, 'hostile.ts');
  });

  it('gets invalid arguments', async () => {
    const error = await fails('fine', { a: 'x', b: 1.5 });
    assert.equal(error.class, 'invalid_arguments');
    assert.match(error.message, /^a: .*number.*\nb: .*int/);
  });

  it('loops forever is ended with its thread within a second of the time-out', async () => {
    const before = performance.now();
    const error = await fails('loops', {}, 200);
    assert.equal(error.class, 'timeout');
    assert.ok(performance.now() - before < 1200);
    await works();
  });

  it('waits forever and ignores its signal', async () => {
    const before = performance.now();
    assert.equal((await fails('waits', {}, 100)).class, 'timeout');
    assert.ok(performance.now() - before < 1100);
    await works();
  });

  it('stops at its signal', async () => {
    const cancel = new AbortController();
    const call = callTool(tools, 'listens', {}, callContext(cancel.signal));
    setTimeout(() => {
      cancel.abort();
    }, 20);
    await assert.rejects(call, (error) => error instanceof ClassedError && error.class === 'cancelled');
    await works();
  });

  it('exits the process', async () => {
    const error = await fails('exits');
    assert.equal(error.class, 'tool_error');
    assert.match(error.message, /process\.exit\(3\)/);
    assert.equal(error.place?.line, 31);
    await works();
  });

  it('kills its own process', async () => {
    assert.match((await fails('kills')).message, /process\.kill on its own process/);
    await works();
  });

  it('uses all memory', async () => {
    const error = await fails('leaks');
    assert.equal(error.class, 'tool_error');
    assert.match(error.message, /more than its 192 MB of memory/);
    await works();
  });

  it('throws from a timer while it runs', async () => {
    const error = await fails('late_throw');
    assert.equal(error.class, 'tool_error');
    assert.match(error.message, /^too late \(thrown outside the promise of the call/);
    assert.equal(error.place?.line, 72);
    await works();
  });

  it("throws after it has ended is reported in the rollout's log", async () => {
    assert.equal((await callTool(tools, 'throws_after')).response, 'ended');
    while (!bench.late.some((text) => text.includes('long after')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.match(bench.late.join(''), /^err: thrown after the call ended: long after\n {4}at .*\(hostile\.ts:80:\d+\)/);
    await works();
  });

  it("exits the process after it has ended is reported in the rollout's log", async () => {
    assert.equal((await callTool(tools, 'exits_after')).response, 'ended');
    while (!bench.late.some((text) => text.includes('after the call ended, its module called process.exit(4)')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await works();
  });

  it('prints 10 MB keeps the first part and counts the rest', async () => {
    const context = callContext();
    assert.equal((await callTool(tools, 'prints', { lines: 100_000 }, context)).response, 'printed');
    const text = context.logs.map((line) => line.slice(5)).join('');
    assert.ok(text.length > 1024 * 1024 && text.length < 1024 * 1024 + 200);
    assert.match(text, /\[8951424 more characters were dropped; only the first 1048576 of a call are kept\]\n$/);
  });

  it('prints endlessly', { timeout: 60_000 }, async () => {
    const error = await fails('prints', { lines: 1e9 });
    assert.equal(error.class, 'tool_error');
    assert.match(error.message, /printed too much output/);
    await works();
  });

  it('returns what JSON cannot represent', async () => {
    assert.match((await fails('cycle')).message, /contains itself.*property 'self'/);
    assert.match((await fails('returns_function')).message, /a function \(in "callback"\)/);
    assert.match((await fails('returns_bigint')).message, /a bigint \(in "n"\)/);
    assert.equal((await fails('cycle')).place?.line, 44);
    assert.equal((await callTool(tools, 'returns_nothing')).response, null);
  });

  it('returns 100 MB is truncated, with up to 64 MiB in a blob', async () => {
    const outcome = await callTool(tools, 'large', { chars: 100_000_000 });
    assert.equal(typeof outcome.response, 'string');
    assert.match(JSON.stringify(outcome.response).slice(-60, -1), /\[98951424 more bytes were cut\]$/);
    assert.equal(outcome.cut, 100_000_000 - 1024 * 1024);
    assert.equal(outcome.full?.length, 64 * 1024 * 1024);
  });

  it('returns slightly too much is kept whole', async () => {
    const outcome = await callTool(tools, 'large', { chars: 1_100_000 });
    assert.equal(outcome.full?.length, 1_100_000);
    assert.equal(outcome.cut, 1_100_000 - 1024 * 1024);
  });

  it('shares its thread with one that never returns is not blamed for it', async () => {
    const one = await toolBench({ threads: 1 });
    try {
      const shared = await openTools([{ kind: 'module', module: await one.module('hostile.ts') }], one.environment);
      await callTool(shared, 'fine', { a: 1 });
      const waiting = callTool(shared, 'waits', {}, callContext());
      const looping = callTool(shared, 'loops', {}, callContext(AbortSignal.timeout(300)));
      const pure = callTool(shared, 'fine', { a: 5 }, callContext());
      await assert.rejects(looping, (error) => error instanceof ClassedError && error.class === 'timeout');
      // What may be repeated is repeated; the rest is not the agent's fault.
      await assert.rejects(waiting, (error) => error instanceof ClassedError && error.class === 'infrastructure');
      assert.deepEqual((await pure).response, { sum: 7 });
    } finally {
      await one.close();
    }
  });
});

describe('an office file that', { timeout: 480_000 }, () => {
  /** A piece repeated to this many MB. */
  const flood = (piece: string, mb: number): string => piece.repeat(Math.floor((mb * 1024 * 1024) / piece.length));
  let office: ToolHost;
  before(async () => {
    office = await openTools(
      [
        { kind: 'builtin', name: 'spreadsheet' },
        { kind: 'builtin', name: 'documents' },
      ],
      bench.environment,
    );
  });
  after(() => office.close());

  const extract = (file: string): Promise<ToolOutcome> =>
    file.endsWith('.xlsx')
      ? callTool(office, 'extract_excel_content', { file_path: file })
      : callTool(office, 'extract_document_content', { file_path: file });

  // Their trees grow in ever larger steps, for which a thread's own limit would end the whole process.
  const FLOODS: Readonly<Record<string, () => Uint8Array>> = {
    'rows.xlsx': () =>
      workbookFile({
        'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${flood('<row/>', 38)}</sheetData></worksheet>`,
      }),
    'notes.docx': () =>
      docxFile({ 'word/footnotes.xml': `<w:footnotes xmlns:w="w">${flood('<w:footnote/>', 70)}</w:footnotes>` }),
  };
  for (const [file, make] of Object.entries(FLOODS)) {
    it(`fills the memory: ${file} is reported, and the next file is read @deep`, async () => {
      await writeFile(path.join(bench.cwd, file), make());
      await assert.rejects(extract(file), isClass('tool_error', /^Reading this takes more than 1024 MB of memory\.$/));
      await writeFile(path.join(bench.cwd, 'good.xlsx'), workbookFile());
      assert.match(JSON.stringify((await extract('good.xlsx')).response), /tea & milk/);
      await works();
    });
  }

  it('has an enormous text is truncated, with the first 64 MiB in a blob', async () => {
    await writeFile(
      path.join(bench.cwd, 'long.docx'),
      docxFile({
        'word/document.xml':
          '<w:document ' +
          `xmlns:w="w"><w:body><w:p><w:r><w:t>${flood('words ', 70)}</w:t></w:r></w:p></w:body></w:document>`,
      }),
    );
    const outcome = await extract('long.docx');
    assert.equal(outcome.full?.length, 64 * 1024 * 1024);
    assert.ok(outcome.cut !== undefined && outcome.cut > 68 * 1024 * 1024);
  });
});
