/** One predicted call: its arguments, the prediction next to the recorded response, what differs, and the marks. */
import { useMemo } from 'preact/hooks';
import type { PageAction, PageVerb } from '../../src/protocol/page.ts';
import { seenResponse } from '../../src/trace/model/seenResponse.ts';
import type { TrajectoryModel } from '../../src/trace/model.ts';
import { callDifference } from '../../src/trace/prediction/callDifference.ts';
import { differenceText, partsText } from '../../src/trace/prediction/text.ts';
import { ActionLink } from '../components/link.tsx';
import type { Blobs } from '../data/blobs.ts';
import { Differences } from '../trajectory/detail/prediction/differences.tsx';
import { JudgeMarks } from '../trajectory/detail/prediction/judgeMarks.tsx';
import { marksOf } from '../trajectory/detail/prediction/marks.ts';
import { ValueView } from '../values/valueView.tsx';
import type { FidelityCall } from './fidelityData.ts';

interface CallDetailProps {
  readonly call: FidelityCall;
  readonly model: TrajectoryModel;
  readonly blobs: Blobs;
  readonly can: ReadonlySet<PageVerb>;
  readonly act: (action: PageAction) => void;
  /** Shows the call in the recording. */
  readonly onRecorded: () => void;
}

export function CallDetail({ call, model, blobs, can, act, onRecorded }: CallDetailProps) {
  const { rollout, seq, span, tool, turn, task, world } = call;
  const score = model.scoresOf(seq).find(({ data }) => data.prediction !== undefined)?.data;
  const response = score?.prediction?.response;
  const compared = useMemo(() => {
    const difference = response === undefined ? undefined : callDifference(model, span, response);
    return difference === undefined || response === undefined
      ? undefined
      : { difference, marks: marksOf(difference, response) };
  }, [model, span, response]);
  const real = seenResponse(model, span);
  const copy = (text: string): void => act({ do: 'copy', text });
  return (
    <div class="fidelity-detail" key={`${rollout}@${seq}`}>
      <header class="section-head fidelity-detail-head">
        <h2>
          <code>{tool}</code>
        </h2>
        <span class="dim">
          turn {turn} of {task}
        </span>
        {compared !== undefined && (
          <span>
            {differenceText(compared.difference)} · {partsText(compared.difference.parts)}
          </span>
        )}
        <span class="grow" />
        <span class="fidelity-links">
          {can.has('open') && (
            <ActionLink
              label="Open Call"
              title="Show the call with the prompt and the thinking of the world (Enter)"
              onClick={() => act({ do: 'open', place: { page: 'trajectory', rollout, seq } })}
            />
          )}
          {can.has('open') && span.end?.data.recorded !== undefined && (
            <ActionLink label="Recorded Call" title="Show the call in the recording (R)" onClick={onRecorded} />
          )}
        </span>
      </header>
      <ValueView title="Arguments" value={model.argumentsOf(span).value} blobs={blobs} onCopy={copy} />
      <div class="prediction-columns">
        <div>
          {score?.error === undefined ? (
            <ValueView
              title="Predicted"
              label={`Predicted by ${world}`}
              value={response ?? null}
              marks={compared?.marks.predicted}
              blobs={blobs}
              onCopy={copy}
            >
              <span class="mark">predicted</span>
            </ValueView>
          ) : (
            <p class="remark" role="alert">
              No prediction: {score.error.message}
            </p>
          )}
        </div>
        <div>
          <ValueView
            title="Real"
            label="Recorded response"
            value={real ?? null}
            marks={compared?.marks.real}
            blobs={blobs}
            onCopy={copy}
          >
            <span class="mark">recorded</span>
          </ValueView>
        </div>
      </div>
      {compared !== undefined && <Differences difference={compared.difference} />}
      {score !== undefined && <JudgeMarks score={score} />}
    </div>
  );
}
