/** Shows predictions of a call next to what the agent saw, with the places where they differ. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { plural } from '../../../../src/common/text.ts';
import { compact, duration } from '../../../../src/common/units.ts';
import type { WindowPrediction } from '../../../../src/protocol/predictedCall.ts';
import type { ToolSpan } from '../../../../src/trace/model/spans.ts';
import { callDifference } from '../../../../src/trace/prediction/callDifference.ts';
import type { PredictionDifference } from '../../../../src/trace/prediction/difference.ts';
import { differenceText, partsText } from '../../../../src/trace/prediction/text.ts';
import { Button } from '../../../components/controls.tsx';
import { ActionLink } from '../../../components/link.tsx';
import { useNow } from '../../../components/useNow.ts';
import { PlainText } from '../../../text/plain.tsx';
import type { ValueMarks } from '../../../values/valueMarks.tsx';
import { ValueView } from '../../../values/valueView.tsx';
import type { TrajectoryView } from '../../view.ts';
import { useValueActions } from '../parts/actions.ts';
import { ErrorView } from '../parts/errorView.tsx';
import { type CallPrediction, callPredictions, windowPrediction } from './callPredictions.ts';
import { Differences } from './differences.tsx';
import { JudgeMarks } from './judgeMarks.tsx';
import { marksOf } from './marks.ts';
import { canPredict, predict } from './predict.ts';
import './prediction.css';

/** `real`: renders the result, with marks where the first prediction differs. */
export function WithPredictions({
  view,
  span,
  real,
}: {
  readonly view: TrajectoryView;
  readonly span: ToolSpan;
  readonly real: (marks: ValueMarks | undefined, action: ComponentChildren) => ComponentChildren;
}) {
  const predictions = callPredictions(view, span);
  const asked = windowPrediction(view, span.seq);
  const [first, ...others] = predictions;
  const compared = useComparison(view, span, first);
  const action =
    asked === undefined && canPredict(view) ? (
      <Button
        kind="icon"
        icon="lightbulb"
        label="Predict this call"
        title="Predict what the call returns with a simulated world (W)"
        onClick={() => predict(view, span.seq)}
      />
    ) : null;
  return (
    <>
      {asked !== undefined && asked.state.is !== 'done' && (
        <Asking view={view} prediction={asked} state={asked.state} />
      )}
      {first === undefined ? (
        real(undefined, action)
      ) : (
        <>
          <Heading view={view} span={span} prediction={first} difference={compared?.difference} />
          <div class="prediction-columns">
            <div>{real(compared?.marks.real, action)}</div>
            <div>
              <Predicted view={view} prediction={first} marks={compared?.marks.predicted} />
            </div>
          </div>
          <Rest view={view} prediction={first} difference={compared?.difference} />
        </>
      )}
      {others.map((other) => (
        <Other key={other.key} view={view} span={span} prediction={other} />
      ))}
    </>
  );
}

function Other({
  view,
  span,
  prediction,
}: {
  readonly view: TrajectoryView;
  readonly span: ToolSpan;
  readonly prediction: CallPrediction;
}) {
  const compared = useComparison(view, span, prediction);
  return (
    <>
      <Heading view={view} span={span} prediction={prediction} difference={compared?.difference} />
      <Predicted view={view} prediction={prediction} marks={compared?.marks.predicted} />
      <Rest view={view} prediction={prediction} difference={compared?.difference} />
    </>
  );
}

/** Compares a prediction with the result, once for each state of the call. */
function useComparison(
  view: TrajectoryView,
  span: ToolSpan,
  prediction: CallPrediction | undefined,
): { readonly difference: PredictionDifference; readonly marks: ReturnType<typeof marksOf> } | undefined {
  const { model } = view.data;
  const response = prediction?.response;
  const edits = model.editsOf(span.end?.seq ?? span.seq).length;
  const complete = model.skipped === undefined;
  return useMemo(() => {
    // The class of a value depends on all earlier calls.
    if (response === undefined || !complete) return undefined;
    const difference = callDifference(model, span, response);
    return difference === undefined ? undefined : { difference, marks: marksOf(difference, response) };
  }, [model, span, span.end, edits, response, complete]);
}

