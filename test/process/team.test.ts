/** A team on a real server and worker: a handoff, and a pair that works in parallel, also when its worker is killed. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { subscribe } from '../../src/client/subscribe.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { EventOf, TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';
import { WorkspaceBench } from '../support/workspace.ts';

/** Calculator calls that each of the pair makes. */
const CALLS = 6;
const PATIENCE_MS = 60_000;

describe('a team of three', { timeout: 480_000 }, () => {
  let demo: WatchedDemo;
  let bench: WorkspaceBench;
  before(async () => {
    demo = await watchedDemo();
    bench = new WorkspaceBench();
    const member = (name: string): string =>
      bench.write(
        `${name}.agent.yaml`,
        `version: 1\nname: ${name}\nmodel: { endpoint: "${demo.url}", name: demo, headers: { x-demo: ` +
          `latency_ms=60 } }\nprompt: You work in the ${name}.\ntools: [{ builtin: [calculator] }]\n`,
      );
    member('north');
    member('south');
    bench.write(
      'pair.agent.yaml',
      'version: 1\nname: pair\nteam:\n  kind: workflow\n  members:\n    - { agent: north.agent.yaml, after: [] ' +
        '}\n    - { agent: south.agent.yaml, after: [] }\n',
    );
    const work = `call calculate {"expression": "40 + 2"} times ${CALLS}\nanswer 42`;
    bench.write(
      'desk.agent.yaml',
      `version: 1\nname: desk\nmodel: { endpoint: "${demo.url}", name: demo, headers: { x-demo: latency_ms=60 } ` +
        '}\nprompt: You are at the door.\nteam: { kind: handoff, members: [pair.agent.yaml] }\n',
    );
    bench.write(
      'desk.jsonl',
      JSON.stringify({
        id: 'one',
        question: `call hand_off_to_pair ${JSON.stringify({ message: work })}`,
        answer: { north: '42', south: '42' },
      }),
    );
    bench.write(
      'desk.batch.yaml',
      'version: 1\nagent: desk.agent.yaml\ndataset: { file: desk.jsonl }\nscorer: { kind: json }\nattempts: 1\n',
    );
  });
  after(async () => {
    await bench.close();
    await demo.close();
  });

  it('is checked, works in parallel, and continues after its worker was killed without repeating a call', async () => {
    const checked = await bench.rollout(['check']);
    assert.equal(checked.code, 0, checked.stderr);
    const started = await bench.rollout(['run', 'desk.batch.yaml', '--detach', '--json']);
    assert.equal(started.code, 0, started.stderr);
    const { batch } = JSON.parse(started.stdout) as { batch: string };
    const killed = await follow(batch);
    assert.equal(killed, 1);

    const [row] = (await bench.rows(batch)) as [RolloutRow];
    const events = await bench.events(row.rollout);
    assert.equal(ofKind(events, 'rollout.end')[0]?.data.passed, true);
    const leases = ofKind(events, 'rollout.lease');
    assert.deepEqual(
      leases.map(({ data }) => data.how),
      ['fresh', 'resumed'],
    );
    const takeover = leases[1]!.seq;

    // Recorded calls ran once.
    const starts = new Map(events.map((event) => [event.seq, event]));
    const recorded = ofKind(events, 'model.end').filter((event) => event.data.error === undefined);
    assert.equal(recorded.length, 1 + 2 * (CALLS + 1));
    const before = recorded.filter(({ seq }) => seq < takeover);
    assert.ok(before.length >= 4 && before.length < recorded.length, `killed after ${before.length} calls`);
    const seedOf = (event: TraceEvent | undefined): unknown =>
      event?.kind === 'model.start' ? event.data.sampling['seed'] : undefined;
    const requestCount = (seed: unknown): number =>
      demo.receivedRequests.filter((body) => body['seed'] === seed).length;
    for (const { span } of before) assert.equal(requestCount(seedOf(starts.get(span ?? 0))), 1);
    // Calls that the worker ran and could no longer store were repeated once.
    for (const { span } of recorded) assert.ok(requestCount(seedOf(starts.get(span ?? 0))) <= 2);

    // Each has its lane, and the pair's are next to each other.
    const model = new TrajectoryModel();
    model.push(events);
    assert.deepEqual(
      model.agents.map(({ path }) => path),
      ['desk/desk#1', 'desk/pair#1', 'desk/pair#1/north#1', 'desk/pair#1/south#1'],
    );
    const first = ofKind(events, 'agent.start')
      .filter(({ seq }) => seq < takeover)
      .map(({ agent, data }) => `${agent ?? ''} ${data.how}`);
    assert.deepEqual(first, [
      'desk/desk#1 team',
      'desk/pair#1 handoff',
      'desk/pair#1/north#1 parallel',
      'desk/pair#1/south#1 parallel',
    ]);
    const agents = recorded.map(({ agent }) => agent);
    assert.ok(
      agents.lastIndexOf('desk/pair#1/north#1') > agents.indexOf('desk/pair#1/south#1') &&
        agents.lastIndexOf('desk/pair#1/south#1') > agents.indexOf('desk/pair#1/north#1'),
    );
    assert.deepEqual(
      ofKind(events, 'message')
        .filter(({ data }) => data.topic !== undefined)
        .map(({ data }) => `${data.from ?? ''} → ${data.to ?? ''}: ${data.topic ?? ''}`),
      ['desk/desk#1 → desk/pair#1/north#1: handoff', 'desk/desk#1 → desk/pair#1/south#1: handoff'],
    );
    const output = await bench.rollout(['show', row.rollout]);
    assert.match(output.stdout, /desk\/pair#1\/south#1/);
  });

  /** Follows the batch to its end, and kills its worker in the middle; `kills` says how often. */
  async function follow(batch: string): Promise<number> {
    const connection = await connect({ store: bench.store });
    const over = new AbortController();
    const rows = new Map<string, RolloutRow>();
    let kills = 0;
    let ended = false;
    await subscribe(
      connection,
      { stream: batch },
      {
        rows: (changed) => {
          for (const row of changed) {
            rows.set(row.rollout, row);
            const pid = /^local-(\d+)$/.exec(row.worker ?? '')?.[1];
            if (kills > 0 || row.state !== 'running' || row.last < 40 || pid === undefined) continue;
            kills++;
            process.kill(Number(pid), 'SIGKILL');
          }
        },
        events: (events) => {
          if (events.some((event) => event.kind === 'batch.end')) ended = true;
        },
        head: () => {
          if (ended) over.abort();
        },
      },
      AbortSignal.any([over.signal, AbortSignal.timeout(PATIENCE_MS)]),
    );
    assert.ok(ended, 'the batch came to its end');
    return kills;
  }
});

function ofKind<K extends TraceEvent['kind']>(events: readonly TraceEvent[], kind: K): EventOf<K>[] {
  return events.filter((event): event is EventOf<K> => event.kind === kind);
}
