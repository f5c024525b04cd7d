// What a page's policies allow in a real browser: from a server, and as a file from the disk.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { offlinePage } from '../../src/client/offline/offlinePage.ts';
import { newId } from '../../src/common/ids.ts';
import type { OfflineData } from '../../src/protocol/offline.ts';
import { PROTOCOL } from '../../src/protocol/version.ts';
import { viewUrl } from '../../src/protocol/viewLink.ts';
import { root } from '../support/cli.ts';
import { logEvent } from '../support/fakeWorker.ts';
import { offlineExample } from '../support/offlineExample.ts';
import { pagesFolder } from '../support/pagesFolder.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { launchBrowser } from './support/browser.ts';

/** Returns whether an action succeeds, from the page's view. */
const PROBE = `
const outcome = (run) => new Promise((resolve) => run(resolve)).catch((error) => 'refused');
const evaluated = () => { try { return new Function('return 1')(); } catch (error) { return 'refused'; } };
async function probe(extra) {
  const violated = new Set();
  const all = outcome((done) => document.addEventListener('securitypolicyviolation', (event) => { if \
(violated.add(event.effectiveDirective).size === 3) done(); }));
  const workerUrl = URL.createObjectURL(new Blob(['postMessage("</script> in a worker")'], { type: 'text/javascript' \
}));
  const [font] = await document.fonts.load('16px codicon').catch(() => []);
  const found = {
    color: getComputedStyle(document.body).color,
    font: font?.family ?? 'none',
    worker: await outcome((done) => { const worker = new Worker(workerUrl); worker.onmessage = (event) => \
done(event.data); worker.onerror = () => done('refused'); }),
    evaluated: evaluated(),
    inline: await outcome((done) => { const script = document.createElement('script'); script.textContent = \
'window.inlined = 1'; document.body.append(script); done(window.inlined ?? 'refused'); }),
    elsewhere: await fetch('http://127.0.0.1:9/').then(() => 'answered', () => 'refused'),
    image: await outcome((done) => { const image = new Image(); image.onload = () => done('shown'); image.onerror = \
() => done('refused'); image.src = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'; }),
    ...(await extra()),
  };
  await all;
  const element = document.createElement('output');
  element.textContent = JSON.stringify({ ...found, violated: [...violated].sort() });
  document.body.append(element);
}`;

const IN_FILE = `${PROBE}
probe(() => ({ data: JSON.parse(document.querySelector('#offline').textContent).streams.r1[0].data.text }));`;

/** A script of a server's page does not wait for its styles. */
const IN_TAB = `${PROBE}
const styles = document.querySelector('link[rel=stylesheet]');
if (styles.sheet === null) await new Promise((resolve) => styles.addEventListener('load', resolve));
probe(async () => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  const server = await fetch('/v1/server', { headers: { authorization: 'Bearer ' + token } });
  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/v1/client', ['token.' + token]);
  const welcome = await outcome((done) => {
    socket.onopen = () => socket.send(JSON.stringify({ type: 'hello', protocol: ${PROTOCOL} }));
    socket.onmessage = (event) => done(JSON.parse(event.data));
    socket.onerror = () => done({ type: 'refused' });
  });
  return { server: server.status, welcome: welcome.type };
});`;

const HOSTILE = '</script><script>window.inlined = 1</script><!--';
const STYLE =
  '@font-face { font-family: codicon; src: url("./codicon.ttf") format("truetype") } body { color: rgb(1, 2, 3) }';

const ALLOWED = { color: 'rgb(1, 2, 3)', font: 'codicon', worker: '</script> in a worker', image: 'shown' };
const REFUSED = {
  evaluated: 'refused',
  inline: 'refused',
  elsewhere: 'refused',
  violated: ['connect-src', 'script-src', 'script-src-elem'],
};

describe('the policy of a page', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-policies-'));
  const font = path.join(root, 'node_modules', '@vscode', 'codicons', 'dist', 'codicon.ttf');
  const pages = pagesFolder(folder, { style: STYLE, font });
  const store = new TestStore();
  let browser: Browser;
  let server: TestServer;
  before(async () => {
    [browser, server] = await Promise.all([launchBrowser(), store.start(['--executor', 'none', '--pages', pages])]);
  });
  after(async () => {
    await browser.close();
    await store[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  async function probed(page: Page, url: string): Promise<unknown> {
    await page.goto(url);
    return JSON.parse((await page.locator('output').textContent({ timeout: 60_000 })) ?? '');
  }

  it('of a saved file lets it run its own content, and load nothing', async () => {
    writeFileSync(path.join(pages, 'page.js'), IN_FILE);
    const data: OfflineData = { ...offlineExample(), streams: { r1: [logEvent(1, HOSTILE)] } };
    const file = path.join(folder, 'a page & more.html');
    writeFileSync(file, await offlinePage({ title: HOSTILE, data, pages }));
    await using page = await opened(browser);
    const requests: string[] = [];
    page.page.on('request', (request) => requests.push(new URL(request.url()).protocol));
    assert.deepEqual(await probed(page.page, pathToFileURL(file).href), { ...ALLOWED, ...REFUSED, data: HOSTILE });
    assert.equal(await page.page.title(), HOSTILE);
    assert.deepEqual(
      [...new Set(requests)].filter((protocol) => !['file:', 'data:', 'blob:'].includes(protocol)),
      [],
    );
  });

  it('of a server lets it call that server, with its token, and no other', async () => {
    writeFileSync(path.join(pages, 'start.js'), IN_TAB);
    await using page = await opened(browser);
    const { read_token: token } = server.file;
    const url = viewUrl({ url: server.url, token }, { page: 'batch', batch: newId('b') }, false);
    assert.deepEqual(await probed(page.page, url), { ...ALLOWED, ...REFUSED, server: 200, welcome: 'welcome' });
  });
});

async function opened(browser: Browser): Promise<AsyncDisposable & { readonly page: Page }> {
  const page = await browser.newPage();
  return { page, [Symbol.asyncDispose]: () => page.close() };
}