function Heading({
  view,
  span,
  prediction,
  difference,
}: {
  readonly view: TrajectoryView;
  readonly span: ToolSpan;
  readonly prediction: CallPrediction;
  readonly difference: PredictionDifference | undefined;
}) {
  const { world, about, asked, side } = prediction;
  const text = difference === undefined ? '' : `${differenceText(difference)} · ${partsText(difference.parts)}`;
  return (
    <header class="section-head prediction-head">
      <h3>Prediction</h3>
      <span class="dim">
        {world} {about}
        {span.end === undefined ? ' · the call has not been made yet' : ''}
      </span>
      {text !== '' && <span class="prediction-summary">{text}</span>}
      <span class="grow" />
      {side !== undefined && (
        <ActionLink label="Prompt and thinking" title="Show the side call" onClick={() => view.go(side)} />
      )}
      {asked !== undefined && canPredict(view) && (
        <>
          <ActionLink label="Again" title="Predict again (W)" onClick={() => predict(view, span.seq)} />
          <ActionLink
            label="Other world…"
            title="Predict with another world (Shift+W)"
            onClick={() => predict(view, span.seq, 'choose')}
          />
        </>
      )}
    </header>
  );
}

function Predicted({
  view,
  prediction: { response, error, asked, world },
  marks,
}: {
  readonly view: TrajectoryView;
  readonly prediction: CallPrediction;
  readonly marks: ValueMarks | undefined;
}) {
  const actions = useValueActions(view);
  if (error !== undefined) return <ErrorView view={view} error={error} />;
  return (
    <ValueView
      title="Predicted"
      label={`Predicted by ${world}`}
      value={response ?? null}
      marks={marks}
      blobs={view.data.blobs}
      {...actions}
    >
      <span class="mark" title="What a world says that the call returns. The agent never sees it.">
        predicted
      </span>
      {asked !== undefined && <span class="dim">not recorded</span>}
    </ValueView>
  );
}

function Rest({
  view,
  prediction: { asked, score },
  difference,
}: {
  readonly view: TrajectoryView;
  readonly prediction: CallPrediction;
  readonly difference: PredictionDifference | undefined;
}) {
  return (
    <>
      {difference !== undefined && <Differences difference={difference} />}
      {score !== undefined && <JudgeMarks score={score} />}
      {asked !== undefined && (
        <div class="detail-section">
          {asked.thinking !== undefined && (
            <details class="prediction-thinking">
              <summary>Thinking</summary>
              <div class="prose message-reasoning">
                <PlainText text={asked.thinking} wrap />
              </div>
            </details>
          )}
          <p class="remark">
            {[
              `After ${plural(asked.before, 'earlier call')}`,
              plural(asked.asked, 'model call'),
              ...(asked.usage === undefined
                ? []
                : [`${compact(asked.usage.input_tokens)} → ${compact(asked.usage.output_tokens)} tokens`]),
              duration(asked.ms),
            ].join(' · ')}
            . This prediction is not recorded.
          </p>
        </div>
      )}
      {view.data.model.skipped !== undefined && <p class="remark">Earlier events are still loading.</p>}
    </>
  );
}

/** A prediction that is on its way, or that failed. */
function Asking({
  view,
  prediction: { seq, world },
  state,
}: {
  readonly view: TrajectoryView;
  readonly prediction: WindowPrediction;
  readonly state: Exclude<WindowPrediction['state'], { is: 'done' }>;
}) {
  const now = useNow(state.is === 'asking');
  return (
    <section class="detail-section prediction-asking" aria-label="Prediction">
      <header class="section-head">
        <h3>Prediction</h3>
        <span class="dim">{world}</span>
        <span class="grow" />
        {state.is === 'asking' ? (
          <ActionLink label="Cancel" onClick={() => predict(view, seq, 'stop')} />
        ) : (
          <>
            <ActionLink label="Again" title="Predict again (W)" onClick={() => predict(view, seq)} />
            <ActionLink
              label="Other world…"
              title="Predict with another world (Shift+W)"
              onClick={() => predict(view, seq, 'choose')}
            />
          </>
        )}
      </header>
      {state.is === 'asking' ? (
        <p class="remark" role="status">
          Asking the world… {duration(Math.max(0, now - state.since))}
        </p>
      ) : (
        <p class="value-problem" role="alert">
          {state.message}
          {state.hint === undefined ? '' : ` ${state.hint}`}
        </p>
      )}
    </section>
  );
}
