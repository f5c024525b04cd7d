/** Which ended batches the rules of a server remove, and of which they drop the trajectories. */

import { duration } from '../../common/units.ts';
import type { RetentionFile, RetentionRule } from '../../config/schema/retentionFile.ts';
import type { CollectableBlobs } from '../blobs/content.ts';
import { int } from '../sql/row.ts';
import type { Reader, Sql } from '../sql/sql.ts';
import type { RetentionPlan } from '../store.ts';
import { type BatchSize, batchSizes } from './batchSizes.ts';
import { type Batch, readBatch, SELECT_BATCH } from './batchState.ts';
import { keptBlobs } from './trimming.ts';

interface Candidate {
  readonly batch: Batch;
  /** Why it is removed, and why its trajectories are dropped if it stays. undefined: no rule says so. */
  remove: string | undefined;
  trim: string | undefined;
  /** Whether its trajectories may go before it does. */
  readonly mayTrim: boolean;
  /** Whether it stays, whatever the size of the store. */
  readonly isForever: boolean;
  size: BatchSize;
}

const EMPTY: BatchSize = { all: 0, trajectories: 0 };

/** See `Store.retention`. */
export async function planRetention(sql: Sql, blobs: CollectableBlobs, rules: RetentionFile): Promise<RetentionPlan> {
  const now = await sql.now();
  const batches = (await sql.read((db) => db.all(`${SELECT_BATCH} WHERE gone = 0 ORDER BY id`))).map(readBatch);
  const needed = await neededBatches(sql, batches);
  const candidates: Candidate[] = [];
  for (const batch of batches) {
    if (batch.endedAt === null || needed.has(batch.id)) continue;
    const candidate = candidateOf(batch, await firstRule(sql, batch, rules.rules, now), rules.rules, now);
    if (candidate !== undefined) candidates.push(candidate);
  }
  const kept = new Set<string>();
  for (const { batch, trim, mayTrim } of candidates)
    if (trim !== undefined || (mayTrim && rules.max_bytes !== undefined))
      for (const sha of await keptBlobs(sql, batch.id)) kept.add(sha);
  const sizes = await batchSizes(sql, blobs, kept);
  for (const candidate of candidates) candidate.size = sizes.get(candidate.batch.id) ?? EMPTY;
  const total = [...sizes.values()].reduce((sum, { all }) => sum + all, 0);
  if (rules.max_bytes !== undefined) await fill(sql, candidates, total, rules.max_bytes);
  await keepParents(sql, candidates);
  return { batches: candidates.flatMap(planned), total };
}

/** Returns undefined for a batch that stays as it is, whatever the size of the store. */
function candidateOf(
  batch: Batch,
  rule: RetentionRule | undefined,
  rules: readonly RetentionRule[],
  now: number,
): Candidate | undefined {
  const isForever = rule?.keep === 'forever';
  const mayTrim = rule?.keep_trajectories !== undefined && batch.trimmed === undefined;
  if (isForever && !mayTrim) return undefined;
  const why = (seconds: number | undefined): string | undefined =>
    rule === undefined ? undefined : ruleText(rule, rules.indexOf(rule), seconds);
  const whyAfter = (seconds: number | undefined): string | undefined =>
    seconds !== undefined && isOlder(batch, seconds, now) ? why(seconds) : undefined;
  return {
    batch,
    remove: rule?.delete === true ? why(rule.age) : whyAfter(rule?.keep === 'forever' ? undefined : rule?.keep),
    trim: mayTrim ? whyAfter(rule.keep_trajectories) : undefined,
    mayTrim,
    isForever,
    size: EMPTY,
  };
}

function planned({ batch, remove, trim, size }: Candidate): RetentionPlan['batches'] {
  if (remove !== undefined) return [{ batch: batch.name, why: remove, bytes: size.all, trim: false }];
  return trim === undefined ? [] : [{ batch: batch.name, why: trim, bytes: size.trajectories, trim: true }];
}

function isOlder({ endedAt }: Batch, seconds: number, now: number): boolean {
  return endedAt !== null && now - endedAt >= seconds * 1000;
}

/** Batches that others need which are not removed with them: curricula, and batches being scored again. */
async function neededBatches(sql: Sql, batches: readonly Batch[]): Promise<Set<number>> {
  const running = batches.filter(({ endedAt }) => endedAt === null);
  const names = new Set(
    running.flatMap(({ spec }) => [spec.curriculum?.by, spec.rescores?.batch].filter((name) => name !== undefined)),
  );
  const needed = new Set(batches.filter(({ name }) => names.has(name)).map(({ id }) => id));
  const parents = await sql.read((db) =>
    db.all(
      `SELECT parent FROM lineage WHERE ${db.dialect.anyInt('batch')}`,
      running.map(({ id }) => id),
    ),
  );
  for (const row of parents) needed.add(int(row, 'parent'));
  return needed;
}

