import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { EngineLoad } from '../../../src/server/pressure/limit.ts';
import type { Router } from '../../../src/server/pressure/routers.ts';
import { Scraper } from '../../../src/server/pressure/scraper.ts';

const METRICS = 'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_waiting{engine="0"} 1.0\n';

describe('the scraper', () => {
  test('reports a missing engine and retries it soon, and one without such metrics only rarely', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] });
    const answers: { status: number; text: string }[] = [];
    const scrapes = { one: 0, other: 0 };
    const server = createServer((request, response) => {
      if (request.url?.endsWith('/metrics') !== true) {
        response.writeHead(404).end();
        return;
      }
      if (request.url === '/other/metrics') {
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
      { name: 'one', url: `${url}/one/metrics`, headers: {}, report: (load: EngineLoad | undefined) => heard(load) },
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
      targets.push({ name: 'other', url: `${url}/other/metrics`, headers: {}, report: (load) => heard(load) });
      for (let again = 0; again < 3; again++) assert.deepEqual(await tick(), load);
      assert.deepEqual(scrapes, { one: 6, other: 3 });
    } finally {
      scraper.close();
      server.close();
      server.closeAllConnections();
    }
  });

  test('reports no load of a router, which passes on that of one of its engines', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] });
    const metrics = (start: number): string => `${METRICS}process_start_time_seconds ${start}.5\n`;
    let answers: Readonly<Record<string, string>> = {};
    const paths: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      paths.push(url);
      const answer = answers[url];
      if (answer === undefined) response.writeHead(404);
      response.end(answer ?? '{"detail":"Not Found"}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    let report: (said: unknown) => void = () => undefined;
    const target = {
      name: 'one',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`,
      headers: {},
      report: (load: EngineLoad | undefined, router: Router | undefined) => report(router ?? load),
    };
    /** Each has a state of its own, so that it reads at once. */
    let current: Scraper | undefined;
    const scraper = (): void => {
      current?.close();
      current = new Scraper(() => [target]);
    };
    const tick = async (next: typeof answers): Promise<unknown> => {
      answers = next;
      const said = new Promise((resolve) => (report = resolve));
      context.mock.timers.tick(3_000);
      return said;
    };
    const load = { running: 3, waiting: 1 };
    try {
      scraper();
      assert.deepEqual(await tick({ '/metrics': metrics(100) }), load);
      assert.deepEqual(await tick({ '/metrics': metrics(100) }), load);
      assert.deepEqual(paths.splice(0).sort(), ['/engines', '/list_workers', '/metrics', '/metrics'], 'once per start');
      assert.deepEqual(await tick({ '/metrics': metrics(200) }), load, 'it was restarted');
      assert.deepEqual(await tick({ '/metrics': metrics(100) }), { engines: 2 }, 'an older one: there are two');

      scraper();
      const workers = JSON.stringify({ urls: ['http://a:8000', 'http://b:8000', 'http://c:8000'] });
      assert.deepEqual(
        await tick({ '/metrics': metrics(100), '/list_workers': workers }),
        { name: 'vLLM Router', engines: 3 },
        'always the metrics of the same engine',
      );
      scraper();
      const engines = JSON.stringify([{ engine_id: 'a', serving_models: ['desk'], created: 1 }]);
      assert.deepEqual(
        await tick({ '/metrics': 'vllm:healthy_pods_total{server="http://a"} 1.0\n', '/engines': engines }),
        { name: 'router of the Production Stack', engines: 1 },
        'its own metrics, without the requests that wait',
      );
      scraper();
      assert.deepEqual(
        await tick({ '/metrics': metrics(100), '/engines': '<html>', '/list_workers': '{"urls": "x"}' }),
        load,
        'no router',
      );
    } finally {
      current?.close();
      server.close();
      server.closeAllConnections();
    }
  });
});
