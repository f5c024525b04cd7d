import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type OtlpSpan, spanIdOf, traceIdOf } from '../../../../src/server/telemetry/otlp/span.ts';
import { traceOf } from '../../../../src/server/telemetry/otlp/trace.ts';
import type { RolloutRecord } from '../../../../src/store/store.ts';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { advanceProgress } from '../../../../src/trace/progress.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { EMPTY_PROGRESS } from '../../../../src/trace/summary.ts';
import { attribute, otlpSpan, type ReceivedSpan } from '../../../support/collector.ts';
import { askingTools, lendingDesk, Stream } from '../../../support/stream.ts';

function trace(events: readonly TraceEvent[], lineage: RolloutRecord['lineage'] = []): ReceivedSpan[] {
  const model = new TrajectoryModel();
  model.push(events);
  const own = events.slice(lineage.at(-1)?.to ?? 0);
  const row: RolloutRecord['row'] = {
    rollout: 'r1',
    batch: 'b1',
    task: 'renew-overdue',
    task_index: 0,
    attempt: 1,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: events.length,
    settles: true,
    worker: 'w1',
    progress: advanceProgress(EMPTY_PROGRESS, own),
    rev: 1,
  };
  return traceOf({ row, lineage }, model).map((span: OtlpSpan) => otlpSpan.parse(span));
}

