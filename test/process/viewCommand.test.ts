// `rollout view`: a URL for a browser, or one file.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { Api } from '../../src/protocol/api.ts';
import { offlineTransport, readOffline } from '../../src/protocol/offline.ts';
import type { PagePlace } from '../../src/protocol/page.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { placeFromParams } from '../../src/protocol/viewLink.ts';
import { alive, root } from '../support/cli.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';

const HOSTILE = '</script><script>alert(1)</script><!--';
/** More than an event holds itself. */
const LONG = 'long '.repeat(20_000);
const TAU = path.join(root, 'test', 'fixtures', 'tau-bench', 'two-tasks.json');
const ON_WINDOWS = process.platform === 'win32';

interface Viewing extends AsyncDisposable {
  readonly process: ChildProcess;
  /** The next line on stdout. */
  line(): Promise<string>;
  readonly exited: Promise<number | null>;
}

interface Printed {
  readonly url: string;
  readonly place: PagePlace;
  readonly read_only: boolean;
}

let workspace: Workspace;
let batch: string;

before(async () => {
  workspace = new Workspace();
  batch = await workspace.launch('first', {
    endpoint: 'demo:',
    batch: { attempts: 2 },
    tasks: [
      { id: 'hostile', question: `answer ${HOSTILE}`, answer: HOSTILE },
      { id: 'a/long:one', question: `answer yes\n${LONG}`, answer: 'yes' },
    ],
  });
  await workspace.ended(batch);
});
after(() => workspace.close());

