/** Shows what a batch gets at a server that divides what it has, as the last step before its launch. */
import os from 'node:os';
import { launchReview } from '../../client/launchReview.ts';
import { StudioError } from '../../common/errors.ts';
import { type SharesReply, sharesReply } from '../../protocol/shares.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { type Answer, BACK } from '../window/questions/answer.ts';
import { pickOne, type StepPlace } from '../window/questions/dialogue.ts';
import { SKIPPED } from '../window/questions/steps.ts';
import { attemptCount, tokensOf } from './plan.ts';
import { type ReviewedLaunch, reviewChoices } from './reviewChoices.ts';

/** A shorter wait needs no message. */
const QUIET_MS = 400;
/** The server of the window answers at once. A launch does not wait longer for what is only shown. */
const OWN_MS = 3_000;
/** Connecting to a cluster takes some time. */
const OTHER_MS = 20_000;

/**
 * Returns how the server of a target divides what it has; undefined if it cannot say, as older servers, or does not
 * answer: the launch reports that. Throws `cancelled` if the user does not want to wait.
 */
export async function sharesAt({ server, cli }: Services, target: string): Promise<SharesReply | undefined> {
  const isOwn = target === server.target;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(isOwn ? OWN_MS : OTHER_MS)]);
  const asked = (
    isOwn
      ? server.connection({ signal }).then(({ api }) => api.shares(signal))
      : cli
          .json(['queue'], { cwd: os.homedir(), signal, at: { target, store: server.store } })
          .then((reply) => sharesReply.parse(reply))
  ).catch(() => undefined);
  const later = new Promise<'later'>((resolve) => setTimeout(() => resolve('later'), QUIET_MS));
  const first = await Promise.race([asked, later]);
  if (first !== 'later') return first;
  return withProgress(`Reading what is free on ${target}`, ({ signal: cancel }) => {
    cancel.addEventListener('abort', () => stop.abort(), { once: true });
    return asked.then((reply) => {
      if (cancel.aborted) throw new StudioError('cancelled', 'Cancelled.');
      return reply;
    });
  });
}

/** Asks nothing where nobody else uses the server and nothing is limited. */
export async function askReview(
  place: StepPlace,
  reply: SharesReply | undefined,
  launch: ReviewedLaunch,
): Promise<Answer<true> | typeof SKIPPED> {
  const { facts, answers } = launch;
  if (reply === undefined || facts.demand === undefined) return SKIPPED;
  const attempts = attemptCount(answers, facts);
  const review = launchReview(reply, { ...facts.demand, attempts, tokens: tokensOf(facts, attempts) });
  if (review === undefined) return SKIPPED;
  for (;;) {
    const answer = await pickOne({ ...place, back: true }, reviewChoices(review, launch), {
      placeholder: 'Review what the batch gets, and launch it',
    });
    if (answer === undefined || answer === BACK) return answer;
    if (answer) return true; // the other lines only inform
  }
}
