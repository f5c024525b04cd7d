import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { basename, dirname, isAbsolute, joinPath, normalizePath, relative } from '../../../src/config/paths.ts';
import { parseAmount, parseDuration, parseShare } from '../../../src/config/schema/values.ts';

describe('units', () => {
  it('include durations, read as seconds', () => {
    const good: [string | number, number][] = [
      ['1h', 3600],
      ['30s', 30],
      ['10 min', 600],
      ['1h 30m', 5400],
      ['1h30m', 5400],
      ['2 days', 172_800],
      ['500ms', 0.5],
      ['1.5 h', 5400],
      ['45', 45],
      [12.5, 12.5],
      ['10 Minutes', 600],
    ];
    for (const [text, seconds] of good) assert.equal(parseDuration(text), seconds, String(text));
    for (const bad of ['', 'soon', '1 fortnight', '-5s', 'h', '5 5 5', -1, Number.NaN, Infinity])
      assert.equal(parseDuration(bad), undefined, String(bad));
  });
  it('include shares', () => {
    const good: [string | number, number][] = [
      ['50%', 0.5],
      ['12.5 %', 0.125],
      [0.5, 0.5],
      ['0.5', 0.5],
      [1, 1],
      [0, 0],
      ['100%', 1],
    ];
    for (const [text, share] of good) assert.equal(parseShare(text), share, String(text));
    for (const bad of ['', '150%', 50, -0.1, 'half', '%']) assert.equal(parseShare(bad), undefined, String(bad));
  });
  it('include amounts', () => {
    const good: [string | number, number][] = [
      ['50M', 50e6],
      ['8k', 8000],
      ['1.5G', 1.5e9],
      [200_000, 200_000],
      ['200_000', 200_000],
      ['7', 7],
    ];
    for (const [text, amount] of good) assert.equal(parseAmount(text), amount, String(text));
    for (const bad of ['', '50X', 1.5, -1, 'many', '1e3']) assert.equal(parseAmount(bad), undefined, String(bad));
  });
});

describe('paths', () => {
  it('are joined and normalized', () => {
    assert.equal(joinPath('/w/batches', '../agents/a.yaml'), '/w/agents/a.yaml');
    assert.equal(joinPath('/w', '/x/y'), '/x/y');
    assert.equal(joinPath('/w', './a//b/'), '/w/a/b');
    assert.equal(joinPath('rel', '../../x'), '../x');
    assert.equal(normalizePath('/../a'), '/a');
    assert.equal(normalizePath(''), '.');
  });
  it('follow Windows rules', () => {
    assert.equal(joinPath('C:\\w\\batches', '..\\agents\\a.yaml'), 'C:/w/agents/a.yaml');
    assert.equal(joinPath('C:/w', 'D:/x'), 'D:/x');
    assert.equal(normalizePath('\\\\server\\share\\a\\..\\b'), '//server/share/b');
    assert.equal(isAbsolute('c:/x'), true);
    assert.equal(isAbsolute('a\\b'), false);
    assert.equal(relative('C:/w/a', 'c:/w/b/x'), '../b/x');
    assert.equal(relative('C:/w', 'D:/x'), 'D:/x');
    assert.equal(dirname('C:/x'), 'C:/');
  });
  it('are taken apart', () => {
    assert.equal(dirname('/a/b'), '/a');
    assert.equal(dirname('/a'), '/');
    assert.equal(dirname('a'), '.');
    assert.equal(basename('/a/b.c'), 'b.c');
    assert.equal(relative('/w/a', '/w/a'), '.');
    assert.equal(relative('/w/a', '/w/b/c'), '../b/c');
    assert.equal(relative('/w', '/w/b/c'), 'b/c');
  });
});
