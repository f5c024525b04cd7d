import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { SearchSettings } from '../../../../src/config/schema/builtinSettings.ts';
import type { ToolHost } from '../../../../src/rollout/ports.ts';
import { openBuiltin } from '../../../../src/tools/builtins/open.ts';
import { Gate, isPrivate } from '../../../../src/tools/builtins/web/addresses.ts';
import { readable } from '../../../../src/tools/builtins/web/readable.ts';
import type { ToolEnvironment } from '../../../../src/tools/environment.ts';
import { pdfFile } from '../../../support/officeFiles.ts';
import { isClass, startStub } from '../../../support/stubServer.ts';
import { callContext, callTool } from '../../../support/tools.ts';

const environment = { cwd: '/', pools: { env: {} } } as ToolEnvironment;
const opened = (search: SearchSettings): ToolHost => openBuiltin('search', environment, { search });
const read = async (url: string, open = true): Promise<unknown> =>
  (
    await callTool(opened({ provider: 'searxng', url: 'http://localhost', private_addresses: open }), 'read_webpage', {
      url,
    })
  ).response;

describe('search', () => {
  const hit = (n: number): { title: string; url: string; snippet: string } => ({
    title: `T${n}`,
    url: `http://x/${n}`,
    snippet: `about ${n}`,
  });

  it('queries Google, repeatedly for more than ten results', async () => {
    const requests: string[] = [];
    await using google = await startStub(({ url = '' }, _, response) => {
      requests.push(url);
      const query = new URL(url, 'http://x').searchParams;
      const from = Number(query.get('start'));
      response.end(
        JSON.stringify({
          items: Array.from({ length: Number(query.get('num')) }, (__, i) => ({
            title: `T${from + i}`,
            link: `http://x/${from + i}`,
            snippet: `about ${from + i}`,
          })),
        }),
      );
    });
    const tools = opened({ provider: 'google', api_key: 'k&1', engine: 'cx1', url: `${google.url}/customsearch/v1` });
    assert.deepEqual(
      (await callTool(tools, 'search', { query: 'sea gulls', num: 12 })).response,
      Array.from({ length: 12 }, (_, i) => hit(i + 1)),
    );
    assert.deepEqual(requests, [
      '/customsearch/v1?key=k%261&cx=cx1&q=sea+gulls&num=10&start=1',
      '/customsearch/v1?key=k%261&cx=cx1&q=sea+gulls&num=2&start=11',
    ]);
  });

  it('queries Brave, and removes its markup', async () => {
    await using brave = await startStub(({ url, headers }, _, response) => {
      assert.deepEqual([url, headers['x-subscription-token']], ['/?q=a&count=5', 'key']);
      response.end(
        JSON.stringify({
          web: { results: [{ title: 'T&amp;1', url: 'http://x/1', description: 'about <strong>1</strong>' }] },
        }),
      );
    });
    assert.deepEqual(
      (await callTool(opened({ provider: 'brave', api_key: 'key', url: brave.url }), 'search', { query: 'a' }))
        .response,
      [{ title: 'T&1', url: 'http://x/1', snippet: 'about 1' }],
    );
  });

  it('queries SearXNG, and reports missing settings', async () => {
    let status = 200;
    await using searxng = await startStub(({ url }, _, response) => {
      assert.equal(url, '/search?q=a&format=json');
      response.writeHead(status).end(
        JSON.stringify({
          results: [1, 2, 3].map((n) => ({ title: `T${n}`, url: `http://x/${n}`, content: `about ${n}` })),
        }),
      );
    });
    const tools = opened({ provider: 'searxng', url: `${searxng.url}/` });
    assert.deepEqual((await callTool(tools, 'search', { query: 'a', num: 2 })).response, [hit(1), hit(2)]);
    status = 403;
    await assert.rejects(
      callTool(tools, 'search', { query: 'a' }),
      isClass('tool_error', /SearXNG returned status 403 \(add `json` to `search\.formats` in its settings\)/),
    );
  });

  it('waits out temporary errors, hides the key, and ends when it is cancelled', async () => {
    let turn = 0;
    await using brave = await startStub((_, __, response) => {
      turn += 1;
      if (turn === 1) response.writeHead(429, { 'retry-after': '0' }).end();
      else if (turn === 2) response.end(JSON.stringify({ web: { results: [] } }));
      else if (turn === 3) response.writeHead(401).end('no such subscription');
      else if (turn === 4) response.end('<html>');
      // The fifth is never answered.
    });
    const tools = opened({ provider: 'brave', api_key: 'secret-key', url: `${brave.url}/?token=secret-key` });
    assert.equal((await callTool(tools, 'search', { query: 'a' })).response, 'No results.');
    await assert.rejects(
      callTool(tools, 'search', { query: 'a' }),
      (error) =>
        isClass(
          'tool_error',
          /^Brave search returned status 401 \(the key in `search\.api_key` is invalid\): no such subscription$/,
        )(error) && !String(error).includes('secret-key'),
    );
    await assert.rejects(
      callTool(tools, 'search', { query: 'a' }),
      isClass('tool_error', /unexpected response: <html>/),
    );
    const cancel = new AbortController();
    const call = assert.rejects(
      callTool(tools, 'search', { query: 'a' }, callContext(cancel.signal)),
      isClass('cancelled', /cancelled/),
    );
    setImmediate(() => {
      cancel.abort();
    });
    await call;
  });
});

