/** Reads what people should know before more of a batch runs, and never stops it: an older server cannot say it. */
import { StudioError } from '../common/errors.ts';
import type { Submission } from '../config/submission.ts';
import type { Api } from '../protocol/api.ts';
import type { SharesReply } from '../protocol/shares.ts';
import { readSubmission } from './commands/reportInput.ts';
import { shareNotice } from './shareNotice.ts';

const NOTICE_MS = 3_000;

/**
 * Returns one line if a new batch would not get all it asks for now. Attempts are counted only where it matters.
 * Throws `config` if that cannot be done.
 */
export async function launchNotice(
  api: Pick<Api, 'shares'>,
  submission: Pick<Submission, 'queue' | 'concurrency'>,
  attempts: () => Promise<number>,
): Promise<string | undefined> {
  try {
    const shares = await api.shares(AbortSignal.timeout(NOTICE_MS));
    if (noticeOf(shares, submission, Number.MAX_SAFE_INTEGER) === undefined) return undefined;
    return noticeOf(shares, submission, await attempts());
  } catch (error) {
    if (StudioError.is(error, 'config')) throw error; // of a task
    return undefined;
  }
}

/** Reads how a server divides what it has before attempts of a batch are retried; says what some would not get now. */
export async function retryNotice(
  api: Pick<Api, 'shares' | 'batch' | 'getBlob'>,
  batch: string,
): Promise<(attempts: number) => string | undefined> {
  try {
    const signal = AbortSignal.timeout(NOTICE_MS);
    const [shares, row] = await Promise.all([api.shares(signal), api.batch(batch, signal)]);
    if (row.imported) return () => undefined;
    const submission = await readSubmission(api, row.submission, signal);
    return (attempts) => (attempts === 0 ? undefined : noticeOf(shares, submission, attempts));
  } catch (error) {
    if (!StudioError.is(error)) throw error;
    return () => undefined; // the command reports it
  }
}

function noticeOf(
  shares: SharesReply,
  { queue, concurrency }: Pick<Submission, 'queue' | 'concurrency'>,
  attempts: number,
): string | undefined {
  return shareNotice(shares, { queue, rollouts: concurrency === 'auto' ? attempts : Math.min(attempts, concurrency) });
}
