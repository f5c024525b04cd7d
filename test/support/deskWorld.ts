/** Conversations with a world model that plays the sample's library. */
import type { Faults } from '../../src/demo/faults.ts';
import { decide } from '../../src/demo/policy/decide.ts';
import { chatRequest } from '../../src/demo/request.ts';
import type { Turn } from '../../src/demo/text/completion.ts';
import type { Random } from './random.ts';

export type Row = Record<string, string | number | null>;

export const TABLES = ['members', 'books', 'copies', 'loans', 'holds', 'fines'];

export function stateText(rows: Readonly<Record<string, readonly Row[]>>): string {
  const tables = TABLES.map((table) => [`## ${table}`, ...(rows[table] ?? []).map((row) => JSON.stringify(row))]);
  return ['Today is 2026-03-16.', ...tables.flat()].join('\n');
}

/** Asks the demo model for the observation of `action`, after `turns`. */
export function predict(
  system: string,
  turns: readonly (readonly [action: string, observation: string])[],
  action: string,
  how: { readonly seed?: number; readonly errors?: Faults['worldErrors']; readonly instruction?: string } = {},
): Turn {
  const user = (text: string) => ({ role: 'user', content: `**Action:**\n\`\`\`json\n${text}\n\`\`\`` });
  const instruction = how.instruction === undefined ? '' : `\n\n# Simulation Instruction\n${how.instruction}`;
  const messages = [
    {
      role: 'system',
      content: `# Task\nYou are the environment of an agent.\n\n# Initial State\n${system}${instruction}`,
    },
    ...turns.flatMap(([made, seen]) => [user(made), { role: 'assistant', content: seen }]),
    user(action),
  ];
  return decide(chatRequest.parse({ messages }), how.seed ?? 1, { mistakes: 1, worldErrors: how.errors });
}

/** Returns a call that the desk may accept or refuse. */
export function randomCall(random: Random, rows: Readonly<Record<string, readonly Row[]>>): [string, Row] {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!;
  const idOf = (table: string, unknown: string): string =>
    random.next() < 0.05 ? unknown : String(pick(rows[table] ?? [{ id: unknown }])['id']);
  const member = idOf('members', 'M-9999');
  const book = idOf('books', 'B-999');
  const loan = idOf('loans', 'L-9999');
  return pick([
    ['find_member', { name: pick(['an', 'Keller', 'Okafor', 'zz', ' demir ']) }],
    ['find_books', { text: pick(['or', 'Salt', 'Wren', 'the', 'zz']) }],
    ['list_loans', { member_id: member }],
    ['list_fines', { member_id: member }],
    ['renew_loan', { loan_id: loan }],
    ['check_out', { member_id: member, book_id: book }],
    ['return_book', { loan_id: loan }],
    ['place_hold', { member_id: member, book_id: book }],
    ['pay_fine', { fine_id: idOf('fines', 'F-999') }],
  ] as [string, Row][]);
}
