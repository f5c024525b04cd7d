import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { SearchSettings } from '../../../../src/config/schema/builtinSettings.ts';
import { openBuiltin } from '../../../../src/tools/builtins/open.ts';
import { Outgoing } from '../../../../src/tools/builtins/web/outgoing.ts';
import type { ToolEnvironment } from '../../../../src/tools/environment.ts';
import { isClass, startStub } from '../../../support/stubServer.ts';
import { callTool } from '../../../support/tools.ts';

const environment = { cwd: '/', pools: { env: {} } } as ToolEnvironment;

describe('the outgoing proxy', () => {
  const proxyFor = (address: string, env: Readonly<Record<string, string>>, configured?: string): string | undefined =>
    new Outgoing(configured, env).for(new URL(address))?.href;

  it('comes from the file, else from the variables', () => {
    const env = { HTTP_PROXY: 'http://a:1', https_proxy: 'b:2', HTTPS_PROXY: 'http://c:3' };
    assert.deepEqual(
      [proxyFor('http://x.org', env), proxyFor('https://x.org', env), proxyFor('https://x.org', env, 'https://d')],
      ['http://a:1/', 'http://b:2/', 'https://d/'],
    );
    assert.deepEqual(
      [
        proxyFor('http://x.org', { all_proxy: 'http://e' }),
        proxyFor('http://x.org', {}),
        proxyFor('http://x.org', { HTTP_PROXY: ' ' }),
      ],
      ['http://e/', undefined, undefined],
    );
    assert.deepEqual(
      [new Outgoing(undefined, {}).any, new Outgoing(undefined, env).any, new Outgoing('x', {}).any],
      [false, true, true],
    );
    assert.throws(
      () => proxyFor('http://x.org', { ALL_PROXY: 'socks5://ada:secret@x' }),
      (error) => isClass('tool_error', /not an http/)(error) && !String(error).includes('secret'),
    );
  });

  it('is not used for this machine, nor for hosts in NO_PROXY', () => {
    for (const host of ['localhost:8000', '127.0.0.1', '[::1]:3', 'app.localhost'])
      assert.equal(proxyFor(`http://${host}`, {}, 'http://p'), undefined, host);
    const direct = (host: string, no: string): boolean =>
      proxyFor(`http://${host}`, { NO_PROXY: no }, 'http://p') === undefined;
    for (const [host, no] of [
      ['x.org', 'x.org'],
      ['a.x.org', '.x.org'],
      ['a.x.org', 'y.org, *.x.org'],
      ['x.org:81', 'x.org:81'],
      ['x.org', '*'],
      ['10.0.0.1', '10.0.0.1'],
      ['[fd00::1]', 'fd00::1'],
    ] as const)
      assert.ok(direct(host, no), `${host} by ${no}`);
    for (const [host, no] of [
      ['ax.org', 'x.org'],
      ['x.org', 'x.org:81'],
      ['x.org', ''],
      ['x.org.de', 'x.org'],
    ] as const)
      assert.ok(!direct(host, no), `${host} by ${no}`);
  });

  it('is used by the search, by page reading, and by redirects of pages', async () => {
    await using far = await startStub(({ url = '', headers }, _, response) => {
      if (url === '/old') response.writeHead(302, { location: 'http://other.example/new' }).end();
      else if (url === '/search?q=a&format=json')
        response.end(
          JSON.stringify({ results: [{ title: 'T', url: 'http://x/1', content: String(headers['host']) }] }),
        );
      else response.setHeader('content-type', 'text/html').end(`<p>This is ${String(headers['host'])} ${url}</p>`);
    });
    const requests: string[] = [];
    const sockets = new Set<Socket>();
    const proxy = createServer(({ url = '', headers }, response) => {
      requests.push(`${url} ${headers['proxy-authorization'] ?? ''}`.trim());
      const { pathname, search, host } = new URL(url);
      fetch(`${far.url}${pathname}${search}`, { redirect: 'manual', headers: { 'x-host': host } }).then(
        async (answer) => {
          response
            .writeHead(
              answer.status,
              Object.fromEntries(
                [...answer.headers].filter(([name]) => name === 'location' || name === 'content-type'),
              ),
            )
            .end(await answer.text());
        },
        (error: unknown) => void response.destroy(error instanceof Error ? error : undefined),
      );
    }).on('connect', ({ url = '' }, socket: Socket) => {
      requests.push(`CONNECT ${url}`);
      sockets.add(socket.on('error', () => undefined));
      const through = connect(Number(new URL(far.url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        through.pipe(socket).pipe(through);
      }).on('error', () => undefined);
      sockets.add(through);
    });
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
    const settings: SearchSettings = {
      provider: 'searxng',
      url: 'http://searx.example',
      proxy: `http://ada:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    };
    const tools = openBuiltin('search', environment, { search: settings });
    try {
      assert.match(JSON.stringify((await callTool(tools, 'search', { query: 'a' })).response), /"title":"T"/);
      assert.match(
        JSON.stringify((await callTool(tools, 'read_webpage', { url: 'http://pages.example/old' })).response),
        /This is 127\.0\.0\.1:\d+ \/new/,
      );
      const token = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
      assert.deepEqual(
        requests,
        ['search?q=a&format=json', 'old', 'new'].map(
          (path, index) => `http://${['searx', 'pages', 'other'][index] ?? ''}.example/${path} ${token}`,
        ),
      );
      // Encrypted traffic uses a tunnel; the far end here speaks no TLS.
      await assert.rejects(
        callTool(tools, 'read_webpage', { url: 'https://pages.example/' }),
        isClass('tool_error', /Cannot reach|unreachable/),
      );
      assert.equal(requests.at(-1), 'CONNECT pages.example:443');
      await assert.rejects(
        callTool(tools, 'read_webpage', { url: 'http://10.0.0.1/' }),
        isClass('tool_error', /10\.0\.0\.1 is on this machine or its network/),
      );
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        proxy.close(resolve);
        proxy.closeAllConnections();
      });
    }
  });
});