async function firstRule(
  sql: Sql,
  batch: Batch,
  rules: readonly RetentionRule[],
  now: number,
): Promise<RetentionRule | undefined> {
  for (const rule of rules) if (await fits(sql, batch, rule, now)) return rule;
  return undefined;
}

async function fits(sql: Sql, batch: Batch, rule: RetentionRule, now: number): Promise<boolean> {
  if (rule.age !== undefined && !isOlder(batch, rule.age, now)) return false;
  if (rule.name !== undefined && !matchesName(batch.spec.name, rule.name)) return false;
  if (rule.user !== undefined && batch.spec.by !== rule.user) return false;
  if (rule.imported !== undefined && batch.spec.imported !== rule.imported) return false;
  if (rule.stopped !== undefined && (batch.reason !== null && batch.reason !== 'done') !== rule.stopped) return false;
  if (rule.shared !== undefined && isShared(batch) !== rule.shared) return false;
  return rule.labeled === undefined || (await sql.read((db) => isLabeled(db, batch))) === rule.labeled;
}

/** `*` stands for any text. */
export function matchesName(name: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

function isShared({ shared }: Batch): boolean {
  return shared === 'everyone' || shared.length > 0;
}

/** Whether a person judged one of its attempts. */
async function isLabeled(db: Reader, { id }: Batch): Promise<boolean> {
  const row = await db.get('SELECT id FROM rollout WHERE batch = ? AND progress LIKE ? LIMIT 1', id, '%"person:%');
  return row !== undefined;
}

/** Trims the oldest batches, as far as a rule lets it, and then removes the oldest, until the rest is small enough. */
async function fill(sql: Sql, candidates: readonly Candidate[], total: number, most: number): Promise<void> {
  let left = total - candidates.reduce((sum, candidate) => sum + freed(candidate), 0);
  const oldest = candidates
    .filter(({ remove }) => remove === undefined)
    .sort((a, b) => (a.batch.endedAt ?? 0) - (b.batch.endedAt ?? 0));
  const why = `the store has more than max_bytes (${most} bytes), and this is one of the oldest batches`;
  for (const part of ['trim', 'remove'] as const)
    for (const candidate of oldest) {
      if (left <= most) return;
      if (part === 'trim' ? !candidate.mayTrim || candidate.trim !== undefined : candidate.isForever) continue;
      if (isShared(candidate.batch) || (await sql.read((db) => isLabeled(db, candidate.batch)))) continue;
      left += freed(candidate);
      candidate[part] = why;
      left -= freed(candidate);
    }
}

function freed({ remove, trim, size }: Candidate): number {
  return remove !== undefined ? size.all : trim === undefined ? 0 : size.trajectories;
}

/** A batch stays while one that reads its events stays, and is listed while one that was trimmed names it. */
async function keepParents(sql: Sql, candidates: readonly Candidate[]): Promise<void> {
  const going = new Map(candidates.map((candidate) => [candidate.batch.id, candidate]));
  const forks = await sql.read((db) =>
    db.all(
      `SELECT l.parent AS parent, l.batch AS batch, b.trimmed AS trimmed FROM lineage l JOIN batch b ON b.id = l.batch
        WHERE b.gone = 0 AND ${db.dialect.anyInt('l.parent')}`,
      [...going.keys()],
    ),
  );
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const fork of forks) {
      const parent = going.get(int(fork, 'parent'));
      const child = going.get(int(fork, 'batch'));
      if (parent === undefined || child?.remove !== undefined) continue;
      const isRead = fork['trimmed'] === null && child?.trim === undefined;
      if (parent.remove === undefined && !(isRead && parent.trim !== undefined)) continue;
      parent.remove = undefined;
      if (isRead) parent.trim = undefined;
      hasChanged = true;
    }
  }
}

/** Keys of a rule that its reason does not list as conditions. */
const APART: ReadonlySet<string> = new Set(['keep', 'keep_trajectories', 'delete', 'age']);

/** Returns a rule as a reason: `rule 2: ended more than 30 d ago, name nightly-*`. `seconds`: when it applies. */
function ruleText(rule: RetentionRule, index: number, seconds: number | undefined): string {
  const conditions = Object.entries(rule)
    .filter(([name, value]) => value !== undefined && !APART.has(name))
    .map(([name, value]) => `${name} ${String(value)}`);
  const old = seconds === undefined ? [] : [`ended more than ${duration(seconds * 1000)} ago`];
  return `rule ${index + 1}: ${[...old, ...conditions].join(', ')}`;
}
