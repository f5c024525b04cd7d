/** Shows an error with the source lines where it was thrown. */
import { useEffect, useState } from 'preact/hooks';
import type { TraceError } from '../../../../src/trace/schema.ts';
import { ErrorSummary } from '../../../components/errors/errorSummary.tsx';
import { type Frame, framesOf } from '../../../components/errors/frames.ts';
import { type SourceLines, sourceAround } from '../../../data/sources.ts';
import type { TrajectoryView } from '../../view.ts';

const LINES_AROUND = 4;

export function ErrorView({ view, error }: { readonly view: TrajectoryView; readonly error: TraceError }) {
  const [frame] = framesOf(error).frames;
  return (
    <section class="detail-section" aria-label="Error">
      <header class="section-head">
        <h3>Error</h3>
      </header>
      <ErrorSummary error={error} onOpen={(place) => view.act({ do: 'source', place, rollout: view.data.rollout })} />
      {frame !== undefined && <Snippet view={view} frame={frame} />}
    </section>
  );
}

function Snippet({ view, frame }: { readonly view: TrajectoryView; readonly frame: Frame }) {
  const { file, line, column } = frame.place;
  const submission = view.data.info?.submission;
  const [found, setFound] = useState<{ readonly of: string; readonly source: SourceLines | undefined }>();
  const of = `${submission ?? ''} ${file}:${line}`;
  useEffect(() => {
    if (submission === undefined) return;
    let stopped = false;
    sourceAround(view.data.blobs, submission, { file, line, column }, LINES_AROUND).then(
      (source) => {
        if (!stopped) setFound({ of, source });
      },
      () => undefined,
    ); // The frames above have the location.
    return () => {
      stopped = true;
    };
  }, [of]);
  if (found?.of !== of || found.source === undefined) return null;
  const { first, lines } = found.source;
  return (
    <figure class="snippet" aria-label={`${file}, around line ${line}`}>
      <figcaption>
        <code>
          {file}:{line}
        </code>
        {frame.name !== undefined && <span class="dim">{frame.name}</span>}
      </figcaption>
      <pre tabIndex={0}>
        {lines.map((text, index) => (
          <span key={index} class={`snippet-line${first + index === line ? ' is-thrown' : ''}`}>
            <span class="snippet-number" aria-hidden="true">
              {first + index}
            </span>
            {text === '' ? ' ' : text}
            {'\n'}
          </span>
        ))}
      </pre>
    </figure>
  );
}
