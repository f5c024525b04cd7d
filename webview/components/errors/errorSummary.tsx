/** The class and message of an error, and where it was thrown. */
import { plural } from '../../../src/common/text.ts';
import type { Place, TraceError } from '../../../src/trace/schema.ts';
import { troubleIn } from '../../../src/trace/trouble.ts';
import { SourceLink } from '../link.tsx';
import { Glyph } from '../marks/glyph.tsx';
import { TROUBLES } from '../marks/glyphShapes.ts';
import { framesOf } from './frames.ts';
import './errors.css';

export function ErrorSummary({
  error,
  onOpen,
}: {
  readonly error: TraceError;
  readonly onOpen: (place: Place) => void;
}) {
  const { frames, hidden } = framesOf(error);
  return (
    <>
      <div class="error-words">
        <Glyph outcome={TROUBLES[troubleIn(error)]} /> <strong>{error.class}</strong>{' '}
        <span class="error-message">{error.message}</span>
      </div>
      {frames.map((frame, index) => (
        <div class="error-frame" key={index}>
          <span class="dim">at</span> {frame.name !== undefined && <code>{frame.name}</code>}{' '}
          <SourceLink place={frame.place} onOpen={() => onOpen(frame.place)} />
        </div>
      ))}
      {hidden > 0 && <div class="error-frame dim">{plural(hidden, 'runtime frame')} hidden</div>}
    </>
  );
}
