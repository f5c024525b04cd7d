import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_FAULTS } from '../../../src/demo/faults.ts';
import { decide } from '../../../src/demo/policy/decide.ts';
import { chatRequest } from '../../../src/demo/request.ts';
import type { Turn } from '../../../src/demo/text/completion.ts';
import type { MarksVerdict } from '../../../src/scoring/judge/askMarks.ts';
import { markPrediction, type WorldJudge } from '../../../src/scoring/judge/worldMarks.ts';

interface ReplyMessage {
  role: string;
  content?: string;
  tool_calls?: unknown;
  tool_call_id?: string;
}

function next(messages: ReplyMessage[], tools: string[] = []): Turn {
  return decide(
    chatRequest.parse({
      messages,
      temperature: 1,
      tools: tools.map((name) => ({ type: 'function', function: { name } })),
    }),
    1,
    NO_FAULTS,
  );
}

describe('directions', () => {
  const text =
    'Try this:\n  call add {"a": 1}\n  and mul {"b": 2}\n  say Two at once.\ncall next times 2\ncall broken ' +
    '{"a": oops\nanswer It is {{last}}.';
  const done = (turns: number): ReplyMessage[] => [
    { role: 'user', content: text },
    ...Array.from({ length: turns }, (_, i): ReplyMessage[] => [
      { role: 'assistant', content: '' },
      { role: 'tool', tool_call_id: `c${i}`, content: `result ${i}` },
    ]).flat(),
  ];
  it('are followed turn by turn', () => {
    assert.deepEqual(next(done(0)).calls, [
      { name: 'add', arguments: '{"a": 1}' },
      { name: 'mul', arguments: '{"b": 2}' },
    ]);
    assert.equal(next(done(0)).content, 'Two at once.');
    for (const turn of [1, 2]) assert.deepEqual(next(done(turn)).calls, [{ name: 'next', arguments: '{}' }]);
    assert.deepEqual(next(done(3)).calls, [{ name: 'broken', arguments: '{"a": oops' }]);
    assert.deepEqual(next(done(4)), { reasoning: '', content: 'It is result 3.', calls: [] });
  });
  it('end with the last result by default', () => {
    const request = { role: 'user', content: 'call a' };
    assert.equal(
      next([request, { role: 'assistant', content: '' }, { role: 'tool', tool_call_id: 'x', content: '{"v":1}' }])
        .content,
      '{"v":1}',
    );
  });
  it('can be one answer', () => assert.equal(next([{ role: 'user', content: 'answer 42' }]).content, '42'));
  it('are not found in ordinary text', () =>
    assert.match(
      next([{ role: 'user', content: 'Please\nanswer in French.\nCall me.' }]).content,
      /I am the demo model/,
    ));
});

describe('the judge with marks', () => {
  const real = '{"loan_id":"L-3001","title":"The Salt Road","due":"2026-04-03","renewals":1}';
  const judge: WorldJudge = {
    side: 'judge',
    model: {
      endpoints: ['demo:'],
      name: 'demo',
      headers: {},
      sampling: {},
      capture: { token_ids: false, logprobs: false },
      endpoint_wait_seconds: 1,
    },
  };
  /** As predictions of worlds are judged. */
  const judged = async (predicted: string, more: Partial<WorldJudge> = {}): Promise<MarksVerdict> => {
    const before = [{ action: 'call find_books {"text": "Salt"}', observation: '[{"title":"The Salt Road"}]' }];
    const action = '{"name":"renew_loan","arguments":{"loan_id":"L-3001"}}';
    return markPrediction({ domain: 'mcp', before, action, predicted, real }, { ...judge, ...more }, ({ messages }) => {
      const { content } = next(messages.map(({ role, text }) => ({ role, content: text })));
      return Promise.resolve(content);
    });
  };
  it('gives the marks of a prediction by comparing values, and says so', async () => {
    const { value, parts, explanation } = await judged(real);
    assert.deepEqual([value, parts], [1, { format: 5, factuality: 5, consistency: 5, realism: 5, quality: 5 }]);
    assert.match(explanation, /I am the demo model, and I judge by a rule: I compared each value/);
  });
  it('lowers the mark that fits', async () => {
    const marks = async (predicted: string) => (await judged(predicted)).parts;
    assert.deepEqual(await marks(real.replace('1}', '2}')), {
      format: 5,
      factuality: 4,
      consistency: 5,
      realism: 5,
      quality: 5,
    });
    assert.match((await judged(real.replace('1}', '2}'))).explanation, /- \$\.renewals is 2, not 1/);
    assert.equal((await marks(real.replace('The Salt Road', 'Emma')))['consistency'], 3);
    assert.equal((await marks(real.replace('2026-04-03', '03/04/2026')))['realism'], 4);
    assert.equal((await marks(real.replace(',"renewals":1', '')))['format'], 4);
    assert.equal((await marks(real.slice(0, 30)))['format'], 1);
    assert.deepEqual(await marks('Error (tool_error): Not allowed.'), {
      format: 1,
      factuality: 1,
      consistency: 1,
      realism: 1,
      quality: 1,
    });
    assert.equal((await marks('```json\n{}\n```'))['factuality'], 1);
  });
  it('uses the marks and the scale that it is asked for', async () => {
    const parts = { factuality: '', style: 'how it reads' };
    assert.deepEqual((await judged(real, { parts, scale: [0, 10] })).parts, { factuality: 10, style: 10 });
  });
  it('says what it misses', () =>
    assert.match(
      next([
        { role: 'system', content: 'You are a judge.' },
        { role: 'user', content: 'Hello, fill in <final_evaluation>.' },
      ]).content,
      /found nothing to compare/,
    ));
});

