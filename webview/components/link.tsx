/** Links to a line of source, and for other actions. They are buttons because pages have no URLs to link to. */
import type { Place } from '../../src/trace/schema.ts';

export function SourceLink({ place, onOpen }: { readonly place: Place; readonly onOpen: () => void }) {
  return (
    <button
      type="button"
      class="link is-link source-link"
      aria-label={`Open ${place.file}:${place.line}`}
      title={`${place.file}:${place.line}:${place.column}`}
      onClick={onOpen}
    >
      {place.file}:{place.line}
    </button>
  );
}

export function ActionLink({
  label,
  title,
  onClick,
}: {
  readonly label: string;
  readonly title?: string;
  readonly onClick: () => void;
}) {
  return (
    <button type="button" class="link is-link" {...(title === undefined ? {} : { title })} onClick={onClick}>
      {label}
    </button>
  );
}
