import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { strToU8, zipSync } from 'fflate';
import { openBuiltin } from '../../../../src/tools/builtins/open.ts';
import type { ToolEnvironment } from '../../../../src/tools/environment.ts';
import { docxFile, pdfFile, pptxFile, workbookFile } from '../../../support/officeFiles.ts';
import { isClass } from '../../../support/stubServer.ts';
import { callContext, callTool } from '../../../support/tools.ts';

let cwd: string;
let environment: ToolEnvironment;
before(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'reader-thread-'));
  environment = { cwd, pools: { env: {} } } as ToolEnvironment;
});
after(async () => rm(cwd, { recursive: true }));

const read = (file: string, signal?: AbortSignal): Promise<unknown> =>
  file.endsWith('.xlsx')
    ? callTool(
        openBuiltin('spreadsheet', environment),
        'extract_excel_content',
        { file_path: file },
        signal === undefined ? undefined : callContext(signal),
      )
    : callTool(
        openBuiltin('documents', environment),
        'extract_document_content',
        { file_path: file },
        signal === undefined ? undefined : callContext(signal),
      );

it('a slow read ends with its call, and blocks nothing', async () => {
  await writeFile(
    path.join(cwd, 'long.docx'),
    zipSync(
      { 'word/document.xml': strToU8(`<document><body>${'<p><r><t>x</t></r></p>'.repeat(800_000)}</body></document>`) },
      { level: 1 },
    ),
  );
  let ticks = 0;
  const timer = setInterval(() => {
    ticks++;
  }, 10);
  const began = performance.now();
  await assert.rejects(read('long.docx', AbortSignal.timeout(1_000)), isClass('timeout', /time limit/));
  clearInterval(timer);
  assert.ok(performance.now() - began < 60_000);
  assert.ok(ticks > 2, `${ticks} turns of the loop`); // a read on this thread would leave none or one
  await writeFile(path.join(cwd, 'short.docx'), docxFile());
  assert.match(JSON.stringify(await read('short.docx')), /The answer is 42/);
});

it('damaged files fail with a clear error, and nothing else is left', { timeout: 60_000 }, async () => {
  let seed = 7;
  const next = (most: number): number =>
    Math.floor(((seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x80000000) * most);
  const samples = {
    'x.xlsx': workbookFile(),
    'x.pdf': pdfFile('one', 'two'),
    'x.docx': docxFile(),
    'x.pptx': pptxFile(),
  };
  for (const [name, bytes] of Object.entries(samples)) {
    for (let turn = 0; turn < 24; turn++) {
      const damaged = Buffer.from(bytes).subarray(0, turn % 3 === 0 ? next(bytes.length) : bytes.length);
      if (turn % 3 !== 0) for (let count = 0; count <= turn; count++) damaged[next(damaged.length)] = next(256);
      await writeFile(path.join(cwd, name), damaged);
      await read(name).catch((error: unknown) => {
        assert.ok(isClass('tool_error', /\w/)(error), `${name}, turn ${turn}: ${String(error)}`);
      });
    }
  }
  assert.deepEqual((await readdir(cwd)).sort(), ['long.docx', 'short.docx', ...Object.keys(samples)].sort());
});

it('oversized archives and endlessly nested pages are reported immediately', async () => {
  const bomb = Buffer.from(zipSync({ 'word/document.xml': new Uint8Array(1024) }));
  bomb.writeUInt32LE(300 * 1024 * 1024, bomb.indexOf('PK\u0001\u0002', 0, 'latin1') + 24); // the size that it declares
  await writeFile(path.join(cwd, 'bomb.docx'), bomb);
  await assert.rejects(
    read('bomb.docx'),
    isClass('tool_error', /^The unpacked file is larger than 268435456 bytes\.$/),
  );
  await writeFile(path.join(cwd, 'deep.html'), '<div>'.repeat(40_000));
  await assert.rejects(read('deep.html'), isClass('tool_error', /nested too deeply/));
});
