// Rules that a world model was told: whether it obeyed is a score of each call that they select.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import type { SubmittedRule } from '../../../src/config/submission/rule.ts';
import type { Submission } from '../../../src/config/submission.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import {
  type KitOptions,
  kit,
  ScriptedModel,
  ScriptedTools,
  submission,
  worldWithUser,
} from '../../support/rolloutKit.ts';

const SAY = 'Every look fails with "limit reached".';
const RULE: SubmittedRule = {
  name: 'limit',
  when: 'tool.name == "look" && tool.arguments.n > 0',
  p: 1,
  effect: 'say',
  say: SAY,
  check: 'observation.failed && observation.text.contains("limit reached")',
};

function ruled(...rules: readonly SubmittedRule[]): Submission {
  const { user: _user, ...world } = worldWithUser();
  return submission({}, { world: { ...world, perturb: [...rules] } });
}

const RESULTS: readonly Json[] = ['fine', 'Error (tool_error): limit reached', '{"title":"Emma"}'];
const options = (...rules: readonly SubmittedRule[]) => ({
  tools: new ScriptedTools({
    look: { run: ({ n }) => ({ response: RESULTS[Number(n)] ?? null, source: 'simulated' as const }) },
  }),
  model: new ScriptedModel([
    ...[0, 1, 2].map((n) => ({ calls: [{ name: 'look', arguments: { n } }] })),
    { text: '42' },
  ]),
  job: { submission: ruled(...rules) },
});

const controls = (events: readonly TraceEvent[]) =>
  events.flatMap((event) => (event.kind === 'score' && event.span !== undefined ? [event] : []));

describe('a rule with a check', () => {
  it('scores each call that it selects, and changes none', async () => {
    const events = await kit(options(RULE)).run();
    const starts = events.filter(({ kind }) => kind === 'tool.start').map(({ seq }) => seq);
    assert.deepEqual(
      controls(events).map(({ span, data }) => [starts.indexOf(span ?? 0), data]),
      [
        [1, { scorer: 'control:limit', value: 1, passed: true, explanation: `Obeyed: ${SAY}` }],
        [2, { scorer: 'control:limit', value: 0, passed: false, explanation: `Not obeyed: ${SAY}` }],
      ],
    );
    const end = events.findLast(({ kind }) => kind === 'rollout.end');
    assert.ok(end?.kind === 'rollout.end' && end.data.passed === true, 'the score of the rollout is another one');
    assert.ok(events.every((event) => event.kind !== 'tool.end' || event.data.injected === undefined));
  });

  it('says why a check has no result', async () => {
    const events = await kit(options({ ...RULE, check: 'observation.json.title == "Emma"' })).run();
    const [first, second] = controls(events).map(({ data }) => data.explanation ?? '');
    assert.match(first ?? '', /^Not obeyed \(`check`: .+\): Every look/);
    assert.match(second ?? '', /^Obeyed: /);
  });

  it('judges what the world model answered, not what another rule made of it', async () => {
    const text: SubmittedRule = { name: 'note', p: 1, effect: 'text', args: { text: 'closed', place: 'replace' } };
    const events = await kit(options(text, RULE)).run();
    assert.deepEqual(
      controls(events).map(({ data }) => data.value),
      [1, 0],
    );
  });

  it('judges nobody for a call that no model answered', async () => {
    const { tools: _simulated, ...rest } = options(RULE);
    const tools = new ScriptedTools({ look: { run: ({ n }) => ({ response: RESULTS[Number(n)] ?? null }) } });
    assert.deepEqual(controls(await kit({ ...rest, tools }).run()), []);
  });

  it('has one score of each call, wherever the rollout was interrupted', async () => {
    const whole = kit(options(RULE));
    const undisturbed = await whole.run();
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const after = { events: undisturbed.slice(0, boundary), blobs: new Map(whole.recorder.blobs) };
      const job: KitOptions['job'] = { submission: ruled(RULE), how: 'resumed', epoch: 2 };
      const all: TraceEvent[] = await kit({ ...options(RULE), after, job }).run();
      assert.deepEqual(
        controls(all).map(({ data }) => data.value),
        [1, 0],
        `resumed after event ${boundary}`,
      );
    }
  });
});
