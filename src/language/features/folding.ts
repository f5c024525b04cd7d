/**
 * What can be folded in a config file: what is indented below a line, and comments. By the text, so that a slip folds
 * nothing away.
 */

import { type FoldingRange, FoldingRangeKind } from 'vscode-languageserver-types';
import { fileKind } from '../../common/fileKinds.ts';
import type { Workspace } from '../workspace.ts';

export async function foldingRanges(workspace: Workspace, path: string): Promise<FoldingRange[]> {
  const text = fileKind(path) === undefined ? undefined : await workspace.text(path);
  return text === undefined ? [] : foldsOf(text);
}

interface Open {
  readonly line: number;
  readonly depth: number;
}

function foldsOf(text: string): FoldingRange[] {
  const folds: FoldingRange[] = [];
  const open: Open[] = [];
  let comment: Open | undefined;
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
  for (const [line, content] of text.split('\n').entries()) {
    const said = content.trim();
    if (said === '') continue;
    const indent = content.length - content.trimStart().length;
    // A closing bracket belongs to what it closes; an item of a list to the key above it, though it may stand no
    // deeper.
    const depth = indent * 2 + (/^-(\s|$)/.test(said) || /^[\]}]/.test(said) ? 1 : 0);
    if (said.startsWith('#')) comment ??= { line, depth };
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
