/** What a batch will get at a server that divides what it has, before it is launched: see `GET /v1/shares`. */
import { StudioError } from '../common/errors.ts';
import { shareName } from '../common/sharesText.ts';
import { plural } from '../common/text.ts';
import { compact, count, percent } from '../common/units.ts';
import { ordinal } from '../common/waitingText.ts';
import type { BatchFile } from '../config/schema/batchFile.ts';
import { podSizing } from '../executor/kubernetes/sizing.ts';
import { DEFAULT_QUEUE, type ShareRow, type SharesReply } from '../protocol/shares.ts';

/** What a batch file asks for. */
export interface BatchDemand {
  /** As the file names it. */
  readonly queue: string | undefined;
  readonly priority: number;
  readonly concurrency: number | 'auto';
  readonly pods: Pick<NonNullable<BatchFile['pods']>, 'count' | 'isolation' | 'requests' | 'limits'> | undefined;
}

export interface LaunchedBatch extends BatchDemand {
  readonly attempts: number;
  /** Estimate of what it will use, if there is one. */
  readonly tokens: number | undefined;
}

/** A line of a review. */
export interface ReviewLine {
  readonly label: string;
  readonly text: string;
}

export interface LaunchReview {
  /** When it starts, and what it waits for. */
  readonly start: ReviewLine;
  /** Whether it waits, at least with a part of its rollouts. */
  readonly waits: boolean;
  /** Whether somebody who repeats a launch should see this first: it waits, or a limit is nearly used up. */
  readonly matters: boolean;
  /** Its queue and its user: what they are entitled to, and use. */
  readonly shares: readonly (ReviewLine & { readonly kind: ShareRow['kind'] })[];
  /** Their limits. */
  readonly limits: readonly (ReviewLine & {
    readonly isReached: boolean;
    /** Nearly used up: nobody knows whether it is enough. */
    readonly isLow: boolean;
  })[];
}

/** Fewer tokens than this part of a limit are few, if nobody knows how many a batch needs. */
const LOW = 0.1;

export function demandOf({ queue, priority, concurrency, pods }: BatchFile): BatchDemand {
  return { queue, priority, concurrency, pods };
}

/**
 * Returns undefined where there is nothing to say: nobody else uses the server, and it has neither queues nor limits.
 * Throws `config` for a queue that the server does not have.
 */
export function launchReview(reply: SharesReply, batch: LaunchedBatch): LaunchReview | undefined {
  const { rows, queues, own } = reply;
  if (queues.length > 0 && batch.queue !== undefined && !queues.includes(batch.queue))
    throw new StudioError('config', `This server has no queue ${batch.queue}.`, {
      hint: `Set \`queue\` in the batch file to one of: ${queues.join(', ')}.`,
    });
  const queue = queues.length === 0 ? undefined : (batch.queue ?? DEFAULT_QUEUE);
  const ofQueue = rows.find(({ kind, name }) => kind === 'queue' && name === queue);
  const ofUser = rows.find(({ kind, name }) => kind === own?.kind && name === own.name);
  const both = [ofQueue, ofUser].filter((row) => row !== undefined);
  const others = rows.some((row) => row.kind === 'user' && row !== ofUser && row.batches > 0);
  if (queues.length === 0 && !others && !both.some(hasLimit)) return undefined;
  const found = both.flatMap((row) => limitsOf(row, batch));
  const ahead = (reply.ahead ?? []).reduce(
    (sum, { priority, batches }) => (priority >= batch.priority ? sum + batches : sum),
    0,
  );
  // The tightest one decides; that on tokens comes last, unless nothing is left, since the batch starts.
  const full = found
    .filter(({ isReached }) => isReached)
    .sort((a, b) => Number(b.left === 0) - Number(a.left === 0) || a.part - b.part)[0];
  // Queues divide first, so what a user gets within one is not known here.
  const divided = ofQueue ?? ofUser;
  const part = divided === undefined ? undefined : partOf(rows, divided);
  const waits = full !== undefined || ahead > 0;
  return {
    waits,
    matters: waits || found.some(({ isLow }) => isLow),
    start: startOf(
      full,
      ahead,
      divided === undefined || part === undefined || part === 1
        ? ''
        : `: about ${percent(part)} of the calls for ${subjectOf(divided)}`,
    ),
    shares: both.map((row) => ({
      kind: row.kind,
      label: subjectOf(row),
      text: [
        `${row === divided && part !== undefined ? `gets ${percent(part)}, ` : ''}uses ${percent(row.used)}`,
        plural(row.rollouts.running, 'rollout'),
        ...(row.pods.running === 0 ? [] : [plural(row.pods.running, 'pod')]),
      ].join(' · '),
    })),
    limits: found.map(({ label, text, isReached, isLow }) => ({ label, text, isReached, isLow })),
  };
}

