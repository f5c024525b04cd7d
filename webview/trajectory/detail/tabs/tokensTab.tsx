/** Shows the sampled tokens of a model call: IDs, probabilities, and the training mask. */
import { useEffect, useState } from 'preact/hooks';
import { errorText } from '../../../../src/common/errors.ts';
import { count } from '../../../../src/common/units.ts';
import type { ModelSpan } from '../../../../src/trace/model/spans.ts';
import { type CallTokens, tokensOf } from '../../../../src/trace/tokens.ts';
import type { TrajectoryView } from '../../view.ts';
import { Fields } from '../parts/fields.tsx';
import { MessageBody } from '../parts/messageBody.tsx';
import { TokenChips } from '../parts/tokenChips.tsx';
import { modelCallOf, type Subject } from '../subject.ts';

export function TokensTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const call = modelCallOf(subject);
  if (call === undefined) return <p class="remark">No model call yet, so no tokens.</p>;
  if (call.end === undefined)
    return (
      <p class="remark">
        {view.data.ended ? 'The call never ended, so its tokens are unknown.' : 'Tokens appear when the call ends.'}
      </p>
    );
  const { usage, trainable, why_not: whyNot, weights, finish_reason: reason, error } = call.end.data;
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
          trainable: trainable ? 'yes' : `no${whyNot === undefined ? '' : `: ${whyNot}`}`,
          weights,
        }}
      />
    </>
  );
}

function NotCaptured({ failed, imported }: { readonly failed: boolean; readonly imported: boolean }) {
  if (failed) return <p class="remark">The call failed: no tokens were sampled.</p>;
  if (imported) return <p class="remark">The source of this recording has no tokens.</p>;
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

type TokensResult = { readonly tokens: CallTokens | undefined } | { readonly problem: string };

function Sampled({
  view,
  call,
  trained,
}: {
  readonly view: TrajectoryView;
  readonly call: ModelSpan;
  readonly trained: boolean;
}) {
  const [got, setGot] = useState<TokensResult>();
  useEffect(() => {
    let stopped = false;
    tokensOf(view.data.model, call, (ref) => view.data.blobs.json(ref)).then(
      (tokens) => {
        if (!stopped) setGot({ tokens });
      },
      (error: unknown) => {
        if (!stopped) setGot({ problem: `Cannot read the tokens: ${errorText(error)}` });
      },
    );
    return () => {
      stopped = true;
    };
  }, []);
  if (got === undefined)
    return (
      <p class="remark" aria-busy="true">
        Loading tokens…
      </p>
    );
  if ('problem' in got)
    return (
      <p class="remark" role="alert">
        {got.problem}
      </p>
    );
  if (got.tokens === undefined) return null;
  const { prompt, kept, missing, completion } = got.tokens;
  const told = call.end?.data.usage?.output_tokens;
  return (
    <>
      <TokenChips tokens={got.tokens} trained={trained} />
      {told !== undefined && told !== completion.length && (
        <p class="remark">
          The endpoint counted {count(told)} tokens; the recording has {count(completion.length)}.
        </p>
      )}
      <AsText view={view} call={call} />
      <Fields
        title="Prompt"
        data={{ tokens: missing + prompt.length, as_in_an_earlier_call: kept, new: missing + prompt.length - kept }}
      />
      {missing > 0 && (
        <p class="remark">
          The first {count(missing)} tokens of the prompt belong to an earlier call whose tokens are missing.
        </p>
      )}
    </>
  );
}

/**
 * What the tokens say. Only the tokenizer knows which of them made which characters, and the record does not hold it.
 */
function AsText({ view, call }: { readonly view: TrajectoryView; readonly call: ModelSpan }) {
  const m = call.end?.data.m;
  const entry = m === undefined ? undefined : view.data.model.message(m);
  if (entry === undefined || entry.event.data.parts.length === 0) return null;
  return (
    <section class="detail-section" aria-label="As text">
      <header class="section-head">
        <h3>As text</h3>
        <span class="dim">the recording does not map tokens to characters</span>
      </header>
      <MessageBody view={view} entry={entry} />
    </section>
  );
}
