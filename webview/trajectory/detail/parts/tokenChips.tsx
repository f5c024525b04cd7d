/** Shows sampled tokens as chips, colored by uncertainty, and an overview of all of them. */
import { useId, useMemo, useState } from 'preact/hooks';
import { count } from '../../../../src/common/units.ts';
import type { CallTokens } from '../../../../src/trace/tokens.ts';
import { Button } from '../../../components/controls.tsx';
import { binsOf, heatOf, summaryOf } from './tokenHeat.ts';

const CHIPS_AT_ONCE = 1_000;
const BINS = 160;

export function TokenChips({
  tokens: { prompt, missing, completion, logprobs },
  trained,
}: {
  readonly tokens: CallTokens;
  readonly trained: boolean;
}) {
  const [chosen, setChosen] = useState(-1);
  const [page, setPage] = useState(0);
  const id = useId();
  const summary = useMemo(() => (logprobs === undefined ? undefined : summaryOf(logprobs)), [logprobs]);
  const choose = (index: number): void => {
    const to = Math.max(0, Math.min(completion.length - 1, index));
    setChosen(to);
    setPage(Math.floor(to / CHIPS_AT_ONCE));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: completion.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    choose(to);
  };
  if (completion.length === 0) return <p class="remark">The model sampled no tokens.</p>;
  const from = page * CHIPS_AT_ONCE;
  const to = Math.min(completion.length, from + CHIPS_AT_ONCE);
  return (
    <section class="detail-section" aria-label="Completion">
      <header class="section-head">
        <h3>Completion</h3>
        <span class="dim">
          {count(completion.length)} {completion.length === 1 ? 'token' : 'tokens'}
          {summary === undefined
            ? ''
            : `, mean logprob ${summary.mean.toFixed(2)}, lowest ${summary.lowest.toFixed(2)}`}
        </span>
        <span class="grow" />
        {summary !== undefined && (
          <span class="token-legend" title="−logprob, from certain (0) to a probability of 10% or less (2.3)">
            <span class="dim">0</span>
            <span class="token-scale" />
            <span class="dim">2.3+</span>
          </span>
        )}
        <span class={`token-trained${trained ? ' is-trained' : ''}`}>
          {trained ? 'Used for training' : 'Masked in training'}
        </span>
      </header>
      {logprobs === undefined ? (
        <p class="remark">
          Log probabilities were not captured. To capture them, set <code>logprobs: true</code>.
        </p>
      ) : (
        logprobs.length !== completion.length && (
          <p class="remark">
            Only {count(logprobs.length)} of {count(completion.length)} tokens have a log probability.
          </p>
        )
      )}
      {logprobs !== undefined && <Strip logprobs={logprobs} chosen={chosen} onChoose={choose} />}
      <div
        class={`tokens${trained ? ' is-trained' : ''}`}
        role="listbox"
        aria-label="Tokens"
        tabIndex={0}
        onKeyDown={onKeyDown}
        {...(chosen >= from && chosen < to ? { 'aria-activedescendant': `${id}-${chosen}` } : {})}
      >
        {completion.slice(from, to).map((token, offset) => {
          const index = from + offset;
          return (
            <span
              key={index}
              id={`${id}-${index}`}
              class="token"
              role="option"
              aria-selected={index === chosen}
              title={tokenTitle(index, token, logprobs?.[index])}
              style={{ '--heat': heatOf(logprobs?.[index]) }}
              onClick={() => choose(index)}
            >
              {token}
            </span>
          );
        })}
      </div>
      {completion.length > CHIPS_AT_ONCE && (
        <div class="token-pages">
          <Button
            kind="icon"
            icon="chevron-left"
            label="Previous tokens"
            disabled={page === 0}
            onClick={() => setPage(page - 1)}
          />
          <span class="dim">
            {count(from + 1)}–{count(to)} of {count(completion.length)}
          </span>
          <Button
            kind="icon"
            icon="chevron-right"
            label="Next tokens"
            disabled={to === completion.length}
            onClick={() => setPage(page + 1)}
          />
        </div>
      )}
      <p class="remark" aria-live="polite">
        {chosen < 0
          ? 'Select a token to see its probability.'
          : chosenText(completion[chosen] ?? 0, missing + prompt.length + chosen, logprobs?.[chosen])}
      </p>
    </section>
  );
}

/** Draws a bar for each few tokens, as high as the most uncertain of them. */
function Strip({
  logprobs,
  chosen,
  onChoose,
}: {
  readonly logprobs: readonly number[];
  readonly chosen: number;
  readonly onChoose: (index: number) => void;
}) {
  const bins = useMemo(() => binsOf(logprobs, BINS), [logprobs]);
  const at = (event: MouseEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return (
      bins[
        Math.max(
          0,
          Math.min(bins.length - 1, Math.floor(((event.clientX - box.left) / Math.max(1, box.width)) * bins.length)),
        )
      ]?.index ?? 0
    );
  };
  const marked = chosen < 0 ? -1 : Math.floor((chosen * bins.length) / logprobs.length);
  return (
    <div class="token-strip" aria-hidden="true" onClick={(event) => onChoose(at(event))}>
      {bins.map(({ heat }, bin) => (
        <span
          key={bin}
          class={`token-bar${bin === marked ? ' is-chosen' : ''}`}
          style={{ height: `${Math.max(3, heat * 100)}%` }}
        />
      ))}
    </div>
  );
}

function tokenTitle(index: number, id: number, logprob: number | undefined): string {
  return `${index + 1}: id ${id}${logprob === undefined ? '' : `, logprob ${logprob.toFixed(3)}`}`;
}

function chosenText(id: number, position: number, logprob: number | undefined): string {
  return (
    `Token ${id}, position ` +
    count(position) +
    (logprob === undefined ? '' : `: logprob ${logprob.toFixed(3)}, probability ${Math.exp(logprob).toFixed(3)}`)
  );
}
