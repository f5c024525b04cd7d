/** Shows the sampled tokens of a model call: IDs, probabilities, and what a trainer makes of them. */
import { useEffect, useState } from 'preact/hooks';
import { errorText } from '../../../../src/common/errors.ts';
import { count } from '../../../../src/common/units.ts';
import type { ModelSpan } from '../../../../src/trace/model/spans.ts';
import type { BlobRef } from '../../../../src/trace/schema.ts';
import { type CallTokens, tokensOf } from '../../../../src/trace/tokens.ts';
import { weightsOf } from '../../../../src/trace/weights.ts';
import { chosenEstimator } from '../../../data/estimator.ts';
import type { TrajectoryView } from '../../view.ts';
import { Fields } from '../parts/fields.tsx';
import { MessageBody } from '../parts/messageBody.tsx';
import { TokenChips } from '../parts/tokenChips.tsx';
import { modelCallOf, type Subject } from '../subject.ts';
import { advantageOfRollout, type CallSegment, segmentOfCall } from './training.ts';
import { TrainingSection } from './trainingSection.tsx';

export function TokensTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const call = modelCallOf(subject);
  if (call === undefined) return <p class="remark">There is no model call here.</p>;
  if (call.end === undefined)
    return (
      <p class="remark">
        {view.data.ended ? 'The call never ended, so its tokens are unknown.' : 'Tokens appear when the call ends.'}
      </p>
    );
  const { usage, trainable, why_not: whyNot, finish_reason: reason, error } = call.end.data;
  return (
    <>
      {call.end.data.tokens === undefined ? (
        <NotCaptured failed={error !== undefined} imported={call.end.data.source === 'imported'} />
      ) : (
        <Sampled key={call.seq} view={view} call={call} trained={trainable} />
      )}
      <Fields
        title="Usage"
        data={{
          ...usage,
          finish_reason: reason,
          ...(trainable || whyNot === undefined ? { trainable } : { why_not: whyNot }),
          weights: weightsText(call),
        }}
      />
    </>
  );
}

/** “3 → 4” for a call during which the weights changed. */
function weightsText(call: ModelSpan): string | undefined {
  const weights = weightsOf(call);
  if (weights === undefined) return undefined;
  return weights.from === weights.to ? weights.to : `${weights.from} → ${weights.to}`;
}

function NotCaptured({ failed, imported }: { readonly failed: boolean; readonly imported: boolean }) {
  if (failed) return <p class="remark">No tokens: the call failed.</p>;
  if (imported) return <p class="remark">No token IDs in this recording.</p>;
  return (
    <p class="remark">
      Token IDs were not captured. To capture them, set{' '}
      <code>
        capture: {'{'} token_ids: true, logprobs: true {'}'}
      </code>{' '}
      in the agent’s model, where the endpoint supports it.
    </p>
  );
}

type TokensResult =
  | { readonly tokens: CallTokens | undefined; readonly segment: CallSegment | undefined }
  | { readonly problem: string };

function Sampled({
  view,
  call,
  trained,
}: {
  readonly view: TrajectoryView;
  readonly call: ModelSpan;
  readonly trained: boolean;
}) {
  const [result, setResult] = useState<TokensResult>();
  useEffect(() => {
    let stopped = false;
    const read = (ref: BlobRef): Promise<unknown> => view.data.blobs.json(ref);
    const { model } = view.data;
    Promise.all([tokensOf(model, call, read), segmentOfCall(model, call, read).catch(() => undefined)]).then(
      ([tokens, segment]) => {
        if (!stopped) setResult({ tokens, segment });
      },
      (error: unknown) => {
        if (!stopped) setResult({ problem: `Cannot load the tokens: ${errorText(error)}` });
      },
    );
    return () => {
      stopped = true;
    };
  }, []);
  if (result === undefined)
    return (
      <p class="remark" aria-busy="true">
        Loading tokens…
      </p>
    );
  if ('problem' in result)
    return (
      <p class="remark" role="alert">
        {result.problem}
      </p>
    );
  if (result.tokens === undefined) return null;
  const { prompt, kept, missing, completion } = result.tokens;
  const { segment } = result;
  const counted = call.end?.data.usage?.output_tokens;
  return (
    <>
      <TokenChips tokens={result.tokens} trained={segment?.call.trainable ?? trained} />
      {counted !== undefined && counted !== completion.length && (
        <p class="remark">
          The endpoint counted {count(counted)} tokens, but the recording has {count(completion.length)}.
        </p>
      )}
      <TrainingSection
        segment={segment}
        advantage={advantageOfRollout(view.data.attempts, view.data.rollout, chosenEstimator())}
      />
      <AsText view={view} call={call} />
      <Fields
        title="Prompt"
        data={{ tokens: missing + prompt.length, shared_with_earlier_calls: kept, new: missing + prompt.length - kept }}
      />
      {missing > 0 && (
        <p class="remark">
          The first {count(missing)} tokens of the prompt are those of an earlier call, which are missing.
        </p>
      )}
    </>
  );
}

/** Shows the sampled text. Only the tokenizer maps tokens to characters, and the recording does not contain it. */
function AsText({ view, call }: { readonly view: TrajectoryView; readonly call: ModelSpan }) {
  const m = call.end?.data.m;
  const entry = m === undefined ? undefined : view.data.model.message(m);
  if (entry === undefined || entry.event.data.parts.length === 0) return null;
  return (
    <section class="detail-section" aria-label="As text">
      <header class="section-head">
        <h3>As text</h3>
        <span class="dim">The recording does not map tokens to characters.</span>
      </header>
      <MessageBody view={view} entry={entry} />
    </section>
  );
}
