import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { EngineLoad } from '../../../src/server/pressure/limit.ts';
import { Scraper } from '../../../src/server/pressure/scraper.ts';

const METRICS = 'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_waiting{engine="0"} 1.0\n';

describe('the scraper', () => {
  test('reports a missing engine and retries it soon, and one without such metrics only rarely', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] });
    const answers: { status: number; text: string }[] = [];
    const scrapes = { one: 0, other: 0 };
    const server = createServer((request, response) => {
      if (request.url === '/other') {
        scrapes.other += 1;
        response.end(METRICS);
        return;
      }
      scrapes.one += 1;
      const answer = answers.shift();
      if (answer === undefined) response.destroy();
      else response.writeHead(answer.status).end(answer.text);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let heard: (load: EngineLoad | undefined) => void = () => undefined;
    const targets = [
      { name: 'one', url: `${url}/one`, headers: {}, report: (load: EngineLoad | undefined) => heard(load) },
    ];
    const scraper = new Scraper(() => targets);
    const tick = async (answer?: { status: number; text: string }): Promise<EngineLoad | undefined> => {
      if (answer !== undefined) answers.push(answer);
      const report = new Promise<EngineLoad | undefined>((resolve) => (heard = resolve));
      context.mock.timers.tick(3_000);
      return report;
    };
    try {
      const load = { running: 3, waiting: 1 };
      assert.deepEqual(await tick({ status: 200, text: METRICS }), load);
      assert.equal(await tick(), undefined, 'cut');
      assert.deepEqual(await tick({ status: 200, text: METRICS }), load);
      assert.equal(await tick({ status: 503, text: 'starting' }), undefined);
      assert.deepEqual(await tick({ status: 200, text: METRICS }), load);
      assert.equal(await tick({ status: 404, text: 'not here' }), undefined);
      targets.push({ name: 'other', url: `${url}/other`, headers: {}, report: (load) => heard(load) });
      for (let again = 0; again < 3; again++) assert.deepEqual(await tick(), load);
      assert.deepEqual(scrapes, { one: 6, other: 3 });
    } finally {
      scraper.close();
      server.close();
      server.closeAllConnections();
    }
  });
});
