import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Submission } from '../../../src/config/submission.ts';
import type { ModelRequest } from '../../../src/rollout/ports.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import {
  end,
  type KitOptions,
  kit,
  NumberWorld,
  normalizedEvents,
  plain,
  ScriptedModel,
  ScriptedTools,
  submission,
  USER,
  worldWithUser,
} from '../../support/rolloutKit.ts';

type Rules = Submission['agent']['context'];
const rules = (change: Partial<Rules>): KitOptions['job'] => ({
  submission: submission({ context: { reasoning: 'keep', tool_result_tokens: 1000, overflow: 'fail', ...change } }),
});

function texts(request: ModelRequest): string[] {
  return request.messages.map(
    ({ role, parts }) =>
      `${role}: ${parts
        .map((part) => {
          if (part.type === 'tool_call') return `call ${part.name}`;
          if (part.type === 'tool_call_response') return plain(part.response);
          return 'content' in part
            ? `${part.type === 'reasoning' ? '(thinks) ' : ''}${plain(part.content)}`
            : part.type;
        })
        .join(' | ')}`,
  );
}

describe('context rules', () => {
  it('keep or drop reasoning, and the log has the rewrite', async () => {
    for (const reasoning of ['keep', 'drop'] as const) {
      const model = new ScriptedModel([{ reasoning: 'hm', text: 'a', calls: [{ name: 'f' }] }, { text: '42' }]);
      const one = kit({ model, tools: new ScriptedTools({ f: { run: () => 1 } }), job: rules({ reasoning }) });
      await one.run();
      assert.equal(
        texts(model.requests[1]!)[2],
        reasoning === 'keep' ? 'assistant: (thinks) hm | a | call f' : 'assistant: a | call f',
      );
      const origins = one.recorder.of('message').map((event) => event.data.origin);
      assert.deepEqual(origins, [
        'given',
        'given',
        'sampled',
        ...(reasoning === 'drop' ? ['compacted'] : []),
        'tool',
        'sampled',
      ]);
    }
  });

  it('shorten a long result in the middle; the log keeps the whole', async () => {
    const whole = `${'a'.repeat(300)}${'b'.repeat(300)}`;
    const model = new ScriptedModel([{ calls: [{ name: 'f' }, { name: 'g' }] }, { text: '42' }]);
    const one = kit({
      model,
      tools: new ScriptedTools({ f: { run: () => whole }, g: { run: () => ({ rows: [whole] }) } }),
      job: rules({ tool_result_tokens: 30 }),
    });
    await one.run();
    const [f, g] = texts(model.requests[1]!).slice(3);
    assert.equal(f, `tool: ${'a'.repeat(80)}\n[… 480 characters omitted …]\n${'b'.repeat(40)}`);
    assert.match(g!, /^tool: {"rows":\["aaa.*omitted …]\nb+"]}$/s);
    const messages = one.recorder.of('message').map((event) => event.data);
    assert.deepEqual(
      messages.map((message) => message.origin),
      ['given', 'given', 'sampled', 'tool', 'tool', 'compacted', 'compacted', 'sampled'],
    );
    assert.deepEqual(messages[3]!.parts[0], { type: 'tool_call_response', id: 'c0_0', response: whole });
  });
});

/** A model with a limit on the number of messages. */
function narrow(most: number, turns: number): ScriptedModel {
  const model = new ScriptedModel([]);
  let turn = 0;
  model.complete = (request: ModelRequest) => {
    model.requests.push(request);
    if (request.messages.length > most) return Promise.reject(new ClassedError('context_overflow', 'too long'));
    const base = { finishReason: 'stop', ms: 1, retries: [], usage: { input_tokens: 1, output_tokens: 1 } };
    const last = request.messages.at(-1)!;
    if (last.parts[0]?.type === 'text' && plain(last.parts[0].content).startsWith('Sum up')) {
      return Promise.resolve({ ...base, parts: [{ type: 'text', content: `summary of ${request.messages.length}` }] });
    }
    turn++;
    return Promise.resolve({
      ...base,
      parts:
        turn > turns
          ? [{ type: 'text', content: '42' }]
          : [{ type: 'tool_call', id: `c${turn}`, name: 'f', arguments: { turn } }],
    });
  };
  return model;
}

