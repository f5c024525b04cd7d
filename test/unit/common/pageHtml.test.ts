import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  contentSecurityPolicy,
  escapeHtml,
  inlineScript,
  inlineStyle,
  jsonForHtml,
  type PageHtml,
  pageHtml,
} from '../../../src/common/pageHtml.ts';

const SELF = {
  script: ["'self'"],
  style: ["'self'"],
  font: ["'self'"],
  img: ["'self'", 'data:'],
  connect: [],
  worker: ['blob:'],
};
const PAGE: PageHtml = { title: 'A page', sources: SELF, script: { url: '/page.js' }, style: { url: '/page.css' } };

describe('the document of a page', () => {
  it("allows each kind of source only from the host's origin, and nothing else", () => {
    assert.equal(
      contentSecurityPolicy(SELF),
      "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; " +
        "connect-src 'none'; worker-src blob:; base-uri 'none'; form-action 'none'",
    );
  });

  it('escapes all input', () => {
    const hostile = `"'><script>alert(1)</script>&`;
    const html = pageHtml({
      ...PAGE,
      title: hostile,
      script: { url: hostile },
      style: { url: hostile },
      bodyAttributes: { 'data-x': hostile },
    });
    assert.equal(html.split('<script').length, 2);
    assert.equal(html.split(escapeHtml(hostile)).length, 6);
    assert.throws(() => pageHtml({ ...PAGE, bodyAttributes: { 'x onload': '1' } }), TypeError);
  });

  it('holds a skeleton, and nothing inline that a policy would block', () => {
    const html = pageHtml(PAGE);
    assert.match(html, /^<!DOCTYPE html>\n<html lang="en">/);
    assert.match(html, /<div id="page"><div class="skeleton is-page"/);
    assert.doesNotMatch(html, / style=| on[a-z]+=|<style|javascript:/);
  });

  it('preloads a module, and runs it after its elements without waiting for the styles', () => {
    const html = pageHtml({ ...PAGE, script: { module: '/start.js?a&b' } });
    assert.ok(html.indexOf('<link rel="modulepreload" href="/start.js?a&amp;b">') < html.indexOf('<body'));
    assert.ok(
      html.indexOf('<script type="module" src="/start.js?a&amp;b" async></script>') > html.indexOf('<div id="page">'),
    );
    assert.equal(html.split('<script').length, 2);
  });

  it('keeps a script and a style inside their elements', () => {
    const html = pageHtml({
      ...PAGE,
      script: { text: 'a = "</SCRIPT>" + `<!--` + (1 < 2);\r\n' },
      style: { text: 'a:after { content: "</style><!--" }\r' },
    });
    assert.ok(html.includes('<script>a = "\\x3c/SCRIPT>" + `\\x3c!--` + (1 < 2);\n</script>'));
    assert.ok(html.includes('<style>a:after { content: "\\3c /style>\\3c !--" }\n</style>'));
    assert.equal(inlineScript('if (i<script.length)'), 'if (i<script.length)');
    assert.equal(inlineStyle('a > b'), 'a > b');
    assert.ok(html.indexOf('<div id="page">') < html.indexOf('<script>'), 'it finds the page');
  });

  it('accepts data only if it stays data', () => {
    const json = JSON.stringify({ text: '</script><script>alert(1)</script><!--' });
    const html = pageHtml({ ...PAGE, data: [{ id: 'd', type: 'application/json', text: jsonForHtml(json) }] });
    const found = /<script type="application\/json" id="d">(.*)<\/script>/.exec(html)?.[1] ?? '';
    assert.deepEqual(JSON.parse(found), JSON.parse(json));
    assert.doesNotMatch(found, /</);
    assert.throws(() => pageHtml({ ...PAGE, data: [{ id: 'd', type: 'application/json', text: json }] }), TypeError);
    for (const type of ['text/javascript', 'module', 'application/ecmascript'])
      assert.throws(() => pageHtml({ ...PAGE, data: [{ id: 'd', type, text: '' }] }), TypeError);
  });
});