/** Names, indented by parents; children in the order they began. Fails when a span is in no tree. */
function tree(spans: readonly ReceivedSpan[]): string[] {
  const lines: string[] = [];
  const add = (parent: string | undefined, depth: number): void => {
    for (const span of spans.filter(({ parentSpanId }) => parentSpanId === parent)) {
      lines.push(`${'  '.repeat(depth)}${span.name}${span.status === undefined ? '' : ' !'}`);
      add(span.spanId, depth + 1);
    }
  };
  add(undefined, 0);
  assert.equal(lines.length, spans.length, 'every span hangs on another one, but for the root');
  return lines;
}

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.find((span) => span.name === name);
  assert.ok(found !== undefined, `${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
};

describe('a rollout as a trace', () => {
  test('has the questions of tools to models inside their calls', () => {
    const spans = trace(askingTools().events);
    assert.deepEqual(tree(spans).slice(1), [
      '  invoke_agent desk',
      '    step',
      '      chat demo',
      '      execute_tool grade',
      '        chat judge-model',
      '      execute_tool rank',
      '        chat judge-model',
      '    step',
      '      chat demo',
    ]);
    const asked = named(spans, 'chat judge-model');
    assert.deepEqual([attribute(asked, 'rollout.side'), attribute(asked, 'rollout.source')], ['judge', 'live']);
    assert.equal(attribute(named(spans, 'rollout'), 'rollout.side.calls'), 2);
  });

  test('is a tree of rollout, agent, steps and calls', () => {
    const spans = trace(lendingDesk().events);
    assert.deepEqual(tree(spans), [
      'rollout',
      '  invoke_agent',
      '    step',
      '      chat demo',
      '      execute_tool find_member',
      '    step',
      '      chat demo',
      '      execute_tool renew_loan',
      '      execute_tool renew_loan !',
      '    step',
      '      chat demo',
    ]);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
    assert.ok(spans.every(({ traceId }) => traceId === traceIdOf('r1')));
    assert.deepEqual(trace(lendingDesk().events), spans, 'the same each time');
  });

  test('has the attributes of the GenAI conventions, and no content', () => {
    const spans = trace(lendingDesk().events);
    const chat = named(spans, 'chat demo');
    assert.equal(chat.kind, 3);
    const of = (span: ReceivedSpan, ...keys: string[]): unknown[] => keys.map((key) => attribute(span, key));
    assert.deepEqual(
      of(
        chat,
        'gen_ai.operation.name',
        'gen_ai.provider.name',
        'gen_ai.request.model',
        'gen_ai.usage.input_tokens',
        'gen_ai.usage.output_tokens',
        'gen_ai.response.finish_reasons',
        'gen_ai.conversation.id',
      ),
      ['chat', 'openai', 'demo', 100, 10, ['tool_calls'], 'r1'],
    );
    assert.deepEqual(
      chat.attributes.find(({ key }) => key === 'gen_ai.request.temperature')?.value,
      { doubleValue: 1 },
      'a double, though it is whole',
    );
    const tool = named(spans, 'execute_tool find_member');
    assert.equal(tool.kind, 1);
    assert.deepEqual(of(tool, 'gen_ai.operation.name', 'gen_ai.tool.name', 'gen_ai.tool.call.id', 'gen_ai.tool.type'), [
      'execute_tool',
      'find_member',
      'c1',
      'function',
    ]);
    const failed = spans.find(({ status }) => status !== undefined)!;
    assert.deepEqual(
      [attribute(failed, 'error.type'), failed.status],
      ['tool_error', { code: 2, message: 'limit reached' }],
    );
    const root = named(spans, 'rollout');
    assert.deepEqual(
      of(
        root,
        'rollout.id',
        'rollout.batch',
        'rollout.task',
        'rollout.attempt',
        'rollout.status',
        'rollout.passed',
        'rollout.reward',
      ),
      ['r1', 'b1', 'renew-overdue', 1, 'done', false, 0],
    );
    assert.deepEqual(
      root.events?.map(({ name }) => name),
      ['rollout.lease', 'gen_ai.evaluation.result'],
    );
    assert.deepEqual(
      ['gen_ai.evaluation.name', 'gen_ai.evaluation.score.label'].map((key) => attribute(root.events![1]!, key)),
      ['world', 'failed'],
    );
    for (const said of ['Ada', 'lending desk', 'One loan', 'overdue for'])
      assert.ok(!JSON.stringify(spans).includes(said), said);
  });

  test('has spans within their parents', () => {
    const spans = trace(lendingDesk().events);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    for (const span of spans) {
      assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano), span.name);
      const parent = span.parentSpanId === undefined ? undefined : byId.get(span.parentSpanId);
      if (parent === undefined) continue;
      assert.ok(
        BigInt(parent.startTimeUnixNano) <= BigInt(span.startTimeUnixNano) &&
          BigInt(span.endTimeUnixNano) <= BigInt(parent.endTimeUnixNano),
        `${span.name} in ${parent.name}`,
      );
    }
    const first = lendingDesk().events[0]!;
    assert.equal(named(spans, 'rollout').startTimeUnixNano, `${first.at}000000`);
  });

  test('puts a member of a team below the call that started it; open spans last until the rollout’s end', () => {
    const s = new Stream();
    s.start();
    s.model('', [{ id: 'c1', name: 'searcher', arguments: {} }], { agent: 'desk' });
    const call = s.toolStart('c1', 'searcher', {}, { agent: 'desk' });
    const member = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher#2', parent: call });
    s.add(
      'model.start',
      { step: 2, model: 'big', endpoint: 'https://gpu.example/v1', context: [], sampling: {} },
      { agent: 'desk/searcher#2', parent: member },
    );
    s.end({
      status: 'infrastructure',
      passed: null,
      reward: null,
      error: { class: 'infrastructure', message: 'the pod is gone' },
    });
    const spans = trace(s.events);
    assert.deepEqual(tree(spans), [
      'rollout !',
      '  invoke_agent desk',
      '    step',
      '      chat demo',
      '      execute_tool searcher',
      '        invoke_agent searcher',
      '          step',
      '            chat big',
    ]);
    const open = named(spans, 'chat big');
    assert.deepEqual(
      [attribute(open, 'server.address'), attribute(open, 'server.port'), open.endTimeUnixNano],
      ['gpu.example', 443, named(spans, 'rollout').endTimeUnixNano],
    );
    assert.deepEqual([attribute(named(spans, 'invoke_agent searcher'), 'gen_ai.agent.id')], ['desk/searcher#2']);
  });

  test('shows the own part of a fork, and links it to its parent', () => {
    const parent = lendingDesk().events;
    const cut = parent.findIndex(({ kind }) => kind === 'tool.end') + 1;
    const own = new Stream(cut + 1);
    own.start({ fork: { rollout: 'r0', seq: cut } });
    own.add('model.start', { step: 2, model: 'demo', context: [], sampling: {} });
    own.add('model.end', { status: 'ok', trainable: true, source: 'live' }, { span: own.last });
    own.end();
    const spans = trace([...parent.slice(0, cut), ...own.events], [{ rollout: 'r0', to: cut }]);
    assert.deepEqual(tree(spans), ['rollout', '  invoke_agent', '    step', '      chat demo']);
    const root = named(spans, 'rollout');
    assert.deepEqual(root.links, [{ traceId: traceIdOf('r0'), spanId: spanIdOf('r0', 'rollout') }]);
    assert.deepEqual([attribute(root, 'rollout.parent'), attribute(root, 'rollout.parent.seq')], ['r0', cut]);
  });
});
