/** What a trainer makes of the tokens of a call. */
import { firstDifferenceText, splitText } from '../../../../src/trace/segments/text.ts';
import type { CallSegment } from './training.ts';

export function TrainingSection({
  segment,
  advantage,
}: {
  /** Undefined if the call is in no segment. */
  readonly segment: CallSegment | undefined;
  readonly advantage: string;
}) {
  return (
    <section class="detail-section" aria-label="Training">
      <header class="section-head">
        <h3>Training</h3>
      </header>
      <dl class="fields">
        <div title="A row for trainers: calls of one agent for as long as each prompt begins with the tokens before it">
          <dt>Segment</dt>
          <dd>{segment === undefined ? 'none: the tokens of an earlier call are missing' : segmentText(segment)}</dd>
        </div>
        {segment?.split !== undefined && (
          <>
            <div>
              <dt>Begins because</dt>
              <dd>{splitText(segment.split)}</dd>
            </div>
            <div title="The text of a token is known if the endpoint decoded it">
              <dt>First difference</dt>
              <dd>{firstDifferenceText(segment.split)}</dd>
            </div>
          </>
        )}
        {segment !== undefined && (
          <div title="1: the trainer learns from the sampled tokens. Tokens of prompts and tools always have 0">
            <dt>Mask</dt>
            <dd>{segment.call.trainable ? '1' : `0: ${segment.call.why_not ?? 'it cannot be used for training'}`}</dd>
          </div>
        )}
        <div title="How much better than the other attempts of its task the rollout is. All its segments share it">
          <dt>Advantage</dt>
          <dd>{advantage}</dd>
        </div>
      </dl>
    </section>
  );
}

function segmentText({ number, call: { from, to } }: CallSegment): string {
  return to > from ? `${number}, response tokens ${from + 1} to ${to}` : `${number}, no tokens`;
}
