import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import ts from 'typescript';
import { root } from '../../../src/build/bundles.ts';

const page = (file: string): string => readFileSync(path.join(root, 'dist/webview', file), 'utf8');

/** Every `eval(…)`, `Function(…)` and `new Function(…)`, with what is around it. */
function codeFromText(script: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const called = ts.isCallExpression(node) || ts.isNewExpression(node) ? node.expression : undefined;
    if (called !== undefined && ts.isIdentifier(called) && ['eval', 'Function'].includes(called.text)) found.push(script.slice(node.pos, node.end).slice(0, 200));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('page.js', script, ts.ScriptTarget.Latest));
  return found;
}

describe('the page’s bundle', () => {
  it('makes no code out of text: its Content Security Policy forbids it', () => {
    assert.deepEqual(codeFromText('a.eval("1"); class B { eval(x) {} }; new Function("x"); eval("2");'), [' new Function("x")', ' eval("2")']);
    assert.deepEqual(codeFromText(page('page.js')), []);
  });
  it('tells zod not to, before its first schema', () => {
    assert.match(page('page.js').slice(0, 200), /__zod_globalConfig\s*\?\?=\s*\{\}\)\.jitless\s*=\s*(true|!0)/);
  });
  it('asks for no file outside of its own folder', () => {
    const urls = [...page('page.css').matchAll(/url\(\s*["']?([^"')]+)/g)].map((match) => match[1] ?? '');
    assert.deepEqual(urls.filter((url) => !url.startsWith('./') && !url.startsWith('data:')), []);
  });
});
