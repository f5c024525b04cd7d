/** The members of a small record, one a line. Records inside it are written out. */
import type { ComponentChildren } from 'preact';
import type { Json } from '../../../../src/common/json.ts';
import { valueText } from '../../../../src/trace/text/values.ts';

export function Fields({
  title,
  data,
  children,
}: {
  readonly title: string;
  readonly data: object;
  readonly children?: ComponentChildren;
}) {
  const rows = Object.entries(data as Readonly<Record<string, Json | undefined>>).flatMap(([name, value]) =>
    flat(name, value),
  );
  if (rows.length === 0) return null;
  return (
    <section class="detail-section" aria-label={title}>
      <header class="section-head">
        <h3>{title}</h3>
        <span class="grow" />
        {children}
      </header>
      <dl class="fields">
        {rows.map(([name, text]) => (
          <div key={name}>
            <dt>{name.replaceAll('_', ' ')}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function flat(name: string, value: Json | undefined): [string, string][] {
  if (value === undefined) return [];
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !('$blob' in value)) {
    return Object.entries(value).flatMap(([key, member]) => flat(`${name} ${key}`, member));
  }
  return [[name, valueText(value)]];
}