describe('the judge', () => {
  const judged = (body: string): unknown =>
    JSON.parse(
      next([
        { role: 'system', content: 'You are a judge. Give a score.' },
        { role: 'user', content: body },
      ]).content,
    );
  it('compares with the expectation', () => {
    assert.equal(
      (judged('<expected>\nParis\n</expected>\n<answer>\nIt is  paris.\n</answer>') as { score: number }).score,
      1,
    );
    assert.equal((judged('<expected>\nParis\n</expected>\n<answer>\nRome\n</answer>') as { score: number }).score, 0);
  });
  it('reports a missing expectation', () => {
    assert.deepEqual(judged('<answer>\nRome\n</answer>'), {
      score: 0.5,
      explanation: 'The demo model judges by comparing with an expected answer, and there is none.',
    });
  });
});

describe('the simulated user', () => {
  const system = { role: 'system', content: 'You are a library member called Anna Keller, who lives at 4 Mill Lane.' };
  const reply = (heard: string): string => next([system, { role: 'user', content: heard }]).content;
  it('answers from its prompt, agrees, and thanks', () => {
    assert.equal(reply('What is your name?'), 'My name is Anna Keller.');
    assert.equal(reply('Which address?'), 'I live at 4 Mill Lane.');
    assert.equal(reply('Shall I renew it?'), 'Yes, please.');
    assert.equal(reply('It is renewed.'), 'Thank you, that is all.');
    assert.equal(
      next([
        { role: 'system', content: 'Be Anna. When there is nothing else you want, reply with only ###STOP###.' },
        { role: 'user', content: 'Done.' },
      ]).content,
      '###STOP###',
    );
  });
});

describe('the summary', () => {
  const tools = ['find_member', 'list_loans', 'return_book'];
  const call = (name: string, args: string): ReplyMessage => ({
    role: 'assistant',
    content: '',
    tool_calls: [{ id: name, function: { name, arguments: args } }],
  });
  const task = { role: 'user', content: 'Jonas Lind brings back "Night Ferry".' };
  const past = [
    call('find_member', '{"name":"Jonas Lind"}'),
    {
      role: 'tool',
      tool_call_id: 'find_member',
      content: '[{"member_id":"M-1","name":"Jonas Lind","address":"1 Road"}]',
    },
    call('list_loans', '{"member_id":"M-1"}'),
    {
      role: 'tool',
      tool_call_id: 'list_loans',
      content:
        '[{"loan_id":"L-1","book_id":"B-1","title":"Night Ferry","due":"2026-03-24","days_overdue":0,"renewals":0}]',
    },
  ];
  it('keeps what the clerk needs to continue', () => {
    const { content } = next([task, ...past, { role: 'user', content: 'Sum up the conversation so far.' }], tools);
    const turn = decide(
      chatRequest.parse({
        messages: [task, { role: 'user', content: `[Summary of the conversation so far]\n${content}` }],
        temperature: 0,
        tools: tools.map((name) => ({ type: 'function', function: { name } })),
      }),
      1,
      NO_FAULTS,
    );
    assert.deepEqual(turn.calls, [{ name: 'return_book', arguments: '{"loan_id":"L-1"}' }]);
  });
});

