import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, it } from 'node:test';
import type { ToolHost } from '../../../../src/rollout/ports.ts';
import { openTools } from '../../../../src/tools/hosts.ts';
import { docxFile, pdfFile, pptxFile } from '../../../support/officeFiles.ts';
import { isClass } from '../../../support/stubServer.ts';
import { callText, type ToolBench, toolBench } from '../../../support/tools.ts';

let bench: ToolBench;
let tools: ToolHost;
const text = (file: string, range: Record<string, number> = {}): Promise<string> =>
  callText(tools, 'extract_document_content', { file_path: file, ...range });
const put = (file: string, bytes: Uint8Array | string): Promise<void> => writeFile(path.join(bench.cwd, file), bytes);

before(async () => {
  bench = await toolBench();
  tools = await openTools([{ kind: 'builtin', name: 'documents' }], bench.environment);
});
after(async () => {
  await tools.close();
  await bench.close();
});

it('reads PDFs page by page', async () => {
  await put('a.pdf', pdfFile('First page', '', 'The answer is 42'));
  assert.equal(
    await text('a.pdf'),
    '--- page 1 of 3 ---\nFirst page\n\n--- page 2 of 3 ---\n[no text on this page]\n\n--- page 3 of 3 ---\nThe ' +
      'answer is 42',
  );
  assert.equal(await text('a.pdf', { first_page: 3 }), '--- page 3 of 3 ---\nThe answer is 42');
  assert.equal(await text('a.pdf', { last_page: 1 }), '--- page 1 of 3 ---\nFirst page');
  await assert.rejects(text('a.pdf', { first_page: 4 }), isClass('tool_error', /page 4: the document has 3/));
  await put('broken.pdf', '%PDF-1.4 nothing');
  await assert.rejects(text('broken.pdf'), isClass('tool_error', /Cannot read this PDF/));
});

it('reads Word documents with headings, lists, tables, and notes, with changes accepted', async () => {
  await put('a.docx', docxFile());
  assert.equal(
    await text('a.docx'),
    '# Report\n\nThe answer is 42[footnote 2]\n\n- first\n\n| a\\|b | c |\n|---|---|\n| 1 |  |\n\n[footnote 2]: ' +
      'See below.',
  );
});

it('reads slides in their order, with speaker notes', async () => {
  await put('a.pptx', pptxFile());
  assert.equal(
    await text('a.pptx'),
    '--- slide 1 of 2 ---\n# Penguins\n\none\ntwo\n\nNotes: say hello\n\n--- slide 2 of 2 ---\nlast words',
  );
  assert.equal(await text('a.pptx', { first_page: 2 }), '--- slide 2 of 2 ---\nlast words');
});

it('reads pages of HTML as text', async () => {
  await put(
    'a.html',
    '<title>T</title><nav>menu</nav><main><h2>Head</h2><p>Some <b>bold</b>\n ' +
      'text</p><ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>1<td>2</table><pre>x\n  ' +
      'y</pre></main><script>no()</script>',
  );
  assert.equal(
    await text('a.html'),
    '## Head\n\nSome bold text\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx\n  y\n```',
  );
});

it('reads plain text in any encoding', async () => {
  await put('a.csv', 'a,b\n1,2\n');
  await put('wide.txt', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('grün', 'utf16le')]));
  await put('old.txt', Buffer.from('grün', 'latin1'));
  assert.deepEqual(
    [await text('a.csv'), await text('wide.txt'), await text('old.txt')],
    ['a,b\n1,2\n', 'grün', 'grün'],
  );
});

it('reports what it cannot read', async () => {
  for (const [file, bytes, said] of [
    ['a.doc', 'x', /Only the newer \.docx format/],
    ['a.xlsx', 'x', /extract_excel_content/],
    ['a.zzz', 'x', /Supported types: \.pdf/],
    ['b.docx', 'x', /not a \.docx document/],
    ['c.txt', '\0\0', /not a text file/],
  ] as const) {
    await put(file, bytes);
    await assert.rejects(text(file), isClass('tool_error', said), file);
  }
  await assert.rejects(text('../a.txt'), isClass('tool_error', /outside the working directory/));
});