it('download_file saves a URL to a file', async () => {
  const cwd = await mkdtemp(path.join(tmpdir(), 'download-'));
  try {
    await using site = await startStub((_, __, response) => {
      response.setHeader('content-type', 'text/csv').end('a,b\n');
    });
    const tools = openBuiltin(
      'search',
      { ...environment, cwd },
      { search: { provider: 'searxng', url: 'http://localhost', private_addresses: true } },
    );
    const get = (args: object): Promise<{ readonly response: unknown }> =>
      callTool(tools, 'download_file', { url: site.url, ...args });
    assert.equal((await get({ output_file_path: 'in/a.csv' })).response, 'Wrote 4 bytes of text/csv.');
    assert.equal(await readFile(path.join(cwd, 'in/a.csv'), 'utf8'), 'a,b\n');
    await assert.rejects(
      get({ output_file_path: 'in/a.csv' }),
      isClass('tool_error', /already exists\. Set `overwrite` to replace it/),
    );
    await get({ output_file_path: 'in/a.csv', overwrite: true });
    await assert.rejects(get({ output_file_path: '../a.csv' }), isClass('tool_error', /outside the working directory/));
  } finally {
    await rm(cwd, { recursive: true });
  }
});

describe('read_webpage', () => {
  it('returns text with links, after redirects', async () => {
    await using site = await startStub(({ url }, _, response) => {
      if (url === '/old') response.writeHead(302, { location: '/new' }).end();
      else if (url === '/loop') response.writeHead(302, { location: '/loop' }).end();
      else if (url === '/gone') response.writeHead(404).end('gone');
      else if (url === '/pdf') response.setHeader('content-type', 'application/pdf').end(pdfFile('In a PDF'));
      else if (url === '/big')
        response.setHeader('content-type', 'text/plain').end(Buffer.alloc(11 * 1024 * 1024, 'x'));
      else if (url === '/small')
        response
          .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
          .end(gzipSync('compressed'));
      else if (url === '/bomb')
        response
          .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(11 * 1024 * 1024)));
      else if (url === '/zip') response.setHeader('content-type', 'application/zip').end('x');
      else if (url === '/out') response.writeHead(302, { location: 'file:///etc/passwd' }).end();
      else if (url === '/latin')
        response.setHeader('content-type', 'text/plain; charset=iso-8859-1').end(Buffer.from('grün', 'latin1'));
      else
        response
          .setHeader('content-type', 'text/html')
          .end(
            '<title>New</title><body><header>top</header><p>See <a href="other?a=1">the ' +
              'other</a>.</p><footer>end</footer>',
          );
    });
    assert.equal(await read(`${site.url}/old`), `New\n${site.url}/new\n\nSee [the other](${site.url}/other?a=1).`);
    assert.equal(await read(`${site.url}/pdf`), '--- page 1 of 1 ---\nIn a PDF');
    assert.equal(await read(`${site.url}/latin`), 'grün');
    assert.equal(await read(`${site.url}/small`), 'compressed');
    for (const [path, errorClass, said] of [
      ['/loop', 'tool_error', /more than 8 times/],
      ['/gone', 'tool_error', /status 404/],
      ['/big', 'tool_error', /larger than 10485760 bytes/],
      ['/bomb', 'tool_error', /larger than 10485760 bytes/],
      ['/zip', 'tool_error', /not text but application\/zip/],
      ['/out', 'invalid_arguments', /"file:\/\/\/etc\/passwd" is not an http/],
    ] as const) {
      await assert.rejects(read(`${site.url}${path}`), isClass(errorClass, said), path);
    }
  });

  it('reaches neither this machine nor its network, by any name, unless that is allowed', async () => {
    let requests = 0;
    await using site = await startStub((_, __, response) => {
      requests += 1;
      response.end('secret');
    });
    const port = new URL(site.url).port;
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      'localhost',
      '169.254.169.254',
      '10.1.2.3',
    ]) {
      await assert.rejects(
        read(`http://${host}:${port}/`, false),
        isClass('tool_error', /is on this machine or its network, which this tool cannot access/),
        host,
      );
    }
    assert.equal(requests, 0);
    assert.equal(await read(site.url), 'secret');
  });

  it('checks redirects like URLs', () => {
    assert.throws(() => new Gate(false).check('http://192.168.1.1/'), isClass('tool_error', /192\.168\.1\.1/));
    assert.throws(() => new Gate(true).check('ftp://example.org/'), isClass('invalid_arguments', /http/));
    assert.deepEqual(
      [
        '8.8.8.8',
        '172.32.0.1',
        '2001:4860:4860::8888',
        '172.16.0.1',
        'fd00::1',
        'fe80::1',
        '::',
        '::ffff:10.0.0.1',
        '100.64.0.1',
        '0.0.0.0',
      ].map(isPrivate),
      [false, false, false, true, true, true, true, true, true, true],
    );
  });

  it('knows all special addresses, also those that stand for an IPv4 address', () => {
    for (const address of [
      '64:ff9b::7f00:1', // NAT64 of 127.0.0.1
      '64:ff9b::169.254.169.254',
      '64:ff9b::',
      '64:ff9b:1::8.8.8.8', // NAT64 of a local network
      '2002:7f00:1::', // 6to4
      '2002:808:808::1',
      '2001:0:4136:e378:8000:63bf:3fff:fdd2', // Teredo
      '::127.0.0.1', // IPv4-compatible
      '::8.8.8.8',
      '::ffff:127.0.0.1',
      '::ffff:168.63.129.16',
      '::ffff:0:10.0.0.1', // IPv4-translated
      '168.63.129.16',
      '192.0.2.1',
      '192.88.99.1',
      '198.51.100.1',
      '203.0.113.1',
      '239.1.1.1',
      '255.255.255.255',
      '::1',
      '100::1',
      '2001:2::1',
      '2001:db8::1',
      '3fff::1',
      '5f00::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
    ])
      assert.equal(isPrivate(address), true, address);
    for (const address of ['1.1.1.1', '168.63.129.17', '64:ff9b::8.8.8.8', '::ffff:8.8.8.8', '2606:4700::1111'])
      assert.equal(isPrivate(address), false, address);
    for (const url of ['http://[64:ff9b::7f00:1]/', 'http://[::7f00:1]/', 'http://0xa83f8110/', 'http://2822734096/'])
      assert.throws(() => new Gate(false).check(url), isClass('tool_error', /this machine or its network/), url);
  });
});

it('a page without a main part is returned whole, and one with it reduced to that part', () => {
  assert.deepEqual(readable('<nav><a href=/a>only this</a></nav>', new URL('http://x/')), {
    title: undefined,
    text: '[only this](http://x/a)',
  });
  assert.equal(readable('<p>around</p><article>all that it is about</article>').text, 'all that it is about');
  assert.equal(
    readable(
      '<p hidden>a</p><p style="display: none">b</p><p>c&nbsp;&lt;d</p><img alt="a cat"><svg><title>no</title></svg>',
    ).text,
    'c <d\n\n[image: a cat]',
  );
  assert.equal(typeof readable('<div>'.repeat(20_000)).text, 'string');
});
