/** The outcome of an attempt or a call as a shape that is distinguishable without color. */
import type { Outcome } from '../../../src/trace/outcome.ts';
import { LINE_WIDTH, outcomeColour, SHAPES } from './glyphShapes.ts';

/** `title`: label for screen readers and hover. Without it, the glyph is decoration. */
export function Glyph({
  outcome,
  title,
  size = 12,
}: {
  readonly outcome: Outcome;
  readonly title?: string;
  readonly size?: number;
}) {
  const { fill, line, dashed } = SHAPES[outcome];
  const colour = `var(${outcomeColour(outcome)})`;
  return (
    <svg
      class={`glyph is-${outcome}`}
      width={size}
      height={size}
      viewBox="0 0 12 12"
      {...(title === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': title })}
    >
      {title !== undefined && <title>{title}</title>}
      {fill !== undefined && <path d={fill} style={{ fill: colour }} />}
      {line !== undefined && (
        <path
          d={line}
          style={{ fill: 'none', stroke: colour, strokeWidth: LINE_WIDTH }}
          {...(dashed === true ? { 'stroke-dasharray': '2 1.5' } : {})}
        />
      )}
    </svg>
  );
}
