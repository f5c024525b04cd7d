/** Rollouts with predictions of worlds: recorded ones, and those of the window. */
import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { WindowPrediction } from '../../../src/protocol/predictedCall.ts';
import type { EventData, TraceEvent } from '../../../src/trace/schema.ts';
import { Stream } from '../../../test/support/stream.ts';
import { ROLLOUT } from './sampleRollouts.ts';

const MARKS = { format: 5, factuality: 3, consistency: 2, realism: 5, quality: 4 };

/** A shadow predicts each call: one rightly, one wrongly with a judge's marks, and one not at all. */
export function predicted(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  s.message('user', 'Renew the loans of Ada Byron.');
  const call = (
    id: string,
    name: string,
    args: JsonObject,
    result: Json,
    prediction: Json | undefined,
    score: Partial<EventData['score']>,
  ): void => {
    s.model('', [{ id, name, arguments: args }]);
    const span = s.toolStart(id, name, args);
    s.side('shadow', `You are the environment.\n${name} ${JSON.stringify(args)}`, JSON.stringify(prediction ?? ''), {
      parent: span,
    });
    s.toolEnd(span, id, result, {});
    s.add(
      'score',
      {
        scorer: 'prediction',
        value: null,
        passed: null,
        ...score,
        prediction: {
          world: 'library-sim',
          how: 'shadow',
          ...(prediction === undefined ? {} : { response: prediction }),
        },
      },
      { span },
    );
  };
  const loans = [17, 18].map((loan) => ({ loan_id: loan, title: 'The Salt Road', due: '2026-05-08', renewals: 0 }));
  call('c1', 'list_loans', { member: 'M-204' }, loans, JSON.stringify(loans), {
    value: 1,
    parts: { status: 1, keys: 1, existing: 1 },
  });
  call(
    'c2',
    'renew_loan',
    { loan_id: 17 },
    { loan_id: 17, title: 'The Salt Road', due: '2026-05-22', renewals: 1, at: '2026-05-01T09:00:03Z' },
    '{"loan_id":17,"title":"Northbound","due":"2026-05-08","at":"2026-05-01T09:00:00Z","note":"renewed"}',
    {
      value: 0.65,
      parts: { status: 1, keys: 0.67, deterministic: 0.5, existing: 1, runtime: 1, ...MARKS },
      explanation: 'The title belongs to another loan, and the date does not include the renewal just made.',
    },
  );
  call('c3', 'renew_loan', { loan_id: 18 }, 'Error (tool_error): limit reached', undefined, {
    error: {
      class: 'world_error',
      message: 'The model that plays the world library-sim replied 3 times without an observation.',
    },
  });
  s.model('I renewed loan 17.');
  s.end({ passed: false, reward: 0 });
  return s.events;
}

/** The state of a prediction that a person asked for. `seq`: the call. */
export function asked(seq: number, is: WindowPrediction['state']['is']): WindowPrediction {
  const world = 'worlds/library-sim.world.yaml';
  const about = { rollout: ROLLOUT, seq, world };
  if (is === 'asking') return { ...about, state: { is, since: Date.now() - 3_000 } };
  if (is === 'failed')
    return {
      ...about,
      state: {
        is,
        message: 'The world library-sim has no tool renew_loan.',
        hint: 'Its tools: find_member, list_loans.',
      },
    };
  return {
    ...about,
    state: {
      is,
      call: {
        rollout: ROLLOUT,
        seq,
        tool: 'renew_loan',
        arguments: { loan_id: 17, days: 14 },
        world: { name: 'library-sim', file: world, model: 'Qwen/Qwen-AgentWorld-35B-A3B' },
        before: 3,
        prediction: '{"ok": true, "due": "2026-05-22"}',
        thinking: 'The loan was renewed once. A renewal adds 14 days to the date on which it was due.',
        asked: 1,
        usage: { input_tokens: 3_612, output_tokens: 212, cached_tokens: 3_400 },
        ms: 1_400,
      },
    },
  };
}
