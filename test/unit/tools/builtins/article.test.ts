import assert from 'node:assert/strict';
import { test } from 'node:test';
import { articleOf } from '../../../../src/tools/builtins/web/article.ts';
import { pageText } from '../../../../src/tools/builtins/web/page.ts';

const SENTENCES = Array.from(
  { length: 8 },
  (_, number) =>
    `<p>Paragraph ${number} tells, in a few longer sentences with commas, how gulls nest on the roofs of the old ` +
    `town, ` +
    'what they eat, and why the harbor master counts them every spring before the ferries return.</p>',
).join('');
const TEASERS = '<div class="sidebar related">'.concat(
  '<a href="/1">Read about ten other birds</a> <a href="/2">Subscribe to our newsletter</a></div>',
);
const ARTICLE = `<html><head><title>Gulls</title></head><body><div class="menu"><a href="/">Home</a></div>
<div class="post"><h2>Where they nest</h2>${SENTENCES}<table><tr><th>year</th><th>gulls</th></tr>
<tr><td>2025</td><td>412</td></tr></table></div>${TEASERS}</body></html>`;
const LINKS = Array.from({ length: 300 }, (_, n) => `<li><a href="/${n}">Bird ${n}</a></li>`).join('');
const INDEX = `<html><body><ul>${LINKS}</ul></body></html>`;

const textOf = (html: string): Promise<string> =>
  pageText(
    { url: new URL('http://birds.example/gulls'), media: 'text/html', charset: 'utf-8', bytes: Buffer.from(html) },
    AbortSignal.timeout(30_000),
  );

test('the text and tables of an article are read, not its surroundings', async () => {
  const text = await textOf(ARTICLE);
  assert.match(text, /^Gulls\nhttp:\/\/birds\.example\/gulls\n\n/);
  assert.match(text, /## Where they nest/);
  assert.match(text, /Paragraph 7 tells/);
  assert.match(text, /\| 2025 +\| 412 +\|/);
  assert.doesNotMatch(text, /newsletter|Home/);
});

test('a page that is not an article is read as a whole', async () => {
  assert.equal(await articleOf(INDEX), undefined);
  const text = await textOf(INDEX);
  assert.match(text, /Bird 0\b/);
  assert.match(text, /Bird 299\b/);
});

test('pages that are too deep or too large for Readability are read as a whole', async () => {
  assert.equal(await articleOf('<div>'.repeat(20_000)), undefined);
  assert.equal(await articleOf(`<p>${'word '.repeat(500_000)}</p>`), undefined);
  assert.match(await textOf(ARTICLE.replace('</body>', `${'<i></i>'.repeat(25_000)}</body>`)), /newsletter/);
});
