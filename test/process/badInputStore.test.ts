/** Stores and servers in a bad state: full, taken, newer, damaged, not ours. One clear error, and nothing is lost. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { Api } from '../../src/protocol/api.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { end, hasEnded } from '../support/cli.ts';
import { smallDisk } from '../support/smallDisk.ts';
import { parseDocument, type Report, WorkspaceBench } from '../support/workspace.ts';

interface Failed {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}

async function withBench(work: (bench: WorkspaceBench) => Promise<void>): Promise<void> {
  const bench = new WorkspaceBench();
  try {
    mkdirSync(bench.work);
    await work(bench);
  } finally {
    await bench.close();
  }
}

/** Runs a command that must fail; both forms of it report the same. */
async function fails(bench: WorkspaceBench, args: readonly string[], exit: number, code: string): Promise<string> {
  const people = await bench.rollout(args);
  const program = await bench.rollout([...args, '--json']);
  assert.deepEqual([people.code, program.code], [exit, exit], people.stderr);
  assert.equal(people.stdout, '');
  const { error } = parseDocument<Failed>(program.stdout, program.stderr);
  assert.equal(error.code, code);
  assert.equal(people.stderr, `rollout: ${error.message}${error.hint === undefined ? '' : ` ${error.hint}`}\n`);
  return people.stderr;
}

