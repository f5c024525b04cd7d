import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { connectTarget } from '../../../../src/client/targets/connectTarget.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { PRODUCT } from '../../../../src/common/product.ts';
import { PROTOCOL } from '../../../../src/protocol/worker.ts';

const of =
  (code: string, pattern: RegExp) =>
  (error: unknown): boolean =>
    StudioError.is(error) && error.code === code && pattern.test(`${error.message} ${error.hint ?? ''}`);

describe('a server at a URL', () => {
  let server: http.Server;
  let url: string;
  let says: { status: number; body: string };
  const requests: (string | undefined)[] = [];
  beforeEach(async () => {
    requests.length = 0;
    says = { status: 200, body: JSON.stringify({ product: PRODUCT, protocol: PROTOCOL }) };
    server = http.createServer((request, response) => {
      requests.push(`${request.url ?? ''} ${request.headers.authorization ?? ''}`);
      response.writeHead(says.status, { 'content-type': 'application/json' }).end(says.body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    url = `http://127.0.0.1:${address.port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const open = (env: Record<string, string> = { FULL: 'f' }) =>
    connectTarget('u', { url, token_env: 'FULL', read_token_env: 'READ' }, { env });

  it('receives the token of the environment', async () => {
    const connection = await open({ FULL: 'f', READ: 'r' });
    assert.deepEqual(requests, ['/v1/server Bearer f']);
    assert.deepEqual(
      [connection.address(), connection.readAddress()],
      [
        { url, token: 'f' },
        { url, token: 'r' },
      ],
    );
    await connection.reconnect();
    assert.equal(requests.length, 2);
    connection.close();
  });

  it('opens read-only pages with a read-only token', async () => {
    const connection = await open();
    assert.throws(() => connection.readAddress(), of('usage', /no read-only token.*--read-token-env/));
  });

  it('is not contacted without a token', async () => {
    await assert.rejects(open({}), of('usage', /FULL is not set/));
    assert.deepEqual(requests, []);
  });

  it('reports its problems', async () => {
    const wrong: [typeof says, string, RegExp][] = [
      [{ status: 401, body: '{}' }, 'unauthorized', /rejected the token/],
      [
        { status: 200, body: JSON.stringify({ product: 'Rollout Studio 0.0.1', protocol: PROTOCOL - 1 }) },
        'version',
        /older than this client: Rollout Studio 0\.0\.1.*update it/,
      ],
      [
        { status: 200, body: JSON.stringify({ product: 'Rollout Studio 99', protocol: PROTOCOL + 1 }) },
        'version',
        /newer than this client: Rollout Studio 99.*Update this client/,
      ],
      [{ status: 200, body: '<html>' }, 'unavailable', /not a rollout server/],
      [{ status: 503, body: '' }, 'unavailable', /HTTP status 503/],
    ];
    for (const [answer, code, pattern] of wrong) {
      says = answer;
      await assert.rejects(open(), of(code, pattern), answer.body);
    }
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    // A kept-alive connection may turn out to be cut.
    await assert.rejects(open(), of('unavailable', /refused|closed the connection/));
  });
});
