/** The tokens of a model call as they were sampled: ids, how sure the model was of each, what is trained on. */
import { useEffect, useState } from 'preact/hooks';
import { errorText } from '../../../../src/common/errors.ts';
import type { ModelSpan } from '../../../../src/trace/model/spans.ts';
import { Button } from '../../../components/controls.tsx';
import type { TrajectoryView } from '../../view.ts';
import { Fields } from '../parts/fields.tsx';
import { modelCallOf, type Subject } from '../subject.ts';
import { tokensOf, type CallTokens } from './tokens.ts';

const CHIPS_AT_ONCE = 1_000;
/** −logprob at which a token is as hot as can be. */
const HOT = 2.3;

export function TokensTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const call = modelCallOf(subject);
  if (call === undefined) return <p class="remark">No model call belongs to this place.</p>;
  if (call.end === undefined) return <p class="remark">The call has not ended yet.</p>;
  const { usage, trainable, why_not: whyNot, weights, finish_reason: reason } = call.end.data;
  return (
    <>
      <Fields title="Usage" data={{ ...usage, ...(usage === undefined ? {} : {}), finish_reason: reason, trainable: trainable ? 'yes' : `no${whyNot === undefined ? '' : `: ${whyNot}`}`, weights }} />
      {call.end.data.tokens === undefined
        ? <p class="remark">Token ids were not captured. Ask for them with <code>capture: {'{'} token_ids: true, logprobs: true {'}'}</code> in the agent’s model, where the endpoint supports it.</p>
        : <Sampled view={view} call={call} trained={trainable} />}
    </>
  );
}

function Sampled({ view, call, trained }: { readonly view: TrajectoryView; readonly call: ModelSpan; readonly trained: boolean }) {
  const [got, setGot] = useState<{ readonly of: number; readonly tokens?: CallTokens | undefined; readonly problem?: string }>();
  const [whole, setWhole] = useState(false);
  const [chosen, setChosen] = useState(-1);
  useEffect(() => {
    let stopped = false;
    tokensOf(view.data.model, call, view.data.blobs).then((tokens) => {
      if (!stopped) setGot({ of: call.seq, tokens });
    }, (error: unknown) => {
      if (!stopped) setGot({ of: call.seq, problem: errorText(error) });
    });
    return () => {
      stopped = true;
    };
  }, [call.seq]);
  if (got?.of !== call.seq) return <p class="remark" aria-busy="true">Reading the tokens …</p>;
  if (got.problem !== undefined) return <p class="remark" role="alert">{got.problem}</p>;
  const { tokens } = got;
  if (tokens === undefined) return null;
  const { prompt, kept, completion, logprobs } = tokens;
  const probability = chosen < 0 ? undefined : logprobs?.[chosen];
  return (
    <>
      <section class="detail-section" aria-label="Completion">
        <header class="section-head">
          <h3>Completion</h3>
          <span class="dim">{completion.length} tokens{logprobs === undefined ? '' : `, mean logprob ${mean(logprobs).toFixed(2)}, lowest ${Math.min(...logprobs.slice(0, 100_000)).toFixed(2)}`}</span>
          <span class="grow" />
          <span class="dim">{trained ? 'trained on' : 'masked'}</span>
        </header>
        <div class={`tokens${trained ? ' is-trained' : ''}`}>
          {completion.slice(0, whole ? undefined : CHIPS_AT_ONCE).map((id, index) => (
            <button type="button" key={index} class="token" aria-pressed={index === chosen} onClick={() => setChosen(index)} title={tokenTitle(index, id, logprobs?.[index])}
              style={{ '--heat': logprobs === undefined ? 0 : Math.min(1, -(logprobs[index] ?? 0) / HOT) }}>{id}</button>
          ))}
        </div>
        {!whole && completion.length > CHIPS_AT_ONCE && <Button kind="secondary" label={`Show all ${completion.length}`} onClick={() => setWhole(true)} />}
        {chosen >= 0 && <p class="remark" aria-live="polite">Token {completion[chosen]}, position {prompt.length + chosen}{probability === undefined ? '' : `: logprob ${probability.toFixed(3)}, probability ${Math.exp(probability).toFixed(3)}`}</p>}
      </section>
      <Fields title="Prompt" data={{ tokens: prompt.length, as_in_the_call_before: kept, new: prompt.length - kept }} />
    </>
  );
}

function tokenTitle(index: number, id: number, logprob: number | undefined): string {
  return `${index + 1}: id ${id}${logprob === undefined ? '' : `, logprob ${logprob.toFixed(3)}`}`;
}

function mean(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}