describe('a store', () => {
  it('loses nothing on a full disk; the run reports it and continues once there is space @deep', async (test) => {
    const outer = new WorkspaceBench();
    const disk = smallDisk(outer, 2);
    if ('why' in disk) {
      await outer.close();
      test.skip(disk.why);
      return;
    }
    const bench = new WorkspaceBench({ store: disk.store });
    try {
      await disk.start();
      const file = bench.batch('full', {
        model: '{ endpoint: "demo:?context=100000000", name: demo }',
        agent: 'limits: { tokens: 1G, steps: 100 }\ncontext: { tool_result_tokens: 10 }\n',
        tools: '[{ module: text.ts }]',
        tasks: Object.fromEntries(
          Array.from({ length: 4 }, (_, n) => [`t${n}`, `call text {"n": ${n}} times 12\nanswer 42`]),
        ),
      });
      bench.write(
        'text.ts',
        `import { tool } from 'rollout-studio';
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
export const text = tool({ description: 'Gives text.', input: z.object({ n: z.number() }), effect: 'pure', run: () => \
randomBytes(45_000).toString('base64') });
`,
      );
      const running = bench.start(['run', file, '--json'], { cwd: bench.work });
      let [said, printed] = ['', ''];
      running.stdout?.on('data', (chunk) => (printed += String(chunk)));
      const ended = once(running, 'close');
      const full = new Promise<void>((resolve) =>
        running.stderr?.on('data', (chunk) => {
          said += String(chunk);
          if (/No recorded data is lost|failed: disk I\/O error/.test(said)) resolve();
        }),
      );
      await Promise.race([full, ended]);
      assert.match(
        said,
        new RegExp(
          String.raw`^(The disk with the store .* is full\. No recorded data is lost\. Free some disk space\. ` +
            String.raw`Work then continues automatically\.|The disk with the store .* failed: .*)$`,
          'm',
        ),
      );
      // Stored data can be read, and new requests are refused with the same words.
      const [batch] = parseDocument<{ batches: { batch: string }[] }>(
        (await bench.rollout(['batches', '--json'])).stdout,
        '',
      ).batches;
      const before = await stored(bench, batch?.batch ?? '');
      const refused = await bench.rollout([
        'run',
        bench.batch('more', { tasks: { one: 'No room for this. '.repeat(200_000) } }),
        '--detach',
      ]);
      assert.equal(refused.code, 3, refused.stderr);
      assert.match(refused.stderr, /The disk with the store/);
      disk.makeRoom();
      assert.deepEqual(await ended, [0, null], said);
      const report = JSON.parse(printed) as Report;
      assert.deepEqual([report.passed, report.infrastructure, report.open], [4, 0, 0]);
      const after = await stored(bench, report.batch);
      for (const [rollout, events] of before)
        assert.deepEqual(after.get(rollout)?.slice(0, events.length), events, 'what was stored stays as it was');
      assert.deepEqual(
        [...after.values()].map((events) => events.filter((event) => event.kind === 'tool.end').length),
        [12, 12, 12, 12],
      );
      assert.ok(
        (await bench.rows(report.batch)).every((row) => row.try === 1),
        'nothing was tried again',
      );
    } finally {
      const pid = bench.serverFile()?.pid;
      if (pid !== undefined) await end(pid);
      disk.close();
      await bench.close();
      await outer.close();
    }
  });

  it('of a newer version is left alone', () =>
    withBench(async (bench) => {
      await bench.rollout(['batches']);
      await end(bench.serverFile()?.pid ?? 0);
      const database = new DatabaseSync(path.join(bench.store, 'store.db'));
      database.exec("UPDATE meta SET value = '99' WHERE name = 'version'");
      database.close();
      const bytes = readFileSync(path.join(bench.store, 'store.db'));
      assert.match(
        await fails(bench, ['batches'], 2, 'version'),
        new RegExp(
          String.raw`^rollout: The store .* was written by a newer Rollout Studio \(store version 99; this ` +
            String.raw`version supports \d+\)\. Update Rollout Studio, or use another store with --store\. ` +
            String.raw`To go back to this version, restore a backup that was ` +
            String.raw`made before the upgrade: rollout restore FILE --store NEW\.\n$`,
        ),
      );
      assert.deepEqual(readFileSync(path.join(bench.store, 'store.db')), bytes);
    }));

  it('that is not a database is reported as damaged', () =>
    withBench(async (bench) => {
      mkdirSync(bench.store, { mode: 0o700 });
      writeFileSync(
        path.join(bench.store, 'store.db'),
        'this is no database, and it is long enough to be read as one'.repeat(10),
      );
      assert.match(
        await fails(bench, ['batches'], 3, 'storage'),
        /^rollout: The store in .* is damaged: file is not a database\. /,
      );
    }));

  it('that the system does not let anyone create is reported, and not waited for', async (test) => {
    if (process.platform !== 'linux') {
      test.skip('needs /proc');
      return;
    }
    for (const store of ['/proc/store', '/proc/deep/store']) {
      const bench = new WorkspaceBench({ store });
      try {
        mkdirSync(bench.work);
        assert.match(
          await fails(bench, ['batches'], 3, 'storage'),
          /^rollout: Cannot write to the store \/proc\/.*\. Check its permissions, .*\n$/,
        );
        const serve = await bench.rollout(['serve']);
        assert.equal(serve.code, 3);
        assert.match(
          serve.stderr,
          /^rollout: Cannot create the store folder \/proc\/.*\. Choose another folder with --store\.\n$/m,
        );
      } finally {
        await bench.close();
      }
    }
  });

  it('that is not writable or not a folder is reported first', () =>
    withBench(async (bench) => {
      writeFileSync(bench.path('file'), '');
      const inFile = new WorkspaceBench({ store: bench.path('file', 'store') });
      try {
        mkdirSync(inFile.work);
        assert.match(
          await fails(inFile, ['batches'], 3, 'storage'),
          /^rollout: Cannot use .* as a store: a part of its path is a file\. Choose another store with --store\.\n$/,
        );
      } finally {
        await inFile.close();
      }
      // A folder below which nobody can create anything: a file takes the place of `log/`.
      mkdirSync(bench.store);
      writeFileSync(path.join(bench.store, 'log'), '');
      assert.match(
        await fails(bench, ['batches'], 3, 'storage'),
        /^rollout: Cannot write to the store .*\. Check its permissions, or choose another store with --store\.\n$/,
      );
    }));
});

