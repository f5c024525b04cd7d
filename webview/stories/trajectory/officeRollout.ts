/** A team at the lending desk: a handoff to the office, where two members look things up in parallel. */
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Stream } from '../../../test/support/stream.ts';

const COUNTER = 'counter/counter#1';
const OFFICE = 'counter/office#1';

export function office(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  const counter = s.add('agent.start', { how: 'team' }, { agent: COUNTER });
  s.message('system', 'You are at the counter. Hand every request to the office.', 'given', { agent: COUNTER });
  s.message('user', 'Mina Okafor wants to renew what is overdue, and reserves "Riverglass".', 'given', {
    agent: COUNTER,
  });
  const handoff = { message: 'Please take this request.' };
  s.model('', [{ id: 'h1', name: 'hand_off_to_office', arguments: handoff }], {
    agent: COUNTER,
    parent: counter,
    ms: 500,
  });
  s.toolEnd(
    s.toolStart('h1', 'hand_off_to_office', handoff, { agent: COUNTER, parent: counter }),
    'h1',
    'office takes over.',
    { agent: COUNTER },
  );
  s.add('agent.end', { status: 'ok', ms: 600 }, { agent: COUNTER, span: counter });
  const officeStart = s.add('agent.start', { how: 'handoff' }, { agent: OFFICE });
  const pair = ['members', 'books'].map((name) =>
    addMember(s, `${OFFICE}/${name}#1`, 'parallel', officeStart, COUNTER, 'handoff', handoff.message),
  );
  const lookups = [
    ['find_member', { name: 'Mina Okafor' }],
    ['find_books', { text: 'Riverglass' }],
  ] as const;
  for (const [index, [name, args]] of lookups.entries())
    s.model('', [{ id: `l${index}`, name, arguments: args }], { ...pair[index], ms: 700 });
  const calls = lookups.map(([name, args], index) => s.toolStart(`l${index}`, name, args, pair[index]));
  for (const [index, call] of calls.entries())
    s.toolEnd(call, `l${index}`, [{ id: index === 0 ? 'M-1004' : 'B-219' }], {
      agent: pair[index]?.agent ?? '',
      ms: 250,
    });
  for (const [index, { agent, parent }] of pair.entries()) {
    s.model(index === 0 ? 'Mina Okafor is M-1004.' : 'Riverglass is B-219.', [], { agent, parent, ms: 600 });
    s.add('agent.end', { status: 'ok', ms: 1_550 }, { agent, span: parent });
  }
  const desk = addMember(
    s,
    `${OFFICE}/desk#1`,
    'team',
    officeStart,
    `${OFFICE}/members#1`,
    'output',
    'members answered:\nMina Okafor is M-1004.',
  );
  s.message(
    'user',
    'books answered:\nRiverglass is B-219.',
    'given',
    { agent: desk.agent },
    { from: `${OFFICE}/books#1`, to: desk.agent, topic: 'output', priority: 0 },
  );
  s.model('Renewed, and the book is on hold.', [], { ...desk, ms: 900 });
  s.add('agent.end', { status: 'ok', ms: 900 }, { agent: desk.agent, span: desk.parent });
  s.add('agent.end', { status: 'ok', ms: 2_500 }, { agent: OFFICE, span: officeStart });
  s.add('score', { scorer: 'world', value: 1, passed: true });
  s.end({ passed: true, reward: 1, answer: 'Renewed, and the book is on hold.' });
  return s.events;
}

function addMember(
  s: Stream,
  agent: string,
  how: 'team' | 'parallel',
  parent: number,
  from: string,
  topic: string,
  text: string,
): { agent: string; parent: number } {
  const start = s.add('agent.start', { how }, { agent, parent });
  s.message('user', text, 'given', { agent }, { from, to: agent, topic, priority: 0 });
  return { agent, parent: start };
}
