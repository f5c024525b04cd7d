/** Shows what a judge says about a prediction: five marks from 1 to 5, with reasons. */
import type { EventData } from '../../../../src/trace/schema.ts';

const MARKS = ['format', 'factuality', 'consistency', 'realism', 'quality'] as const;
const STEPS = [1, 2, 3, 4, 5] as const;

export function JudgeMarks({ score: { parts = {}, explanation } }: { readonly score: EventData['score'] }) {
  const marks = MARKS.flatMap((name) => {
    const mark = parts[name];
    return mark === undefined ? [] : [{ name, mark }];
  });
  if (marks.length === 0 && explanation === undefined) return null;
  return (
    <section class="detail-section" aria-label="Marks of the judge">
      <header class="section-head">
        <h3>Marks</h3>
        <span class="dim">by the judge, 1 to 5</span>
      </header>
      <dl class="fields">
        {marks.map(({ name, mark }) => (
          <div key={name}>
            <dt>{`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`}</dt>
            <dd class="prediction-mark">
              <span class="prediction-pips" role="img" aria-label={`${mark} of 5`}>
                {STEPS.map((step) => (
                  <i key={step} class={step <= mark ? 'is-on' : ''} />
                ))}
              </span>
              <b>{mark}</b>
            </dd>
          </div>
        ))}
      </dl>
      {explanation !== undefined && <p class="remark">{explanation}</p>}
    </section>
  );
}
