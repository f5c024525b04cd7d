import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { offlinePage } from '../../../src/client/offline/offlinePage.ts';
import { openerOf } from '../../../src/client/openExternal.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { type OfflineData, readOffline } from '../../../src/protocol/offline.ts';
import { logEvent } from '../../support/fakeWorker.ts';
import { offlineExample } from '../../support/offlineExample.ts';
import { FONT, pagesFolder } from '../../support/pagesFolder.ts';
import { logLines } from '../../support/trajectories.ts';

const HOSTILE = '</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>';

function dataOf(text: string, lines: number): OfflineData {
  return { ...offlineExample(), streams: { r011: [logEvent(1, text), ...logLines(2, lines, 400)] } };
}

describe('a page saved as one file', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-pages-'));
  const pages = pagesFolder(folder);
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [how, lines] of [
    ['as JSON', 3],
    ['compressed', 4_000],
  ] as const) {
    it(`holds its data ${how}, whatever the texts contain`, async () => {
      const data = dataOf(HOSTILE, lines);
      const html = await offlinePage({ title: HOSTILE, data, pages });
      const [, encoding, text = ''] =
        /<script type="[a-z/]+" id="offline"(?: data-encoding="([a-z]+)")?>([^<]*)<\/script>/.exec(html) ?? [];
      assert.equal(encoding, how === 'compressed' ? 'gzip' : undefined);
      assert.deepEqual(await readOffline(text, encoding), data);
      assert.equal(html.match(/<script/gi)?.length, 2, 'data and page');
      assert.equal(html.match(/<\/script/gi)?.length, 2);
      assert.doesNotMatch(html, /<img|<!--/);
    });
  }

  it('runs its own content and nothing else: script and style by their hashes', async () => {
    const html = await offlinePage({ title: 't', data: dataOf('x', 1), pages });
    const policy = (/Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1] ?? '').replaceAll('&#39;', "'");
    const hash = (text: string | undefined): string =>
      `'sha256-${createHash('sha256')
        .update(text ?? '')
        .digest('base64')}'`;
    const [script, style] = [/<script>([^]*?)<\/script>/.exec(html)?.[1], /<style>([^]*?)<\/style>/.exec(html)?.[1]];
    assert.match(script ?? '', /console\.log/);
    assert.ok(
      policy.includes(
        `script-src ${hash(script)}; style-src ${hash(style)}; font-src data:; img-src data: blob:; connect-src ` +
          `'none'; worker-src blob:;`,
      ),
      policy,
    );
    assert.doesNotMatch(html, /sourceMappingURL|\bsrc=|href=(?!"data:,")|https?:/);
  });

  it('holds the font', async () => {
    const html = await offlinePage({ title: 't', data: dataOf('x', 1), pages });
    assert.ok(html.includes(`url("data:font/ttf;base64,${FONT.toString('base64')}")`));
  });

  it('reports missing pages', async () => {
    await assert.rejects(
      offlinePage({ title: 't', data: dataOf('x', 1), pages: path.join(folder, 'none') }),
      (error: unknown) => StudioError.is(error, 'unavailable') && /npm run build/.test(error.hint ?? ''),
    );
  });
});

describe('opening a URL', () => {
  const url = 'http://127.0.0.1:1/view/#token=a&batch=b';
  for (const [platform, command] of [
    ['linux', 'xdg-open'],
    ['darwin', 'open'],
    ['win32', 'rundll32'],
  ] as const) {
    it(`passes it whole to ${command} on ${platform}`, () => {
      const [file, ...args] = openerOf(url, platform);
      assert.deepEqual([file, args.at(-1)], [command, url]);
    });
  }
});