/** Adds to a review that no node could run the pods of the batch; without one, others use nothing of the server. */
export function withShortage(review: LaunchReview | undefined, shortage: string): LaunchReview {
  return {
    shares: [],
    ...review,
    waits: true,
    matters: true,
    start: { label: 'Waits until a node is added that its pods fit on', text: '' },
    limits: [{ label: 'Nodes', text: shortage, isReached: true, isLow: false }, ...(review?.limits ?? [])],
  };
}

interface Limit extends ReviewLine {
  readonly isReached: boolean;
  readonly isLow: boolean;
  /** How much of it the batch can have now, and which part of what it needs that is. */
  readonly left: number;
  readonly part: number;
  /** What it waits for. */
  readonly wait: string;
}

function hasLimit({ rollouts, pods, tokens }: ShareRow): boolean {
  return [rollouts, pods, tokens].some(({ limit }) => limit !== undefined);
}

/** Returns the limits of a user or queue, and how much of them the batch would use. */
function limitsOf(row: ShareRow, batch: LaunchedBatch): Limit[] {
  const { rollouts, pods, tokens } = row;
  const { attempts, concurrency } = batch;
  const atOnce = concurrency === 'auto' ? attempts : Math.min(attempts, concurrency);
  const { parallelism } = podSizing(batch, attempts, true);
  const of = subjectOf(row);
  const at = (used: number, limit: number, wanted: number, noun: string): Limit => {
    const left = Math.max(0, limit - used);
    const isReached = left < wanted;
    const starts = `${left === 0 ? 'none' : count(left)} of ${count(wanted)} start`;
    return {
      label: `${noun === 'pod' ? 'Pods' : 'Rollouts'} of ${shareName(row)}`,
      text: `${count(used)} of ${count(limit)} run${isReached ? ` · ${starts} now` : ''}`,
      isReached,
      isLow: false,
      left,
      part: left / wanted,
      wait:
        left === 0
          ? `Waits until other ${noun}s of ${of} end`
          : `Starts with ${plural(left, noun)} of ${count(wanted)}; more follow as others end`,
    };
  };
  const found: Limit[] = [];
  if (tokens.limit !== undefined) {
    const left = Math.max(0, tokens.limit - tokens.hour);
    const free = tokens.free_ms === undefined ? '' : ` in about ${minutesText(tokens.free_ms)}`;
    const again = left === 0 ? `, free again${free}` : '';
    const isLow = batch.tokens === undefined && left > 0 && left < LOW * tokens.limit;
    const needs =
      batch.tokens === undefined
        ? isLow
          ? ` · ${compact(left)} left`
          : ''
        : ` · needs about ${compact(batch.tokens)}`;
    found.push({
      label: `Tokens per hour of ${shareName(row)}`,
      text: `${compact(tokens.hour)} of ${compact(tokens.limit)} used${again}${needs}`,
      isReached: left === 0 || (batch.tokens ?? 0) > left,
      isLow,
      left,
      part: left === 0 ? 0 : 1,
      wait:
        left === 0
          ? `Waits until tokens are free${free}`
          : `Starts now, and waits when ${compact(left)} tokens more are used in this hour`,
    });
  }
  if (rollouts.limit !== undefined) found.push(at(rollouts.running, rollouts.limit, atOnce, 'rollout'));
  if (pods.limit !== undefined) found.push(at(pods.running, pods.limit, parallelism, 'pod'));
  return found;
}

function startOf(full: Limit | undefined, ahead: number, part: string): ReviewLine {
  if (full !== undefined && full.left === 0) return { label: full.wait, text: ahead === 0 ? '' : placeText(ahead) };
  if (ahead > 0) return { label: `Shares the models with others${part}`, text: placeText(ahead) };
  return { label: full?.wait ?? 'Starts now', text: '' };
}

function placeText(ahead: number): string {
  return `${plural(ahead, 'batch waits', 'batches wait')}, this one would be the ${ordinal(ahead + 1)}`;
}

/** Returns what part of the calls a queue or user gets among those that run something. */
function partOf(rows: readonly ShareRow[], own: ShareRow): number {
  const others = rows.filter((row) => row.kind === own.kind && row !== own && row.entitled > 0);
  return own.weight / others.reduce((sum, { weight }) => sum + weight, own.weight);
}

function minutesText(ms: number): string {
  return plural(Math.max(1, Math.round(ms / 60_000)), 'minute');
}

function subjectOf(row: ShareRow): string {
  return row.kind === 'queue' ? `queue ${row.name}` : shareName(row);
}
