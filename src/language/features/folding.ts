/**
 * Provides folding ranges of config files: indented blocks and comments. Based on the text, so that syntax errors do
 * not matter.
 */

import { type FoldingRange, FoldingRangeKind } from 'vscode-languageserver-types';
import { fileKind } from '../../common/fileKinds.ts';
import type { Workspace } from '../workspace.ts';

export async function foldingRanges(workspace: Workspace, path: string): Promise<FoldingRange[]> {
  const text = fileKind(path) === undefined ? undefined : await workspace.text(path);
  return text === undefined ? [] : foldsOf(text);
}

interface OpenBlock {
  readonly line: number;
  readonly depth: number;
}

function foldsOf(text: string): FoldingRange[] {
  const folds: FoldingRange[] = [];
  const open: OpenBlock[] = [];
  let comment: OpenBlock | undefined;
  let last = -1;
  const close = (depth: number): void => {
    for (let top = open.at(-1); top !== undefined && top.depth >= depth; top = open.at(-1)) {
      open.pop();
      if (last > top.line) folds.push({ startLine: top.line, endLine: last });
    }
  };
  const endComment = (): void => {
    if (comment !== undefined && last > comment.line)
      folds.push({ startLine: comment.line, endLine: last, kind: FoldingRangeKind.Comment });
    comment = undefined;
  };
  for (const [line, raw] of text.split('\n').entries()) {
    const content = raw.trim();
    if (content === '') continue;
    const indent = raw.length - raw.trimStart().length;
    // A closing bracket belongs to its block, and a list item to the key above it, even if it is not indented more.
    const depth = indent * 2 + (/^-(\s|$)/.test(content) || /^[\]}]/.test(content) ? 1 : 0);
    if (content.startsWith('#')) comment ??= { line, depth };
    else endComment();
    if (comment === undefined || comment.line === line) {
      close(depth);
      if (comment === undefined) open.push({ line, depth });
    }
    last = line;
  }
  endComment();
  close(0);
  return folds.sort((a, b) => a.startLine - b.startLine || b.endLine - a.endLine);
}