describe('a server', () => {
  it('is the only one of its store: a second one names it and exits', () =>
    withBench(async (bench) => {
      await bench.rollout(['batches']);
      const first = bench.serverFile();
      assert.match(
        await fails(bench, ['serve'], 3, 'unavailable'),
        new RegExp(
          `^rollout: Another server is using the store .*: process ${first?.pid ?? 0} at 127\\.0\\.0\\.1, port ` +
            `${first?.port ?? 0} .*\\. Commands on this store connect to it automatically\\. ` +
            'To run a second server, use another --store\\.\n$',
        ),
      );
      assert.deepEqual(bench.serverFile(), first);
    }));

  it('that died left its file: another one takes its place', () =>
    withBench(async (bench) => {
      await bench.rollout(['batches']);
      const dead = bench.serverFile();
      process.kill(dead?.pid ?? 0, 'SIGKILL');
      assert.ok(await hasEnded(dead?.pid ?? 0, 5_000));
      assert.ok(existsSync(path.join(bench.store, 'server.json')));
      const { code, stderr } = await bench.rollout(['batches']);
      assert.deepEqual([code, stderr], [0, '']);
      assert.notEqual(bench.serverFile()?.pid, dead?.pid);
    }));

  it('whose file is damaged or gone writes it again and is found @deep', () =>
    withBench(async (bench) => {
      const file = path.join(bench.store, 'server.json');
      mkdirSync(bench.store);
      writeFileSync(file, '{"pid": 1');
      assert.equal((await bench.rollout(['batches'])).code, 0, 'with no server behind it, it does not matter');
      const first = bench.serverFile();
      writeFileSync(file, '{"pid": 1');
      assert.deepEqual([(await bench.rollout(['batches'])).code, bench.serverFile()?.pid], [0, first?.pid]);
      renameSync(file, bench.path('away.json'));
      assert.deepEqual([(await bench.rollout(['batches'])).code, bench.serverFile()?.pid], [0, first?.pid]);
    }));

  it('accepts no commands from a read-only token', () =>
    withBench(async (bench) => {
      const batch = (await bench.runBatch(bench.batch('read', {}))).report.batch;
      const { read_token: token } = JSON.parse(readFileSync(path.join(bench.store, 'server.json'), 'utf8')) as {
        read_token: string;
      };
      const { url } = (await connect({ store: bench.store })).address();
      const reader = new Api(fetchTransport(() => ({ url, token })));
      assert.equal((await reader.batch(batch)).counts.passed, 1);
      const [row] = await bench.rows(batch);
      const forbidden = {
        code: 'forbidden',
        message: 'This token is read-only.',
        hint: 'Use the full token in server.json.',
      };
      await assert.rejects(reader.commandBatch(batch, { command: 'c1', verb: 'cancel' }), forbidden);
      await assert.rejects(reader.commandRollout(row?.rollout ?? '', { command: 'c2', verb: 'hold' }), forbidden);
      await assert.rejects(reader.fork({ batch: 'b1', rollout: row?.rollout ?? '', seq: 1, attempts: 1 }), forbidden);
      await assert.rejects(reader.gc({ dry_run: true }), forbidden);
      await assert.rejects(new Api(fetchTransport(() => ({ url, token: 'f'.repeat(64) }))).batch(batch), {
        code: 'unauthorized',
        message: 'The token is not valid for this server.',
      });
    }));
});

async function stored(bench: WorkspaceBench, batch: string): Promise<Map<string, { kind: string; seq: number }[]>> {
  const { api } = await connect({ store: bench.store });
  const rollouts = await Array.fromAsync(api.allRollouts(batch));
  return new Map(
    await Promise.all(
      rollouts.map(async ({ rollout }) => [rollout, (await Array.fromAsync(api.allEvents(rollout))).flat()] as const),
    ),
  );
}