describe('a refusal of a search service', () => {
  const refused = async (
    settings: Omit<SearchSettings, 'url'>,
    status: number,
    body: unknown,
  ): Promise<{ said: string; requests: number }> => {
    let requests = 0;
    await using service = await startStub((_, __, response) => {
      requests++;
      response.writeHead(status, { 'retry-after': '0' }).end(JSON.stringify(body));
    });
    const tools = openBuiltin('search', environment, { search: { ...settings, url: service.url } });
    const said = await callTool(tools, 'search', { query: 'a' }).then(
      ({ response }) => JSON.stringify(response),
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
    return { said, requests };
  };

  it('is reported in its words, and retried only where that helps', async () => {
    const google = { provider: 'google', api_key: 'k', engine: 'e' } as const;
    const day =
      "Quota exceeded for quota metric 'Queries' and limit 'Queries per day' of service " +
      "'customsearch.googleapis.com' for consumer 'project_number:1'.";
    assert.deepEqual(
      await refused(google, 429, {
        error: { code: 429, message: day, status: 'RESOURCE_EXHAUSTED', errors: [{ reason: 'rateLimitExceeded' }] },
      }),
      { said: `Google search returned status 429 (the daily quota is exhausted): ${day}`, requests: 1 },
    );
    const minute = day.replace('per day', 'per minute');
    assert.deepEqual(await refused(google, 429, { error: { code: 429, message: minute } }), {
      said: `Google search returned status 429: ${minute}`,
      requests: 3,
    });
    assert.deepEqual(
      await refused(google, 400, {
        error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' },
      }),
      {
        said:
          'Google search returned status 400 (the key in `search.api_key` is invalid): API key not valid. ' +
          'Please pass a valid API key.',
        requests: 1,
      },
    );
    const brave = { provider: 'brave', api_key: 'k' } as const;
    const body = (code: string, detail: string, status: number): unknown => ({
      type: 'ErrorResponse',
      error: { id: '1', status, detail, meta: {}, code },
      time: 1,
    });
    assert.deepEqual(
      await refused(brave, 422, body('SUBSCRIPTION_TOKEN_INVALID', 'The provided subscription token is invalid.', 422)),
      {
        said:
          'Brave search returned status 422 (the key in `search.api_key` is invalid): The provided ' +
          'subscription token is invalid.',
        requests: 1,
      },
    );
    assert.deepEqual(await refused(brave, 429, body('QUOTA_LIMITED', 'Request quota limit exceeded for plan', 429)), {
      said:
        'Brave search returned status 429 (the quota of the subscription is exhausted): Request quota limit ' +
        'exceeded for plan',
      requests: 1,
    });
    assert.equal(
      (await refused(brave, 429, body('RATE_LIMITED', 'Request rate limit exceeded for plan', 429))).requests,
      3,
    );
    assert.deepEqual(await refused(brave, 200, { type: 'search', query: { original: 'a' } }), {
      said: '"No results."',
      requests: 1,
    });
    assert.deepEqual(
      await refused({ provider: 'searxng' }, 200, {
        query: 'a',
        results: [],
        unresponsive_engines: [
          ['google', 'timeout'],
          ['bing', 'CAPTCHA'],
        ],
      }),
      {
        said: 'SearXNG found nothing because some of its engines do not respond: google (timeout), bing (CAPTCHA).',
        requests: 1,
      },
    );
  });
});
