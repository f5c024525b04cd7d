/** Shows what a batch gets at a server that divides what it has, as the last step before its launch. */
import os from 'node:os';
import type * as vscode from 'vscode';
import { type LaunchReview, launchReview, withShortage } from '../../client/launchReview.ts';
import { batchShortage, saysResources } from '../../client/podFit.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import { type SharesReply, sharesReply } from '../../protocol/shares.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { type Answer, BACK } from '../window/questions/answer.ts';
import { pickOne, type StepPlace } from '../window/questions/dialogue.ts';
import { fileFacts } from './fileFacts.ts';
import { attemptCount, type LaunchAnswers, tokensOf } from './plan.ts';
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
async function sharesAt({ server, cli }: Services, target: string): Promise<SharesReply | undefined> {
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

/** What is known about a target before a launch. */
export interface TargetRoom {
  /** How its server divides what it has. */
  readonly shares: SharesReply | undefined;
  /** Set if no node could run a pod of the batch. */
  readonly shortage: string | undefined;
}

/** Reads how much room a target has for a launch. Nodes are read only if the batch says what its pods request. */
export async function roomAt(services: Services, launch: ReviewedLaunch): Promise<TargetRoom> {
  const [shares, shortage] = await Promise.all([sharesAt(services, launch.target), shortageAt(services, launch)]);
  return { shares, shortage };
}

async function shortageAt({ cli }: Services, { facts, answers, target }: ReviewedLaunch): Promise<string | undefined> {
  const { pods, concurrency = 'auto' } = facts.demand ?? {};
  if (pods === undefined || !saysResources(pods) || target === LOCAL) return undefined;
  const { TargetFile } = await import('../../client/targets/targetFile.ts');
  const place = new TargetFile().list().get(target);
  if (place === undefined || 'url' in place) return undefined;
  const { largestNode } = await import('../targets/targetCli.ts');
  // The launch goes on without it.
  const largest = await largestNode(cli, target, AbortSignal.timeout(OTHER_MS)).catch(() => undefined);
  return largest && batchShortage({ pods, concurrency }, attemptCount(answers, facts), largest);
}

/** Returns undefined where there is nothing to review: nobody else uses the server, and nothing is limited. */
export function reviewOf(
  { shares, shortage }: TargetRoom,
  { facts, answers }: ReviewedLaunch,
): LaunchReview | undefined {
  if (facts.demand === undefined) return undefined;
  const attempts = attemptCount(answers, facts);
  const review =
    shares === undefined
      ? undefined
      : launchReview(shares, { ...facts.demand, attempts, tokens: tokensOf(facts, attempts) });
  return shortage === undefined ? review : withShortage(review, shortage);
}

export async function askReview(place: StepPlace, review: LaunchReview, launch: ReviewedLaunch): Promise<Answer<true>> {
  for (;;) {
    const answer = await pickOne(place, reviewChoices(review, launch), {
      placeholder: 'Review what the batch gets, and launch it',
    });
    if (answer === undefined || answer === BACK) return answer;
    if (answer) return true; // the other lines only inform
  }
}

/**
 * Shows the review of a launch that is repeated, which otherwise takes one click, only if the batch would wait or a
 * limit is nearly used up. Returns false if the user cancels.
 */
export async function reviewAgain(
  services: Services,
  { title, file, answers }: { readonly title: string; readonly file: vscode.Uri; readonly answers: LaunchAnswers },
): Promise<boolean> {
  const read = await fileFacts(file).catch((error: unknown) => {
    if (StudioError.is(error)) return undefined; // the launch reports it
    throw error;
  });
  if (read === undefined) return true;
  const launch = { facts: read.facts, answers, target: services.server.target };
  const review = reviewOf(await roomAt(services, launch), launch);
  if (review?.matters !== true) return true;
  return (await askReview({ title, step: 1, steps: 1 }, review, launch)) === true;
}