describe('a context that does not fit', () => {
  const tools = (): ScriptedTools =>
    new ScriptedTools({ f: { run: (args) => `result ${plain(args['turn'])} ${'x'.repeat(50)}` } });

  it('fail: the rollout is truncated and scored', async () => {
    const { status, error, reward } = end(
      await kit({ model: narrow(5, 9), tools: tools(), job: rules({ overflow: 'fail' }) }).run(),
    );
    assert.deepEqual([status, error?.class, reward], ['truncated', 'context_overflow', 0]);
    assert.match(
      error?.message ?? '',
      /^too long Drop the oldest steps \(context\.overflow: drop_oldest or summarize\)/,
    );
  });

  it('with nothing to drop, the rollout is truncated under every rule, and says what to shorten', async () => {
    for (const overflow of ['fail', 'drop_oldest', 'summarize'] as const) {
      const { status, error } = end(await kit({ model: narrow(1, 9), tools: tools(), job: rules({ overflow }) }).run());
      assert.deepEqual([status, error?.class], ['truncated', 'context_overflow']);
      assert.match(error?.message ?? '', /^too long There are no older steps to drop: shorten the prompt/, overflow);
    }
  });

  it('drop_oldest: the oldest turns are dropped, system and task stay, a note says so', async () => {
    const model = narrow(8, 6);
    const one = kit({ model, tools: tools(), job: rules({ overflow: 'drop_oldest' }) });
    assert.equal(end(await one.run()).status, 'done');
    for (const request of model.requests) {
      assert.deepEqual(
        request.messages.slice(0, 2).map((message) => message.m),
        [1, 2],
      );
      for (const [index, message] of request.messages.entries())
        if (message.role === 'tool')
          assert.equal(request.messages[index - 1]!.role, 'assistant', 'no answer without its call');
    }
    assert.match(texts(model.requests.at(-1)!)[2]!, /^user: \[Note: \d earlier messages/);
    assert.ok(one.recorder.of('message').some((event) => event.data.origin === 'compacted'));
    assert.ok(one.recorder.of('model.end').some((event) => event.data.error?.class === 'context_overflow'));
  });

  it('summarize: the model summarizes the dropped turns', async () => {
    const model = narrow(8, 6);
    const one = kit({ model, tools: tools(), job: rules({ overflow: 'summarize' }) });
    assert.equal(end(await one.run()).status, 'done');
    assert.match(texts(model.requests.at(-1)!)[2]!, /^user: \[Summary of the conversation so far]\nsummary of \d/);
    const summaries = model.requests.filter((request) => request.tools.length === 0);
    assert.ok(summaries.length > 0);
  });

  it('is rewritten in the same way when it is resumed', async () => {
    for (const overflow of ['drop_oldest', 'summarize'] as const) {
      const first = kit({ model: narrow(8, 6), tools: tools(), job: rules({ overflow }) });
      const whole = await first.run();
      const boundaries = first.recorder.boundaries.slice(0, -1);
      for (const boundary of boundaries) {
        const model = narrow(8, 6);
        // The script counts its turns, so it continues where the lost one was.
        for (const event of whole.slice(0, boundary)) {
          if (event.kind === 'message' && event.data.origin === 'sampled' && event.data.parts[0]?.type === 'tool_call')
            await model.complete(
              { messages: [{ m: 1, role: 'user', parts: [] }] } as unknown as ModelRequest,
              {} as never,
            );
        }
        const again = kit({
          model,
          tools: tools(),
          job: { ...rules({ overflow }), how: 'resumed', epoch: 2 },
          after: { events: whole.slice(0, boundary), blobs: new Map(first.recorder.blobs) },
        });
        assert.deepEqual(
          normalizedEvents(await again.run()),
          normalizedEvents(whole),
          `${overflow}, resumed after event ${boundary}`,
        );
      }
    }
  });
});

describe('the end of a rollout', () => {
  const answer = async (
    rule: Submission['agent']['answer'],
    text: string,
    calls?: { name: string; arguments?: object }[],
  ): Promise<unknown> => {
    const model = new ScriptedModel([
      calls === undefined ? { text } : { text, calls: calls as { name: string }[] },
      { text: 'later' },
    ]);
    return end(await kit({ model, job: { submission: submission({ answer: rule }) } }).run()).answer;
  };

  it('is the last message', async () => {
    assert.equal(await answer({ kind: 'last_message' }, 'It is 42.'), 'It is 42.');
    assert.equal(await answer({ kind: 'last_message' }, ' '), null);
  });

  it('is a tag or a pattern; the last match counts', async () => {
    assert.equal(await answer({ kind: 'tag', tag: 'answer' }, '<answer>41</answer> no: <answer>\n42 </answer>'), '42');
    assert.equal(await answer({ kind: 'tag', tag: 'answer' }, '42'), null);
    assert.equal(await answer({ kind: 'regex', regex: 'answer: (\\d+)' }, 'answer: 41, answer: 42'), '42');
    assert.equal(await answer({ kind: 'regex', regex: '\\d+' }, 'so 42'), '42');
    assert.equal(await answer({ kind: 'regex', regex: 'x' }, 'so 42'), null);
  });

  it('is a tool, including one that has no implementation', async () => {
    assert.equal(
      await answer({ kind: 'tool', tool: 'submit' }, '', [{ name: 'submit', arguments: { answer: '42' } }]),
      '42',
    );
    assert.equal(await answer({ kind: 'tool', tool: 'submit' }, 'It is 42.'), null);
    assert.equal(
      await answer({ kind: 'tool', tool: 'submit' }, '', [{ name: 'submit', arguments: { anser: '42' } }]),
      null,
      'wrong arguments hand in nothing',
    );
  });
});

describe('a simulated user', () => {
  const users = (): ScriptedModel =>
    new ScriptedModel([{ text: 'Yes, the product.', reasoning: 'secret' }, { text: '###STOP###' }]);
  const agents = (): ScriptedModel =>
    new ScriptedModel([{ text: 'Which one?' }, { calls: [{ name: 'f' }] }, { reasoning: 'hm', text: 'It is 42.' }]);
  const one = (options: KitOptions = {}): ReturnType<typeof kit> & { user: ScriptedModel; model: ScriptedModel } => {
    const user = users();
    const model = agents();
    return {
      ...kit({
        model,
        user,
        tools: new ScriptedTools({ f: { run: () => 1 } }),
        ...options,
        job: { submission: submission({}, { world: worldWithUser() }), ...options.job },
      }),
      user,
      model,
    };
  };

  it('replies to each message without calls until it is done; the last message is the answer', async () => {
    const run = one();
    const events = await run.run();
    assert.deepEqual([end(events).status, end(events).answer], ['done', 'It is 42.']);
    assert.deepEqual(texts(run.model.requests[1]!).slice(2), ['assistant: Which one?', 'user: Yes, the product.']);
    const messages = texts(run.user.requests[1]!);
    assert.match(
      messages[0]!,
      new RegExp(
        String.raw`^system: You want the product\.\n\n.*###STOP###.*You began the conversation by saying: ` +
          String.raw`What is six times seven\?$`,
        's',
      ),
    );
    assert.deepEqual(
      messages.slice(1),
      ['user: Which one?', 'assistant: Yes, the product.', 'user: It is 42.'],
      'from the other side, and no thoughts of the agent',
    );
    assert.equal(run.user.requests[0]!.model, 'user-model');
    const said = run.recorder
      .of('message')
      .filter((event) => event.data.from === 'user')
      .map((event) => [event.agent, event.data.role, event.data.origin, event.data.to]);
    assert.deepEqual(said, [
      ['user', 'user', 'given', 'desk'],
      ['user', 'user', 'given', 'desk'],
    ]);
    assert.deepEqual(
      run.recorder.of('model.start').map((event) => event.agent),
      ['desk', 'user', 'desk', 'desk', 'user'],
    );
    assert.ok(
      run.recorder
        .of('model.end')
        .filter((event) => event.agent === 'user')
        .every((event) => !event.data.trainable),
    );
  });

  it('is resumed like everything else', async () => {
    const whole = one();
    const events = await whole.run();
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const again = one({
        job: { how: 'resumed', epoch: 2 },
        after: { events: events.slice(0, boundary), blobs: new Map(whole.recorder.blobs) },
      });
      assert.deepEqual(
        normalizedEvents(await again.run()),
        normalizedEvents(events),
        `resumed after event ${boundary}`,
      );
    }
  });

  it("that fails is not the agent's fault", async () => {
    const failing = one({ user: new ScriptedModel([new ClassedError('model_error', 'no such model')]) });
    const { status, error, reward } = end(await failing.run());
    assert.deepEqual([status, error?.class, reward], ['done', 'world_error', null]);
    const lost = one({ user: new ScriptedModel([new ClassedError('infrastructure', 'gone')]) });
    assert.equal(end(await lost.run()).status, 'infrastructure');
  });

  it('leaves the last message as the answer at a limit', async () => {
    const limited = one({
      user: new ScriptedModel([]),
      job: {
        submission: submission(
          { limits: { steps: 1, seconds: 9, tool_seconds: 9, tokens: 999 } },
          { world: worldWithUser() },
        ),
      },
    });
    const { status, answer } = end(await limited.run());
    assert.deepEqual([status, answer], ['truncated', 'Which one?']);
    assert.equal(USER.prompt, 'You want {{task.meta.wish}}.');
  });

  it('works with a world', async () => {
    const world = new NumberWorld();
    const { status } = end(await one({ world }).run());
    assert.equal(status, 'done');
  });
});
