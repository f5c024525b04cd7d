// Files are half-written most of the time: whatever they contain, every request gets a response, and no response is
// outside the text.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Position, Range } from 'vscode-languageserver-types';
import { StudioError } from '../../../src/common/errors.ts';
import { checkFile } from '../../../src/language/diagnostics/check.ts';
import { codeActions } from '../../../src/language/features/codeActions.ts';
import { complete } from '../../../src/language/features/completion.ts';
import { definition } from '../../../src/language/features/definition.ts';
import { foldingRanges } from '../../../src/language/features/folding.ts';
import { hover } from '../../../src/language/features/hover.ts';
import { documentLinks } from '../../../src/language/features/links.ts';
import { inlayHints } from '../../../src/language/features/prompt.ts';
import { findReferences } from '../../../src/language/features/references.ts';
import { prepareRename, rename } from '../../../src/language/features/rename.ts';
import { documentSymbols } from '../../../src/language/features/symbols.ts';
import { Lines } from '../../../src/language/workspace/text.ts';
import { Random } from '../../support/random.ts';
import { DESK, workspaceOf } from './workspaceKit.ts';

const ROUNDS = 120;
const PIECES = [
  '\t',
  '\uFEFF',
  '\r\n',
  '\r',
  '"',
  "'",
  '{',
  '}',
  '[',
  ']',
  ':',
  ': ',
  '- ',
  '\n  ',
  '\n',
  '&a ',
  '*a',
  '<<: *a',
  '!!x ',
  '%',
  '#',
  '|',
  '>',
  '---\n',
  '?',
  '{{task.',
  '}}',
  '${env:',
  '💡',
  'é',
  '\u2028',
  'null',
  '~',
  '0x',
  'agent: ',
  'tools:\n',
  '\0',
];

function broken(text: string, random: Random): string {
  const at = (): number => Math.floor(random.next() * (text.length + 1));
  switch (Math.floor(random.next() * 4)) {
    case 0:
      return text.slice(0, at());
    case 1: {
      const [from, to] = [at(), at()].sort((a, b) => a - b);
      return text.slice(0, from) + text.slice(to);
    }
    case 2:
      return text.replaceAll('\n', '\r\n');
    default: {
      const from = at();
      return text.slice(0, from) + (PIECES[Math.floor(random.next() * PIECES.length)] ?? '') + text.slice(from);
    }
  }
}

/** A name that cannot be renamed is reported in words. */
function whyNot(error: unknown): undefined {
  if (!(error instanceof StudioError)) throw error;
}

it('every request about a half-written file is answered', async (t) => {
  const random = new Random();
  t.diagnostic(`TEST_SEED=${random.seed}`);
  const files = Object.keys(DESK).filter((path) => /\.(yaml|md)$/.test(path));
  for (let round = 0; round < ROUNDS; round++) {
    const path = files[round % files.length] ?? '';
    let text = DESK[path] ?? '';
    for (let times = 1 + Math.floor(random.next() * 3); times > 0; times--) text = broken(text, random);
    const workspace = workspaceOf({ ...DESK, [path]: text });
    const lines = new Lines(text);
    const position = lines.positionAt(Math.floor(random.next() * (text.length + 1)));
    const here = { start: position, end: position };
    const end = lines.positionAt(text.length);
    const inside = (range: Range | undefined): void => {
      if (range === undefined) return;
      const before = (a: Position, b: Position): boolean =>
        a.line < b.line || (a.line === b.line && a.character <= b.character);
      assert.ok(
        range.start.line >= 0 && range.start.character >= 0 && before(range.start, range.end) && before(range.end, end),
        `${JSON.stringify(range)} is not in the text`,
      );
    };
    try {
      const { problems } = await checkFile(workspace, path);
      for (const { line, column } of problems) assert.ok(line >= 1 && column >= 1);
      inside((await hover(workspace, path, position))?.range);
      for (const item of (await complete(workspace, path, position))?.items ?? [])
        if (item.textEdit !== undefined && 'range' in item.textEdit) inside(item.textEdit.range);
      await definition(workspace, path, position);
      await findReferences(workspace, path, position, { declaration: true });
      inside((await prepareRename(workspace, path, position).catch(whyNot))?.range);
      await rename(workspace, path, position, 'other').catch(whyNot);
      for (const { range } of await documentSymbols(workspace, path)) inside(range);
      for (const { startLine, endLine } of await foldingRanges(workspace, path))
        assert.ok(startLine <= endLine && endLine <= end.line);
      for (const { range } of await documentLinks(workspace, path)) inside(range);
      await inlayHints(workspace, path, { start: { line: 0, character: 0 }, end });
      await codeActions(workspace, path, here, { problems, mayCreate: true });
    } catch (error) {
      throw new Error(`round ${round}: ${path} at ${position.line}:${position.character}\n${JSON.stringify(text)}`, {
        cause: error,
      });
    }
  }
});
