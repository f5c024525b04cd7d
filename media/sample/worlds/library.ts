/**
 * The sample world: a public library's lending desk, with its own SQLite database for each rollout.
 *
 * `open` is called once for each rollout. It returns the whole world: the tools, a verifier of the final state, and,
 * for forks and the debugger, functions that save the state and return what changed.
 */
import type { OpenWorld } from 'rollout-studio';
import * as books from '../tools/books.ts';
import * as fines from '../tools/fines.ts';
import * as holds from '../tools/holds.ts';
import * as loans from '../tools/loans.ts';
import * as members from '../tools/members.ts';
import { Database, type Rows } from './library/database.ts';
import { Desk } from './library/desk.ts';
import { seedRows } from './library/seed.ts';
import { verify } from './library/verify.ts';

export const open: OpenWorld<Desk> = (task, seed, from) => {
  // All attempts of a task start with the same library, because its seed is in the task, not in the attempt.
  const rows = from === undefined ? seedRows(task.world?.seed ?? seed) : (JSON.parse(new TextDecoder().decode(from)) as Rows);
  const database = new Database(rows);
  return {
    state: new Desk(database),
    tools: { ...members, ...books, ...loans, ...holds, ...fines },
    verify: ({ answer, expected }) =>
      verify(task.world?.state, { changes: database.changes(), rowOf: (table, key) => database.get(`SELECT * FROM ${table} WHERE id = ?`, key) }, answer, expected),
    snapshot: () => new TextEncoder().encode(JSON.stringify(database.dump())),
    diff: () => database.newChanges(),
    close: () => database.close(),
  };
};