function viewing(args: readonly string[], env: Record<string, string> = {}): Viewing {
  const child = workspace.bench.start(['view', ...args], { env });
  const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  let stderr = '';
  child.stderr?.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  const exited = once(child, 'exit').then(([code]) => code as number | null); // what a process prints
  return {
    process: child,
    exited,
    line: async () => {
      const next = await lines.next();
      if (next.done === true) throw new Error(`rollout view ended\n${stderr}`);
      return next.value;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function read(url: string): { api: Api; place: PagePlace | undefined; edit: boolean } {
  const { origin, pathname, hash } = new URL(url);
  assert.equal(pathname, '/view/');
  const values = new URLSearchParams(hash.slice(1));
  const token = values.get('token') ?? '';
  return {
    api: new Api(fetchTransport(() => ({ url: origin, token }))),
    place: placeFromParams(values),
    edit: values.get('edit') === '1',
  };
}

const note = (api: Api): Promise<unknown> =>
  api.commandBatch(batch, { command: newId('c'), verb: 'note', args: { label: 'note', text: 'seen' } });

describe('a URL', () => {
  it('of the newest batch is read-only, and the server stays when viewing ends', async () => {
    await using view = viewing([]);
    const { api, place, edit } = read(await view.line());
    assert.deepEqual([place, edit], [{ page: 'batch', batch }, false]);
    assert.equal((await api.batch(batch)).state, 'ended');
    await assert.rejects(note(api), (error: unknown) => StudioError.is(error, 'forbidden'));
    view.process.kill('SIGINT');
    assert.equal(await view.exited, ON_WINDOWS ? null : 0);
    assert.ok(alive(workspace.bench.serverFile()?.pid ?? 0));
    assert.equal((await api.batch(batch)).batch, batch);
  });

  it('with --edit allows changes', async () => {
    const { url, read_only } = await workspace.json<Printed>('view', batch, '--edit');
    const { api, edit } = read(url);
    assert.deepEqual([read_only, edit], [false, true]);
    await note(api);
  });

  it('leads to a rollout, at a step or an event of it', async () => {
    const [row] = await workspace.rows(batch);
    assert.ok(row !== undefined);
    const of = async (reference: string): Promise<PagePlace | undefined> =>
      read((await workspace.json<Printed>('view', reference)).url).place;
    assert.deepEqual(await of(row.rollout), { page: 'trajectory', rollout: row.rollout });
    assert.deepEqual(await of(`${row.rollout}@3`), { page: 'trajectory', rollout: row.rollout, seq: 3 });
    assert.deepEqual(await of(`last/${row.task}/${row.attempt}:1`), {
      page: 'trajectory',
      rollout: row.rollout,
      step: 1,
    });
  });

  it('is refused for unknown objects', async () => {
    for (const [word, code] of [
      ['b0000000000000000z', 'not_found'],
      ['r0000000000000000z', 'not_found'],
      ['nothing.json', 'usage'],
      ['last/none/1', 'not_found'],
    ] as const) {
      const ran = await workspace.run('view', word, '--json');
      assert.notEqual(ran.code, 0);
      assert.equal((JSON.parse(ran.stdout) as { error: { code: string } }).error.code, code, word);
    }
    assert.equal((await workspace.run('view', batch, '--save', 'x.html', '--open')).code, 2);
    assert.equal((await workspace.run('view', batch, '--with-trajectories')).code, 2);
  });

  it('is printed again when the server was lost and is elsewhere', async () => {
    await using view = viewing([batch]);
    const first = await view.line();
    process.kill(workspace.bench.serverFile()?.pid ?? 0, 'SIGKILL');
    const second = await view.line();
    assert.notEqual(second, first);
    const { api, place } = read(second);
    assert.deepEqual([(await api.batch(batch)).batch, place], [batch, { page: 'batch', batch }]);
  });

  it("is opened in the machine's browser with --open", {
    skip: process.platform === 'linux' ? false : 'only there, a script can stand for the browser',
  }, async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.on('data', (bytes: Buffer) => bodies.push(bytes.toString()));
      request.on('end', () => response.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const heard = once(server, 'request');
    const { port } = server.address() as AddressInfo; // a TCP server has a numeric port
    const opener = workspace.bench.path('xdg-open');
    writeFileSync(
      opener,
      `#!${process.execPath}\nfetch('http://127.0.0.1:${port}/', { method: 'POST', body: process.argv[2] });\n`,
    );
    chmodSync(opener, 0o755);
    await using view = viewing(['--open'], {
      PATH: `${path.dirname(opener)}${path.delimiter}${process.env['PATH'] ?? ''}`,
    });
    const url = await view.line();
    const [request] = (await heard) as [NodeJS.ReadableStream]; // what the server returns
    await once(request, 'end');
    server.close();
    // Other users see the arguments of a program, so the address that it gets can be opened once.
    const opened = new URL(bodies[0] ?? '');
    const params = new URLSearchParams(opened.hash.slice(1));
    assert.equal(params.has('token'), false);
    const redeem = (): Promise<Response> =>
      fetch(`${opened.origin}/v1/tickets/${params.get('ticket') ?? ''}`, { method: 'POST' });
    const redeemed = await redeem();
    const token = new URLSearchParams(new URL(url).hash.slice(1)).get('token');
    assert.deepEqual([redeemed.status, await redeemed.json()], [200, { token }]);
    assert.equal((await redeem()).status, 401);
  });
});

describe('a recording', () => {
  it('is imported when it is viewed, once', async () => {
    const own = new Workspace();
    try {
      const first = await own.json<Printed>('view', TAU);
      assert.equal(first.place.page, 'batch');
      const copy = own.write('copy of the same.json', readFileSync(TAU, 'utf8'));
      assert.deepEqual((await own.json<Printed>('view', copy)).place, first.place);
      const { batches } = await (await own.api()).batches();
      assert.deepEqual(
        batches.map((row) => [row.imported, row.state]),
        [[true, 'ended']],
      );
      own.write('other.json', readFileSync(TAU, 'utf8').replace('ada_1', 'ada_2'));
      assert.notDeepEqual((await own.json<Printed>('view', 'other.json')).place, first.place);
    } finally {
      await own.close();
    }
  });
});

describe('one file', () => {
  async function saved(...args: string[]): Promise<{ html: string; api: Api; trajectories: number; place: PagePlace }> {
    const printed = await workspace.json<{
      file: string;
      bytes: number;
      trajectories: number;
      left_out: number;
      values_left_out: number;
    }>('view', ...args, '--save', 'saved page.html');
    const html = readFileSync(printed.file, 'utf8');
    assert.deepEqual(
      [printed.file, printed.bytes, printed.left_out, printed.values_left_out],
      [workspace.path('saved page.html'), Buffer.byteLength(html), 0, 0],
    );
    const [, encoding, text = ''] =
      /<script type="[a-z/]+" id="offline"(?: data-encoding="([a-z]+)")?>([^<]*)<\/script>/.exec(html) ?? [];
    const data = await readOffline(text, encoding);
    return { html, api: new Api(offlineTransport(data)), trajectories: printed.trajectories, place: data.place };
  }

  it('holds a trajectory, whatever its texts contain', async () => {
    const row = (await workspace.rows(batch)).find((one) => one.task === 'hostile');
    assert.ok(row !== undefined);
    const { html, api, place } = await saved(`${row.rollout}:1`);
    assert.deepEqual(place, { page: 'trajectory', rollout: row.rollout, step: 1 });
    assert.deepEqual(await api.rollout(row.rollout), await (await workspace.api()).rollout(row.rollout));
    const events = (await Array.fromAsync(api.allEvents(row.rollout))).flat();
    assert.deepEqual(events, await workspace.events(row.rollout));
    assert.ok(JSON.stringify(ofKind(events, 'message')).includes(HOSTILE));
    assert.ok(!html.includes(HOSTILE));
    assert.equal((await api.rollouts(batch, { task: 'hostile' })).rollouts.length, 2);
    const { token, store } = { token: workspace.bench.serverFile()?.token ?? 'none', store: workspace.bench.store };
    assert.ok(!html.includes(token) && !html.includes(store), 'nothing of the server');
  });

  it('holds a batch, with its trajectories on request', async () => {
    const plain = await saved(batch);
    const real = await workspace.api();
    assert.deepEqual(await plain.api.batch(batch), await real.batch(batch));
    assert.deepEqual(
      await Array.fromAsync(plain.api.allRollouts(batch)),
      await Array.fromAsync(real.allRollouts(batch)),
    );
    assert.deepEqual((await plain.api.tasks(batch)).tasks, (await real.tasks(batch)).tasks);
    const row = (await workspace.rows(batch)).find((one) => one.task === 'a/long:one');
    assert.ok(row !== undefined);
    assert.equal(plain.trajectories, 0);
    assert.match(
      (await workspace.run('view', batch, '--save', 'saved page.html')).stdout,
      /^saved page\.html: \d\.\d MB, without trajectories; --with-trajectories includes them\n$/,
    );
    await assert.rejects(plain.api.events(row.rollout), (error: unknown) => StudioError.is(error, 'gone'));

    const whole = await saved(batch, '--with-trajectories');
    assert.equal(whole.trajectories, 4);
    const events = (await Array.fromAsync(whole.api.allEvents(row.rollout))).flat();
    assert.deepEqual(events, await workspace.events(row.rollout));
    // The long question is a blob next to the events.
    const sha = /"\$blob":"([0-9a-f]{64})"/.exec(JSON.stringify(events))?.[1] ?? '';
    assert.deepEqual(await whole.api.getBlob(sha), new Uint8Array(await real.getBlob(sha)));
  });

  it('holds two batches side by side, and the attempts at a task of both', async () => {
    const later = await workspace.launch('second', {
      endpoint: 'demo:',
      tasks: [{ id: 'hostile', question: 'answer yes', answer: 'yes' }],
    });
    await workspace.ended(later);
    const both = await saved(batch, later);
    assert.deepEqual(both.place, { page: 'batches', batch, with: later });
    const real = await workspace.api();
    for (const id of [batch, later]) {
      assert.deepEqual(await both.api.batch(id), await real.batch(id));
      assert.deepEqual(await Array.fromAsync(both.api.allRollouts(id)), await Array.fromAsync(real.allRollouts(id)));
    }
    assert.match(both.html, /<title>first and second – Rollout Studio<\/title>/);
    assert.equal(both.trajectories, 0);
    const task = await saved(`${batch}/hostile`, later, '--compare');
    assert.deepEqual([task.place, task.trajectories], [{ page: 'compare', batch, task: 'hostile', with: later }, 3]);
    assert.deepEqual(read((await workspace.json<Printed>('view', batch, later)).url).place, {
      page: 'batches',
      batch,
      with: later,
    });
    for (const words of [
      [batch, batch],
      [`${batch}/hostile/1`, later],
    ])
      assert.equal((await workspace.run('view', ...words, '--json')).code, 2, words.join(' '));
  });

  it('is not written to an invalid place', async () => {
    const ran = await workspace.run('view', batch, '--save', path.join('no such folder', 'x.html'));
    assert.equal(ran.code === 0, false);
    assert.match(ran.stderr, /Cannot write/);
  });
});

describe('rollout run --task-file', () => {
  it('runs the tasks of the file', async () => {
    workspace.write('some.json', JSON.stringify(['t2', 't3']));
    const file = workspace.batch('some', {
      endpoint: 'demo:',
      tasks: ['t1', 't2', 't3'].map((id) => ({ id, question: 'answer yes', answer: 'yes' })),
    });
    const { batch: started } = await workspace.json<{ batch: string }>(
      'run',
      file,
      '--task-file',
      'some.json',
      '--detach',
    );
    assert.deepEqual(
      (await (await workspace.api()).tasks(started)).tasks.map(({ id }) => id),
      ['t2', 't3'],
    );
    workspace.write('lines.txt', 't3\r\nt1\n');
    const lines = await workspace.json<{ batch: string }>(
      'run',
      file,
      '--task-file',
      'lines.txt',
      '--task',
      't2',
      '--detach',
    );
    assert.deepEqual(
      (await (await workspace.api()).tasks(lines.batch)).tasks.map(({ id }) => id),
      ['t1', 't2', 't3'],
    );
    workspace.write('wrong.json', '[{"t1": 1}]');
    workspace.write('broken.json', '["t1"');
    workspace.write('empty.json', '[]');
    for (const name of ['wrong.json', 'broken.json', 'empty.json']) {
      const ran = await workspace.run('run', file, '--task-file', name);
      assert.equal(ran.code, 2);
      assert.match(ran.stderr, /--task-file/);
    }
    assert.match(
      (await workspace.run('run', file, '--task-file', 'missing.json')).stderr,
      /File not found: missing\.json/,
    );
  });
});
