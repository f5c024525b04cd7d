/** Shows the members of a small record with their labels, one per line. Nested records are flattened. */
import type { ComponentChildren } from 'preact';
import type { Json } from '../../../../src/common/json.ts';
import { labeledField } from './fieldLabels.ts';

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
    flatten([name], value),
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
        {rows.map(({ path, value }) => {
          const field = labeledField(path, value);
          return field === undefined ? null : (
            <div key={path.join(' ')} title={field.title}>
              <dt>{field.label}</dt>
              <dd>{field.text}</dd>
            </div>
          );
        })}
      </dl>
    </section>
  );
}

function flatten(
  path: readonly string[],
  value: Json | undefined,
): { readonly path: readonly string[]; readonly value: Json }[] {
  if (value === undefined) return [];
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !('$blob' in value)) {
    return Object.entries(value).flatMap(([key, member]) => flatten([...path, key], member));
  }
  return [{ path, value }];
}