describe('a conversation that began before the rollout', () => {
  const tools = ['find_member', 'list_loans', 'find_books', 'return_book'];
  it('is continued by the clerk', () => {
    const turn = next(
      [
        { role: 'user', content: 'Good morning.' },
        { role: 'assistant', content: 'Good morning. How can I help?' },
        { role: 'user', content: 'Jonas Lind returns "Night Ferry".' },
      ],
      tools,
    );
    assert.deepEqual(turn.calls, [{ name: 'find_member', arguments: '{"name":"Jonas Lind"}' }]);
  });
  it('is continued by directions, also in its first message', () => {
    const turn = next(
      [
        { role: 'user', content: 'call find_books {"text": "or"}\ncall find_books {"text": "an"}\nanswer done' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'a', function: { name: 'find_books', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: '[]' },
      ],
      tools,
    );
    assert.deepEqual(turn.calls, [{ name: 'find_books', arguments: '{"text": "an"}' }]);
  });
});

describe('a team', () => {
  const request = { role: 'user', content: 'Jonas Lind returns "Night Ferry".' };
  const turn = (messages: ReplyMessage[], tools: readonly { name: string; parameters?: unknown }[]): Turn =>
    decide(
      chatRequest.parse({ messages, tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
      1,
      NO_FAULTS,
    );
  it('hands the request off once', () => {
    const tools = [{ name: 'find_member' }, { name: 'list_loans' }, { name: 'hand_off_to_office' }];
    assert.deepEqual(
      turn([request], tools).calls.map(({ name }) => name),
      ['hand_off_to_office'],
    );
    assert.deepEqual(
      turn([request, { role: 'user', content: 'Please take this request.' }], tools).calls.map(({ name }) => name),
      ['find_member'],
    );
  });
  it('has a leader that calls all members in parallel', () => {
    const member = (name: string): { name: string; parameters: unknown } => ({
      name,
      parameters: { type: 'object', properties: { task: { type: 'string' } } },
    });
    const { calls } = turn(
      [request],
      [member('north'), member('south'), { name: 'find_member', parameters: { properties: { name: {} } } }],
    );
    assert.deepEqual(
      calls,
      ['north', 'south'].map((name) => ({ name, arguments: JSON.stringify({ task: request.content }) })),
    );
  });
  it('has read-only members that report what the clerk continues with', () => {
    const system = { role: 'system', content: 'Only look up members, with find_member.' };
    const desk = [{ name: 'find_member' }, { name: 'list_loans' }, { name: 'return_book' }];
    assert.deepEqual(turn([system, request], desk).calls, [
      { name: 'find_member', arguments: '{"name":"Jonas Lind"}' },
    ]);
    const report = turn(
      [
        system,
        request,
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', function: { name: 'find_member', arguments: '{"name":"Jonas Lind"}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: '[{"member_id":"M-1","name":"Jonas Lind","address":"1 Road"}]' },
      ],
      desk,
    );
    assert.deepEqual(report.calls, []);
    assert.deepEqual(turn([request, { role: 'user', content: `members answered:\n${report.content}` }], desk).calls, [
      { name: 'list_loans', arguments: '{"member_id":"M-1"}' },
    ]);
  });
});

describe('an unknown request', () => {
  it('gets an explanation of the model and what to do', () => {
    const { content, calls } = next([{ role: 'user', content: 'Write a poem.' }], ['a', 'b']);
    assert.match(content, /demo model.*not a language model.*the tools a, b .*model\.endpoint/);
    assert.deepEqual(calls, []);
  });
});

describe('the clerk at the small desk', () => {
  const desk = ['find_member', 'loans_of', 'renew_loan'];
  const loans = [
    { title: 'Iron River', loan_id: 'L12', due: '03-04' },
    { title: 'Jade Bridge', loan_id: 'L31', due: '05-06' },
  ];
  /** Returns the calls and the answer of an attempt without slips. */
  function attempt(question: string, results: Readonly<Record<string, object>>): string[] {
    const messages: ReplyMessage[] = [{ role: 'user', content: question }];
    const said: string[] = [];
    for (;;) {
      const turn = decide(
        chatRequest.parse({
          messages,
          temperature: 0,
          tools: desk.map((name) => ({ type: 'function', function: { name } })),
        }),
        1,
        NO_FAULTS,
      );
      const [call] = turn.calls;
      if (call === undefined) return [...said, turn.content];
      said.push(`${call.name} ${call.arguments}`);
      const id = `c${messages.length}`;
      messages.push(
        { role: 'assistant', content: '', tool_calls: [{ id, type: 'function', function: call }] },
        { role: 'tool', tool_call_id: id, content: JSON.stringify(results[call.name]) },
      );
    }
  }
  const results = { find_member: { member_id: 'M10' }, loans_of: { loans }, renew_loan: { due: '07-08' } };

  it('looks up, acts, and answers', () => {
    assert.deepEqual(attempt('Renew "Jade Bridge" for "Ada Abel".', results), [
      'find_member {"name":"Ada Abel"}',
      'loans_of {"member_id":"M10"}',
      'renew_loan {"loan_id":"L31"}',
      'Renewed until 07-08.',
    ]);
    assert.equal(attempt('When is "Iron River" due for "Ada Abel"?', results).at(-1), 'It is due 03-04.');
    assert.equal(attempt('How many loans does "Ada Abel" have?', results).at(-1), 'Ada Abel has 2 loans.');
  });

  it('says that there is no such member', () => {
    assert.deepEqual(attempt('How many loans does "Ada Abel" have?', { find_member: { error: 'no member' } }), [
      'find_member {"name":"Ada Abel"}',
      'There is no such member.',
    ]);
  });
});
