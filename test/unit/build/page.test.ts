import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import ts from 'typescript';
import { root } from '../../../src/build/bundles.ts';

const page = (file: string): string => readFileSync(path.join(root, 'dist/webview', file), 'utf8');

const scripts = readdirSync(path.join(root, 'dist/webview')).filter((file) => file.endsWith('.js'));

/** Every `eval(…)`, `Function(…)` and `new Function(…)`, with the surrounding code. */
function codeFromText(script: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const called = ts.isCallExpression(node) || ts.isNewExpression(node) ? node.expression : undefined;
    if (called !== undefined && ts.isIdentifier(called) && ['eval', 'Function'].includes(called.text))
      found.push(script.slice(node.pos, node.end).slice(0, 200));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('page.js', script, ts.ScriptTarget.Latest));
  return found;
}

describe('the page’s bundle', () => {
  it('evaluates no text as code: its Content Security Policy forbids it', () => {
    assert.deepEqual(codeFromText('a.eval("1"); class B { eval(x) {} }; new Function("x"); eval("2");'), [
      ' new Function("x")',
      ' eval("2")',
    ]);
    for (const script of scripts) assert.deepEqual(codeFromText(page(script)), [], script);
  });
  it('tells zod not to, before its first schema', () => {
    for (const script of scripts.filter((name) => !/^(start|firstRows-\w+)\.js$/.test(name)))
      assert.match(page(script).slice(0, 200), /__zod_globalConfig\s*\?\?=\s*\{\}\)\.jitless\s*=\s*(true|!0)/, script);
    assert.doesNotMatch(page('start.js'), /zod/i);
  });
  it('starts small, and names files that exist', () => {
    const start = page('start.js');
    assert.ok(start.length < 8_000, `start.js has ${start.length} characters`);
    const named = [...new Set([...start.matchAll(/"\.\/([\w-]+\.js)"/g)].map((match) => match[1] ?? ''))];
    assert.ok(named.some((name) => name.startsWith('show-')));
    assert.deepEqual(
      named.filter((name) => !scripts.includes(name)),
      [],
    );
  });
  it('requests no file outside its own folder', () => {
    const urls = [...page('page.css').matchAll(/url\(\s*["']?([^"')]+)/g)].map((match) => match[1] ?? '');
    assert.deepEqual(
      urls.filter((url) => !url.startsWith('./') && !url.startsWith('data:')),
      [],
    );
  });
});
