/** Questions to the library desk, in the words that the tiny model was trained on. */

import type { JsonObject } from '../../../src/common/json.ts';
import { Random } from '../../support/random.ts';

const FIRST = ['Ada', 'Bruno', 'Clara', 'Dmitri', 'Elena', 'Farid', 'Greta', 'Hugo', 'Ines', 'Jonas', 'Karin', 'Liam'];
const LAST = [
  'Abel',
  'Brandt',
  'Castro',
  'Duarte',
  'Engel',
  'Fischer',
  'Gomez',
  'Haas',
  'Ivanov',
  'Jansen',
  'Keller',
  'Lopez',
];
const ADJECTIVE = ['Silent', 'Crimson', 'Broken', 'Distant', 'Golden', 'Hidden', 'Iron', 'Jade'];
const NOUN = ['Harbor', 'Garden', 'Ladder', 'Mirror', 'Orchard', 'Bridge', 'Lantern', 'River'];
const KINDS = ['count', 'due', 'renew', 'unknown'] as const;

/** One line of a dataset. */
export interface DeskTask {
  readonly id: string;
  readonly question: string;
  readonly answer: string;
  readonly world: { readonly state: JsonObject };
}

/** Deterministic for a `seed`. */
export function deskTasks(count: number, seed: number): DeskTask[] {
  const random = new Random(seed);
  const whole = (from: number, to: number): number => from + Math.floor(random.next() * (to - from + 1));
  const pick = <T>(list: readonly T[]): T => list[whole(0, list.length - 1)]!;
  const date = (): string => `${String(whole(1, 12)).padStart(2, '0')}-${String(whole(1, 28)).padStart(2, '0')}`;
  return Array.from({ length: count }, (_, index) => {
    const kind = KINDS[index % KINDS.length]!;
    const name = `${pick(FIRST)} ${pick(LAST)}`;
    const first = whole(10, 90);
    const loans = Array.from({ length: whole(1, 3) }, (_nothing, at) => ({
      title: `${ADJECTIVE[(first + at) % ADJECTIVE.length]!} ${pick(NOUN)}`,
      loan_id: `L${first + at}`,
      due: date(),
    }));
    const loan = pick(loans);
    const newDue = date();
    const [question, answer] = {
      count: [`How many loans does "${name}" have?`, `${name} has ${loans.length} loans.`],
      due: [`When is "${loan.title}" due for "${name}"?`, `It is due ${loan.due}.`],
      renew: [`Renew "${loan.title}" for "${name}".`, `Renewed until ${newDue}.`],
      unknown: [`How many loans does "${name}" have?`, 'There is no such member.'],
    }[kind] as [string, string];
    const member = kind === 'unknown' ? { name } : { name, member_id: `M${whole(10, 99)}` };
    return { id: `${kind}-${index + 1}`, question, answer, world: { state: { member, loans, new_due: newDue } } };
  });
}

/** A question longer than the model's context. */
export function endlessTask(): DeskTask {
  const [task] = deskTasks(1, 1);
  return { ...task!, id: 'endless', question: 'Silent Harbor '.repeat(600) };
}

/** Questions to the demo model, which makes their calls. */
export function scriptTasks(count: number): DeskTask[] {
  return deskTasks(count, 6).map((task, index) => ({
    ...task,
    id: `script-${index + 1}`,
    question: [
      'call find_member {"name": "Ada Abel"}',
      `call loans_of {"member_id": "M${index + 10}"}`,
      ...[10, 11, 12, 13].map((loan) => `call renew_loan {"loan_id": "L${loan + index}"}`),
      'answer done',
    ].join('\n'),
    answer: 'done',
  }));
}
