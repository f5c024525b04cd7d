/** Lists the places where a prediction differs, as a table: below each other where it is narrow. */
import { useState } from 'preact/hooks';
import type { Json } from '../../../../src/common/json.ts';
import { plural } from '../../../../src/common/text.ts';
import type { DifferingPlace, PredictionDifference } from '../../../../src/trace/prediction/difference.ts';
import { CLASS_LABELS, PLACE_SIGNS } from '../../../../src/trace/prediction/text.ts';
import { valueText } from '../../../../src/trace/text/values.ts';
import { ActionLink } from '../../../components/link.tsx';

/** More are shown on request. */
const FIRST = 12;
const CHARS = 400;

const SIGN_TITLES = {
  differs: 'differs',
  plausible: 'differs, but could not be known',
  missing: 'missing in the prediction',
  additional: 'only in the prediction',
} as const satisfies Record<DifferingPlace['verdict'], string>;

export function Differences({ difference: { places, more } }: { readonly difference: PredictionDifference }) {
  const [whole, setWhole] = useState(false);
  if (places.length === 0) return null;
  const shown = whole ? places : places.slice(0, FIRST);
  return (
    <section class="detail-section" aria-label="Differences">
      <table class="prediction-places">
        <thead>
          <tr>
            <td />
            <th scope="col">Place</th>
            <th scope="col">Result</th>
            <th scope="col">Predicted</th>
            <th scope="col">Class</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((place) => (
            <Row key={`${place.path} ${place.class} ${place.verdict}`} place={place} />
          ))}
        </tbody>
      </table>
      {shown.length < places.length && (
        <p class="remark">
          <ActionLink label={`Show all ${places.length}`} onClick={() => setWhole(true)} />
        </p>
      )}
      {more > 0 && <p class="remark">{plural(more, 'more place')} not listed.</p>}
    </section>
  );
}

function Row({ place: { path, class: of, verdict, predicted, real } }: { readonly place: DifferingPlace }) {
  const counts = verdict !== 'plausible';
  return (
    <tr class={counts ? 'is-counted' : 'is-plausible'}>
      <td>
        <span role="img" aria-label={SIGN_TITLES[verdict]} title={SIGN_TITLES[verdict]}>
          {PLACE_SIGNS[verdict]}
        </span>
      </td>
      <td class="prediction-place" title={path}>
        {path === '' ? CLASS_LABELS[of] : path.replace(/^\//, '')}
      </td>
      <td title="Result">
        <Value value={real} side="real" counts={counts} />
      </td>
      <td title="Predicted">
        <Value value={predicted} side="predicted" counts={counts} />
      </td>
      <td class="dim">{CLASS_LABELS[of]}</td>
    </tr>
  );
}

function Value({
  value,
  side,
  counts,
}: {
  readonly value: Json | undefined;
  readonly side: 'real' | 'predicted';
  readonly counts: boolean;
}) {
  if (value === undefined) return <span class="dim">{side === 'real' ? 'not there' : 'missing'}</span>;
  const text = valueText(value);
  const short = text.length > CHARS ? `${text.slice(0, CHARS)}…` : text;
  if (!counts) return <span>{short}</span>;
  return side === 'real' ? <ins class="value-new">{short}</ins> : <span class="value-old">{short}</span>;
}
