import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { InfraNotes } from '../../../src/cli/infraNotes.ts';
import { groupLine, InfraGroups } from '../../../src/trace/infraGroups.ts';
import type { EventData, TraceEvent } from '../../../src/trace/schema.ts';

type InfraEvent = Extract<TraceEvent, { kind: 'infra' }>;

let seq = 0;
const event = (data: EventData['infra']): InfraEvent => ({ v: 1, seq: ++seq, at: seq, kind: 'infra', data });
const started = (n: number): InfraEvent =>
  event({
    what: 'pod_started',
    pod: `p-${n}`,
    node: `n${n % 7}`,
    text: `Pod p-${n} started on node n${n % 7}, ${n % 5} s after it was created.`,
  });
const oom = (n: number): InfraEvent =>
  event({ what: 'pod_oom', pod: `p-${n}`, text: `Pod p-${n} was ended: it used more memory than it may (OOMKilled).` });

describe('InfraGroups', () => {
  it('groups similar messages, and counts identical ones once', () => {
    const groups = new InfraGroups();
    for (const one of [started(1), started(2), oom(1), started(3), oom(2)]) groups.add(one);
    assert.deepEqual(
      groups.all.map((group) => groupLine(group, group.all)),
      [
        '3 pods started (3 in total).',
        '2 times. Latest: Pod p-2 was ended: it used more memory than it may (OOMKilled).',
      ],
    );
    const [first, second] = ['r1', 'r2'].map((rollout) =>
      groups.add(event({ what: 'worker_ended', worker: 'local-7', rollout, text: 'The worker stopped.' })),
    );
    assert.ok(first !== undefined);
    assert.equal(second, undefined);
    assert.equal(groupLine(first, 1), 'Worker local-7: The worker stopped.');
    assert.equal(groups.all.at(-1), first);
  });
});

describe('InfraNotes', () => {
  function notes(
    context: TestContext,
    pods?: number,
  ): { lines: string[]; notes: InfraNotes; tick: (ms: number) => void } {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const lines: string[] = [];
    return {
      lines,
      notes: new InfraNotes((line) => lines.push(line), pods),
      tick: (ms) => context.mock.timers.tick(ms),
    };
  }

  it('summarizes thousands of pods in few lines, and reports news immediately', (context) => {
    const { lines, notes: reporter, tick } = notes(context, 3_200);
    for (let n = 0; n < 3_200; n++) {
      reporter.add(started(n));
      if (n === 100 || n === 200 || n === 300) reporter.add(oom(n));
      tick(100);
    }
    reporter.end();
    assert.ok(lines.length < 25, String(lines.length));
    assert.equal(lines[0], 'Pod p-0 started on node n0, 0 s after it was created.');
    assert.equal(lines[1], '19 pods started (20 of 3,200).');
    assert.match(lines.at(-1) ?? '', /^[\d,]+ pods started \(3,200 of 3,200\)\.$/);
    assert.deepEqual(
      lines.filter((line) => line.includes('OOM')),
      [100, 200, 300].map((n) => `Pod p-${n} was ended: it used more memory than it may (OOMKilled).`),
    );
  });

  it('groups simultaneous failures, and has reported all in the end', (context) => {
    const { lines, notes: reporter } = notes(context);
    for (let n = 0; n < 32; n++) reporter.add(oom(n));
    reporter.end();
    const line = (n: number): string => `Pod p-${n} was ended: it used more memory than it may (OOMKilled).`;
    assert.deepEqual(lines, [line(0), `31 times more (32 in total). Latest: ${line(31)}`]);
  });
});
